"""The sum over several papers: one word an item, counts by verdict, tables on pages from kept results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slurmsim.cli import main
from slurmsim.errors import OutputError
from slurmsim.experiments.claims import Claim, Goal, Listed, not_attempted
from slurmsim.experiments.pages import SYSTEMS, Kept, keep, kept_of, listed, read_kept, remade, whole_tables
from slurmsim.experiments.summary import IN_PART, SHOWN, Outcome, claims_summary, headline, items_summary, word_of
from slurmsim.experiments.verdicts import CONSTRUCTED, DIRECTION, MISSING, NOT, REPRODUCED


def claim(what: str, ours: float, *, constructed: bool = False, where: str = "Table 1") -> Claim:
    """A claim whose paper has ten, give or take one, where nothing is zero."""
    return Goal.near(what, where, 10, 0.1, no_effect=0, constructed=constructed).measured(ours)


ALL = [claim("a", 10), claim("b", 10), claim("b, too", 5), claim("c", 10, constructed=True), claim("d", -5)]


@pytest.mark.parametrize(
    ("item", "word"),
    [
        (Listed("one claim", ("a",)), REPRODUCED),
        (Listed("two claims, one of them", ("b",)), IN_PART),
        (Listed("the second", ("b, too",)), DIRECTION),
        (Listed("fitted", ("c",)), CONSTRUCTED),
        (Listed("fitted beside a finding", ("c", "d")), NOT),
        (Listed("no run of it", ("x",)), MISSING),
        (Listed("drawn", shown="a picture"), SHOWN),
        (Listed("no data", shown="not public", attempted=False), MISSING),
    ],
)
def test_one_word_an_item(item: Listed, word: str) -> None:
    assert word_of(item, ALL) == word


def test_sums() -> None:
    """Checks of ours are not the paper's; the last row is the sum, and each row adds up."""
    ours = claim("e", 10, where="")
    outcomes = {"x": Outcome([*ALL, ours], [Listed("a", ("a",))]), "y": Outcome([not_attempted("f", "no", "p. 1")], [])}
    rows = claims_summary(outcomes)
    assert [row[:2] for row in rows[1:]] == [["x", "5"], ["y", "1"], ["all", "6"]]
    assert all(int(row[1]) == sum(int(cell) for cell in row[2:] if cell != "–") for row in rows[1:])
    assert items_summary(outcomes)[1][1:3] == ["1", "1"]
    assert headline(outcomes).startswith("Of 6 figures and directions compared: 2 reproduced, 1 direction only")


def test_claims_are_found_in_parts() -> None:
    one = {"what": "w", "where": "–", "paper": "–", "corrected": "–", "counts": "–", "ours": "1", "ratio": "–",
           "verdict": NOT, "seeds": None}  # fmt: skip
    kept = kept_of({"claims": [one], "parts": {"kth": {"claims": [one, one]}}, "theta": {"claims": [one]}}, "c", 1.0)
    assert {part: len(claims) for part, claims in kept.claims.items()} == {"": 1, "kth": 2, "theta": 1}


def test_a_page_shows_claims_of_all_parts_of_one_and_of_none(tmp_path: Path) -> None:
    def one(what: str) -> dict[str, object]:
        return {"what": what, "where": "–", "paper": "–", "corrected": "–", "counts": "–", "ours": "1", "ratio": "–",
                "verdict": NOT, "seeds": None}  # fmt: skip

    kept = kept_of({"claims": [one("first")], "parts": {"kth": {"claims": [one("second")]}}}, "c", 1.0)
    names = ("claims", "claims main", "claims kth", "run")
    page = tmp_path / "titan.md"
    page.write_text("\n".join(f"<!-- made: {name} -->\n<!-- end -->" for name in names), "utf-8")
    keep("titan", kept, tmp_path)
    found = [made.partition("<!-- end")[0] for made in page.read_text("utf-8").split("-->\n")[1:]]
    assert [("first" in made, "second" in made) for made in found if "|" in made] == [
        (True, True), (True, False), (False, True),
    ]  # fmt: skip


def test_a_table_is_kept_in_pieces() -> None:
    """A later run has other rows of it; they stand in order of their names."""
    old = Kept({"a": ALL[:1]}, {"loads: a": [["log"], ["a"]], "use": [["x"], ["1"]]}, "bench a", 1.0)
    new = Kept({"c": ALL[:1], "b": ALL[:1]}, {f"loads: {name}": [["log"], [name]] for name in "cb"}, "bench c,b", 1.0)
    assert whole_tables(new.beside(old).tables) == {"use": [["x"], ["1"]], "loads": [["log"], ["a"], ["b"], ["c"]]}


def test_every_paper_has_a_list() -> None:
    assert all(len(listed(name)) >= 7 for name in SYSTEMS)


def test_all_of_them_with_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A small run fills the marks of its page and of the summary; a strange mark is named."""
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "titan.md").write_text("# T\n\n<!-- made: claims -->\nold\n<!-- end -->\n", "utf-8")
    (folder / "claims.md").write_text(
        "<!-- made: headline -->\n<!-- end -->\n<!-- made: runs -->\n<!-- end -->\n", "utf-8"
    )
    words = [
        "bench",
        "all",
        "--systems",
        "titan",
        "--with",
        "titan --seeds 5 --verdict-seeds 0 --years 1 --parts model",
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*words, "--pages", str(folder), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["claims"][1][0] == "titan" and facts["cpu_s"] > 0
    page = (folder / "titan.md").read_text("utf-8")
    assert "13,822,864" in page and "old" not in page
    summary = (folder / "claims.md").read_text("utf-8")
    assert "`slurmsim bench titan --parts model`" in summary and "| parm | no results are kept yet |" in summary
    assert remade(folder / "titan.md") == page
    assert "CPU time" in (tmp_path / "out" / "summary.txt").read_text("utf-8")
    (folder / "titan.md").write_text("<!-- made: moons -->\n<!-- end -->\n", "utf-8")
    with pytest.raises(OutputError, match="moons"):
        remade(folder / "titan.md")


def test_bad_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "all", "--systems", "titan", "--with", "parm --seeds 1", "--out", str(tmp_path)]) == 2
    assert "--with" in capsys.readouterr().err


def test_parts_that_were_not_run_again_stay(tmp_path: Path) -> None:
    """One part and then another: both are there. Both at once: only these."""
    one, other = (Kept({name: ALL[:1]}, {f"table {name}": [["a"], [name]]}, f"bench {name}", 60.0) for name in "xy")
    keep("titan", one, tmp_path)
    keep("titan", other, tmp_path)
    keep("titan", other, tmp_path)
    both = read_kept("titan", tmp_path)
    assert both is not None and (set(both.claims), set(both.tables)) == ({"x", "y"}, {"table x", "table y"})
    assert (both.command, both.cpu_s) == ("bench x; bench y", 180)
    whole = Kept(both.claims, {}, "bench", 5)
    keep("titan", whole, tmp_path)
    assert read_kept("titan", tmp_path) == whole
