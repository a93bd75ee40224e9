"""The grammar's text in an editor, with the rules at work lit in the gutter.

Read on: `visualizers/esm/editor.js`, `workbench/desk.py`.
"""

from __future__ import annotations

from typing import Any

from visualizers.editor import EditorView
from workbench.panels.base import Desk, Panel
from workbench.session import Change, Session
from workbench.strip import grammar_html

__all__ = ["SourcePanel", "editor_state", "lit_lines"]


def lit_lines(source: str, spans: list[tuple[int, int]]) -> list[int]:
    """The 1-based lines of `source` touched by the character ranges `spans`, ascending."""
    lines: set[int] = set()
    for start, end in spans:
        start, end = max(0, start), min(end, len(source))
        while end > start and source[end - 1].isspace():
            end -= 1
        if start < end:
            first = source.count("\n", 0, start) + 1
            lines.update(range(first, first + source.count("\n", start, end) + 1))
    return sorted(lines)


def editor_state(session: Session) -> dict[str, Any]:
    """The grammar editor's state: the text it holds, the mistake in it (if any), the rules at work."""
    draft, rules = session.draft, len(session.grammar.ir.rules)
    state: dict[str, Any] = {
        "text": session.source if draft is None else draft.source.text,
        "ok": draft is None,
        "message": "",
        "line": None,
        "summary": f"{rules:,} rule{'' if rules == 1 else 's'} · {session.tokenizer.name}",
        "lit": [],
        "select": None,
    }
    if draft is not None:
        state["message"] = f"{draft.source.title}, {draft}"
        state["line"] = draft.mistakes[0].line
    else:
        spans = {item.span for item in session.frontier().items if item.span is not None}
        state["lit"] = lit_lines(session.source, sorted(spans))
    return state


class SourcePanel(Panel):
    """The grammar as it was typed."""

    name = "source"
    title = "Grammar"
    dock = "left_top"
    rank = 10

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: EditorView = EditorView()
        self._answer: dict[str, Any] = {}

    def update(self, change: Change | None) -> None:
        self.view.state = {**editor_state(self.session), **self._answer}

    def received(self, content: Any) -> None:
        if isinstance(content, dict) and content.get("kind") == "source":
            self._answer = {"client": content.pop("client", None), "seq": content.pop("seq", None)}
        super().received(content)

    def static_html(self) -> str:
        return grammar_html(self.session.source)
