"""`docs/evidence.md`: short answers, one row for each table and figure of the papers and posts, what does not hold.

Everything on the page comes from the records; `evidence.toml` says which number answers which question, and in one
sentence why it is not the same question where it is not.  Read on: `quotes.py` (figures in texts), `record.py`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Final, TypeAlias

from experiments.claims import FEWEST, ClaimVerdict, bounds_of
from experiments.quotes import quoted
from experiments.record import Record, ShownTable
from experiments.report import LIGHTS, show, to_markdown
from workbench.peers.catalogue import ENGINES

HEADS: Final = ("of", "question", "number (95 %)", "ours", "theirs", "n", "verdict", "the same question?", "run")
LACKING: Final = "not in the table"
NOT_RUN: Final = "⚪ not run"
NO_BOUND: Final = "no bound"
TITLE: Final = """# The evidence on one page

Made by `python -m workbench experiment pages` of what is recorded in `experiments/results/`; a test compares both."""
READING: Final = (
    "**Numbers** say what they are: *of theirs* (ours / theirs, below 1 ours takes less), *times* (the quotient stands "
    "beside them), %, points (of 100 answers). In brackets: the 95 % interval, over the *n* units of one run; another "
    "day or machine can fall outside of it, and samples differ from row to row: compare figures within a row.",
    "**Verdicts** are about bounds that we set ourselves (`claims.toml`): 🟢 held, 🔴 missed, ⚪ undecided, by the "
    f"whole interval, at the level that Holm's correction asks over the claims of a section, on {FEWEST} units or "
    "more. A missed bound does not mean that a peer takes less. Bounds are registered since 2026-11-27; runs before "
    "that were looked at.",
    "**Peers**: llguidance 1.9.1 by its defaults; XGrammar 0.2.8 with strict_mode=False (not its default), any white "
    "space, one thread and its cache, so that both take the texts that we take; tags of tools it reads by its default "
    "alone.",
    "**Cold**: the grammar is new to the engine, whose cross-grammar cache is warm from the grammars before it, as in "
    "a server; one row asks a new compiler each time. **Known** masks were made before; a **free** token has no "
    "grammar.",
)
ROWS_HEAD: Final = (
    "Tables and figures are those of *XGrammar-2: Efficient Dynamic Structured Generation Engine for Agentic LLMs* "
    "(2026), of *XGrammar* (2024), and of the post *XGrammar-2: Fast and Customizable Structured Generation for Tool "
    "Calling and Agents*. The number is judged; ours and theirs (a peer that was run, or what was published) stand "
    "beside it in one setting. *Run*: a letter for a day, a commit and a machine, which the last table names; another "
    "letter is other code, or another machine."
)
BEYOND: Final = "The 🔴 rows above and some of the ⚪ ones, and these claims, whose estimate is beyond the bound:"
REDO: Final = (
    "Check the commit out, `make build`, install the peers (`pip install '.[peers]'`), and run the command that stands "
    "first on the section's page. `python -m workbench study` runs the larger part of them in order of worth, "
    "`study --gpu` a GPU's in eight minutes."
)

Records: TypeAlias = Mapping[str, Record]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the page; texts may hold figures, as `filled` reads them.

    of: which table or figure.  number: of the claim that judges it in `section`, by what is measured or by its text.
    value: a figure that is no claim's, as `quoted` reads it; its bound is that of the claim `number`, if there is one;
    `unit` and `n` say what it is.  ours, theirs: what stands there; without theirs, what was published.  differs: why
    it is not the same question; "" where it is.
    """

    of: str
    question: str
    section: str
    number: str = ""
    value: str = ""
    unit: str = ""
    n: str = ""
    ours: str = ""
    theirs: str = ""
    differs: str = ""

    def found(self, records: Records) -> ClaimVerdict | None:
        """The claim that judges it, measured."""
        record = records.get(self.section)
        found = record.find(self.number) if record and self.number else None
        return found if found and found.units else None

    def shown(self, records: Records) -> tuple[str, ...]:
        """The cells of the row but the last; where nothing is recorded it says so."""
        one, differs = self.found(records), self.differs or "the same"
        if self.section not in records or (one is None and not self.value):
            return self.of, self.question, "", "", "", "", NOT_RUN, differs
        published = f"published: {one.claim.paper}" if one and one.claim.paper else ""
        ours, theirs = filled(self.ours, records), filled(self.theirs, records) or published
        link = f"[{self.question}](results/{records[self.section].file_name}.md)"
        n = filled(self.n, records)
        if self.value:
            figure = _figure(self.value, records)
            number = f"{_said(figure)} {self.unit}".strip()
            verdict = NO_BOUND
            if figure is not None and one is not None:
                side = "within" if one.claim.keeps(figure) else "beyond"
                verdict = f"{LIGHTS['undecided']} {one.claim.bound} ({side} it, but without an interval)"
        elif one is not None:
            number, n = _number(one) + _unit(one.claim.what), f"{one.units:,} {one.unit}"
            verdict = f"{LIGHTS[one.word]} {one.claim.bound}" + (f" ({one.why})" if one.why else "")
        return self.of, link, number, ours, theirs, n, verdict, differs

    @property
    def key(self) -> str:
        """What it is called where it was not run."""
        return f"{self.of}: {self.question[0].lower()}{self.question[1:]}"


