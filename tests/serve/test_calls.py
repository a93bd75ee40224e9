"""Calls are read back as they were written: random texts of every format, cut in every way."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import workbench.serving.arguments as arguments_module
from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo, UnsupportedSchemaError
from kernels_core.grammar.structural_tag.styles import STYLES
from kernels_core.grammar.templates import model_templates
from tests.json_schema.strategies import NAMES, leaves, schemas
from workbench.languages import Source
from workbench.serving import Limits
from workbench.serving.arguments import read_arguments, write_arguments
from workbench.serving.calls import NOT_READ, Arguments, Called, CallFormat, CallReader, Said
from workbench.serving.constraint import check_tool_format

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 20},
        "days": {"type": "integer", "minimum": 0, "maximum": 99},
        "unit": {"enum": ["c", "k"]},
        "deep": {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "boolean"}, "maxItems": 3}},
            "additionalProperties": False,
        },
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}
# One name is the beginning of the other.
TOOLS = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("weather", "weather_now")]
STOP = 256
INFO = TokenizerInfo([bytes([byte]) for byte in range(256)] + [b""], stop_token_ids=[STOP])
COMPILER = GrammarCompiler(INFO)
LIKELY = frozenset(b' <>{}"=/_:,[]|\n0123456789abcdefghij')
FORMATS = [name for name in model_templates() if name not in NOT_READ]


def form_of(name: str, choice: Any) -> tuple[CallFormat, dict[str, Any]]:
    options = {"model": name, "tool_choice": choice, "canonical_numbers": True}
    tag = Source("tools", json.dumps(TOOLS), options).tool_tag
    return CallFormat(tag), tag.tag


def text_of(form: CallFormat, tag: dict[str, Any], random: Random) -> str | None:
    """A random text of the tag; None where it grew too long.  Free text often goes on with a marker."""
    ends = [end for some in (form.opened, *form.blocks.values(), *form.sections.values()) for end in some]
    marks = [mark for mark in (*form.marks, *ends) if mark]
    matcher = GrammarMatcher(COMPILER.compile_structural_tag(tag))
    text = bytearray()
    while len(text) < 4000:
        allowed = list(matcher.allowed_token_ids())
        if STOP in allowed and (len(allowed) == 1 or random.random() < 0.7):
            return text.decode()
        if len(allowed) > 100 and random.random() < 0.3:
            mark = next((one for one in random.sample(marks, len(marks)) if matcher.accept_string(one)), "")
            text += mark.encode()
            continue
        some = [one for one in allowed if one in LIKELY] or [one for one in allowed if one != STOP]
        matcher.accept_token(chosen := random.choice(some))
        text.append(chosen)
    return None


def read(form: CallFormat, text: str, size: int, *, first: bool = False) -> tuple[str, list[tuple[str, str]]]:
    """What is said, and the calls, of a text that comes in pieces of `size`."""
    reader = CallReader(form, first=first)
    pieces = [piece for at in range(0, len(text), size) for piece in reader.feed(text[at : at + size])]
    pieces += reader.feed("", last=True)
    said = "".join(piece.text for piece in pieces if isinstance(piece, Said))
    names = [piece.name for piece in pieces if isinstance(piece, Called)]
    arguments = ["" for _ in names]
    for piece in pieces:
        if isinstance(piece, Arguments):
            arguments[piece.index] += piece.text
    return said, list(zip(names, arguments, strict=True))


@pytest.mark.parametrize("name", FORMATS)
def test_random_calls_of_every_format(name: str) -> None:
    validator = Draft202012Validator(SCHEMA)
    random = Random(name)
    found = 0
    for choice in ("required", {"type": "function", "function": {"name": "weather"}}):
        form, tag = form_of(name, choice)
        for _ in range(6):
            text = text_of(form, tag, random)
            if text is None:
                continue
            whole = read(form, text, len(text))
            assert whole == read(form, text, 1) == read(form, text, 7), text
            assert whole[1], text
            for _, arguments in whole[1]:
                validator.validate(json.loads(arguments))
            if choice != "required":
                assert [call for call, _ in whole[1]] == ["weather"]
            found += len(whole[1])
    assert found >= 6


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("exaone", 'Hi.<tool_call>{"name": "weather", "arguments": {"city": "}", "days": 2}}</tool_call>'),
        ("llama", 'Hi.{"name": "weather", "parameters": {"city": "}", "days": 2}}'),
        (
            "glm_4_7",
            "Hi.<tool_call>weather<arg_key>city</arg_key>\n<arg_value>}</arg_value><arg_key>days</arg_key><arg_value>2</arg_value></tool_call>",
        ),
        (
            "qwen_3_5",
            "Hi.<tool_call>\n<function=weather>\n<parameter=city>\n}\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>",
        ),
        (
            "kimi_k2",
            "Hi.<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>"
            '{"city": "}", "days": 2}<|tool_call_end|><|tool_calls_section_end|>',
        ),
        (
            "harmony",
            "<|channel|>commentary<|message|>Hi.<|end|><|start|>assistant"
            '<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "}", "days": 2}<|call|>',
        ),
        (
            "deepseek_v3_2",
            'Hi.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n'
            '<｜DSML｜parameter name="city" string="true">}</｜DSML｜parameter>\n'
            '<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>\n'
            "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ),
    ],
    ids=lambda value: value if "<" not in value and "{" not in value else "",
)
def test_what_is_said_and_what_is_called(name: str, text: str) -> None:
    form, _ = form_of(name, "auto")
    for size in (1, 5, len(text)):
        said, calls = read(form, text, size)
        assert said.strip() == "Hi."
        assert [(call, json.loads(arguments)) for call, arguments in calls] == [("weather", {"city": "}", "days": 2})]


def test_a_call_that_was_cut_off() -> None:
    form, _ = form_of("exaone", "auto")
    said, calls = read(form, 'So <tool_call>{"name": "weather", "arguments": {"city": "Os', 3)
    assert (said, calls) == ("So ", [("weather", '{"city": "Os')])
    assert read(form, "a <tool_c", 2) == ("a <tool_c", [])


def test_a_text_that_is_no_call_may_hold_one() -> None:
    """Beside a schema an answer is a call from its first character on, or it is none."""
    form, _ = form_of("exaone", "required")
    call = '<tool_call>{"name": "weather", "arguments": {"city": "a", "days": 1}}</tool_call>'
    text = json.dumps([call])
    for size in (1, 4, 1000):
        assert read(form, text, size, first=True) == (text, [])
        assert read(form, f" {call}", size, first=True)[1][0][0] == "weather"


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "12", "12"),
        ({"type": "integer"}, "12", 12),
        ({}, "12", 12),
        ({"type": ["string", "null"]}, "null", None),
        ({"enum": ["1", "2"]}, "2", "2"),
        ({"anyOf": [{"type": "boolean"}, {"const": "no"}]}, "no", "no"),
        ({"anyOf": [{"type": "boolean"}, {"const": "no"}]}, "true", True),
        ({"$ref": "#/$defs/word"}, "true", "true"),
        ({"type": "string"}, '"quoted"', '"quoted"'),
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({"type": "string"}, "\ntwo\nlines\n", "two\nlines"),
        ({"enum": ["\nx"]}, "\nx", "\nx"),
        pytest.param(
            {},
            "NaN",
            "NaN",
            marks=pytest.mark.report(
                "vllm-project/vllm#55429, sgl-project/sglang#28797",
                "A raw argument NaN or Infinity is read back as text, since JSON has no such number.",
            ),
        ),
        ({"type": ["number", "string"]}, "-Infinity", "-Infinity"),
        ({"type": ["array", "string"]}, "[Infinity]", "[Infinity]"),
        ({"not": {"type": "number"}}, "5", "5"),
        pytest.param(
            {"anyOf": [{"type": "integer", "minimum": 10}, {"type": "string"}]},
            "5",
            "5",
            marks=pytest.mark.report(
                "antirez/ds4#582, ggml-org/llama.cpp#14227",
                "Of the readings of a raw argument, a number and a text, the one that the schema allows is taken.",
            ),
        ),
        ({"anyOf": [{"type": "integer", "minimum": 10}, {"type": "string"}]}, "12", 12),
        ({"if": {"type": "integer"}, "then": False}, "5", "5"),
        ({"format": "date", "type": ["string", "array"]}, "2026-01-31", "2026-01-31"),
        ({"anyOf": [{"type": "number", "minimum": Decimal("0.5")}, {"type": "string"}]}, "0.7", 0.7),
    ],
)
def test_arguments_by_their_schema(schema: Any, text: str, value: Any) -> None:
    whole = {"type": "object", "properties": {"a": schema}, "$defs": {"word": {"type": "string"}}}
    written = f"<parameter=a>{text}</parameter>\n</function>"
    found = read_arguments(written, "qwen_xml", whole, ("\n</function>",), False)
    assert found is not None
    assert json.loads(found[0]) == {"a": value}
    assert written[found[1] :] == "</function>"
    assert read_arguments(written[:-3], "qwen_xml", whole, ("\n</function>",), False) is None


def test_a_judge_that_takes_too_long_leaves_the_likeliest_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """All streams wait for it, so it gets no longer than others; and an answer that was written is told."""
    compiler = arguments_module._compiler()
    assert compiler.options.max_fill_ms <= Limits().max_fill_ms
    assert compiler.options.max_compile_ms <= Limits().max_compile_ms
    hurried = GrammarCompiler(compiler.tokenizer_info, options=replace(compiler.options, max_fill_ms=1))
    monkeypatch.setattr(arguments_module, "_compiler", lambda: hurried)
    pattern = {"type": "string", "pattern": "^(a|aa|aaa){1,2000}$"}
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}, pattern]}}}
    text = 3000 * "a"
    found = read_arguments(f"<parameter=a>{text}\n</parameter>E", "qwen_xml", schema, ("E",), False)
    assert found is not None
    assert json.loads(found[0]) == {"a": text}


@pytest.mark.report("vllm-project/vllm#48846", "A value of MiniMax keeps its white space, a last line feed too.")
def test_white_space_of_minimax_is_the_value_s() -> None:
    value = "    if x:\n        return 1\n"
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    written = f'<parameter name="a">{value}</parameter>E'
    found = read_arguments(written, "minimax_xml", schema, ("E",), False)
    assert found is not None
    assert json.loads(found[0]) == {"a": value}


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


@given(data=st.data())
def test_what_is_read_back_is_an_instance_and_a_text_of_the_grammar(data: st.DataObject) -> None:
    style = data.draw(st.sampled_from([name for name, layout in STYLES.items() if not layout.nested]))
    schema = {
        "type": "object",
        "properties": {name: data.draw(schemas) for name in NAMES},
        "required": data.draw(st.lists(st.sampled_from(NAMES), unique=True)),
        "additionalProperties": data.draw(leaves),
        "$defs": {"p": data.draw(leaves), "q": data.draw(leaves)},
    }
    form = {"type": "json_schema", "style": style, "json_schema": schema}
    try:
        grammar = COMPILER.compile_structural_tag({"type": "structural_tag", "format": form})
    except UnsupportedSchemaError:
        reject()
    random, layout = Random(data.draw(st.integers(0, 1000))), STYLES[style]
    pieces = [
        *layout.back,
        *(f"{layout.front}{name}{middle[0]}" for name in NAMES for middle in layout.middles.values()),
    ]
    for _ in range(6):
        text, matcher = bytearray(), GrammarMatcher(grammar)
        while len(text) < 400 and (not matcher.is_completed() or random.random() < 0.9):
            piece = random.choice(pieces)
            if random.random() < 0.5 and matcher.accept_string(piece):
                text += piece.encode()
                continue
            allowed = [one for one in matcher.allowed_token_ids() if one != STOP]
            if not allowed:
                break
            chosen = random.choice([one for one in allowed if one in b"<>/0123ab-.\n"] or allowed)
            matcher.accept_token(chosen)
            text.append(chosen)
        if matcher.is_completed():
            found = read_arguments(text.decode() + "E", style, schema, ("E",), False)
            assert found is not None, text
            arguments = json.loads(found[0], parse_constant=refuse)
            assert Draft202012Validator(schema).is_valid(arguments), (schema, text, found[0])
            again = GrammarMatcher(grammar)
            assert again.accept_string(write_arguments(arguments, style)), (schema, text, found[0])
            assert again.is_completed(), (schema, text, found[0])


def test_one_argument_may_decide_how_another_is_read() -> None:
    schema = {"if": {"required": ["text"]}, "then": {"properties": {"a": {"type": "string"}}}}
    alone = read_arguments("<parameter=a>5</parameter>E", "qwen_xml", schema, ("E",), False)
    beside = "<parameter=a>5</parameter><parameter=text>x</parameter>E"
    assert alone == ('{"a": 5}', 26)
    assert read_arguments(beside, "qwen_xml", schema, ("E",), False) == ('{"a": "5", "text": "x"}', len(beside) - 1)


def test_numbers_stay_as_they_were_written() -> None:
    written = "<parameter=a>1e999</parameter><parameter=b>0.10000000000000000001</parameter>E"
    found = read_arguments(written, "qwen_xml", {"type": "object"}, ("E",), False)
    assert found is not None
    assert found[0] == '{"a": 1e999, "b": 0.10000000000000000001}'


def test_formats_that_cannot_be_read_back() -> None:
    with pytest.raises(ValueError, match="not read back yet"):
        check_tool_format("gemma")
    with pytest.raises(ValueError, match="there are"):
        check_tool_format("nobody")


def test_integers_of_arguments_may_be_plain() -> None:
    schema = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    found = []
    for plain in (False, True):
        made = CallFormat(Source.of(tools, tool_choice="required").tool_tag, plain_integers=plain)
        compiled = COMPILER.compile_structural_tag({"type": "structural_tag", "format": made.format})
        text = '<tool_call>\n{"name": "f", "arguments": {"n": 1.0}}\n</tool_call>'
        found.append(GrammarMatcher(compiled).accept_string(text))
    assert found == [True, False]
