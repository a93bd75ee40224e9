"""The tokens that cannot come, by the byte at which they die and by what forbids it; and those that callers decide.

`session.inspect.refusals()` returns the first, `callers(session.inspect.token_sets())` the second.

Read on: `workbench/next/rejections.py` (the walk), `workbench/panels/next.py` (the panel).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypedDict

import numpy as np
import numpy.typing as npt

from kernels_core.inspect.snapshots import Table, TokenSets
from visualizers.glyphs import clip, glyph, written_name
from workbench.next.probes import waiting_rules
from workbench.next.rejections import SECONDS, Refusal, Rejections, rejections
from workbench.provenance import SourcePlace, forbidding
from workbench.record import Printed
from workbench.session.result import content
from workbench.tokenizers.lexicon import lexicon

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from kernels_core.inspect.look import RestCaller
    from workbench.session.context import Context

SHOWN: Final = 60
WIDTH: Final = 60
REASONS: Final = 3
_TYPICAL: Final = b'"1a{[tx-,}]:'
"""Bytes that begin something in many languages: asked about before others."""

_DIGITS: Final = frozenset(b"0123456789")


@dataclass(frozen=True, repr=False)
class Refusals(Printed, Table):
    """The refused tokens in groups, many first.  `total` tokens die, `more` of them in groups not listed.

    `control` ids of the vocabulary write no text and are refused as well; with them all tokens of the vocabulary are
    either allowed or refused.  `unsettled` tokens were not followed to the end.  `reasons[i]` are the places of the
    source that forbid group i, where they were looked for (`reasoned`), which is done for the largest groups; otherwise
    only the rules are known.
    """

    groups: tuple[Refusal, ...]
    reasons: tuple[tuple[SourcePlace, ...], ...]
    total: int
    more: int
    unsettled: int
    walk: Rejections = field(repr=False)
    reasoned: bool = False
    control: int = 0

    def ids(self, number: int, limit: int | None = None) -> list[int]:
        """Ids of the tokens in a group, by their bytes."""
        words = self.walk.lexicon
        found: list[int] = []
        for first, last in self.groups[number].places:
            found += words.ids[first:last].tolist()
            if limit is not None and len(found) >= limit:
                return found[:limit]
        return found

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "count": group.count,
                "read": glyph(group.read),
                "fatal": _fatal(group.fatal),
                "expected": content(group.possible) or "the end of the text",
                "rules": _written(group.rules),
                "keyword": reasons[0].keyword if reasons else "",
                "pointer": (reasons[0].pointer or "") if reasons else "",
                "by": "; ".join(map(str, reasons)) if reasons else ", ".join(_written(group.rules)),
            }
            for group, reasons in zip(self.groups, self.reasons, strict=True)
        ]

    def state(self) -> dict[str, Any]:
        """What the view shows: plain data."""
        rows = self.rows()[:SHOWN]
        for row, reasons in zip(rows, self.reasons, strict=False):
            row |= {name: clip(row[name], WIDTH) for name in ("read", "fatal", "expected")}
            told = dict.fromkeys((clip(place.label, 2 * WIDTH), place.pointer, place.rule) for place in reasons)
            names = ("label", "pointer", "rule")
            row["reasons"] = [dict(zip(names, one, strict=True)) for one in [*told][:REASONS]]
        hidden = sum(group.count for group in self.groups[SHOWN:])
        return {
            "rows": rows,
            "total": self.total + self.control,
            "control": self.control,
            "more": self.more + hidden,
            "unsettled": self.unsettled,
            "reasoned": self.reasoned,
        }

    def __repr__(self) -> str:
        control = f", and {self.control:,} control tokens, which write no text" if self.control else ""
        return f"Refusals({self.total:,} tokens in {len(self.groups)} groups{control})"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(show_edge=False)
        for head in ("tokens", "after reading", "cannot come", "expected", "forbidden by"):
            table.add_column(head, justify="right" if head == "tokens" else "left")
        for row in self.rows()[:SHOWN]:
            cells = (row["read"] or "(here)", clip(row["fatal"], 24), clip(row["expected"], 30), row["by"])
            table.add_row(f"{row['count']:,}", *map(Text, cells))
        yield Text(repr(self))
        yield table


def refusals(context: Context, *, seconds: float = SECONDS) -> Refusals:
    """Where every token that cannot come dies; nothing of the session changes.

    Stop tokens and control tokens spell nothing: they are counted (`control`) and not listed.
    """
    with context.held():
        words = lexicon(context.tokenizer.info)
        walk = rejections(context.shadow(), words, seconds=seconds)
        groups = walk.refusals(waiting_rules)
        listed = sum(group.count for group in groups)
        info = context.tokenizer.info
        silent = np.setdiff1d(np.arange(info.vocab_size), words.ids, assume_unique=True)
        control = len(silent) - int(np.isin(context.allowed_array(), silent).sum())
        return Refusals(
            tuple(groups),
            ((),) * len(groups),
            walk.refused,
            walk.refused - listed,
            walk.unsettled,
            walk,
            control=control,
        )


def with_reasons(context: Context, found: Refusals, *, groups: int = 12, seconds: float = 0.6) -> Refusals:
    """The same with the locations in the source that forbid the largest `groups`, as far as `seconds` allow.

    A group's fatal bytes may be forbidden for several reasons; one byte that could begin a value is asked about.
    """
    reasons = list(found.reasons)
    until = time.thread_time() + seconds
    with context.held():
        for number, group in enumerate(found.groups[:groups]):
            left = until - time.thread_time()
            if left <= 0:
                break
            typical = next((value for value in _TYPICAL if value in group.fatal), group.fatal[0])
            reasons[number] = forbidding(context, group.read + bytes((typical,)), budget_ms=1000 * left)
            digit = next((value for value in group.fatal if value in _DIGITS and value != typical), None)
            if digit is not None and not any(place.keyword for place in reasons[number]):
                # Of a number that is too large another digit is forbidden by a keyword, a letter by none.
                more = forbidding(context, group.read + bytes((digit,)), budget_ms=1000 * (until - time.thread_time()))
                keywords = tuple(place for place in more if place.keyword)
                reasons[number] = (*keywords, *(place for place in reasons[number] if place not in keywords))
    return replace(found, reasons=tuple(reasons), reasoned=True)


def _fatal(members: bytes) -> str:
    """The bytes at which tokens die, in words.  Only bytes of tokens are among them: of a class of nearly all, what is
    not there may come, or no token has it, so that the class is not told by what it lacks."""
    said = content(members)
    return "other characters" if said.startswith("any ") else said


def _written(rules: tuple[str, ...]) -> list[str]:
    """Rules by the names that they were written with, each once."""
    return list(dict.fromkeys(map(written_name, rules)))


class Called(TypedDict):
    """Tokens that run over the end of `rule`, which ends in `state`, and whose rest begins alike: how many of them
    are `taken` and `refused`, and what each of the `callers` does with the rest."""

    rule: str
    state: int
    rest: str
    taken: int
    refused: int
    callers: list[tuple[str, str]]


@dataclass(frozen=True)
class Callers(Table):
    """Tokens that run over the end of a rule, by the rule they leave and by how the rest begins.

    Rules have the engine's names, as in the automaton: `name{0,40}` is the repetition that `name` counts.
    `ids[i]` are the tokens of row i; `total` counts each token of a state once.
    """

    table: tuple[Called, ...]
    ids: tuple[list[int], ...] = field(repr=False)
    total: int

    def rows(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self.table]

    def state(self) -> dict[str, Any]:
        """What the view shows: plain data."""
        return {"rows": self.rows()[:SHOWN], "total": self.total}


def callers(sets: TokenSets, who: Sequence[Sequence[RestCaller]] = ()) -> Callers:
    """The uncertain tokens of `sets` in groups; with `who` (`Inspector.rest_callers`) each says who decides."""
    found: list[tuple[Called, list[int]]] = []
    total = 0
    for number, entry in enumerate(sets.states):
        ids, escapes, allowed = entry.uncertain.ids, entry.uncertain.escapes, entry.uncertain.allowed
        total += len(ids)
        if not len(ids):
            continue
        texts = zip(map(sets.vocab.__getitem__, ids.tolist()), escapes.tolist(), strict=True)
        rest = np.array([text[at] if at < len(text) else -1 for text, at in texts])
        values = np.unique(rest)
        taken = np.array([int(allowed[rest == value].sum()) for value in values])
        # Rests that nobody takes are one row.
        for some in [*([value] for value in values[taken > 0].tolist()), values[taken == 0].tolist()]:
            chosen = np.isin(rest, some)
            if not chosen.any():
                continue
            yes = int(allowed[chosen].sum())
            row: Called = {
                "rule": entry.rule,
                "state": entry.state,
                "rest": _rest(some),
                "taken": yes,
                "refused": int(chosen.sum()) - yes,
                "callers": decided(who[number], chosen) if number < len(who) else [],
            }
            found.append((row, ids[chosen].tolist()))
    found.sort(key=lambda pair: (-pair[0]["taken"], -pair[0]["refused"]))
    return Callers(tuple(row for row, _ in found), tuple(ids for _, ids in found), total)


def decided(
    callers: Sequence[RestCaller], chosen: npt.NDArray[np.bool_] | npt.NDArray[np.int64]
) -> list[tuple[str, str]]:
    """What each caller does with the rests of the `chosen` tokens: (its name, "takes", "refuses" or "takes some")."""
    totals: dict[str, npt.NDArray[np.bool_]] = {}
    for caller in callers:
        name = " or ".join(caller.names) or END
        taken = caller.allowed[chosen]
        totals[name] = totals[name] | taken if name in totals else taken
    verb = {(True, True): "takes", (False, False): "refuses"}
    return [(name, verb.get((bool(all(taken)), bool(any(taken))), "takes some")) for name, taken in totals.items()]


END: Final = "the end of the text"
"""What a rule returns to that nothing called."""


def _rest(values: list[int]) -> str:
    """The first bytes of rests; -1 is a rest of nothing."""
    parts = [content(bytes(value for value in values if value >= 0))] if max(values) >= 0 else []
    return ", ".join(["nothing", *parts] if -1 in values else parts)
