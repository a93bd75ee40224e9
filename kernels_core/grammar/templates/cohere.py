"""Cohere's Command models: calls as a JSON list of actions, or as nested elements.

Read on: `harmony.py`.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

from .pieces import (
    arguments,
    call_list,
    call_section,
    const,
    name_in_json,
    number,
    one_of,
    optional,
    reasoned,
    sequence,
    tag,
)
from .registry import Format, register_model_structural_tag
from .request import Request

__all__: list[str] = []

_THINK = ("<|START_THINKING|>", "<|END_THINKING|>")
_TEXT = ("<|START_TEXT|>", "<|END_TEXT|>")


@register_model_structural_tag("cohere")
def cohere(request: Request) -> Format:
    """Calls in `<cofl:tool_calls>`, each with a number, and values inside values as elements."""
    tags = [
        tag(
            '<cofl:tool_call id="',
            sequence(
                number(),
                const(f'" name="{escape(tool.name, {chr(34): "&quot;"})}">'),
                arguments(request, tool, "cohere_xml"),
            ),
            "</cofl:tool_call>",
        )
        for tool in request.tools
    ]
    answer = call_section(request, "<cofl:tool_calls>", tags, "</cofl:tool_calls>", excludes=(*_THINK, *_TEXT))
    if not request.at_least_one:
        spoken = tag(_TEXT[0], request.text_without("<cofl:tool_calls>"), _TEXT[1])
        answer = sequence(optional(spoken), answer)
    return reasoned(request, answer, *_THINK)


@register_model_structural_tag("command_a")
def command_a(request: Request) -> Format:
    """Command R7B and Command A: a list of actions as JSON, or a response; both between markers."""
    tags = [
        tag(
            '    {"tool_call_id": "',
            sequence(
                number(),
                const(f'", "tool_name": {name_in_json(tool)}, "parameters": '),
                arguments(request, tool),
            ),
            "}",
        )
        for tool in request.tools
    ]
    ways: list[Format] = []
    if tags:
        ways.append(tag("<|START_ACTION|>[\n", call_list(request, tags, ",\n"), "\n]<|END_ACTION|>"))
    if not request.at_least_one:
        said = request.said("<|START_ACTION|>")
        ways += [tag(f"<|START_{name}|>", said, f"<|END_{name}|>") for name in ("RESPONSE", "TEXT")]
    return reasoned(request, one_of(ways), *_THINK, opened=False)
