"""Models that write all calls in one section, the last thing of a turn: DeepSeek R1 and V3.1, Kimi K2.

Read on: `harmony.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from .pieces import any_text, arguments, const, reasoned, sequence, tag
from .registry import Format, register_model_structural_tag
from .request import Request

__all__: list[str] = []

_THINK = ("<think>", "</think>")


def _section(request: Request, begin: str, tags: Sequence[Format], separator: str, end: str) -> Format:
    """Free text, then the section; only the section where a call is required."""
    if not tags:
        return any_text(begin, *_THINK)
    listed: Format = {
        "type": "tags_with_separator",
        "tags": list(tags),
        "separator": separator,
        "at_least_one": True,
        "stop_after_first": request.at_most_one,
    }
    return {
        "type": "triggered_tags",
        "triggers": [begin],
        "tags": [tag(begin, listed, end)],
        "excludes": list(_THINK),
        "at_least_one": request.at_least_one,
        "stop_after_first": True,
    }


@register_model_structural_tag("deepseek_r1")
def deepseek_r1(request: Request) -> Format:
    """DeepSeek R1 and V3: each call names its type and function, with the arguments in a fenced block."""
    tags = [
        tag(
            f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{tool.name}\n```json\n",
            arguments(request, tool),
            "\n```<｜tool▁call▁end｜>",
        )
        for tool in request.tools
    ]
    answer = _section(request, "<｜tool▁calls▁begin｜>", tags, "\n", "<｜tool▁calls▁end｜>")
    return reasoned(request, answer, *_THINK)


@register_model_structural_tag("deepseek_v3_1")
def deepseek_v3_1(request: Request) -> Format:
    """DeepSeek V3.1: name, separator, arguments; calls follow each other directly."""
    tags = [
        tag(f"<｜tool▁call▁begin｜>{tool.name}<｜tool▁sep｜>", arguments(request, tool), "<｜tool▁call▁end｜>")
        for tool in request.tools
    ]
    answer = _section(request, "<｜tool▁calls▁begin｜>", tags, "", "<｜tool▁calls▁end｜>")
    return reasoned(request, answer, *_THINK)


@register_model_structural_tag("kimi", "kimi_k2")
def kimi_k2(request: Request) -> Format:
    """Kimi K2: each call has an id, `functions.f:` and a number."""
    tags = [
        tag(
            f"<|tool_call_begin|>functions.{tool.name}:",
            sequence(
                {"type": "regex", "pattern": "[0-9]+"},
                const("<|tool_call_argument_begin|>"),
                arguments(request, tool),
            ),
            "<|tool_call_end|>",
        )
        for tool in request.tools
    ]
    answer = _section(request, "<|tool_calls_section_begin|>", tags, "", "<|tool_calls_section_end|>")
    return reasoned(request, answer, *_THINK)