_PAGE: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ROWS: Final = tuple(Row(**known) for known in _PAGE["row"])
"""Of the page, in its order."""
ANSWERS: Final[Mapping[str, str]] = _PAGE["answers"]
"""By question."""
UNMEASURED: Final[str] = _PAGE["unmeasured"]
"""What no record can tell."""


def filled(text: str, records: Records) -> str:
    """A text with its figures: each stands in braces, as `quoted` reads it.

    One that no record has any more is told, and keeps nobody from recording.
    """
    return re.sub(r"\{([^{}]+)\}", lambda at: _said(_figure(at[1], records)), text)


def _figure(source: str, records: Records) -> float | None:
    try:
        return quoted(source, records)
    except (KeyError, ZeroDivisionError):
        return None


def _said(figure: float | None) -> str:
    return LACKING if figure is None else show(figure)


def evidence(records: Records) -> str:
    """The page."""
    runs = _runs(records)
    rows = [(*row.shown(records), runs.get(row.section, ("",))[0]) for row in ROWS]
    shown = ShownTable("", HEADS, [False] * len(HEADS), [row for row in rows if row[6] != NOT_RUN])
    answers = [f"**{question}** {filled(text, records)}" for question, text in ANSWERS.items()]
    parts = [
        f"{TITLE}\n{_listed(READING)}",
        f"## Short answers\n\n{_listed(answers)}",
        f"## Row by row\n\n{ROWS_HEAD}\n\n{to_markdown(shown)}",
        f"## What does not hold\n\n{BEYOND}\n{_listed(_beyond(records))}",
        f"## What was not measured, and notes of the records\n\n{_listed(_unknown(records))}",
        f"## When, where and how to do it again\n\n{REDO}\n\n{to_markdown(_told(runs, records))}",
    ]
    return "\n\n".join(parts) + "\n"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


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


def _runs(records: Records) -> dict[str, tuple[str, str, str, str]]:
    """Of each section: the letter of its run, the day, the commit and the machine; the newest run first."""
    known = {
        name: (record.day, record.told("Commit"), re.sub(r"\(R\)|, Linux .*| Processor", "", record.told("Machine")))
        for name, record in records.items()
    }
    letters = {run: chr(ord("A") + at) for at, run in enumerate(sorted({*known.values()}, reverse=True))}
    return {name: (letters[run], *run) for name, run in known.items()}


def _told(runs: Mapping[str, tuple[str, str, str, str]], records: Records) -> ShownTable:
    """One row a run, with its sections."""
    rows = []
    for run in sorted({*runs.values()}):
        sections = [f"[{name}](results/{records[name].file_name}.md)" for name in runs if runs[name] == run]
        rows.append((*run, ", ".join(sections)))
    return ShownTable("", ("run", "day", "commit", "machine", "sections"), [False] * 5, rows)


def _beyond(records: Records) -> list[str]:
    """A line for each section with claims that no row has, and whose estimate is beyond the bound."""
    in_rows = {(row.section, one.claim.text) for row in ROWS if (one := row.found(records))}
    told = []
    for name, record in records.items():
        said = [
            f"{LIGHTS[one.word]} {one.claim.text.rstrip('.')}: {_number(one)}, must be {one.claim.bound}"
            for one in sorted(record.verdicts, key=lambda one: one.word == "undecided")
            if one.units and not one.claim.keeps(one.size) and (name, one.claim.text) not in in_rows
        ]
        if said:
            told.append(f"[{name}](results/{record.file_name}.md): {'; '.join(said)}.")
    return told


def _unknown(records: Records) -> list[str]:
    absent = [row.key for row in ROWS if row.shown(records)[6] == NOT_RUN]
    few = {
        name: len(found)
        for name, record in records.items()
        if (found := [one for one in record.verdicts if 0 < one.units < FEWEST and one.word == "undecided"])
    }
    told = [UNMEASURED]
    told += [f"No recorded run: {'; '.join(absent)}."] if absent else []
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
    notes = {name: _from_docs(record.note.partition("\n\n")[0]) for name, record in records.items()}
    return [" ".join(told), *(f"{name}: {note}" for name, note in notes.items() if note)]


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
