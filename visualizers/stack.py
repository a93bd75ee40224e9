"""The call stack: where in the grammar the text is, as a line of crumbs and a row for each level.

Read on: `kernels_core/inspect/derivation.py` (`call_stack`), `frontend/src/stack.js`, `workbench/panels/stack.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import traitlets as t

from kernels_core.inspect.derivation import CallStack, StackLevel
from visualizers.glyphs import clip, glyph, html_escape, many, split_dot, split_rules
from visualizers.live_base import LiveView, Traits, picked, synced
from visualizers.tables import card, table

Named: TypeAlias = tuple[tuple[str, ...], str]
MAX_LEVELS: Final = 160
STATIC_LEVELS: Final = 60
TEXT: Final = 32  # characters of a level's text
DOT_WIDTH: Final = 150


class StackView(LiveView[CallStack]):
    """`show(call_stack(matcher))` shows the stacks; `stack` is the one that is lit.

    `pointers` of `show` say by level where in the source it was read (None: nowhere): they are shown in front of the
    rules.  `named` are names of such places, on the way to each, and what type of value is read there.  A click on a
    level sets `selection["rule"]` and `selection["pointer"]` to its own.
    """

    _module = "stack"
    _height = 320
    _placed = ("about", "levels", "stacks")

    about = synced(t.Dict())
    levels = synced(t.List())
    stacks = synced(t.List())
    stack = synced(t.Int(0))
    selection = synced(t.Dict())

    _pointers: Sequence[str | None] = ()
    _named: Mapping[str, Named] = MappingProxyType({})

    def show(
        self, snapshot: CallStack, pointers: Sequence[str | None] = (), named: Mapping[str, Named] | None = None
    ) -> None:
        self._pointers, self._named = pointers, named or {}
        super().show(snapshot)

    def traits_of(self, snapshot: CallStack) -> Traits:
        about = picked(snapshot, "position", "total", "exact") | {"levels": len(snapshot.levels)}
        levels = pointed([self._level(level, snapshot.text) for level in snapshot.levels[:MAX_LEVELS]], self._pointers)
        for level in levels:
            if level.get("pointer") in self._named:
                level["names"], level["kind"] = self._named[level["pointer"]]
        stacks = [list(stack) for stack in snapshot.stacks if stack[-1] < MAX_LEVELS]
        return {"about": about, "levels": levels, "stacks": stacks}

    def _level(self, level: StackLevel, text: bytes) -> dict[str, Any]:
        return picked(level, "parent", "depth", "rule", "begin", "predicted", "waits", "omitted") | {
            "name": self.written(level.rule),
            "label": clip(level.label, TEXT),
            "dots": dots(self.written(level.dot)),
            "text": tail(text[level.begin : level.end]),
            "span": list(level.span) if level.span is not None else None,
        }

    def tables_of(self, snapshot: CallStack) -> str:
        """The first stack as crumbs, and all levels as a table; with their places in the source, if there are any."""
        rows = []
        some = any(self._pointers)
        for level, pointer in zip(snapshot.levels[:STATIC_LEVELS], chain(self._pointers, repeat(None)), strict=False):
            rule = html_escape(self.written(level.rule))
            label = f"{html_escape(level.label)}: " if level.label and not pointer else ""
            waits = split_rules(self.written(level.dot))[0] if level.dot else ""
            rows.append(
                [
                    "&nbsp;" * (2 * level.depth) + label + (html_escape(pointer) if pointer else rule),
                    f"{level.begin:,}",
                    html_escape(tail(snapshot.text[level.begin : level.end])),
                    html_escape(clip(waits, DOT_WIDTH)),
                    *([rule] if some else []),
                ]
            )
        count = f"{'' if snapshot.exact else 'at least '}{many(snapshot.total, 'stack')}"
        facts = [f"after {snapshot.position:,} bytes", count, f"{len(snapshot.stacks)} listed"]
        crumbs = f'<div style="font-size:13px;padding:2px 0 6px">{html_escape(self._crumbs(snapshot))}</div>'
        heads = ["level", "began at", "read", "waits at", *(["rule"] if some else [])]
        body = table(heads, rows, align="lrlll"[: len(heads)], mono=(0, 1, 2, 3, 4)[: len(heads)])
        return card("Call stack", facts, crumbs + body)

    def _crumbs(self, snapshot: CallStack) -> str:
        """The first stack in a line: places in the source by their names, where there are any, each once."""
        pointers = self._pointers
        if not snapshot.stacks or not any(pointers):
            return self.written(snapshot.crumbs())
        line: list[str] = []
        above: tuple[str, ...] = ()
        kind = ""
        for level in snapshot.stacks[0]:
            place = pointers[level] if level < len(pointers) else None
            rule = self.written(snapshot.levels[level].rule)
            names, kind = self._named.get(place or "", ((place or rule,), ""))
            new = names[len(above) :] if names[: len(above)] == above else names
            line += [name for name in new if line[-1:] != [name]]
            above = names
        return " > ".join([*line, *([kind] if kind else [])])


def pointed(rows: list[dict[str, Any]], pointers: Sequence[str | None]) -> list[dict[str, Any]]:
    """`rows` with their pointers, where they have one; `place` is what to show of it: what the parent does not say."""
    for row, pointer in zip(rows, pointers, strict=False):
        if pointer is not None:
            row["pointer"] = pointer
            above = rows[row["parent"]].get("pointer", "") if row["parent"] >= 0 else ""
            if above != pointer:
                row["place"] = f"…{pointer[len(above) :]}" if above and pointer.startswith(f"{above}/") else pointer
    return rows


def tail(text: bytes, width: int = TEXT) -> str:
    """The end of `text` in at most `width` characters."""
    shown = glyph(text[-4 * width :])
    return shown if len(shown) <= width and len(text) <= 4 * width else "…" + shown[-width + 1 :]


def dots(dotted: str, most: int = 3) -> list[list[str]]:
    """The dotted rules of an item, [before, after] the dot each; those in which something comes next are first."""
    sides = [split_dot(rule) or (rule,) for rule in split_rules(dotted)]
    sides.sort(key=lambda found: len(found) == 2 and not found[1])
    return [[clip(side, DOT_WIDTH) for side in found] for found in sides[:most]]
