"""`docs/evidence.md`: one row for each table and figure of the papers and posts, what does not hold, what is not known.

Everything on the page comes from the records; `evidence.toml` says which number answers which question, and in one
sentence why it is not the same question where it is not.  Read on: `record.py`, `pages.py`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Final

from experiments.claims import FEWEST, ClaimVerdict, bounds_of
from experiments.record import Record, ShownTable
from experiments.report import LIGHTS, show, to_markdown
from workbench.peers.catalogue import ENGINES

HEADS: Final = ("of", "question", "number (95 %)", "ours", "theirs", "n", "verdict", "the same question?")
LACKING: Final = "not in the table"
NOT_RUN: Final = "⚪ not run"
REDO: Final = (
    "Check the commit out, `make build`, install the peers (`pip install '.[peers]'`), and run the command; "
    "`python -m workbench study` runs all that is missing, `study --gpu` the GPU's part in eight minutes."
)
HEADING: Final = f"""# The evidence on one page

Made by `python -m workbench experiment pages` of what is recorded in `experiments/results/`; a test compares both.
- **Rows** are tables and figures of *XGrammar-2: Efficient Dynamic Structured Generation Engine for Agentic LLMs*
  (2026), of *XGrammar* (2024), and of the post *XGrammar-2: Fast and Customizable Structured Generation for Tool
  Calling and Agents*. The *number* is judged; *ours* and *theirs* (a peer that was run, or what was published) stand
  beside it in one setting, over the inputs that all took where the linked table says so, else over all that each took.
- **Numbers** say what they are: *of theirs* (ours / theirs, below 1 ours takes less), *times* (the quotient stands
  beside them), %, points (of 100 answers). In brackets: the 95 % interval, over the *n* units of one run; another
  day or machine can fall outside of it, and samples differ from row to row: compare figures within a row.
- **Verdicts** are about bounds that we set ourselves (`bounds.toml`): 🟢 held, 🔴 missed, ⚪ undecided, by the whole
  interval, at the level that Holm's correction asks over the claims of a section, on {FEWEST} units or more. A missed
  bound does not mean that a peer takes less. Bounds are registered since 2026-11-27; runs before that were looked at.
- **Peers**: llguidance 1.9.1 by its defaults; XGrammar 0.2.8 with strict_mode=False (not its default), any white space,
  one thread and its cache, so that both take the texts that we take. Others are in [masks](results/masks.md).
- **Cold**: the grammar is new to the engine, whose cross-grammar cache is warm from the grammars before it, as in a
  server; one row asks a new compiler each time. **Known** masks were made before; a **free** token has no grammar.
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a recorded table: under `head`, in the row that is as `where` says.  unit: behind it."""

    caption: str
    head: str
    unit: str
    where: Mapping[str, str] = field(default_factory=dict)

    def of(self, record: Record, name: str, column: str) -> str:
        """Its text, with the unit, in the row that has `name` in `column`; "" where the head has the name in it.

        A table that has no such cell any more is told, and keeps nobody from recording.
        """
        where = {**self.where, column: name} if column else self.where
        try:
            return f"{record.table(self.caption).cell(self.head.format(name), where)} {self.unit}".strip()
        except KeyError:
            return LACKING


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the page.

    of: which table or figure.  number: of the claim that judges it in `section`, by what is measured or by its text.
    cell: what stands under ours, in the row of `ours`, and under theirs, in the row of `peer`; of the column `named`.
    Without a peer what was published stands there.  differs: why it is not the same question; "" where it is.
    """

    of: str
    question: str
    section: str
    number: str
    cell: Cell | None = None
    peer: str = ""
    ours: str = "ours"
    named: str = "engine"
    differs: str = ""

    def shown(self, records: Mapping[str, Record]) -> tuple[str, ...]:
        """The cells of the row; where nothing is recorded it says so."""
        record, differs = records.get(self.section), self.differs or "the same"
        found = record.find(self.number) if record else None
        if record is None or found is None or not found.units:
            return (self.of, self.question, "", "", "", "", NOT_RUN, differs)
        ours = "" if self.cell is None else self.cell.of(record, self.ours, self.named)
        theirs = f"published: {found.claim.paper}" if found.claim.paper else ""
        if self.cell is not None and self.peer:
            theirs = f"{self.peer}: {self.cell.of(record, self.peer, self.named)}"
        verdict = f"{LIGHTS[found.word]} {found.claim.bound}" + (f" ({found.why})" if found.why else "")
        link = f"[{self.question}](results/{record.file_name}.md)"
        number = _number(found) + _unit(found.claim.what)
        return self.of, link, number, ours, theirs, f"{found.units:,} {found.unit}", verdict, differs

    @property
    def key(self) -> str:
        """What it is called where it was not run."""
        return f"{self.of}: {self.question[0].lower()}{self.question[1:]}"


