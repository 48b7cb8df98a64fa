"""What became of everything that several papers say: counts of verdicts, over claims and over listed items."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from slurmsim.data_classes import dataclass
from slurmsim.experiments.claims import NOTHING, Claim, Listed
from slurmsim.experiments.verdicts import CONSTRUCTED, DIRECTION, MISSING, NOT, REPRODUCED, UNDETERMINED

IN_PART, SHOWN = "reproduced in part", "shown, no number to compare"
CLAIM_WORDS = (REPRODUCED, DIRECTION, UNDETERMINED, NOT, CONSTRUCTED, MISSING)
ITEM_WORDS = (REPRODUCED, IN_PART, DIRECTION, UNDETERMINED, NOT, CONSTRUCTED, SHOWN, MISSING)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an experiment says of its paper."""

    # all that were measured; those with a place in the paper are the paper's, the others are checks of ours
    claims: Sequence[Claim]
    listed: Sequence[Listed]  # all tables, figures and claims of the paper

    def of_paper(self) -> list[Claim]:
        return [claim for claim in self.claims if claim.where != NOTHING]

    def ours(self) -> list[Claim]:
        """Return the checks that we added."""
        return [claim for claim in self.claims if claim.where == NOTHING]


def word_of(item: Listed, claims: Sequence[Claim]) -> str:
    """Return one word on a table, figure or claim of a paper.

    Several claims on it count together: all reproduced, some, or the best of what is left. What is fitted or forced
    counts only where there is nothing else.
    """
    if not item.attempted:
        return MISSING
    found = {claim.verdict for claim in item.of(claims)}
    if not found:
        return MISSING if item.claims else SHOWN
    tried = found - {CONSTRUCTED, MISSING} or found
    if tried == {REPRODUCED}:
        return REPRODUCED
    if REPRODUCED in tried:
        return IN_PART
    return next(word for word in (DIRECTION, UNDETERMINED, NOT, CONSTRUCTED, MISSING) if word in tried)


def claims_summary(outcomes: Mapping[str, Outcome]) -> list[list[str]]:
    """Return a row a paper: how many of its claims have which verdict; the last row is the sum."""
    counts = {name: Counter(claim.verdict for claim in one.of_paper()) for name, one in outcomes.items()}
    return _counted("claims compared", counts, CLAIM_WORDS)


def items_summary(outcomes: Mapping[str, Outcome]) -> list[list[str]]:
    """Return the same for the tables, figures and claims that are listed of each paper."""
    counts = {name: Counter(word_of(item, one.claims) for item in one.listed) for name, one in outcomes.items()}
    return _counted("tables, figures and claims listed", counts, ITEM_WORDS)


def checks_summary(outcomes: Mapping[str, Outcome]) -> list[list[str]]:
    """Return the same for the checks that are ours."""
    counts = {name: Counter(claim.verdict for claim in one.ours()) for name, one in outcomes.items()}
    return _counted("checks of ours", counts, CLAIM_WORDS)


def headline(outcomes: Mapping[str, Outcome]) -> str:
    """Return the sum in a sentence."""
    claims = Counter(claim.verdict for one in outcomes.values() for claim in one.of_paper())
    items = Counter(word_of(item, one.claims) for one in outcomes.values() for item in one.listed)
    compared = f"Of {claims.total()} figures and directions compared: {_listing(claims, CLAIM_WORDS)}."
    papers = "1 paper" if len(outcomes) == 1 else f"{len(outcomes)} papers"
    whole = f"Of {items.total()} tables, figures and claims listed of {papers}:"
    return f"{compared} {whole} {_listing(items, ITEM_WORDS)}."


def _listing(counts: Counter[str], words: Iterable[str]) -> str:
    return ", ".join(f"{counts[word]} {word}" for word in words if counts[word]) or "none"


def _counted(title: str, counts: Mapping[str, Counter[str]], words: Sequence[str]) -> list[list[str]]:
    whole = sum(counts.values(), Counter[str]())
    rows = [["paper", title, *words]]
    for name, one in {**counts, "all": whole}.items():
        rows.append([name, str(one.total()), *(str(one[word] or NOTHING) for word in words)])
    return rows
