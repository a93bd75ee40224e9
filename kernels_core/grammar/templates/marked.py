"""Models that write arguments between markers: Qwen 3.5 and Qwen 3 Coder, MiMo, GLM 4.7, MiniMax M2 and M3, DeepSeek
V3.2 and V4, Kimi K3, Gemma 4.

Blanks around arguments belong to the style, so a line feed behind a marker or in front of the next one is free.

Read on: `../structural_tag/styles.py` (the markers), `cohere.py`, `harmony.py`.
"""

from __future__ import annotations

from .pieces import (
    arguments,
    call_list,
    call_section,
    calls_in_text,
    const,
    number,
    optional,
    reasoned,
    sequence,
    tag,
)
from .registry import Format, register_model_structural_tag
from .request import Request

__all__: list[str] = []

_THINK = ("<think>", "</think>")


@register_model_structural_tag("qwen_3_5", "qwen_3_coder")
def qwen_3_5(request: Request) -> Format:
    """Qwen 3.5 and Qwen 3 Coder: `<tool_call>`, `<function=f>`, one `<parameter=k>` for each argument."""
    tags = [
        tag(
            f"<tool_call>\n<function={tool.plain_name}>\n",
            arguments(request, tool, "qwen_xml"),
            "</function>\n</tool_call>",
        )
        for tool in request.tools
    ]
    return reasoned(request, calls_in_text(request, "<tool_call>", tags, _THINK), *_THINK, gap="\n\n", excludes=())


@register_model_structural_tag("mimo")
def mimo(request: Request) -> Format:
    """MiMo: the markers of Qwen 3.5 on one line; it opens its reasoning block itself."""
    tags = [
        tag(f"<tool_call><function={tool.plain_name}>", arguments(request, tool, "qwen_xml"), "</function></tool_call>")
        for tool in request.tools
    ]
    parts = ("</tool_call>", "<function=")
    answer = calls_in_text(request, "<tool_call>", tags, (*_THINK, *parts))
    return reasoned(request, answer, *_THINK, opened=False, excludes=("<tool_call>", *parts))


@register_model_structural_tag("glm_4_7")
def glm_4_7(request: Request) -> Format:
    """GLM 4.7: `<tool_call>f`, then keys and values, each between markers of its own."""
    tags = [
        tag(f"<tool_call>{tool.plain_name}", arguments(request, tool, "glm_xml"), "</tool_call>")
        for tool in request.tools
    ]
    parts = ("</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")
    answer = calls_in_text(request, "<tool_call>", tags, (*_THINK, *parts))
    return reasoned(request, answer, *_THINK, excludes=("<tool_call>", *parts))


@register_model_structural_tag("minimax", "minimax_m2")
def minimax(request: Request) -> Format:
    """MiniMax M2: all calls in one section, each an `<invoke>`.

    Its prompts open a reasoning block, so without reasoning the model may begin with closing it.
    """
    tags = [
        tag(f'<invoke name="{tool.plain_name}">\n', arguments(request, tool, "minimax_xml"), "</invoke>\n")
        for tool in request.tools
    ]
    answer = call_section(request, "<minimax:tool_call>\n", tags, "</minimax:tool_call>", lead="\n", excludes=_THINK)
    if request.reasoning == "disabled":
        return sequence(optional(sequence(const(f"\n{_THINK[1]}\n\n"), optional(const("\n\n")))), answer)
    return reasoned(request, answer, *_THINK, gap="\n\n")


@register_model_structural_tag("minimax_m3")
def minimax_m3(request: Request) -> Format:
    """MiniMax M3: the same with a mark in front of each marker, and with values inside values as elements, too."""
    mark = "]<]minimax[>["
    tags = [
        tag(
            f'{mark}<invoke name="{tool.plain_name}">', arguments(request, tool, "minimax_m3_xml"), f"{mark}</invoke>\n"
        )
        for tool in request.tools
    ]
    think = ("<mm:think>", "</mm:think>")
    parts = (f"{mark}</tool_call>", f"{mark}<invoke", f"{mark}</invoke>")
    begin = f"{mark}<tool_call>"
    answer = call_section(request, f"{begin}\n", tags, parts[0], excludes=(*think, *parts))
    return reasoned(request, answer, *think, excludes=(begin, *parts))


def _deepseek(request: Request, mark: str, section: str, style: str) -> Format:
    tags = [
        tag(f'<{mark}invoke name="{tool.plain_name}">\n', arguments(request, tool, style), f"</{mark}invoke>\n")
        for tool in request.tools
    ]
    answer = call_section(request, f"<{mark}{section}>\n", tags, f"</{mark}{section}>", lead="\n\n", excludes=_THINK)
    return reasoned(request, answer, *_THINK, excludes=())


@register_model_structural_tag("deepseek_v3_2")
def deepseek_v3_2(request: Request) -> Format:
    """DeepSeek V3.2: one section `function_calls`; each argument says whether it is a string."""
    return _deepseek(request, "｜DSML｜", "function_calls", "deepseek_xml")


@register_model_structural_tag("deepseek_v4")
def deepseek_v4(request: Request) -> Format:
    """DeepSeek V4: the same, the section is called `tool_calls`."""
    return _deepseek(request, "｜DSML｜", "tool_calls", "deepseek_xml")


@register_model_structural_tag("deepseek_v4_1")
def deepseek_v4_1(request: Request) -> Format:
    """DeepSeek V4.1: the section is called `calls`, and a blank follows the mark."""
    return _deepseek(request, "｜DSML｜ ", "calls", "deepseek_v4_1_xml")


@register_model_structural_tag("kimi_k3")
def kimi_k3(request: Request) -> Format:
    """Kimi K3: a reasoning channel, a response, then the calls; nothing inside them holds a mark."""
    marks = ("<|open|>", "<|close|>", "<|sep|>")

    def closing(name: str) -> str:
        return f"<|close|>{name}<|sep|>"

    def channel(name: str, begin: str) -> Format:
        return tag(begin, request.text_without(*marks[:2]), closing(name))

    calls = [
        tag(
            f'<|open|>call tool="{tool.plain_name}" index="',
            sequence(number(), const('"<|sep|>'), arguments(request, tool, "kimi_k3_xml", marks)),
            closing("call"),
        )
        for tool in request.tools
    ]
    parts: list[Format] = []
    match request.reasoning:
        case "enabled":
            parts.append(channel("think", ""))
        case "auto":
            parts.append(optional(channel("think", "<|open|>think<|sep|>")))
    # Without reasoning the prompt has opened the response.
    parts.append(channel("response", "" if request.reasoning == "disabled" else "<|open|>response<|sep|>"))
    if calls:
        section = tag("<|open|>tools<|sep|>", call_list(request, calls), closing("tools"))
        parts.append(section if request.at_least_one else optional(section))
    return sequence(*parts, const(closing("message")))


@register_model_structural_tag("gemma", "gemma_4")
def gemma(request: Request) -> Format:
    """Gemma 4: `<|tool_call>call:f{...}<tool_call|>` with bare names; reasoning in a channel that it opens itself."""
    tags = [
        tag(f"<|tool_call>call:{tool.plain_name}", arguments(request, tool, "gemma"), "<tool_call|>")
        for tool in request.tools
    ]
    channel = ("<|channel>", "<channel|>")
    answer = calls_in_text(request, "<|tool_call>", tags, channel)
    return reasoned(request, answer, "<|channel>thought\n", "<channel|>", opened=False)
