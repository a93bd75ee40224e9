"""Results on a terminal and as Markdown: tables and verdicts, with command, machine, versions, commit and date.

Read on: `record.py` (what is kept of a run), `pages.py` (the pages that are made of it).
"""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from experiments.claims import ClaimVerdict, Word
from experiments.columns import Column, explained
from experiments.ledger import Ledger
from experiments.record import ShownTable
from workbench.json_values import JsonObject
from workbench.peers.catalogue import ENGINES, settings_of

FIGURES: Final = Path(__file__).resolve().parents[1] / "docs" / "images" / "experiments"
"""Where figures of recorded runs are kept, as SVG."""
LIGHTS: Final[Mapping[Word, str]] = {"held": "🟢", "refuted": "🔴", "undecided": "⚪"}
STYLES: Final[Mapping[Word, str]] = {"held": "bold green", "refuted": "bold red", "undecided": "bold yellow"}
SHOWN_REASONS: Final = 8
TEXT_WIDTH: Final = 32
TRIED: Final = ("engine", "left_out", "form")  # columns that may name what a trial is about


def print_tables(tables: Mapping[str, pd.DataFrame], console: Console) -> None:
    """Print each table under its caption, and what heads mean that were not explained before; empty ones say so."""
    known: dict[str, str] = {}
    for caption, frame in tables.items():
        if frame.empty:
            console.print(f"{caption}: nothing was measured.\n", style="yellow")
            continue
        table = Table(title=caption, title_justify="left", box=box.SIMPLE)
        for name in frame.columns:
            right = pd.api.types.is_numeric_dtype(frame[name])
            # Headings may wrap, cells may not, unless they are sentences.
            width = min(TEXT_WIDTH, max(len(show(cell)) for cell in frame[name]))
            table.add_column(str(name), justify="right" if right else "left", min_width=width, overflow="fold")
        previous = None
        for row in frame.itertuples(index=False):
            if previous is not None and frame[frame.columns[0]].duplicated().any() and row[0] != previous:
                table.add_section()
            previous = row[0]
            style = "bold" if any("ours /" in str(cell) for cell in row[:3]) else None
            table.add_row(*(Text(show(cell)) for cell in row), style=style)
        console.print(table)
        new = {head: said for head, said in frame.attrs.get("help", {}).items() if known.get(head) != said}
        if new:
            legend = "; ".join(f"{head}: {said}" for head, said in new.items())
            console.print(legend + "\n", style="dim", markup=False, highlight=False)
        known |= new


def print_verdicts(verdicts: Sequence[ClaimVerdict], console: Console) -> None:
    """Each claim with its verdict, what was measured, and the paper's number beside it."""
    for one in verdicts:
        console.print(Text.assemble(f"{LIGHTS[one.word]} ", (str(one), STYLES[one.word]), f"  {one.claim.text}"))
        console.print("    " + ". ".join(_told(one)), markup=False, highlight=False, style="dim")


def _told(one: ClaimVerdict) -> list[str]:
    """Sentences, without their last stop: the number with its interval and bound, the paper's, why they differ."""
    claim = one.claim
    told = [f"{claim.what[:1].upper()}{claim.what[1:]} must be {claim.bound}"]
    if one.units:
        interval = "" if math.isnan(one.low) else f", 95 % {show(one.low)} to {show(one.high)}"
        told[0] += f"; measured {show(one.size)} (n = {one.units:,} {one.unit}{interval})"
    told += [f"Published: {claim.paper}"] if claim.paper else []
    return told + ([claim.differs.rstrip(".")] if claim.differs else [])


def as_markdown(tables: Sequence[ShownTable], verdicts: Sequence[ClaimVerdict], notes: Sequence[str] = ()) -> str:
    """Claims with their verdicts (notes: another sentence on each), then the other tables."""
    lines = [
        f"- {LIGHTS[one.word]} **{one}**: {one.claim.text} " + ". ".join([*_told(one), *filter(None, [note])]) + "."
        for one, note in zip(verdicts, notes or [""] * len(verdicts), strict=True)
    ]
    parts = ["\n".join(lines)] if lines else []
    for table in tables:
        parts += [f"**{table.caption}**", to_markdown(table) if table.rows else "Nothing was measured."]
    return "\n\n".join(parts)


