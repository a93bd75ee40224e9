"""Which parts of a grammar took how much probability from the model over a run: `wb.blame(generation)`.

    made = wb.generate(model, "weather in Lund", schema, alternatives=20)
    wb.blame(made)                  # the source with heat on its lines, and a table: keyword, location, probability

Each refused token that the run has recorded is asked about at its place, and what the model gave to it is put on the
part of the source that is the first reason for its refusal: a schema's keyword, a rule.  What was refused and not
recorded, or not asked about in time, is told as unexplained, so that all adds up: `mass` to the probability that was
refused, summed over the steps, `nats` to minus the log of the feasible mass.  Record more with `alternatives=`.
Read on: `workbench/provenance/reasons.py` (how a reason is found), `workbench/generation/step.py` (what is recorded).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from kernels_core.compiler import told_elsewhere
from kernels_core.inspect.snapshots import Table
from visualizers.glyphs import clip, glyph, html_escape
from visualizers.tables import card, table
from workbench.generation.cutting import Cutting
from workbench.languages import Source
from workbench.provenance import SourcePlace, forbidding, provenance
from workbench.record import Printed
from workbench.session import Session
from workbench.session.matching import read_bytes

if TYPE_CHECKING:
    import pandas as pd

    from workbench.generation.generation import Generation
    from workbench.generation.step import Step

MOST_ASKED_MS: Final = 200.0  # about one token
EXAMPLES: Final = 5
SHOWN_ROWS: Final = 20
HOTTEST: Final = 0.55  # opacity of the line that took most
HEAT: Final = "210,70,60"
UNEXPLAINED: Final = "not recorded, or not explained in time"


@dataclass(frozen=True, slots=True)
class Blamed:
    """A part of the source, and what it took.

    `keyword`, `pointer`, `rule`, `span`: as a `SourcePlace` has them; `label`: the first of the reasons that were told.
    `mass`: the probability of the tokens that were refused for it, summed over the steps.  `nats`: its share of minus
    the log of the feasible mass.  `steps`: where.  `tokens`: those that were refused, the likeliest first.
    """

    label: str
    keyword: str
    pointer: str | None
    rule: str | None
    span: tuple[int, int] | None
    mass: float
    nats: float
    steps: tuple[int, ...]
    tokens: tuple[bytes, ...]


@dataclass(frozen=True, repr=False)
class Blame(Printed, Table):
    """What each part of `source` took, most first; `unexplained_mass` and `unexplained_nats` are nobody's."""

    source: Source
    found: tuple[Blamed, ...]
    unexplained_mass: float
    unexplained_nats: float
    steps: int

    @property
    def mass(self) -> float:
        """The probability that was refused, summed over the steps."""
        return math.fsum(one.mass for one in self.found) + self.unexplained_mass

    def rows(self) -> list[dict[str, Any]]:
        """One row for each part, and one for what is unexplained."""
        rows = [
            {
                "keyword": one.keyword,
                "location": one.pointer or one.rule or "",
                "line": self._line(one.span),
                "mass": one.mass,
                "nats": one.nats,
                "steps": len(one.steps),
                "tokens": " ".join(glyph(token) for token in one.tokens[:EXAMPLES]),
                "reason": one.label,
            }
            for one in self.found
        ]
        rest = {
            "keyword": "",
            "location": "",
            "line": None,
            "mass": self.unexplained_mass,
            "nats": self.unexplained_nats,
        }
        return [*rows, rest | {"steps": None, "tokens": "", "reason": UNEXPLAINED}]

    def to_frame(self) -> pd.DataFrame:
        """The rows as a `pandas.DataFrame`."""
        return super().to_frame().astype({"line": "Int64", "steps": "Int64"})

    def heat(self) -> Mapping[int, float]:
        """What the lines of the source took (from 1 on): the mass of the parts that begin in them."""
        lines: dict[int, float] = {}
        for one in self.found:
            line = self._line(one.span)
            if line is not None:
                lines[line] = lines.get(line, 0.0) + one.mass
        return lines

    def _line(self, span: tuple[int, int] | None) -> int | None:
        return None if span is None else self.source.text.count("\n", 0, span[0]) + 1

    def _repr_html_(self) -> str:
        heat = self.heat()
        most = max(heat.values(), default=0.0) or 1.0
        lines = []
        for number, line in enumerate(self.source.text.splitlines(), 1):
            taken = heat.get(number, 0.0)
            shown = f"{taken:.2f}" if taken >= 0.005 else ""
            colour = f"rgba({HEAT},{HOTTEST * taken / most:.2f})"
            lines.append(
                f'<div style="background:{colour}"><span style="display:inline-block;width:4em;opacity:0.7;'
                f'text-align:right;padding-right:1em">{shown}</span>{html_escape(line) or " "}</div>'
            )
        widths = {"keyword": 60, "location": 60, "tokens": 60, "reason": 90}
        rows = [
            [f"{row['mass']:.3f}", *(html_escape(clip(row[name], width)) for name, width in widths.items())]
            for row in self.rows()[:SHOWN_ROWS]
        ]
        heads = ("probability", "keyword", "location", "refused", "reason")
        source = f'<pre style="line-height:1.35;margin:6px 0">{"".join(lines)}</pre>'
        return card(html_escape(repr(self)[1:-1]), (), source + table(heads, rows, align="rllll"))

    def __str__(self) -> str:
        lines = [repr(self)]
        for row in self.rows()[:SHOWN_ROWS]:
            where = " ".join(filter(None, (row["keyword"], row["location"])))
            lines.append(f"  {row['mass']:8.3f}  {where or row['reason']}  {clip(row['tokens'], 60)}")
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        explained = self.mass - self.unexplained_mass
        return (
            f"<Blame: {self.mass:.3g} tokens' worth of probability refused in {self.steps} steps, "
            f"{explained:.3g} of it by {len(self.found)} parts of the {self.source.title}>"
        )


