"""Each model template: what a model may write, with its markers as control tokens and as plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import GrammarCompiler, GrammarError, GrammarMatcher, TokenizerInfo
from kernels_core.grammar.json_schema.closing import can_close
from kernels_core.grammar.templates import (
    Request,
    get_model_structural_tag,
    model_templates,
    normalize_tool_choice,
    register_model_structural_tag,
    registry,
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
# Control tokens of some tokenizer.
NAMES = """
[TOOL_CALLS] [ARGS] [THINK] [/THINK] <think> </think> <mm:think> </mm:think> <tool_call> </tool_call>
<|channel|> <|message|> <|end|> <|start|> <|call|> <|constrain|> <|open|> <|close|> <|sep|>
<|tool_calls_section_begin|> <|tool_calls_section_end|> <|tool_call_begin|> <|tool_call_end|>
<|tool_call_argument_begin|>
<｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜> ｜DSML｜
<arg_key> </arg_key> <arg_value> </arg_value> <minimax:tool_call> </minimax:tool_call> ]<]minimax[>[
<|START_THINKING|> <|END_THINKING|> <|START_ACTION|> <|END_ACTION|> <|START_RESPONSE|> <|END_RESPONSE|>
<|START_TEXT|> <|END_TEXT|> <cofl:tool_calls> </cofl:tool_calls>
<|tool_call> <tool_call|> <|channel> <channel|> <|"|>
"""
MARKERS = NAMES.split()
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


def exaone(name: str, call: str) -> str:
    return f'<tool_call>{{"name": "{name}", "arguments": {call}}}</tool_call>'


def written(call: str, element: str) -> str:
    """The arguments in `call`, JSON, each as `element` with its name and value."""
    return "".join(
        element.format(name=name, value=value if isinstance(value, str) else json.dumps(value))
        for name, value in json.loads(call).items()
    )


def qwen_coder(name: str, call: str) -> str:
    made = written(call, "<parameter={name}>\n{value}\n</parameter>\n")
    return f"<tool_call>\n<function={name}>\n{made}</function>\n</tool_call>"


def mimo(name: str, call: str) -> str:
    made = written(call, "<parameter={name}>{value}</parameter>")
    return f"<tool_call><function={name}>{made}</function></tool_call>"


def glm(name: str, call: str) -> str:
    made = written(call, "<arg_key>{name}</arg_key><arg_value>{value}</arg_value>")
    return f"<tool_call>{name}{made}</tool_call>"


def minimax(*calls: tuple[str, str]) -> str:
    element = '<parameter name="{name}">{value}</parameter>\n'
    made = (f'<invoke name="{name}">\n{written(call, element)}</invoke>\n' for name, call in calls)
    return f"<minimax:tool_call>\n{''.join(made)}</minimax:tool_call>"


def minimax_m3(*calls: tuple[str, str]) -> str:
    mark = "]<]minimax[>["
    element = mark + "<{name}>{value}" + mark + "</{name}>"
    made = (f'{mark}<invoke name="{name}">{written(call, element)}{mark}</invoke>\n' for name, call in calls)
    return f"{mark}<tool_call>\n{''.join(made)}{mark}</tool_call>"


def dsml(mark: str, section: str, calls: tuple[tuple[str, str], ...]) -> str:
    element = f'<{mark}parameter name="{{name}}" string="false">{{value}}</{mark}parameter>\n'
    made = (f'<{mark}invoke name="{name}">\n{written(call, element)}</{mark}invoke>\n' for name, call in calls)
    return f"<{mark}{section}>\n{''.join(made)}</{mark}{section}>"


def v3_2(*calls: tuple[str, str]) -> str:
    return dsml("｜DSML｜", "function_calls", calls)


def v4(*calls: tuple[str, str]) -> str:
    return dsml("｜DSML｜", "tool_calls", calls)


def v4_1(*calls: tuple[str, str]) -> str:
    return dsml("｜DSML｜ ", "calls", calls)


def k3(*calls: tuple[str, str]) -> str:
    element = '<|open|>argument key="{name}" type="number"<|sep|>{value}<|close|>argument<|sep|>'
    made = (
        f'<|open|>call tool="{name}" index="{number}"<|sep|>{written(call, element)}<|close|>call<|sep|>'
        for number, (name, call) in enumerate(calls, 1)
    )
    section = f"<|open|>tools<|sep|>{''.join(made)}<|close|>tools<|sep|>"
    return f"<|close|>response<|sep|>{section}<|close|>message<|sep|>"


def cohere(*calls: tuple[str, str]) -> str:
    element = '<cofl:value name="{name}" type="json">{value}</cofl:value>'
    made = (
        f'<cofl:tool_call id="{number}" name="{name}">{written(call, element)}</cofl:tool_call>'
        for number, (name, call) in enumerate(calls)
    )
    return f"<cofl:tool_calls>{''.join(made)}</cofl:tool_calls>"


def command_a(*calls: tuple[str, str]) -> str:
    made = (
        f'    {{"tool_call_id": "{number}", "tool_name": "{name}", "parameters": {call}}}'
        for number, (name, call) in enumerate(calls)
    )
    return "<|START_ACTION|>[\n" + ",\n".join(made) + "\n]<|END_ACTION|>"


def gemma(name: str, call: str) -> str:
    made = ",".join(
        f'{key}:<|"|>{value}<|"|>' if isinstance(value, str) else f"{key}:{json.dumps(value)}"
        for key, value in json.loads(call).items()
    )
    return f"<|tool_call>call:{name}{{{made}}}<tool_call|>"


SECTIONS: dict[str, Callable[..., str]] = {
    "deepseek_r1": r1,
    "deepseek_v3_1": v3_1,
    "deepseek_v3_2": v3_2,
    "deepseek_v4": v4,
    "deepseek_v4_1": v4_1,
    "kimi_k2": kimi,
    "kimi_k3": k3,
    "minimax": minimax,
    "minimax_m3": minimax_m3,
    "cohere": cohere,
    "command_a": command_a,
}
SINGLE: dict[str, Callable[[str, str], str]] = {
    "llama": llama,
    "hermes": qwen,
    "qwen_3": qwen,
    "exaone": exaone,
    "qwen_3_5": qwen_coder,
    "mimo": mimo,
    "glm_4_7": glm,
    "mistral": mistral,
    "gemma": gemma,
    "harmony": harmony,
}
BETWEEN = {"mistral": "", "harmony": "<|start|>assistant"}
SAME = {"kimi": "kimi_k2", "qwen_3_coder": "qwen_3_5", "minimax_m2": "minimax", "gemma_4": "gemma"}
TEXT = dict.fromkeys((*SECTIONS, *SINGLE), "Hello.") | {
    "harmony": "<|channel|>final<|message|>Hello.",
    "kimi_k3": "Hello.<|close|>response<|sep|><|close|>message<|sep|>",
    "command_a": "<|START_RESPONSE|>Hello.<|END_RESPONSE|>",
}


def calls_of(model: str, *calls: tuple[str, str]) -> str:
    if model in SECTIONS:
        return SECTIONS[model](*calls)
    return BETWEEN.get(model, "\n").join(SINGLE[model](*call) for call in calls)


def test_every_template_is_tested() -> None:
    assert {*SECTIONS, *SINGLE, *SAME} == set(model_templates()) - {"shouting"}
    for other, model in SAME.items():
        assert get_model_structural_tag(other, TOOLS) == get_model_structural_tag(model, TOOLS)


@pytest.mark.report("vllm-project/vllm#32213", "A call of GLM without arguments is the name alone between its marks.")
@pytest.mark.parametrize("model", TEXT)
def test_one_call(model: str) -> None:
    text = TEXT[model]
    good = [calls_of(model, call) for call in (("add", CALL), ("add_all", "{}"), ("add_all", CALL))]
    if model == "minimax_m3":  # there only declared names can be written
        good.pop()
    bad = [calls_of(model, call) for call in (("add", "{}"), ("sub", "{}"), ("add", '{"x": "one"}'))]
    bad.append(good[0][:-1])
    check(model, [text, *good], bad)
    check(model, good, [*bad, text, ""], tool_choice="required")
    check(model, good[:1], [text, *good[1:], *bad], tool_choice={"type": "function", "function": {"name": "add"}})
    inside = [text.replace("Hello.", f"Hello. {call}") for call in good]
    check(model, [text], [*good, *inside], tool_choice="none")
    some = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "name": "add"}]}}
    check(model, [text, good[0]], good[1:], tool_choice=some)


def test_no_call_of_a_tool_of_the_models_own() -> None:
    own = [{"name": "python", "parameters": {"type": "object"}}]
    call = "<|channel|>commentary to=python code<|message|>{}<|call|>"
    check("harmony", [TEXT["harmony"], call], [], own_tools=own)
    check("harmony", [TEXT["harmony"]], [call, TEXT["harmony"] + call], own_tools=own, tool_choice="none")


@pytest.mark.report(
    "mlc-ai/xgrammar#637", "Two calls of DeepSeek V3.2 stand in one section, with one line feed between them."
)
@pytest.mark.report("mlc-ai/xgrammar#658", "Where calls are not parallel there is at most one.")
@pytest.mark.parametrize("model", TEXT)
def test_two_calls(model: str) -> None:
    two = calls_of(model, ("add", CALL), ("add_all", "{}"))
    check(model, [two], [])
    # A call that was required is followed by a call or the end.
    check(model, [two], [f"{two}Done.", f"{two}\nDone."], tool_choice="required")
    check(model, [], [two], parallel_tool_calls=False)


@pytest.mark.parametrize(
    ("model", "opening", "closing"),
    [
        ("qwen_3", "<think>", "</think>\n\n"),
        ("deepseek_r1", "<think>", "</think>"),
        ("deepseek_v3_1", "<think>", "</think>"),
        ("kimi_k2", "<think>", "</think>"),
        ("mistral", "[THINK]", "[/THINK]"),
        ("exaone", "<think>", "</think>\n\n"),
        ("qwen_3_5", "<think>", "</think>\n\n"),
        ("glm_4_7", "<think>", "</think>"),
        ("minimax", "<think>", "</think>\n\n"),
        ("minimax_m3", "<mm:think>", "</mm:think>"),
        ("deepseek_v3_2", "<think>", "</think>"),
        ("deepseek_v4", "<think>", "</think>"),
        ("deepseek_v4_1", "<think>", "</think>"),
        ("cohere", "<|START_THINKING|>", "<|END_THINKING|>"),
    ],
)
def test_reasoning(model: str, opening: str, closing: str) -> None:
    call = calls_of(model, ("add", CALL))
    check(model, [f"Hm.{closing}Yes.", closing + call], ["Yes.", call, f"Hm.{closing}{closing}"], reasoning="enabled")
    check(model, ["Yes.", f"{opening}Hm.{closing}{call}"], [f"Hm.{closing}Yes."], reasoning="auto")
    check(model, ["Yes."], [f"{opening}Hm.{closing}Yes."], reasoning="disabled")


@pytest.mark.parametrize(
    ("model", "opening", "closing"),
    [
        ("mimo", "<think>", "</think>"),
        ("gemma", "<|channel>thought\n", "<channel|>"),
        ("command_a", "<|START_THINKING|>", "<|END_THINKING|>"),
    ],
)
def test_reasoning_that_the_model_opens(model: str, opening: str, closing: str) -> None:
    call, text = calls_of(model, ("add", CALL)), TEXT[model]
    thought = f"{opening}Hm.{closing}"
    twice = f"{opening}{thought}{text}"
    check(model, [thought + text, thought + call], [text, call, f"Hm.{closing}{text}", twice], reasoning="enabled")
    check(model, [text, call, thought + text, thought + call], [f"{opening}Hm.", twice], reasoning="auto")
    check(model, [text, call], [thought + text], reasoning="disabled")


def test_channels_of_kimi_k3() -> None:
    call, text = k3(("add", CALL)), TEXT["kimi_k3"]
    thought, response = "Hm.<|close|>think<|sep|>", "<|open|>response<|sep|>"
    check("kimi_k3", [thought + response + text, thought + response + call], [response + text], reasoning="enabled")
    opened = "<|open|>think<|sep|>" + thought + response + text
    check("kimi_k3", [response + call, opened], [text, thought + response + text], reasoning="auto")
    strings = [{"name": "f", "parameters": {"properties": {"s": {"type": "string"}}}}]
    call = k3(("f", '{"s": "a"}')).replace("number", "string")
    check("kimi_k3", [call], [call.replace(">a<", "><|open|><")], tools=strings)


def test_what_surrounds_a_section() -> None:
    for model, lead in (("minimax", "\n"), ("deepseek_v3_2", "\n\n")):
        call = calls_of(model, ("add", CALL))
        check(model, ["Yes." + lead + call, call, call + "x", call + call], [call + "<think>"])
        check(model, ["Yes." + lead + call, call], [call + "x", call + call], parallel_tool_calls=False)
        check(model, [call, lead + call], ["Yes." + call, lead], tool_choice="required")
    text = "<|START_TEXT|>Yes.<|END_TEXT|>"
    check("cohere", [text, text + cohere(("add", CALL))], [text * 2, text[:-2]])


TYPES = [
    {
        "name": "f",
        "parameters": {
            "properties": {
                "s": {"type": "string"},
                "n": {"type": "number"},
                "l": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["s", "n", "l"],
            "additionalProperties": False,
        },
    }
]
PLAIN_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8)
QWEN = "<tool_call>\n<function=f>\n<parameter=s>\n{s}\n</parameter>\n<parameter=n>\n{n}\n</parameter>\n"
DSML = '<｜DSML｜parameter name="{}" string="{}">{}</｜DSML｜parameter>\n'


@given(s=PLAIN_TEXT, n=st.floats(allow_nan=False, allow_infinity=False), l=st.lists(PLAIN_TEXT, max_size=3))
def test_arguments_of_every_kind(s: str, n: float, l: list[str]) -> None:  # noqa: E741
    """As chat templates write them: strings raw, everything else as `json.dumps` does."""
    items = json.dumps(l, ensure_ascii=False)
    qwen_call = f"{QWEN.format(s=s, n=n)}<parameter=l>\n{items}\n</parameter>\n</function>\n</tool_call>"
    dsml_call = DSML.format("s", "true", s) + DSML.format("n", "false", n) + DSML.format("l", "false", items)
    marks = ",".join(f'<|"|>{item}<|"|>' for item in l)
    for model, call in (
        ("qwen_3_5", qwen_call),
        (
            "deepseek_v4",
            f'<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n{dsml_call}</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
        ),
        ("gemma", f'<|tool_call>call:f{{s:<|"|>{s}<|"|>,n:{n},l:[{marks}]}}<tool_call|>'),
    ):
        matcher = typed(model)
        matcher.reset()
        assert matcher.accept_string(call), (model, call)
        assert matcher.is_completed()


@cache
def typed(model: str) -> GrammarMatcher:
    form = get_model_structural_tag(model, TYPES, "required", "disabled")
    return GrammarMatcher(GrammarCompiler(info(False)).compile_structural_tag(form))


def test_names_that_would_need_quotes() -> None:
    with pytest.raises(GrammarError, match="'a>b' cannot be written"):
        get_model_structural_tag("qwen_3_5", [{"name": "a>b"}])


def test_harmony_messages() -> None:
    analysis = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
    aside = "<|channel|>commentary<|message|>One moment.<|end|><|start|>assistant"
    other = ' to=functions.add<|channel|>commentary <|constrain|>json<|message|>{"x": 1}<|call|>'
    final = TEXT["harmony"]
    check("harmony", [analysis + final, analysis + aside + other, final], [analysis], reasoning="enabled")
    check("harmony", [aside + other, final], [analysis + final], reasoning="disabled")
    plain = other.replace("<|constrain|>", "")
    tight = harmony("add", CALL).replace(" <|constrain|>", "<|constrain|>")
    check("harmony", [plain, tight], [plain.replace(" json", "")], tool_choice="required")


def test_tools_that_are_not_strict_take_any_object() -> None:
    loose = [{"type": "function", "function": TOOLS[0]["function"] | {"strict": False}}]
    check("qwen_3", [qwen("add", "{}"), qwen("add", '{"y": [1]}')], [qwen("add", "1")], tools=loose)


OPEN = {"type": "object", "properties": {"x": {"type": "integer"}}}
OUTER = {
    "type": "object",
    "properties": {"inner": OPEN, "said": OPEN | {"additionalProperties": True}, "any": {"type": "object"}},
}


@pytest.mark.parametrize("model", TEXT)
def test_strict_closes_the_objects_of_a_tool_in_every_format(model: str) -> None:
    strict, open_ = (
        [{"type": "function", "function": {"name": "add", "parameters": OPEN} | said}]
        for said in ({"strict": True}, {})
    )
    named, more = calls_of(model, ("add", CALL)), calls_of(model, ("add", '{"x": 1, "y": 2}'))
    check(model, [named], [more], tools=strict)
    check(model, [named], [more], tools=strict, strict_mode=False)
    # There only declared names can be written.
    check(model, [named] if model == "minimax_m3" else [named, more], [], tools=open_)


def test_strict_closes_what_says_nothing_of_other_members() -> None:
    tool = {"name": "f", "parameters": OUTER}
    taken = [qwen("f", call) for call in ('{"inner": {"x": 1}}', '{"said": {"x": 1, "y": 2}}', '{"any": {"y": 2}}')]
    other = [qwen("f", call) for call in ('{"y": 2}', '{"inner": {"x": 1, "y": 2}}')]
    for tools in ([tool | {"strict": True}], [{"type": "function", "function": tool | {"strict": True}}]):
        check("qwen_3", taken, other, tools=tools)
    check("qwen_3", taken + other, [], tools=[tool])
    # Each tool says it for itself.
    both = [tool | {"strict": True}, tool | {"name": "g"}]
    check("qwen_3", [qwen("g", '{"y": 2}')], [qwen("f", '{"y": 2}')], tools=both)


def test_names_are_written_as_json() -> None:
    check("qwen_3", [qwen(r"a\"b", "{}")], [qwen('a"b', "{}")], tools=[{"name": 'a"b'}])


def test_user_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_TEMPLATES", dict(registry._TEMPLATES))

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
        ([{"type": "web_search"}], "auto", '"web_search" are not supported'),
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


CLOSABLE = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("schema", "closed"),
    [
        ({"properties": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}]}}, "$defs": {"b": CLOSABLE}}, True),
        ({"type": "array", "items": CLOSABLE, "x-note": {"not": {}}}, True),
        ({**CLOSABLE, "not": CLOSABLE}, False),
        ({**CLOSABLE, "if": CLOSABLE, "then": {"required": ["a"]}}, False),
        ({"oneOf": [CLOSABLE, CLOSABLE]}, False),
        ({"allOf": [CLOSABLE, {"properties": {"b": {}}}]}, False),
        ({"items": {"contains": CLOSABLE, "maxContains": 1}}, False),
        ({"$ref": "#/$defs/b", **CLOSABLE, "$defs": {"b": CLOSABLE}}, False),
        ({"anyOf": [{"required": ["b"]}], **CLOSABLE}, False),
        ({"properties": {"a": {}}, "required": ["b"]}, False),
        ({"properties": {"a": {"$ref": "#/own/b"}}, "own": {"b": {"not": CLOSABLE}}}, False),
        ({"properties": {"a": {"$defs": {"b": {"not": CLOSABLE}}}}}, False),
        ({"type": "array", "prefixItems": [CLOSABLE]}, False),
        ({"properties": {"a": {}}, "minProperties": 2}, False),
        ({"properties": {"a": {}, "b": {}}, "required": ["a"], "minProperties": 1}, True),
        ({"properties": {"a": {"$ref": "#"}}, "minProperties": 1}, False),
        ({"properties": {"a": {}}, "required": ["a", "a"], "minProperties": 2}, False),
        ({"properties": {"a": {}}, "required": [["a"]]}, False),
        ({"$id": "http://one.example/", **CLOSABLE}, True),
        ({"properties": {"a": {"$id": "http://two.example/", **CLOSABLE}}}, False),
        (True, True),
    ],
)
def test_a_strict_tool_is_closed_where_that_takes_members_away_and_nothing_else(schema: Any, closed: bool) -> None:
    assert can_close(schema) is closed
    tool = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}
    made = json.dumps(get_model_structural_tag("qwen_3", tools=[tool], tool_choice="required"))
    assert ('"strict_mode": true' in made) is closed
