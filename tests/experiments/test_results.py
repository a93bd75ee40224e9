"""The pages of results are what is recorded, and nothing else: evidence, sections, and figures that pages quote."""

from __future__ import annotations

import re
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest

from experiments import evidence as evidence_module
from experiments.claims import FEWEST, Claim, ClaimVerdict
from experiments.evidence import LACKING, ROWS, Row, evidence
from experiments.pages import DOCS, pages, quoting, recorded, write_pages
from experiments.quotes import quoted, renewed
from experiments.record import Record, ShownTable, load_records
from experiments.registry import CATALOGUE
from experiments.study import PARTS


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    return load_records()


@pytest.fixture(scope="module")
def written(records: dict[str, Record]) -> dict[str, str]:
    """The pages that the records make, by their names."""
    return pages(records)


def made(section: str = "masks", size: float = 0.05, units: int = 12, **more: object) -> Record:
    """A record with one claim and one table."""
    claim = Claim(text="It is so.", what="a ratio", effect=lambda frame: None, at_most=0.1, paper="1 (table 1)")
    measured = [ClaimVerdict(claim, "undecided", size, size * 0.9, size * 1.1, units, "schemas")]
    table = ShownTable("Times, us", ["engine", "avg"], [False, True], [["ours", "1.50"], ["a|b", "1,234"]])
    origin = ["Command: `run`", "Commit: abc", "Machine: 2 x CPU, 1 GB", "Engines: ours, xgrammar"]
    return replace(Record(section, "masks", "A title", origin, "2026-11-26", None, "", measured, [table]), **more)


# -- what is committed ------------------------------------------------------------------------------------------------


def test_pages_are_what_the_records_make(written: dict[str, str]) -> None:
    """Run `python -m workbench experiment pages` where this fails."""
    assert {f"results/{path.name}" for path in (DOCS / "results").glob("*.md")} == {*written} - {"evidence.md"}
    assert [name for name, text in written.items() if (DOCS / name).read_text() != text] == []


@pytest.mark.parametrize("page", quoting(), ids=lambda path: str(path.relative_to(DOCS.parent)))
def test_figures_in_a_page_are_those_that_are_recorded(page: Path, records: dict[str, Record]) -> None:
    assert renewed(page.read_text(), records) == page.read_text()


def test_decisions_with_a_worth_quote_the_results() -> None:
    """Those that name figures of a recorded experiment, so that none keeps those of an older run."""
    quotes = {page.name[:4] for page in quoting()}
    assert {"0002", "0003", "0004", "0005", "0007", "0009", "0012", "READ"} <= quotes


def test_the_evidence_is_one_page(written: dict[str, str]) -> None:
    lines = written["evidence.md"].splitlines()
    assert len(lines) <= 120
    heads = [line for line in lines if line.startswith("## ")]
    assert heads == [
        "## Short answers",
        "## Row by row",
        "## What does not hold",
        "## What was not measured, and notes of the records",
        "## When, where and how to do it again",
    ]
    assert "headline" in next(
        line for line in lines if line.startswith("| ") and "---" not in line and "of |" not in line
    )
    assert LACKING not in written["evidence.md"]
    of = " ".join(row.of for row in ROWS)
    assert all(f"table {number}" in of for number in range(1, 7))
    assert all(f"figure {number}" in of for number in (*range(6, 12), 1, 2))


def test_every_row_says_whether_it_is_the_same_question(records: dict[str, Record]) -> None:
    assert all(len(row.differs) > 10 or not row.differs for row in ROWS)
    unknown = {row.section for row in ROWS} - {*records} - {*CATALOGUE} - {part.section for part in PARTS}
    assert not unknown


def test_nothing_is_held_on_few_units(records: dict[str, Record]) -> None:
    for record in records.values():
        for one in record.verdicts:
            counterexample = one.claim.always and one.word == "refuted"
            assert one.word == "undecided" or one.units >= FEWEST or counterexample, (record.section, one.claim.text)


# -- how pages are made -----------------------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    record = made("masks in turns")
    path = record.save(tmp_path)
    assert path.name == "masks-in-turns.json"
    again = load_records(tmp_path)["masks in turns"]
    assert again.verdicts[0].word == "held"
    assert again.tables == record.tables
    assert again.measured[0].claim.limit == 0.1
    again.save(tmp_path / "copy")
    assert (tmp_path / "copy" / path.name).read_text() == path.read_text()
    assert '   ["ours", "1.50"],' in path.read_text()  # a row is a line
    nothing = replace(record, measured=[replace(record.measured[0], units=0, size=nan, low=nan, high=nan)])
    nothing.save(tmp_path)
    assert str(load_records(tmp_path)["masks in turns"].verdicts[0]) == "undecided: not measured"
    with pytest.raises(ValueError, match="words"):
        made("a\n## b").save(tmp_path)