def blame(generation: Generation, *, seconds: float = 10.0) -> Blame:
    """Which parts of the grammar took how much probability, from the refused tokens that were recorded.

    At most so many seconds are spent on reasons.  `ValueError` without a grammar.
    """
    source = generation.source
    if source is None or source.origin is None:
        why = "was pickled, and has lost its grammar" if source is None else "has no grammar"
        raise ValueError(f"there is nothing to blame: this generation {why}")
    with told_elsewhere():
        session = Session(Source.of(source.origin.compiled), source.model.tokenizer)
    for taken in source.origin.history:
        session.step(taken)
    search = _Search(session, generation.healed, time.monotonic() + seconds)
    for step in generation.steps:
        search.look(step)
        if not search.take(step):
            break
    return search.result(len(generation.steps))


@dataclass(slots=True)
class _Part:
    """What a part of the source took, refusal by refusal; `tokens` by what each had."""

    place: SourcePlace
    masses: list[float] = field(default_factory=list)
    nats: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    tokens: dict[bytes, float] = field(default_factory=dict)


class _Search:
    def __init__(self, session: Session, healed: bytes, until: float) -> None:
        self._session, self._until = session, until
        self._cutting = Cutting(session.tokenizer.info, healed=healed)
        self._stops = frozenset(session.inspect.matcher.stop_token_ids)
        self._special = frozenset(session.tokenizer.info.special_token_ids)
        self._known: dict[tuple[int, bytes], SourcePlace | None] = {}
        self._parts: dict[tuple[object, ...], _Part] = {}
        self._unexplained_mass: list[float] = []
        self._unexplained_nats: list[float] = []

    def look(self, step: Step) -> None:
        """Put what was refused at a step on the parts that refused it."""
        refused = max(0.0, 1.0 - step.feasible_mass)
        pushed = -math.log(step.feasible_mass) if step.feasible_mass > 0 else math.inf
        explained = 0.0
        for one in step.alternatives:
            if one.allowed or one.probability <= 0:
                continue
            place = self._reason(one.token_id, one.token)
            if place is None:
                continue
            mass = min(one.probability, refused - explained)
            if mass <= 0:
                break
            explained += mass
            key = (place.keyword, place.pointer, place.rule, place.label if not place.span else "")
            part = self._parts.setdefault(key, _Part(place))
            part.masses.append(mass)
            part.nats.append(pushed * mass / refused)
            part.steps.append(step.index)
            part.tokens[one.token] = part.tokens.get(one.token, 0.0) + mass
        self._unexplained_mass.append(refused - explained)
        if refused > 0:
            self._unexplained_nats.append(pushed * (1.0 - explained / refused))

    def _reason(self, token_id: int, token: bytes) -> SourcePlace | None:
        """The first part of the source that refuses a token; None where nobody knows, or time is up."""
        if self._cutting.rest:
            return SourcePlace("forbids", "the prompt's end, which was taken back", None, keyword="(healing)")
        if token_id in self._stops:
            here = next(iter(provenance(self._session.inspect)), SourcePlace("forbids", "", None))
            return replace(here, role="forbids", label="the text may not end here", keyword="(the end)")
        if token_id in self._special:
            return SourcePlace("forbids", "a control token, which the grammar does not name", None, keyword="(control)")
        probe = self._session.inspect.shadow()
        read = read_bytes(probe, token)
        if read == len(token):
            return SourcePlace("forbids", "the tokenizer cuts no such text so", None, keyword="(canonical)")
        key = (probe.set_number, token[read:])
        if key not in self._known:
            left = self._until - time.monotonic()
            if left <= 0:
                return None
            reasons = forbidding(self._session.inspect, token, budget_ms=min(MOST_ASKED_MS, 1000 * left))
            self._known[key] = reasons[0] if reasons else None
        return self._known[key]

    def take(self, step: Step) -> bool:
        """Follow the run by a token; False behind its end."""
        if self._session.inspect.is_terminated:
            return False
        if not self._cutting.rest:
            self._session.step(step.token_id)
            return not step.is_stop
        rest = len(self._cutting.rest)
        self._cutting.take(step.token_id, None)
        if over := step.token[rest:]:
            self._session.step(over)
        return True

    def result(self, steps: int) -> Blame:
        found = [
            Blamed(
                part.place.label,
                part.place.keyword,
                part.place.pointer,
                part.place.rule,
                part.place.span,
                math.fsum(part.masses),
                math.fsum(part.nats),
                tuple(dict.fromkeys(part.steps)),
                tuple(sorted(part.tokens, key=part.tokens.__getitem__, reverse=True)),
            )
            for part in self._parts.values()
        ]
        found.sort(key=lambda one: -one.mass)
        return Blame(
            self._session.document,
            tuple(found),
            math.fsum(self._unexplained_mass),
            math.fsum(self._unexplained_nats),
            steps,
        )
