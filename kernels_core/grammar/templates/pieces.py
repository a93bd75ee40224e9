"""What call formats are made of: constants, tags, arguments, reasoning blocks, calls in free text or in a section.

Read on: `layouts.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from ..json_schema.closing import can_close
from .registry import Format
from .request import Request, Tool


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


def arguments(request: Request, tool: Tool, style: str = "json", excludes: Sequence[str] = ()) -> Format:
    """A tool's arguments, as JSON or in another style.

    A strict tool's objects are closed, whatever the request's options say, if that does nothing else.  No string in
    the arguments holds any of `excludes`, unless the request lets text hold markers.
    """
    found: Format = {"type": "json_schema", "json_schema": tool.schema, **request.schema_options}
    if tool.strict and can_close(tool.schema):
        found["strict_mode"] = True
    if style != "json":
        found["style"] = style
    if kept_out := request.kept_out(excludes):
        found["excludes"] = kept_out
    return found


def call_tags(request: Request, begin: Callable[[Tool], str], end: str, style: str = "json") -> list[Format]:
    """A tag for each tool: how its calls begin, its arguments, and `end`."""
    return [tag(begin(tool), arguments(request, tool, style), end) for tool in request.tools]


def optional(content: Format) -> Format:
    """It, or nothing."""
    return {"type": "optional", "content": content}


def number() -> Format:
    """Decimal digits."""
    return {"type": "regex", "pattern": "[0-9]+"}


def name_in_json(tool: Tool) -> str:
    """A tool's name as a JSON string."""
    return json.dumps(tool.name, ensure_ascii=False)


def calls_in_text(request: Request, trigger: str, tags: Sequence[Format], excludes: Sequence[str] = ()) -> Format:
    """Free text with `tags`, as many as the request asks for; all begin with `trigger`, which nothing else does.

    Where a call is required there are calls alone, each on a line of its own: a model that may go on with text does so
    until its budget ends.
    """
    if not tags:
        return request.text_without(trigger, *excludes)
    if request.at_least_one:
        return call_list(request, tags, "\n")
    return {
        "type": "triggered_tags",
        "triggers": [trigger],
        "tags": list(tags),
        "excludes": request.kept_out(excludes),
        "stop_after_first": request.at_most_one,
    }


def call_list(request: Request, tags: Sequence[Format], separator: str = "") -> Format:
    """One call after the other, as many as the request allows; at least one."""
    return {
        "type": "tags_with_separator",
        "tags": list(tags),
        "separator": separator,
        "at_least_one": True,
        "stop_after_first": request.at_most_one,
    }


def call_section(
    request: Request,
    begin: str,
    tags: Sequence[Format],
    end: str,
    *,
    separator: str = "",
    lead: str = "",
    excludes: Sequence[str] = (),
) -> Format:
    """Free text, and calls in sections; behind one text goes on, unless only one call is allowed.

    Where a call is required only the section is left, perhaps with `lead` in front, which models write there.
    """
    if not tags:
        return request.text_without(begin.rstrip(), *excludes)
    section = tag(begin, call_list(request, tags, separator), end)
    if request.at_least_one:
        return sequence(optional(const(lead)), section) if lead else section
    return {
        "type": "triggered_tags",
        "triggers": [begin.rstrip()],
        "tags": [section],
        "excludes": request.kept_out(excludes),
        "stop_after_first": request.at_most_one,
    }


def reasoned(
    request: Request,
    answer: Format,
    opening: str,
    closing: str,
    gap: str = "",
    *,
    opened: bool = True,
    excludes: Sequence[str] | None = None,
) -> Format:
    """A reasoning block in front of `answer`, as the request wants it; `gap` stands between them.

    `opened`: where reasoning is enabled, the prompt ends with `opening`; otherwise the model writes it.
    `excludes`: what else than its marks the block does not hold; None: a block that the prompt has opened may hold
        `opening` again.
    """
    careful = request.text_without(opening, *(excludes or ()))
    match request.reasoning:
        case "disabled":
            return answer
        case "enabled":
            begin = "" if opened else opening
            inside = any_text() if opened and excludes is None else careful
            return sequence(tag(begin, inside, closing), *([const(gap)] if gap else []), answer)
        case "auto":
            block = sequence(tag(opening, careful, closing), *([const(gap)] if gap else []))
            return sequence(optional(block), answer)