def test_a_section_shows_its_claims_and_tables(tmp_path: Path) -> None:
    made(note="Beware.").save(tmp_path / "results")
    write_pages(tmp_path / "results", tmp_path / "docs")
    page = (tmp_path / "docs" / "results" / "masks.md").read_text()
    assert page.startswith("# masks\n\nA title.\n\n- Command: `run`\n")
    assert "Beware." in page
    assert (
        "- 🟢 **held**: It is so. A ratio must be at most 0.1; measured 0.0500 (n = 12 schemas, 95 % 0.0450 to" in page
    )
    assert "Published: 1 (table 1). The bound is not registered." in page
    assert "| a\\|b | 1,234 |" in page
    overview = (tmp_path / "docs" / "results" / "README.md").read_text()
    assert "| [masks](masks.md) | 🟢 | 2026-11-26 | abc | 2 x CPU |" in overview
    assert "**Times, us**" in recorded("masks", results=tmp_path / "results")
    assert "No run of tools" in recorded("tools", results=tmp_path / "results")


def test_the_evidence_tells_what_is_held_and_what_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = "{masks | Times | avg | ours} us", "a|b: {masks | Times | avg | engine=a|b} us"
    rows = (
        Row("table 1", "How long?", "masks", "a ratio", ours=ours, theirs=theirs),
        Row("table 2", "And this?", "nonesuch", "a ratio", differs="no: another"),
    )
    monkeypatch.setattr(evidence_module, "ROWS", rows)
    monkeypatch.setattr(evidence_module, "ANSWERS", {"How long?": "{masks | a ratio} of theirs, {masks | no ratio}."})
    page = evidence({"masks": made()})
    assert f"- **How long?** 0.0500 of theirs, {LACKING}." in page
    row = "| table 1 | [How long?](results/masks.md) | 0.0500 (0.0450 to 0.0550) | 1.50 us | a\\|b: 1,234 us | "
    assert f"{row}12 schemas | 🟢 at most 0.1 | the same | A |" in page
    assert "| A | 2026-11-26 | abc | 2 x CPU, 1 GB | [masks](results/masks.md) |" in page
    assert "| table 2 |" not in page
    assert "No recorded run: table 2: and this?." in page
    assert "In no recorded run: xgrammar-default, llguidance, " in page
    assert LACKING in evidence({"masks": made(tables=[])}).partition("| table 1")[2]
    few = evidence({"masks": made(units=3)})
    assert "Too few units to decide, fewer than 10: masks (1 claim)." in few
    assert "⚪ at most 0.1 (3 units)" in few


def test_the_evidence_lists_what_does_not_hold_once(monkeypatch: pytest.MonkeyPatch) -> None:
    refuted = {"masks": made(size=0.5)}
    line = "- [masks](results/masks.md): 🔴 It is so: 0.500 (0.450 to 0.550), must be at most 0.1."
    monkeypatch.setattr(evidence_module, "ROWS", ())
    assert line in evidence(refuted)
    assert line not in evidence({"masks": made()})
    monkeypatch.setattr(evidence_module, "ROWS", (Row("table 1", "How long?", "masks", "a ratio"),))
    assert line not in evidence(refuted)
    assert "| 🔴 at most 0.1 |" in evidence(refuted)


def test_a_figure_without_an_interval_is_never_held(monkeypatch: pytest.MonkeyPatch) -> None:
    value = "masks | Times | avg | ours ÷ masks | Times | avg | a|b"
    rows = (
        Row("a", "No bound?", "masks", value=value, unit="of theirs", n="1 run"),
        Row("b", "Within?", "masks", "a ratio", value=value),
        Row("c", "Beyond?", "masks", "a ratio", value="masks | Times | avg | ours", unit="us"),
    )
    monkeypatch.setattr(evidence_module, "ROWS", rows)
    assert f"{LACKING} of theirs" in evidence({"masks": made(tables=[])})
    page = evidence({"masks": made(day="2026-11-25"), "tools": made("tools")})
    assert "| [No bound?](results/masks.md) | 0.00122 of theirs |  |  | 1 run | no bound | the same | B |" in page
    assert "| 0.00122 |  | published: 1 (table 1) |  | ⚪ at most 0.1 (within it, but without an interval) |" in page
    assert "| 1.50 us |  | published: 1 (table 1) |  | ⚪ at most 0.1 (beyond it, but without an interval) |" in page


def test_of_a_note_the_first_paragraph_is_in_the_evidence() -> None:
    record = made(note="Read [this](that.csv).\n\nAnd more.")
    page = evidence({"masks": record})
    assert "- masks: Read [this](results/that.csv)." in page
    assert "And more." not in page
    assert "And more." in pages({"masks": record})["results/masks.md"]


def test_quoted_figures_follow_the_records() -> None:
    records = {"masks": made()}
    text = (
        "It takes 0.07<!-- masks | a ratio --> (0.1<!-- masks | a ratio | low -->), 9<!-- 100 * masks | a ratio --> %"
    )
    now = renewed(text, records)
    assert re.findall(r"([\d.,]+)<!--", now) == ["0.05", "0.0", "5"]
    assert renewed("1<!-- masks | Times | avg | a|b -->", records) == "1,234<!-- masks | Times | avg | a|b -->"
    assert quoted("masks | Times | avg | engine=a|b ÷ masks | Times | avg | ours", records) == pytest.approx(1234 / 1.5)
    for wrong in (
        "masks | nonesuch | avg",
        "masks | Times | avg | nobody",
        "masks | Times | avg | avg=a|b",
        "masks | Times | engine | ours",
        "nonesuch | a ratio",
        "masks | Times | p50 | ours",
    ):
        with pytest.raises(KeyError, match=re.escape(wrong.partition(" ")[0])):
            quoted(wrong, records)
