"""Each model template: what a model may write, with its markers as control tokens and as plain text."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from kernels_core import GrammarCompiler, GrammarError, GrammarMatcher, TokenizerInfo
from kernels_core.grammar.templates import (
    Request,
    get_model_structural_tag,
    model_templates,
    normalize_tool_choice,
    register_model_structural_tag,
)

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "parameters": {
                "type": "object",
                "properties": {"x": {"type": "integer"}},
                "required": ["x"],
                "additionalProperties": False,
            },
        },
    },
    {"type": "function", "name": "add_all"},
]
MARKERS = [
    "[TOOL_CALLS]",
    "[ARGS]",
    "[THINK]",
    "[/THINK]",
    "<|channel|>",
    "<|message|>",
    "<|end|>",
    "<|start|>",
    "<|call|>",
    "<|constrain|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_begin|>",
    "<|tool_call_end|>",
    "<|tool_call_argument_begin|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
]
BYTES = [bytes((value,)) for value in range(256)]
CALL = '{"x": 1}'


@cache
def info(control: bool) -> TokenizerInfo:
    """All bytes and the stop token; with `control` the markers, too, as control tokens."""
    names = ["<stop>", *MARKERS] if control else ["<stop>"]
    vocab = [*BYTES, *(name.encode() for name in names)]
    return TokenizerInfo(vocab, stop_token_ids=[256], special_token_ids=range(256, len(vocab)))


def tokens(text: str, control: bool) -> list[int]:
    names = "|".join(map(re.escape, sorted(MARKERS, key=len, reverse=True)))
    found: list[int] = []
    for piece in re.split(f"({names})", text):
        found += [257 + MARKERS.index(piece)] if control and piece in MARKERS else piece.encode()
    return found


def check(model: str, accepts: list[str], rejects: list[str], **request: Any) -> None:
    form = get_model_structural_tag(model, **({"tools": TOOLS, "reasoning": "disabled"} | request))
    json.dumps(form)
    for control in (True, False):
        matcher = GrammarMatcher(GrammarCompiler(info(control)).compile_structural_tag(form))

        def accepted(text: str, control: bool = control, matcher: GrammarMatcher = matcher) -> bool:
            matcher.reset()
            return all(map(matcher.accept_token, tokens(text, control))) and bool(matcher.is_completed())

        assert [text for text in accepts if not accepted(text)] == []
        assert [text for text in rejects if accepted(text)] == []


def qwen(name: str, call: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {call}}}\n</tool_call>'


def llama(name: str, call: str) -> str:
    return f'{{"name": "{name}", "parameters": {call}}}'


def mistral(name: str, call: str) -> str:
    return f"[TOOL_CALLS]{name}[ARGS]{call}"


def r1(*calls: tuple[str, str]) -> str:
    made = (f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n```json\n{c}\n```<｜tool▁call▁end｜>" for n, c in calls)
    return f"<｜tool▁calls▁begin｜>{chr(10).join(made)}<｜tool▁calls▁end｜>"


def v3_1(*calls: tuple[str, str]) -> str:
    made = (f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{call}<｜tool▁call▁end｜>" for name, call in calls)
    return f"<｜tool▁calls▁begin｜>{''.join(made)}<｜tool▁calls▁end｜>"


def kimi(*calls: tuple[str, str]) -> str:
    made = (
        f"<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{call}<|tool_call_end|>"
        for number, (name, call) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{''.join(made)}<|tool_calls_section_end|>"


def harmony(name: str, call: str) -> str:
    return f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{call}<|call|>"


ONE = {
    "llama": llama,
    "hermes": qwen,
    "qwen_3": qwen,
    "mistral": mistral,
    "deepseek_r1": lambda name, call: r1((name, call)),
    "deepseek_v3_1": lambda name, call: v3_1((name, call)),
    "kimi_k2": lambda name, call: kimi((name, call)),
    "harmony": harmony,
}
TEXT = dict.fromkeys(ONE, "Hello.") | {"harmony": "<|channel|>final<|message|>Hello."}


@pytest.mark.parametrize("model", ONE)
def test_one_call(model: str) -> None:
    call, text = ONE[model], TEXT[model]
    good = [call("add", CALL), call("add_all", "{}"), call("add_all", CALL)]
    bad = [call("add", "{}"), call("sub", "{}"), call("add", CALL)[:-1], call("add", '{"x": "1"}')]
    check(model, [text, *good], bad)
    check(model, good, [*bad, text, ""], tool_choice="required")
    check(model, good[:1], [text, *good[1:], *bad], tool_choice={"type": "function", "function": {"name": "add"}})
    check(model, [text], good if model != "llama" else [], tool_choice="none")
    some = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "name": "add"}]}}
    check(model, [text, good[0]], good[1:], tool_choice=some)


TWO = {
    "llama": llama("add", CALL) + "\n" + llama("add", CALL),
    "hermes": qwen("add", CALL) + "\n" + qwen("add_all", "{}"),
    "qwen_3": qwen("add", CALL) + "\n" + qwen("add_all", "{}"),
    "mistral": mistral("add", CALL) + mistral("add_all", "{}"),
    "deepseek_r1": r1(("add", CALL), ("add_all", "{}")),
    "deepseek_v3_1": v3_1(("add", CALL), ("add_all", "{}")),
    "kimi_k2": kimi(("add", CALL), ("add_all", "{}")),
    "harmony": harmony("add", CALL) + "<|start|>assistant" + harmony("add_all", "{}"),
}


@pytest.mark.parametrize("model", TWO)
def test_two_calls(model: str) -> None:
    check(model, [TWO[model]], [])
    check(model, [TWO[model]], [], tool_choice="required")
    check(model, [], [TWO[model]], parallel_tool_calls=False)


@pytest.mark.parametrize(
    ("model", "opening", "closing"),
    [
        ("qwen_3", "<think>", "</think>\n\n"),
        ("deepseek_r1", "<think>", "</think>"),
        ("deepseek_v3_1", "<think>", "</think>"),
        ("kimi_k2", "<think>", "</think>"),
        ("mistral", "[THINK]", "[/THINK]"),
    ],
)
def test_reasoning(model: str, opening: str, closing: str) -> None:
    call = ONE[model]("add", CALL)
    check(model, [f"Hm.{closing}Yes.", closing + call], ["Yes.", call, f"Hm.{closing}{closing}"], reasoning="enabled")
    check(model, ["Yes.", f"{opening}Hm.{closing}{call}"], [f"Hm.{closing}Yes."], reasoning="auto")
    check(model, ["Yes."], [f"{opening}Hm.{closing}Yes."], reasoning="disabled")


def test_harmony_messages() -> None:
    analysis = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
    aside = "<|channel|>commentary<|message|>One moment.<|end|><|start|>assistant"
    other = ' to=functions.add<|channel|>commentary <|constrain|>json<|message|>{"x": 1}<|call|>'
    final = TEXT["harmony"]
    check("harmony", [analysis + final, analysis + aside + other, final], [analysis], reasoning="enabled")
    check("harmony", [aside + other, final], [analysis + final], reasoning="disabled")


def test_tools_that_are_not_strict_take_any_object() -> None:
    loose = [{"type": "function", "function": TOOLS[0]["function"] | {"strict": False}}]
    check("qwen_3", [qwen("add", "{}"), qwen("add", '{"y": [1]}')], [qwen("add", "1")], tools=loose)


def test_names_are_written_as_json() -> None:
    check("qwen_3", [qwen(r"a\"b", "{}")], [qwen('a"b', "{}")], tools=[{"name": 'a"b'}])


def test_user_templates() -> None:
    @register_model_structural_tag("shouting")
    def shouting(request: Request) -> dict[str, Any]:
        return {"type": "const_string", "value": "!".join(tool.name for tool in request.tools)}

    assert "shouting" in model_templates()
    check("shouting", ["add!add_all"], ["add"])


@pytest.mark.parametrize(
    ("tools", "choice", "message"),
    [
        ([], "required", "no tools"),
        (TOOLS, "always", "is no choice"),
        (TOOLS, {"type": "function", "name": "sub"}, "no tool called 'sub'; there are add, add_all"),
        ([*TOOLS, TOOLS[0]], "auto", r"tools\[2\]: there are two tools called 'add'"),
        ([{"type": "web_search"}], "auto", "'web_search' are not supported"),
        ([{"type": "function"}], "auto", "needs a name"),
        ([3], "auto", "a tool is an object"),
        ([{"name": "f", "parameters": []}], "auto", "JSON schema"),
    ],
)
def test_bad_requests(tools: Any, choice: Any, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        normalize_tool_choice(tools, choice)


def test_unknown_models() -> None:
    with pytest.raises(ValueError, match="did you mean 'qwen_3'"):
        get_model_structural_tag("qwen3")
    with pytest.raises(GrammarError, match="reasoning is"):
        get_model_structural_tag("qwen_3", reasoning=True)  # type: ignore[arg-type]
