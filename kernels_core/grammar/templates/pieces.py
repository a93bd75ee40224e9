"""What call formats are made of: constants, tags, arguments, reasoning blocks, calls in free text.

Read on: `thinking.py`, `sections.py`, `harmony.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from .registry import Format
from .request import Request, Tool

__all__ = ["any_text", "arguments", "calls_in_text", "const", "name_in_json", "one_of", "reasoned", "sequence", "tag"]


def const(value: str) -> Format:
    """Exactly this text."""
    return {"type": "const_string", "value": value}


def any_text(*excludes: str) -> Format:
    """Free text without any of `excludes`."""
    return {"type": "any_text", "excludes": list(excludes)}


def tag(begin: str, content: Format, end: str) -> Format:
    """`begin`, `content`, `end`."""
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def sequence(*elements: Format) -> Format:
    """One after the other."""
    return elements[0] if len(elements) == 1 else {"type": "sequence", "elements": list(elements)}


def one_of(elements: Sequence[Format]) -> Format:
    """Any of them."""
    return elements[0] if len(elements) == 1 else {"type": "or", "elements": list(elements)}


def arguments(request: Request, tool: Tool) -> Format:
    """A tool's arguments as JSON."""
    return {"type": "json_schema", "json_schema": tool.schema, **request.schema_options}


def name_in_json(tool: Tool) -> str:
    """A tool's name as a JSON string."""
    return json.dumps(tool.name, ensure_ascii=False)


def calls_in_text(request: Request, trigger: str, tags: Sequence[Format], excludes: Sequence[str] = ()) -> Format:
    """Free text with `tags`, as many as the request asks for; all begin with `trigger`, which nothing else does."""
    if not tags:
        return any_text(trigger, *excludes)
    return {
        "type": "triggered_tags",
        "triggers": [trigger],
        "tags": list(tags),
        "excludes": list(excludes),
        "at_least_one": request.at_least_one,
        "stop_after_first": request.at_most_one,
    }


def reasoned(request: Request, answer: Format, opening: str, closing: str, gap: str = "") -> Format:
    """A reasoning block in front of `answer`, as the request wants it; `gap` stands between them."""
    match request.reasoning:
        case "disabled":
            return answer
        case "enabled":
            return sequence(tag("", any_text(), closing), *([const(gap)] if gap else []), answer)
        case "auto":
            block = sequence(tag(opening, any_text(), closing), *([const(gap)] if gap else []))
            return sequence({"type": "optional", "content": block}, answer)
