"""Rankings as a page, and as a few tables for a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp

from slurmsim.campaign.conclusions import Ranking
from slurmsim.campaign.view import also_rows, cells, class_rows, difference, head, reading, title, warnings
from slurmsim.report import page


def ranking_page(name: str, lead: str, rankings: Sequence[Ranking]) -> str:
    """Return the rankings of a sweep as one HTML document; `lead` says how much of it is done."""
    blocks = [page.heading(name, lead)]
    blocks += [page.section(title(one), *_parts(one), differences(one)) for one in rankings]
    if rankings:
        blocks.append(page.section("How to read it", *map(page.paragraph, reading(rankings))))
    else:
        blocks.append(page.paragraph("There is nothing to compare: no two policies have cells in common."))
    return page.page(name, blocks)


def snippet(name: str, lead: str, rankings: Sequence[Ranking]) -> str:
    """Return the rankings for a notebook."""
    parts = [part for one in rankings for part in (page.paragraph(title(one)), *_parts(one))]
    return page.snippet(f"{name}: {lead}", parts)


def differences(ranking: Ranking) -> str:
    """Differences from the baseline in the measure that ranks, with their intervals, as markup."""
    return page.intervals(f"Differences from {ranking.baseline}", _differences(ranking))


def _differences(ranking: Ranking) -> Iterator[tuple[str, float, float | None, float | None, str]]:
    for row in ranking.rows:
        if found := row.against.get(ranking.by):
            # Ratios are differences of logarithms: per cent are shown where they are written as such.
            mean, low, high = (
                exp(x) - 1 if x is not None and ranking.ratio else x for x in (found.mean, found.low, found.high)
            )
            assert mean is not None
            yield row.policy, mean, low, high, difference(found, ranking)


def _parts(ranking: Ranking) -> list[str]:
    tables = [page.table(head(ranking), [cells(row, ranking) for row in ranking.rows], left=(0, 1))]
    for rows in filter(None, (class_rows(ranking), also_rows(ranking))):
        tables.append(page.table(rows[0], rows[1:]))
    return [*map(page.banner, warnings(ranking)), *tables]
