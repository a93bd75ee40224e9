"""The layouts of models' calls, each registered by its name.

Blanks around arguments that stand between markers belong to the style (`../structural_tag/styles.py`), so a line feed
behind a marker or in front of the next one is free.

Read on: `pieces.py` (what layouts are made of), `registry.py` (templates by name).
"""

from __future__ import annotations

from xml.sax.saxutils import escape

from .pieces import (
    arguments,
    call_list,
    call_section,
    call_tags,
    calls_in_text,
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

_THINK = ("<think>", "</think>")


# -- each call is a tag in free text, with JSON in it: Llama 3, Qwen 3, Hermes, EXAONE, Mistral -----------------------


@register_model_structural_tag("llama")
def llama(request: Request) -> Format:
    """Llama 3.1 and later: `{"name": "f", "parameters": {...}}` in plain text; it does not reason."""
    tags = call_tags(request, lambda tool: f'{{"name": {name_in_json(tool)}, "parameters": ', "}")
    if not tags and not request.no_calls:
        return request.text_without(*_THINK)  # the trigger is JSON like any other
    return calls_in_text(request, '{"name": ', tags, _THINK)


def _tool_call_tags(request: Request) -> list[Format]:
    return call_tags(
        request, lambda tool: f'<tool_call>\n{{"name": {name_in_json(tool)}, "arguments": ', "}\n</tool_call>"
    )


@register_model_structural_tag("hermes")
def hermes(request: Request) -> Format:
    """Hermes 2 and 3: JSON between `<tool_call>` and `</tool_call>`, on lines of its own; no reasoning."""
    return calls_in_text(request, "<tool_call>", _tool_call_tags(request))


@register_model_structural_tag("qwen_3")
def qwen_3(request: Request) -> Format:
    """Qwen 3: calls as in Hermes, after a reasoning block that ends with `</think>` and an empty line."""
    answer = calls_in_text(request, "<tool_call>", _tool_call_tags(request), _THINK)
    return reasoned(request, answer, *_THINK, gap="\n\n", excludes=())


@register_model_structural_tag("exaone")
def exaone(request: Request) -> Format:
    """EXAONE 4: as Qwen 3, each call on one line."""
    tags = call_tags(request, lambda tool: f'<tool_call>{{"name": {name_in_json(tool)}, "arguments": ', "}</tool_call>")
    return reasoned(request, calls_in_text(request, "<tool_call>", tags, _THINK), *_THINK, gap="\n\n")


@register_model_structural_tag("mistral")
def mistral(request: Request) -> Format:
    """Mistral with the Tekken tokenizer: `[TOOL_CALLS]f[ARGS]{...}` for each call, and nothing behind the calls."""
    marker = "[TOOL_CALLS]"
    tags = call_tags(request, lambda tool: f"{marker}{tool.plain_name}[ARGS]", "")
    text = request.text_without(marker, "[THINK]", "[/THINK]")
    if not tags:
        answer = text
    else:
        calls = call_list(request, tags)
        answer = calls if request.at_least_one else sequence(text, optional(calls))
    return reasoned(request, answer, "[THINK]", "[/THINK]")


# -- all calls are in one section, the last thing of a turn: DeepSeek R1 and V3.1, Kimi K2 ----------------------------


@register_model_structural_tag("deepseek_r1")
def deepseek_r1(request: Request) -> Format:
    """DeepSeek R1 and V3: each call names its type and function, with the arguments in a fenced block."""
    tags = call_tags(
        request,
        lambda tool: f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{tool.plain_name}\n```json\n",
        "\n```<｜tool▁call▁end｜>",
    )
    answer = call_section(
        request, "<｜tool▁calls▁begin｜>", tags, "<｜tool▁calls▁end｜>", separator="\n", excludes=_THINK
    )
    return reasoned(request, answer, *_THINK, excludes=())


@register_model_structural_tag("deepseek_v3_1")
def deepseek_v3_1(request: Request) -> Format:
    """DeepSeek V3.1: name, separator, arguments; calls follow each other directly."""
    tags = call_tags(
        request, lambda tool: f"<｜tool▁call▁begin｜>{tool.plain_name}<｜tool▁sep｜>", "<｜tool▁call▁end｜>"
    )
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


# -- arguments between markers: Qwen 3.5, Coder, MiMo, GLM, MiniMax, DeepSeek V3.2 and V4, Kimi K3, Gemma 4 -----------


@register_model_structural_tag("qwen_3_5", "qwen_3_coder")
def qwen_3_5(request: Request) -> Format:
    """Qwen 3.5 and Qwen 3 Coder: `<tool_call>`, `<function=f>`, one `<parameter=k>` for each argument."""
    tags = call_tags(
        request, lambda tool: f"<tool_call>\n<function={tool.plain_name}>\n", "</function>\n</tool_call>", "qwen_xml"
    )
    return reasoned(request, calls_in_text(request, "<tool_call>", tags, _THINK), *_THINK, gap="\n\n", excludes=())


@register_model_structural_tag("mimo")
def mimo(request: Request) -> Format:
    """MiMo: the markers of Qwen 3.5 on one line; it opens its reasoning block itself."""
    tags = call_tags(
        request, lambda tool: f"<tool_call><function={tool.plain_name}>", "</function></tool_call>", "qwen_xml"
    )
    parts = ("</tool_call>", "<function=")
    answer = calls_in_text(request, "<tool_call>", tags, (*_THINK, *parts))
    return reasoned(request, answer, *_THINK, opened=False, excludes=("<tool_call>", *parts))


@register_model_structural_tag("glm_4_7")
def glm_4_7(request: Request) -> Format:
    """GLM 4.7: `<tool_call>f`, then keys and values, each between markers of its own."""
    tags = call_tags(request, lambda tool: f"<tool_call>{tool.plain_name}", "</tool_call>", "glm_xml")
    parts = ("</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")
    answer = calls_in_text(request, "<tool_call>", tags, (*_THINK, *parts))
    return reasoned(request, answer, *_THINK, excludes=("<tool_call>", *parts))


@register_model_structural_tag("minimax", "minimax_m2")
def minimax(request: Request) -> Format:
    """MiniMax M2: all calls in one section, each an `<invoke>`.

    Its prompts open a reasoning block, so without reasoning the model may begin with closing it.
    """
    tags = call_tags(request, lambda tool: f'<invoke name="{tool.plain_name}">\n', "</invoke>\n", "minimax_xml")
    answer = call_section(request, "<minimax:tool_call>\n", tags, "</minimax:tool_call>", lead="\n", excludes=_THINK)
    if request.reasoning == "disabled":
        return sequence(optional(sequence(const(f"\n{_THINK[1]}\n\n"), optional(const("\n\n")))), answer)
    return reasoned(request, answer, *_THINK, gap="\n\n")


@register_model_structural_tag("minimax_m3")
def minimax_m3(request: Request) -> Format:
    """MiniMax M3: the same with a mark in front of each marker, and with values inside values as elements, too."""
    mark = "]<]minimax[>["
    tags = call_tags(
        request, lambda tool: f'{mark}<invoke name="{tool.plain_name}">', f"{mark}</invoke>\n", "minimax_m3_xml"
    )
    think = ("<mm:think>", "</mm:think>")
    parts = (f"{mark}</tool_call>", f"{mark}<invoke", f"{mark}</invoke>")
    begin = f"{mark}<tool_call>"
    answer = call_section(request, f"{begin}\n", tags, parts[0], excludes=(*think, *parts))
    return reasoned(request, answer, *think, excludes=(begin, *parts))


def _deepseek(request: Request, mark: str, section: str, style: str) -> Format:
    tags = call_tags(request, lambda tool: f'<{mark}invoke name="{tool.plain_name}">\n', f"</{mark}invoke>\n", style)
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
    tags = call_tags(request, lambda tool: f"<|tool_call>call:{tool.plain_name}", "<tool_call|>", "gemma")
    channel = ("<|channel>", "<channel|>")
    answer = calls_in_text(request, "<|tool_call>", tags, channel)
    return reasoned(request, answer, "<|channel>thought\n", "<channel|>", opened=False)


# -- Cohere's Command models: a JSON list of actions, or nested elements ----------------------------------------------


_COHERE_THINK = ("<|START_THINKING|>", "<|END_THINKING|>")
_COHERE_TEXT = ("<|START_TEXT|>", "<|END_TEXT|>")


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
    answer = call_section(
        request, "<cofl:tool_calls>", tags, "</cofl:tool_calls>", excludes=(*_COHERE_THINK, *_COHERE_TEXT)
    )
    if not request.at_least_one:
        spoken = tag(_COHERE_TEXT[0], request.text_without("<cofl:tool_calls>"), _COHERE_TEXT[1])
        answer = sequence(optional(spoken), answer)
    return reasoned(request, answer, *_COHERE_THINK)


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
    return reasoned(request, one_of(ways), *_COHERE_THINK, opened=False)


# -- OpenAI Harmony (gpt-oss) -----------------------------------------------------------------------------------------
# A turn is messages on channels; the prompt ends with `<|start|>assistant`.  Reasoning goes to the channel "analysis",
# the answer to "final", a call to "commentary" with a recipient, which may stand in front of the channel or behind it.
# A tool of the model's own is called by its name, and its input is `code`.


_NEXT = "<|start|>assistant"


@register_model_structural_tag("harmony")
def harmony(request: Request) -> Format:
    """Messages of reasoning and commentary, then the answer or calls; `<|call|>` ends a call."""
    said = request.said("<|start|>", "<|channel|>", "<|call|>")
    before = [tag("<|channel|>commentary<|message|>", said, "<|end|>")]
    if request.reasoning != "disabled":
        before.append(tag("<|channel|>analysis<|message|>", said, "<|end|>"))
    messages: Format = {"type": "star", "content": sequence(one_of(before), const(_NEXT))}
    calls = [
        tag(begin, arguments(request, tool), "<|call|>")
        for tool in request.tools
        for begin in (
            f"<|channel|>commentary to=functions.{tool.plain_name} <|constrain|>json<|message|>",
            f"<|channel|>commentary to=functions.{tool.plain_name}<|constrain|>json<|message|>",
            f"<|channel|>commentary to=functions.{tool.plain_name}<|message|>",
            f" to=functions.{tool.plain_name}<|channel|>commentary <|constrain|>json<|message|>",
            f" to=functions.{tool.plain_name}<|channel|>commentary json<|message|>",
        )
    ]
    calls += [
        tag(begin, arguments(request, tool), "<|call|>")
        for tool in request.own_tools
        for begin in (
            f"<|channel|>commentary to={tool.plain_name} code<|message|>",
            f" to={tool.plain_name}<|channel|>commentary code<|message|>",
        )
    ]
    ways: list[Format] = []
    if calls:
        ways.append(call_list(request, calls, _NEXT))
    if not request.at_least_one:
        ways.append(sequence(const("<|channel|>final<|message|>"), said))
    return sequence(messages, one_of(ways))
