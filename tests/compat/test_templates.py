"""Templates as XGrammar's users call them: what their free text holds, what follows calls, functions by model."""

from __future__ import annotations

from typing import Any

import pytest

import workbench.compat.xgrammar as xgr

pytest.importorskip("torch")
pytest.importorskip("pydantic")

from workbench.compat.xgrammar import builtin_structural_tag as templates
from workbench.compat.xgrammar.openai_tool_call_schema import BuiltinToolParam, FunctionToolParam
from workbench.compat.xgrammar.testing import _is_grammar_accept_string

TOOLS = [{"function": {"name": "f", "parameters": {"type": "object"}}}]
OPEN_MARK = "]<]minimax[>["
CALLS = {
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_calls_section_end|>",
    "deepseek_v3_1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "cohere": '<cofl:tool_calls><cofl:tool_call id="0" name="f"></cofl:tool_call></cofl:tool_calls>',
    "minimax": '<minimax:tool_call>\n<invoke name="f">\n</invoke>\n</minimax:tool_call>',
    "minimax_m3": f'{OPEN_MARK}<tool_call>\n{OPEN_MARK}<invoke name="f">{OPEN_MARK}</invoke>\n{OPEN_MARK}</tool_call>',
}


def takes(model: str, text: str, tools: Any = TOOLS, choice: Any = "auto", **options: Any) -> bool:
    tag = xgr.get_model_structural_tag(model, tools, choice, **{"reasoning": "disabled", **options})
    return _is_grammar_accept_string(xgr.Grammar.from_structural_tag(tag), text)


@pytest.mark.parametrize("model", CALLS)
def test_text_goes_on_behind_a_section_unless_one_call_is_all(model: str) -> None:
    call = CALLS[model]
    for text, several, one in ((call, True, True), (f"Well. {call} Done.", True, False), (call + call, True, False)):
        assert takes(model, text) is several
        assert takes(model, text, parallel_tool_calls=False) is one


MARKERS = [
    *(("kimi", marker) for marker in ("<|tool_call_begin|>", "<think>")),
    *(("minimax_m3", OPEN_MARK + marker) for marker in ("<invoke", "</invoke>", "</tool_call>")),
    *(("mimo", marker) for marker in ("<function=", "</tool_call>")),
    *(("llama", marker) for marker in ("<think>", "</think>")),
]


@pytest.mark.report("mlc-ai/xgrammar#622", "A call of Kimi K2 outside a section is no text and no call.")
@pytest.mark.parametrize(("model", "marker"), MARKERS)
def test_free_text_holds_no_marker_unless_asked(model: str, marker: str) -> None:
    assert takes(model, "a b")
    assert not takes(model, f"a{marker}b")
    assert takes(model, f"a{marker}b", exclude_special_tokens=False)
    assert not takes(model, f"a{marker}b", tools=None)


INSIDE = [  # free text between marks, and an argument
    ("cohere", "<|START_TEXT|>a{}b<|END_TEXT|>", "<cofl:tool_calls>"),
    ("kimi_k3", "a{}b<|close|>response<|sep|><|close|>message<|sep|>", "<|open|>"),
    (
        "kimi_k3",
        'a<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|>'
        '<|open|>argument key="s" type="string"<|sep|>a{}b<|close|>argument<|sep|><|close|>call<|sep|>'
        "<|close|>tools<|sep|><|close|>message<|sep|>",
        "<|sep|>",
    ),
]


@pytest.mark.parametrize(("model", "text", "marker"), INSIDE)
def test_text_between_marks_holds_no_marker_unless_asked(model: str, text: str, marker: str) -> None:
    schema = {"type": "object", "properties": {"s": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    assert takes(model, text.format("-"), tools=tools)
    assert not takes(model, text.format(marker), tools=tools)
    assert takes(model, text.format(marker), tools=tools, exclude_special_tokens=False)


@pytest.mark.parametrize("model", ["qwen_3", "qwen_3_5", "deepseek_v3_1", "deepseek_v4", "glm_4_7"])
def test_an_open_reasoning_block_is_not_opened_again(model: str) -> None:
    for text, verdict in (("hm</think>\n\nYes.", True), ("h<think>m</think>\n\nYes.", False)):
        assert takes(model, text, reasoning="enabled") is verdict
    assert takes(model, "h<think>m</think>\n\nYes.", reasoning="enabled", exclude_special_tokens=False)


def test_minimax_closes_the_block_that_its_prompt_opened() -> None:
    assert takes("minimax", "\n</think>\n\n\n\nYes.")
    assert takes("minimax", "\n</think>\n\n" + CALLS["minimax"])
    assert not takes("minimax", "Yes.</think>")


def test_tools_of_a_model_s_own() -> None:
    call = " to=python<|channel|>commentary code<|message|>{}<|call|>"
    python = {"type": "code_interpreter", "name": "python"}
    for choice in ("auto", "required", {"type": "code_interpreter"}):
        assert takes("harmony", call, [python], choice)
    assert not takes("harmony", call, [{**python, "name": "ruby"}])
    assert not takes("harmony", call + "<|start|>assistant" + call, [python], {"type": "code_interpreter"})
    with pytest.warns(UserWarning, match="python"):
        assert not takes("llama", '{"name": "python", "parameters": {}}', [*TOOLS, python])


def test_every_model_has_its_function() -> None:
    tool = FunctionToolParam.model_validate(TOOLS[0])
    for model in ("llama", "kimi", "qwen_3_5", "harmony", "glm_4_7", "minimax"):
        template = getattr(templates, f"get_{model}_structural_tag")
        assert template([tool], tool_choice="required") == xgr.get_model_structural_tag(model, TOOLS, "required")
        assert template(tools=[tool], tool_choice="forced", reasoning="disabled") == xgr.get_model_structural_tag(
            model, TOOLS, {"function": {"name": "f"}}, "disabled"
        )
    own = templates.get_harmony_structural_tag(builtin_tools=[BuiltinToolParam(type="python")])
    assert own == xgr.get_model_structural_tag("harmony", [{"type": "python"}])
    with pytest.raises(AttributeError):
        _ = templates.get_nothing_structural_tag


def test_tools_are_a_list() -> None:
    for tools in (123, "f", {"function": {"name": "f"}}):
        with pytest.raises(ValueError, match="list"):
            xgr.get_model_structural_tag("llama", tools)  # type: ignore[arg-type]
