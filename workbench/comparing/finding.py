"""What a hunt found: a `Finding` is a minimal text and the token on which two engines part; a `Hunt` holds them all.

Read on: `workbench/comparing/hunting.py`, `workbench/comparing/tables.py` (how it looks).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rich.table import Table as RichTable
from rich.text import Text

from kernels_core.inspect.snapshots import Table
from visualizers.glyphs import glyph, many
from workbench.comparing.tables import legend
from workbench.record import Printed

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

FindingKind = Literal["refused", "end", "mask only", "false hope"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the `jsonschema` library says of the whole text.

    valid: None where it cannot say, `reason` then says why; else `reason` is its complaint ("" for a valid text).
    wrong: the label of the engine that refuses a valid text, or lets another pass; None where that is not decided.
    """

    valid: bool | None
    reason: str
    wrong: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """After `text`, engine `goes_on` takes `token` and engine `refuses` does not; shrunk as far as that stays so.

    kind: "refused" (above); "end": the one lets the text end (`token` is then empty, `token_id` None); "mask only":
    both take the token, but the mask of `refuses` leaves it out; "false hope": the mask of `goes_on` allows the token,
    which its own parser refuses (`refuses` then names the same engine).
    token_ids: how `text` is cut.  usual_cut: whether that is the tokenizer's own way; the engines agree on it if not.
    whole: a whole text that begins so and that `goes_on` accepts, None where none was found.  verdict: who is right.
    why: what our engine says.  original: the text and token before shrinking.  place: the number of the text tried.
    """

    kind: FindingKind
    text: bytes
    token: bytes
    token_id: int | None
    token_ids: tuple[int, ...]
    usual_cut: bool
    goes_on: str
    refuses: str
    whole: bytes | None
    verdict: Verdict | None
    why: str
    original: bytes
    place: int
    remark: str = ""

    @property
    def headline(self) -> str:
        """One sentence."""
        text = glyph(self.text)
        before = f"after {text if len(text) <= 60 else '…' + text[-59:]}" if self.text else "at the beginning"
        if self.kind == "end":
            return f"{self.goes_on} lets the text end {before} ({self.refuses} does not)"
        if self.kind == "mask only":
            return f"the mask of {self.refuses} leaves out {glyph(self.token)} {before} (its parser takes it)"
        if self.kind == "false hope":
            return f"the mask of {self.goes_on} allows {glyph(self.token)} {before} (its parser refuses it)"
        return f"{self.goes_on} takes {glyph(self.token)} {before} ({self.refuses} refuses it)"

    def lines(self) -> Iterator[tuple[str, str]]:
        """What there is to say, as name and text."""
        if self.kind != "end":
            yield "token", f"{glyph(self.token)}  (id {self.token_id})"
        if not self.usual_cut:
            yield "cut", f"ids {list(self.token_ids)}: cut in the usual way, the engines agree"
        if self.whole is not None:
            yield "whole text", glyph(self.whole)
        elif self.kind in ("refused", "end"):
            yield "whole text", f"none found: {self.goes_on} was not brought to an end"
        if self.verdict is not None:
            yield "jsonschema", self._judged(self.verdict)
        if self.why:
            yield "why", self.why
        if self.remark:
            yield "remark", self.remark
        yield (
            "found",
            f"in text {self.place:,}, shrunk from {len(self.original):,} to {len(self.text + self.token):,} bytes",
        )

    def _judged(self, verdict: Verdict) -> str:
        if verdict.valid is None:
            return f"cannot say: {verdict.reason}"
        said = "valid" if verdict.valid else f"not valid ({verdict.reason})"
        if verdict.wrong is None:
            return said
        return f"{said}: {verdict.wrong} {'refuses what is valid' if verdict.valid else 'lets it pass'}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data; bytes as glyphs, and as `..._hex` to read them back."""
        verdict = self.verdict
        return {
            "kind": self.kind,
            "text": glyph(self.text),
            "text_hex": self.text.hex(),
            "token": glyph(self.token),
            "token_id": self.token_id,
            "token_ids": list(self.token_ids),
            "usual_cut": self.usual_cut,
            "goes_on": self.goes_on,
            "refuses": self.refuses,
            "whole": None if self.whole is None else glyph(self.whole),
            "whole_hex": None if self.whole is None else self.whole.hex(),
            "valid": None if verdict is None else verdict.valid,
            "wrong": None if verdict is None else verdict.wrong,
            "referee": None if verdict is None else verdict.reason,
            "why": self.why,
            "remark": self.remark,
            "headline": self.headline,
        }


@dataclass
class Hunt(Printed, Table):
    """A finished (or interrupted) search.

    findings: in the order found.  engines: labels, the first is the one the others are held against.  refusals: engines
    left out, with the reason.  texts, places: how many texts were tried, and masks compared.  again: disagreements met
    once more, not shrunk.  spellings: left out as matters of spelling, where that was asked.  seconds: how long.
    """

    engines: tuple[str, ...]
    seed: int
    findings: list[Finding] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    texts: int = 0
    places: int = 0
    again: int = 0
    spellings: int = 0
    seconds: float = 0.0
    interrupted: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """One row for each finding."""
        return [finding.to_dict() for finding in self.findings]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "engines": list(self.engines),
            "seed": self.seed,
            "texts": self.texts,
            "places": self.places,
            "again": self.again,
            "spellings": self.spellings,
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "refusals": self.refusals,
            "notes": self.notes,
            "findings": self.rows(),
        }

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _tables(self)

    @property
    def verdict(self) -> str:
        """How many disagreements."""
        return many(len(self.findings), "disagreement") if self.findings else "no disagreement found"

    @property
    def summary(self) -> str:
        """What was tried and what came of it, in one line."""
        stopped = ", interrupted" if self.interrupted else ""
        engines = ", ".join(self.engines) or "no engines"
        tried = f"{many(self.texts, 'text')}, {many(self.places, 'place')}"
        return f"{self.verdict} of {engines} in {tried}, {self.seconds:.1f} s, seed {self.seed}{stopped}"

    def __repr__(self) -> str:
        return f"<Hunt: {self.summary}>"


def _tables(hunt: Hunt) -> Iterator[Any]:
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
    table = RichTable(box=None, show_header=False, padding=(0, 1, 0, 3))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, value in finding.lines():
        table.add_row(name, Text(value))
    yield table
