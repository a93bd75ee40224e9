"""Models that write each call as a tag in free text, with JSON in it: Llama 3, Qwen 3, Hermes, EXAONE, Mistral.

Read on: `sections.py` (calls in one section), `marked.py` (arguments between markers), `harmony.py` (messages).
"""

from __future__ import annotations

from .pieces import arguments, call_list, calls_in_text, name_in_json, optional, reasoned, sequence, tag
from .registry import Format, register_model_structural_tag
from .request import Request

__all__: list[str] = []

_THINK = ("<think>", "</think>")


@register_model_structural_tag("llama")
def llama(request: Request) -> Format:
    """Llama 3.1 and later: `{"name": "f", "parameters": {...}}` in plain text; it does not reason."""
    tags = [
        tag(f'{{"name": {name_in_json(tool)}, "parameters": ', arguments(request, tool), "}") for tool in request.tools
    ]
    if not tags and not request.no_calls:
        return request.text_without(*_THINK)  # the trigger is JSON like any other
    return calls_in_text(request, '{"name": ', tags, _THINK)


def _tool_call_tags(request: Request) -> list[Format]:
    return [
        tag(
            f'<tool_call>\n{{"name": {name_in_json(tool)}, "arguments": ',
            arguments(request, tool),
            "}\n</tool_call>",
        )
        for tool in request.tools
    ]


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
    tags = [
        tag(f'<tool_call>{{"name": {name_in_json(tool)}, "arguments": ', arguments(request, tool), "}</tool_call>")
        for tool in request.tools
    ]
    return reasoned(request, calls_in_text(request, "<tool_call>", tags, _THINK), *_THINK, gap="\n\n")


@register_model_structural_tag("mistral")
def mistral(request: Request) -> Format:
    """Mistral with the Tekken tokenizer: `[TOOL_CALLS]f[ARGS]{...}` for each call, and nothing behind the calls."""
    marker = "[TOOL_CALLS]"
    tags = [tag(f"{marker}{tool.plain_name}[ARGS]", arguments(request, tool), "") for tool in request.tools]
    text = request.text_without(marker, "[THINK]", "[/THINK]")
    if not tags:
        answer = text
    else:
        calls = call_list(request, tags)
        answer = calls if request.at_least_one else sequence(text, optional(calls))
    return reasoned(request, answer, "[THINK]", "[/THINK]")