ROWS: Final = tuple(
    Row(**{**known, "cell": Cell(**known["cell"]) if "cell" in known else None})
    for known in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["row"]
)
"""Of the page, in its order."""


def evidence(records: Mapping[str, Record]) -> str:
    """The page."""
    rows = [row.shown(records) for row in ROWS]
    shown = ShownTable("", HEADS, [False] * len(HEADS), [row for row in rows if row[6] != NOT_RUN])
    parts = [HEADING.rstrip("\n"), to_markdown(shown)]
    parts += ["## What does not hold", "\n".join(_claims(records.values(), "refuted"))]
    parts += ["## Undecided, with the estimate beyond the bound", "\n".join(_claims(records.values(), "undecided"))]
    parts += [
        "## What was not measured, and notes of the records",
        "\n".join(f"- {line}" for line in _unknown(records)),
    ]
    parts += ["## When, where and how to do it again", REDO, to_markdown(_runs(records))]
    return "\n\n".join(parts) + "\n"


def _number(one: ClaimVerdict) -> str:
    return show(one.size) + ("" if isnan(one.low) else f" ({show(one.low)} to {show(one.high)})")


def _unit(what: str) -> str:
    """The unit of what a claim measures, as it stands behind its number."""
    if "percentage points" in what:
        return " points"
    if what.endswith("%"):
        return " %"
    quotient = re.search(r"(\w+) / (\w+)", what)
    if quotient is None:
        return ""
    if re.search(r"\bours\b[^/]* / ", what) and not what.endswith("/ free"):
        return " of theirs"
    return f" times ({quotient[0]})"


def _runs(records: Mapping[str, Record]) -> ShownTable:
    """Of each section that a row of the page is from: day, commit, machine, command."""
    named = dict.fromkeys(row.section for row in ROWS if row.section in records)
    rows = []
    for record in (records[name] for name in named):
        machine = re.sub(r"\(R\)|, Linux .*| Processor", "", record.told("Machine"))
        link = f"[{record.section}](results/{record.file_name}.md)"
        rows.append((link, record.day, record.told("Commit"), machine, record.told("Command")))
    return ShownTable("", ("section", "day", "commit", "machine", "command"), [False] * 5, rows)


def _claims(records: Iterable[Record], word: str) -> list[str]:
    """A line for each section with claims that are judged so and whose estimate is beyond the bound."""
    told = []
    for record in records:
        said = [
            f"{one.claim.text.rstrip('.')}: {_number(one)}, must be {one.claim.bound}"
            for one in record.verdicts
            if one.word == word and one.units and not one.claim.keeps(one.size)
        ]
        if said:
            told.append(f"- [{record.section}](results/{record.file_name}.md): {'; '.join(said)}.")
    return told


def _unknown(records: Mapping[str, Record]) -> list[str]:
    absent = [row.key for row in ROWS if row.shown(records)[6] == NOT_RUN]
    few = {
        name: len(found)
        for name, record in records.items()
        if (found := [one for one in record.verdicts if 0 < one.units < FEWEST and one.word == "undecided"])
    }
    told = [f"No recorded run: {'; '.join(absent)}."] if absent else []
    if few:
        counted = ", ".join(f"{name} ({count} {'claim' if count == 1 else 'claims'})" for name, count in few.items())
        told.append(f"Too few units to decide, fewer than {FEWEST}: {counted}.")
    ran = {name for record in records.values() for name in re.split(r",\s*", record.told("Engines"))}
    if lacking := [name for name in ENGINES if name not in ran]:
        told.append(f"In no recorded run: {', '.join(lacking)}.")
    moved = [text for record in records.values() for text in _moved(record)]
    if moved:
        told.append(f"Bounds that moved after a first look, or were set after the measurement: {' '.join(moved)}")
    uncommitted = [name for name, record in records.items() if "+" in record.told("Commit")]
    if uncommitted:
        told.append(f"Measured with changes that were not committed: {', '.join(uncommitted)}.")
    told = [" ".join(told)] if told else []
    told += [f"{name}: {_from_docs(record.note)}" for name, record in records.items() if record.note]
    told.append("The paper's own engine, its servers (SGLang), its data (CONFETTI) and its models could not be had.")
    return told


def _from_docs(note: str) -> str:
    """A note of a section with its links as they are from the page."""
    return re.sub(r"\]\((?=[\w-]+\.)", "](results/", note)


def _moved(record: Record) -> list[str]:
    entries = bounds_of(record.experiment)
    return [
        f"{record.section}: {one.claim.what}."
        for one in record.measured
        if (known := entries.get(one.claim.text)) and (len(known) > 1 or known[-1][0] > record.day)
    ]
