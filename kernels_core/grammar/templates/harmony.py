"""OpenAI Harmony (gpt-oss): a turn is messages on channels; the prompt ends with `<|start|>assistant`.

Reasoning goes to the channel "analysis", the answer to "final", a call to "commentary" with a recipient, which may
stand in front of the channel or behind it.  A tool of the model's own is called by its name, and its input is `code`.
"""

from __future__ import annotations

from .pieces import arguments, call_list, const, one_of, sequence, tag
from .registry import Format, register_model_structural_tag
from .request import Request

__all__: list[str] = []

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
