"""The call stack: where in the grammar the text is, as a line of crumbs and a row for each level.

Read on: `kernels_core/inspect/derivation.py` (`call_stack`), `visualizers/esm/stack.js`, `workbench/panels/stack.py`.
"""

from __future__ import annotations

from typing import Any, Final

import traitlets as t

from kernels_core.inspect.derivation import CallStack, StackLevel
from visualizers.glyphs import clip, glyph, html_escape, split_dot, split_rules
from visualizers.live_base import LiveView, Traits, synced
from visualizers.tables import card, table

__all__ = ["StackView", "stack_html"]

MAX_LEVELS: Final = 160
TEXT: Final = 32  # characters of a level's text
DOT_WIDTH: Final = 150


class StackView(LiveView[CallStack]):
    """`show(call_stack(matcher))` shows the stacks; `stack` is the one that is lit.

    A click on a level sets `selection["rule"]` to its rule.
    """

    _module = "stack"
    _styles = ("stack",)
    _height = 320
    _placed = ("about", "levels", "stacks")

    about = synced(t.Dict())
    levels = synced(t.List())
    stacks = synced(t.List())
    stack = synced(t.Int(0))
    selection = synced(t.Dict())

    def traits_of(self, snapshot: CallStack) -> Traits:
        about = {
            "position": snapshot.position,
            "total": snapshot.total,
            "exact": snapshot.exact,
            "levels": len(snapshot.levels),
        }
        levels = [_level(level, snapshot.text) for level in snapshot.levels[:MAX_LEVELS]]
        stacks = [list(stack) for stack in snapshot.stacks if stack[-1] < MAX_LEVELS]
        return {"about": about, "levels": levels, "stacks": stacks}

    def static_html(self) -> str:
        return stack_html(self._shown) if self._shown is not None else "<i>no call stack shown yet</i>"

    def __repr__(self) -> str:
        return f"StackView({self._shown!r})" if self._shown is not None else "StackView(empty)"


def tail(text: bytes, width: int = TEXT) -> str:
    """The end of `text` in at most `width` characters."""
    shown = glyph(text[-4 * width :])
    return shown if len(shown) <= width and len(text) <= 4 * width else "…" + shown[-width + 1 :]


def dots(dotted: str, most: int = 3) -> list[list[str]]:
    """The dotted rules of an item, [before, after] the dot each; those in which something comes next are first."""
    sides = [split_dot(rule) or (rule,) for rule in split_rules(dotted)]
    sides.sort(key=lambda found: len(found) == 2 and not found[1])
    return [[clip(side, DOT_WIDTH) for side in found] for found in sides[:most]]


def _level(level: StackLevel, text: bytes) -> dict[str, Any]:
    return {
        "parent": level.parent,
        "depth": level.depth,
        "rule": level.rule,
        "label": clip(level.label, TEXT),
        "dots": dots(level.dot),
        "begin": level.begin,
        "text": tail(text[level.begin : level.end]),
        "predicted": level.predicted,
        "waits": level.waits,
        "omitted": level.omitted,
        "span": list(level.span) if level.span is not None else None,
    }


def stack_html(snapshot: CallStack, *, limit: int = 60) -> str:
    """The first stack as crumbs, and all levels as a table."""
    rows = []
    for level in snapshot.levels[:limit]:
        label = f"{html_escape(level.label)}: " if level.label else ""
        rows.append(
            [
                "&nbsp;" * (2 * level.depth) + label + html_escape(level.rule),
                f"{level.begin:,}",
                html_escape(tail(snapshot.text[level.begin : level.end])),
                html_escape(clip(split_rules(level.dot)[0] if level.dot else "", DOT_WIDTH)),
            ]
        )
    count = f"{'' if snapshot.exact else 'at least '}{snapshot.total:,} stack{'' if snapshot.total == 1 else 's'}"
    facts = [f"after {snapshot.position:,} bytes", count, f"{len(snapshot.stacks)} listed"]
    crumbs = f'<div style="font-size:13px;padding:2px 0 6px">{html_escape(snapshot.crumbs())}</div>'
    body = table(["level", "began at", "read", "waits at"], rows, align="lrll", mono=(0, 1, 2, 3))
    return card("Call stack", facts, crumbs + body)
