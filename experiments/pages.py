"""The pages of results, made of the records: one for each section, an overview of them, and `docs/evidence.md`.

`python -m workbench experiment pages` writes all of them; a test compares what is committed with what they would be.
Read on: `record.py`, `evidence.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from experiments.claims import FEWEST, history_of
from experiments.evidence import evidence
from experiments.measurement import VERDICTS
from experiments.quotes import QUOTED, renewed
from experiments.record import RESULTS_FOLDER, Record, ShownTable, load_records
from experiments.report import LIGHTS, as_markdown, shown_table, to_markdown
from experiments.running import Result

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
HEADING: Final = f"""# Results, section by section

The appendix of [the evidence](../evidence.md), made of `experiments/results/` by
`python -m workbench experiment pages`.
Each section is measured by the command it names. Until that is run again it keeps the numbers of the commit, the day
and the machine that it names, so compare within a section, or sections of one machine. Times are in microseconds
unless said otherwise; where something is divided by something, less than 1 means that the first is less. What the
experiments claim, and what would refute it: `python -m workbench experiment list`.

A claim has a number and a bound. 🟢 held: the whole 95 % interval keeps the bound, also when all claims of the section
are looked at together (Holm's correction); 🔴 refuted: none of it does, or one unit breaks what must hold always;
⚪ undecided: neither, or fewer than {FEWEST} independent units. What holds always in n units is broken by fewer than
3 / n of such units, at 95 %. The overview has a light for each claim of a section, in order. *Published*: in the paper
on XGrammar-2, unless another source is named; its machines, models and data are others, so compare ratios and
directions.
Bounds are registered since 2026-11-27 (`experiments/claims.toml`): what was measured before may have been looked at
when its bound was chosen. *Machine*: the cores that the run was given, and their processor. *+* behind a commit: with
changes that were not committed.

Heads of the tables of verdicts: {"; ".join(f"*{one.label}*, {one.help}" for one in VERDICTS if one.help)}.
"""


def pages(records: Mapping[str, Record]) -> dict[str, str]:
    """The text of each page by its path below `docs/`."""
    found = {f"results/{one.file_name}.md": _section(one) for one in records.values()}
    return found | {"results/README.md": _overview(records), "evidence.md": evidence(records)}


def write_pages(results: Path = RESULTS_FOLDER, docs: Path = DOCS) -> list[Path]:
    """Write all pages below `docs`, of what `results` holds, and the figures that other pages quote."""
    records = load_records(results)
    written = {docs / name: text for name, text in pages(records).items()}
    for path in quoting(docs):
        written[path] = renewed(path.read_text(), records)
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [*written]


def quoting(docs: Path = DOCS) -> list[Path]:
    """The pages that quote recorded figures."""
    found = [*sorted(docs.parent.glob("*.md")), *sorted(docs.rglob("*.md"))]
    return [path for path in found if QUOTED.search(path.read_text())]


def recorded(section: str, tables: int = 1, *, results: Path = RESULTS_FOLDER) -> str:
    """What is recorded of a section, as Markdown for a cell: where it is from, its claims, and its first tables."""
    found = load_records(results).get(section)
    if found is None:
        return f"*No run of {section} is recorded.*"
    return f"**{section}, recorded**\n\n{_body(found, 'docs/', tables)}"


def record_of(section: str, result: Result, figure: Path | None = None, *, tables: bool = True) -> Record:
    """What to keep of a run.  figure: its picture.  tables: with those."""
    frame = result.frame
    return Record(
        section,
        result.experiment.name,
        result.experiment.title,
        [line.removeprefix("- ") for line in result.origin.splitlines()],
        str(frame["started"].max())[:10],
        figure.name if figure is not None else None,
        "",
        result.verdicts(),
        [shown_table(caption, table) for caption, table in (result.tables() if tables else {}).items()],
    )


def _section(record: Record) -> str:
    return f"# {record.section}\n\n{record.title}.\n\n{_body(record, '../')}\n"


def _body(record: Record, docs: str, tables: int | None = None) -> str:
    """Without the head.  docs: the way to the folder of documents from where it is shown."""
    parts = ["\n".join(f"- {line}" for line in record.origin)]
    parts += [f"![{record.title}]({docs}images/experiments/{record.figure})"] if record.figure else []
    parts += [record.note] if record.note else []
    notes = [history_of(record.experiment, one.claim.text, record.day) for one in record.measured]
    parts.append(as_markdown(record.tables[:tables], record.verdicts, notes))
    return "\n\n".join(parts)


def _overview(records: Mapping[str, Record]) -> str:
    rows = [
        (
            f"[{one.section}]({one.file_name}.md)",
            " ".join(LIGHTS[verdict.word] for verdict in one.verdicts),
            one.day,
            one.told("Commit"),
            one.told("Machine").partition(",")[0],
        )
        for one in records.values()
    ]
    heads = ("section", "claims", "day", "commit", "machine")
    return f"{HEADING}\n{to_markdown(ShownTable('', heads, [False] * len(heads), rows))}\n"
