"""Models that write all calls in one section, the last thing of a turn: DeepSeek R1 and V3.1, Kimi K2.

Read on: `marked.py` (sections with arguments between markers).
"""

from __future__ import annotations

from .pieces import arguments, call_section, const, number, reasoned, sequence, tag
from .registry import Format, register_model_structural_tag
from .request import Request

__all__: list[str] = []

_THINK = ("<think>", "</think>")


@register_model_structural_tag("deepseek_r1")
def deepseek_r1(request: Request) -> Format:
    """DeepSeek R1 and V3: each call names its type and function, with the arguments in a fenced block."""
    tags = [
        tag(
            f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{tool.plain_name}\n```json\n",
            arguments(request, tool),
            "\n```<｜tool▁call▁end｜>",
        )
        for tool in request.tools
    ]
    answer = call_section(
        request, "<｜tool▁calls▁begin｜>", tags, "<｜tool▁calls▁end｜>", separator="\n", excludes=_THINK
    )
    return reasoned(request, answer, *_THINK, excludes=())


@register_model_structural_tag("deepseek_v3_1")
def deepseek_v3_1(request: Request) -> Format:
    """DeepSeek V3.1: name, separator, arguments; calls follow each other directly."""
    tags = [
        tag(f"<｜tool▁call▁begin｜>{tool.plain_name}<｜tool▁sep｜>", arguments(request, tool), "<｜tool▁call▁end｜>")
        for tool in request.tools
    ]
    answer = call_section(request, "<｜tool▁calls▁begin｜>", tags, "<｜tool▁calls▁end｜>", excludes=_THINK)
    return reasoned(request, answer, *_THINK, excludes=())


@register_model_structural_tag("kimi", "kimi_k2")
def kimi_k2(request: Request) -> Format:
    """Kimi K2: each call has an id, `functions.f:` and a number."""
    tags = [
        tag(
            f"<|tool_call_begin|>functions.{tool.plain_name}:",
            sequence(
                number(),
                const("<|tool_call_argument_begin|>"),
                arguments(request, tool),
            ),
            "<|tool_call_end|>",
        )
        for tool in request.tools
    ]
    excludes = (*_THINK, "<|tool_call_begin|>")
    marks = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")
    answer = call_section(request, marks[0], tags, marks[1], excludes=excludes)
    return reasoned(request, answer, *_THINK)