def to_markdown(table: ShownTable) -> str:
    """A Markdown table."""
    lines: list[Sequence[str]] = [table.heads, ["---:" if number else "---" for number in table.numbers]]
    lines += [[cell.replace("|", "\\|") for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def show(value: object) -> str:
    """A cell as text: whole numbers with separators, others with three significant digits, nothing for NaN."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return "" if value is None else str(value)
    number = float(value)
    if math.isnan(number):
        return ""
    if math.isinf(number):
        return str(number)
    if number == round(number) and abs(number) < 1e15:
        return f"{round(number):,}"
    if abs(number) >= 100:
        return f"{number:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(number))))
    return f"{number:.{digits}f}"


def rows_of(frame: pd.DataFrame) -> list[JsonObject]:
    """Rows as JSON has them."""
    found: list[JsonObject] = json.loads(frame.to_json(orient="records"))
    return found


def provenance(frame: pd.DataFrame, ledger: Ledger, command: str) -> str:
    """Markdown that says where, when, with what and by which command the rows of `frame` came about."""
    machines = ledger.machines()
    lines = [f"- Command: `{command}`", f"- Trials: {_counts(frame)}"]
    days = sorted({str(started)[:10] for started in frame["started"]})
    lines.append(f"- Date: {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else ""))
    lines.append("- Commit: " + ", ".join(sorted({str(git) for git in frame["git"].dropna()}) or ["unknown"]))
    for name in ("seed", "vocabulary"):
        if name in frame:
            lines.append(
                f"- {name.capitalize()}: " + ", ".join(sorted({show(value) for value in frame[name].dropna()}))
            )
    for digest in frame["machine"].unique():
        found = machines[digest]
        lines.append(
            f"- Machine: {found['cores']} x {found['processor']}, {found['memory_gb']:g} GB, {found['system']}; "
            f"load average at most {frame.loc[frame['machine'] == digest, 'load'].max():g}"
        )
        versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
        lines.append(f"- Versions: Python {found['python']}, {versions}")
    engines = [name for name in ENGINES if (frame["engine"] == name).any()] if "engine" in frame else []
    lines += [f"- Engines: {', '.join(engines)}"] if engines else []
    chosen = [f"{name}: {settings}" for name in engines if (settings := settings_of(name))]
    lines += [f"- Settings: {'; '.join(chosen)}"] if chosen else []
    return "\n".join(lines)


def reasons(frame: pd.DataFrame) -> pd.DataFrame:
    """Why trials were not run or failed, the commonest first: what was tried, `status`, `reason`, `trials`."""
    bad = frame[frame["status"] != "ok"]
    first_lines = bad["error"].map(lambda error: str(error).splitlines()[0][:160])
    tried = [name for name in TRIED if name in bad][:1]
    columns = {name: bad[name] for name in [*tried, "status"]} | {"reason": first_lines}
    counted = pd.DataFrame(columns).value_counts().head(SHOWN_REASONS)
    heads = [
        *(Column(name, name.replace("_", " "), help="what was tried") for name in tried),
        Column("status", help="what became of trials"),
        Column("reason", help="why"),
        Column("trials", help="how many of them"),
    ]
    return explained(counted.rename("trials").reset_index(), heads)


def shown_table(caption: str, frame: pd.DataFrame) -> ShownTable:
    """A table as it is read, to keep."""
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in frame.columns]
    rows = [[show(cell).replace("\n", " ") for cell in row] for row in frame.itertuples(index=False)]
    return ShownTable(caption, [str(name) for name in frame.columns], numeric, rows)


def _counts(frame: pd.DataFrame) -> str:
    counts = frame["status"].value_counts()
    return f"{len(frame):,} ({', '.join(f'{number:,} {status}' for status, number in counts.items())})"
