"""Comparisons and hunts as rich tables that fit 100 columns, each with a legend.

Read on: `workbench/comparing/comparison.py`, `workbench/comparing/finding.py`, `workbench/cli/comparing.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from visualizers.glyphs import clip, glyph

if TYPE_CHECKING:
    from workbench.comparing.comparison import Comparison, Pair
    from workbench.comparing.finding import Finding, Hunt

__all__ = ["WIDTH", "as_text", "comparison_tables", "hunt_tables"]

WIDTH: Final = 100
MAX_GROUPS: Final = 12
EXAMPLE: Final = 18


def as_text(thing: Any, width: int = WIDTH) -> str:
    """What `thing` looks like in a terminal of `width` columns, without colours."""
    console = Console(width=width, color_system=None, force_terminal=False, legacy_windows=False)
    with console.capture() as capture:
        console.print(thing)
    return capture.get().rstrip("\n")


def grid(*columns: tuple[str, dict[str, Any]], title: str = "") -> Table:
    """A table in the style of all: a line under the head, nothing between rows."""
    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1))
    for name, options in columns:
        table.add_column(name, **options)
    return table


RIGHT: Final[dict[str, Any]] = {"justify": "right", "no_wrap": True}
FOLD: Final[dict[str, Any]] = {"overflow": "fold"}


def legend(*lines: str) -> Iterator[Padding]:
    for line in lines:
        yield Padding(Text(line, style="dim"), (0, 0, 0, 2))


def _time(seconds: float | None) -> str:
    """Three digits with a unit."""
    if seconds is None:
        return ""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            value = seconds * factor
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    raise AssertionError


def comparison_tables(comparison: Comparison) -> Iterator[Any]:
    """The sides, then each pair with its groups of differences, then what to know."""
    table = grid(
        ("side", FOLD),
        ("may follow", RIGHT),
        ("end", {"no_wrap": True}),
        ("compile", RIGHT),
        ("first mask", RIGHT),
        ("again", RIGHT),
    )
    for answer in comparison.answers:
        name = Text(answer.side.label)
        if answer.allowed is None:
            name.append(f"\nrefuses the {answer.stage}: {answer.refusal}", "red")
            table.add_row(name, "-", "-", _time(answer.compile_s), "", "")
        else:
            count = int((answer.allowed & comparison.common.ids).sum())
            end = "yes" if answer.may_end else "no"
            times = (_time(answer.compile_s), _time(answer.first_s), _time(answer.again_s))
            table.add_row(name, f"{count:,}", end, *times)
    texts = list(dict.fromkeys(answer.side.text for answer in comparison.answers))
    if len(texts) == 1:
        yield Text.assemble("after ", (clip(glyph(texts[0]), 80) or "nothing: at the beginning", "bold"))
    yield table
    yield from legend(
        "may follow: tokens that the mask allows; end: whether the text may end here.",
        "compile, first mask, again: measured once, to see the order of magnitude; `bench` measures.",
    )
    for pair in comparison.pairs:
        yield from _pair_tables(pair)
    yield Text("")
    for note in comparison.notes:
        yield from legend(note)


def _pair_tables(pair: Pair) -> Iterator[Any]:
    base, other = pair.base.side.label, pair.other.side.label
    yield Text("")
    if pair.agree:
        yield Text.assemble((f"{base} and {other} agree", "green"), f" on all {pair.both + pair.neither:,} tokens.")
        if not pair.differences:
            return
    else:
        counts = f"{pair.both:,} by both, {pair.only_base:,} by {base} alone, {pair.only_other:,} by {other} alone"
        yield Text.assemble((f"{base} and {other} differ", "red"), f": {counts}.")
    table = grid(
        ("tokens", RIGHT),
        ("allowed by", {**FOLD, "max_width": 14}),
        ("part at", {**FOLD, "max_width": 14}),
        ("for example", {**FOLD, "max_width": 20}),
        ("why, by our engine", {**FOLD, "min_width": 28}),
    )
    for difference in pair.differences[:MAX_GROUPS]:
        examples = "  ".join(clip(glyph(data), EXAMPLE) for _, data in difference.examples[:4])
        what = "the end" if difference.kind == "end" else f"{difference.count:,}"
        where = difference.parts_at
        if difference.after:
            where = f"{where} after {clip(glyph(difference.after), EXAMPLE)}"
        why = Text(clip(difference.why, 240))
        if difference.places:
            verb = "in" if difference.ours else "because:"
            why.append(f"\n{verb} {clip('; '.join(difference.places), 200)}", "dim")
        table.add_row(what, Text(difference.allowed_by), Text(where), Text(examples), why)
    yield table
    if len(pair.differences) > MAX_GROUPS:
        yield from legend(f"... and {len(pair.differences) - MAX_GROUPS:,} more groups: see to_frame() or --json")
    yield from legend("part at: the byte at which the side that refuses parts from the token.")


def hunt_tables(hunt: Hunt) -> Iterator[Any]:
    """What was tried, then each finding with its text, then who is right."""
    style = "red" if hunt.findings else "green"
    yield Text.assemble((hunt.verdict, style), hunt.summary.removeprefix(hunt.verdict))
    for name, reason in hunt.refusals.items():
        yield Text.assemble((f"{name} was left out: ", "yellow"), reason)
    for number, finding in enumerate(hunt.findings, 1):
        yield Text("")
        yield from _finding(number, finding)
    if hunt.findings:
        yield Text("")
        yield from legend(
            "after TEXT, TOKEN: read by the one engine, refused by the other; shrunk as far as it stays so.",
            "whole text: how the engine that goes on could end it, judged by jsonschema where there is a schema.",
        )
    if hunt.spellings:
        yield from legend(f"left out: {hunt.spellings:,} matters of spelling, where the same JSON value is taken.")
    for note in hunt.notes:
        yield from legend(note)


def _finding(number: int, finding: Finding) -> Iterator[Any]:
    yield Text.assemble((f"{number}. ", "bold"), finding.headline)
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 3))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, value in finding.lines():
        table.add_row(name, Text(value))
    yield table
