"""Arguments between markers: every style, where raw text ends, and what a schema says of it."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.errors import UnsupportedFeatureError, UnsupportedSchemaError
from kernels_core.grammar.structural_tag.styles import STYLES
from tests.grammar.structural_tag.driver import Format, tag, whole
from tests.json_schema.driver import Texts

CLOSED = {"type": "object", "additionalProperties": False}


def styled(style: str, schema: Any, **more: Any) -> Format:
    return {"type": "json_schema", "json_schema": schema, "style": style, **more}


def texts(style: str, schema: Any, **more: Any) -> Texts:
    grammar = Grammar.from_structural_tag(whole(styled(style, schema, **more)))
    assert Grammar.from_ebnf(str(grammar)) == grammar
    return Texts(grammar)


def check(found: Texts, accepts: list[str], rejects: list[str]) -> None:
    assert [text for text in accepts if text not in found] == []
    assert [text for text in rejects if text in found] == []


def refused(style: str, schema: Any) -> list[tuple[str, str]]:
    with pytest.raises(UnsupportedSchemaError) as caught:
        texts(style, schema)
    assert all(problem.pointer.startswith("#/format/json_schema") for problem in caught.value.problems)
    return [(p.pointer.removeprefix("#/format/json_schema"), p.keyword) for p in caught.value.problems]


# -- the markers of each style ---------------------------------------------------------------------------------------

M3 = "]<]minimax[>["
ARGUMENTS: dict[str, Any] = {
    "s": {"type": "string"},
    "n": {"type": "integer"},
    "l": {"type": "array", "items": {"type": "string"}},
    "o": {
        "type": "object",
        "properties": {"b": {"type": "boolean"}, "z": {"type": "null"}},
        "additionalProperties": False,
    },
}
WRITTEN = {
    "qwen_xml": [
        "<parameter=s>\na <b>\n</parameter>\n",
        "<parameter=n>\n-3\n</parameter>\n",
        '<parameter=l>["a", "b"]</parameter>',
        '<parameter=o>{"b": true, "z": null}</parameter>',
    ],
    "minimax_xml": [
        '<parameter name="s">a <b></parameter>\n',
        '<parameter name="n">-3</parameter>\n',
        '<parameter name="l">["a", "b"]</parameter>',
        '<parameter name="o">{"b": true, "z": null}</parameter>',
    ],
    "minimax_m3_xml": [
        f"{M3}<s>a <b>{M3}</s>",
        f"{M3}<n>-3{M3}</n>",
        f"{M3}<l>{M3}<item>a{M3}</item>{M3}<item>b{M3}</item>{M3}</l>",
        f"{M3}<o>{M3}<b>true{M3}</b>\n{M3}<z>null{M3}</z>{M3}</o>",
    ],
    "deepseek_xml": [
        '<｜DSML｜parameter name="s" string="true">a <b></｜DSML｜parameter>\n',
        '<｜DSML｜parameter name="n" string="false">-3</｜DSML｜parameter>\n',
        '<｜DSML｜parameter name="l" string="false">["a", "b"]</｜DSML｜parameter>\n',
        '<｜DSML｜parameter name="o" string="false">{"b": true, "z": null}</｜DSML｜parameter>\n',
    ],
    "deepseek_v4_1_xml": [
        '<｜DSML｜ parameter name="s" string="true">a <b></｜DSML｜ parameter>\n',
        '<｜DSML｜ parameter name="n" string="false">-3</｜DSML｜ parameter>\n',
        '<｜DSML｜ parameter name="l" string="false">["a", "b"]</｜DSML｜ parameter>\n',
        '<｜DSML｜ parameter name="o" string="false">{"b": true, "z": null}</｜DSML｜ parameter>\n',
    ],
    "glm_xml": [
        "<arg_key>s</arg_key><arg_value>a <b></arg_value>",
        "<arg_key>n</arg_key>\n<arg_value>-3</arg_value>\n",
        '<arg_key>l</arg_key><arg_value>["a", "b"]</arg_value>',
        '<arg_key>o</arg_key><arg_value>{"b": true, "z": null}</arg_value>',
    ],
    "cohere_xml": [
        '<cofl:value name="s" type="raw">a <b></cofl:value>',
        '<cofl:value name="n" type="json">-3</cofl:value>\n',
        '<cofl:value name="l" type="list"><cofl:value type="raw">a</cofl:value>\n'
        '<cofl:value type="raw">b</cofl:value></cofl:value>',
        '<cofl:value name="o" type="dict"><cofl:value name="b" type="json">true</cofl:value>'
        '<cofl:value name="z" type="json">null</cofl:value></cofl:value>',
    ],
    "kimi_k3_xml": [
        '<|open|>argument key="s" type="string"<|sep|>a <b><|close|>argument<|sep|>',
        '<|open|>argument key="n" type="number"<|sep|>-3<|close|>argument<|sep|>',
        '<|open|>argument key="l" type="array"<|sep|>["a", "b"]<|close|>argument<|sep|>',
        '<|open|>argument key="o" type="object"<|sep|>{"b": true, "z": null}<|close|>argument<|sep|>',
    ],
}


@pytest.mark.parametrize("style", WRITTEN)
def test_every_style(style: str) -> None:
    s, n, l, o = WRITTEN[style]  # noqa: E741
    found = texts(style, CLOSED | {"properties": ARGUMENTS, "required": ["s", "n"]}, order="declared")
    check(found, [s + n, s + n + l + o, f"\n {s}\n{n}{o}"], ["", s, n + s, s + n + n, s + n + o + l, s + n + "x"])
    check(found, [], [s + n.replace("-3", "3.5"), s + n.replace("-3", "x"), s + n.replace("n", "m"), s[:-1]])
    check(texts(style, CLOSED | {"properties": ARGUMENTS}, order="any"), ["", o + n, n + o + l + s], [n + n])
    check(texts(style, CLOSED), ["", "\n"], ["x", s])


@pytest.mark.parametrize("style", STYLES)
def test_many_names_in_any_order(style: str) -> None:
    """Some are the beginning of others; which came is kept in no state."""
    kind = STYLES[style]

    def element(name: str) -> str:
        back = name.join(kind.back) if kind.back[1:] else kind.back[0]
        return kind.front + name + "".join(kind.middles["number"]) + "7" + back

    names = [f"n{number}" for number in range(40)]
    schema = {"properties": {name: {"type": "integer"} for name in names}, "required": names[::2]}
    found = texts(style, {"type": "object", **schema})
    every = [element(name) for name in reversed(names)]
    check(found, ["".join(every), "".join(every[1::2])], ["".join(every[2:]), "".join([*every, every[3]])])
    assert ("".join([element("n"), *every]) in found) == (len(kind.back) == 1)


def test_styles_are_those_that_are_tested_and_no_stop_overlaps_itself() -> None:
    """Then raw text without the stop, and the stop behind it, end at its first place."""
    assert set(STYLES) == set(WRITTEN)  # and gemma, which has no elements
    for style in STYLES.values():
        assert style.back[0].startswith(style.stop)
        assert not [size for size in range(1, len(style.stop)) if style.stop.endswith(style.stop[:size])]


def test_the_types_of_kimi_k3() -> None:
    kinds = [
        ("string", "x"),
        ("number", "1e2"),
        ("boolean", "true"),
        ("null", "null"),
        ("array", "[]"),
        ("object", "{}"),
    ]
    found = texts("kimi_k3_xml", CLOSED | {"properties": {"a": True}})
    for name, _ in kinds:
        accepts = [
            f'<|open|>argument key="a" type="{name}"<|sep|>{text}<|close|>argument<|sep|>'
            for kind, text in kinds
            if kind == name or name == "string"
        ]
        rejects = [
            f'<|open|>argument key="a" type="{name}"<|sep|>{text}<|close|>argument<|sep|>'
            for kind, text in kinds
            if kind != name and name != "string"
        ]
        check(found, accepts, rejects)


def test_arguments_of_cohere_nest() -> None:
    schema = {"$ref": "#/$defs/t", "$defs": {"t": CLOSED | {"properties": {"t": {"$ref": "#/$defs/t"}, "v": True}}}}
    found = texts("cohere_xml", schema)
    inner = (
        '<cofl:value name="v" type="list"><cofl:value type="json">1</cofl:value>'
        '<cofl:value type="dict">{}</cofl:value></cofl:value>'
    )
    some = inner.format('<cofl:value name="&lt;a&gt; &quot;" type="raw">x</cofl:value>')
    one = '<cofl:value name="t" type="dict">{}</cofl:value>'
    check(found, ["", some, one.format(some), one.format(one.format(one.format("")))], [one, one.format(one)])
    check(found, [], [inner.format('<cofl:value name="<a>" type="raw">x</cofl:value>'), some.replace("raw", "json")])


def test_only_declared_names_in_minimax_m3() -> None:
    """Its closing marker repeats the name, which a grammar can only do for names that it knows."""
    found = texts("minimax_m3_xml", {"properties": {"a": {"type": "object"}, "b": True}})
    one, two = f"{M3}<a> {M3}</a>", f"{M3}<b>{M3}<item>1{M3}</item>{M3}</b>"
    check(found, ["", one, one + two, f"{M3}<b>x{M3}</b>"], [f"{M3}<c>1{M3}</c>", f"{M3}<a>1{M3}</a>"])


def test_gemma() -> None:
    found = texts("gemma", CLOSED | {"properties": ARGUMENTS | {"e": {"enum": ["x", 1]}}, "required": ["s"]})
    check(
        found,
        [
            '{s:<|"|>a "{}" <|<|"|>}',
            '{s:<|"|><|"|>,n:-3,l:[<|"|>a<|"|>,<|"|>b<|"|>],o:{b:true,z:null}}',
            '{s:<|"|>s<|"|>,e:<|"|>x<|"|>}',
            '{s:<|"|>s<|"|>,e:1}',
        ],
        ["{}", '{s:"a"}', '{s:<|"|>a<|"|>b<|"|>}', '{"s":<|"|>a<|"|>}', '{s: <|"|>a<|"|>}', '{s:<|"|>a<|"|>,e:x}'],
    )
    found = texts("gemma", {"properties": {"a": {"type": "string", "maxLength": 3}}})
    check(found, ["{}", '{a:<|"|>abc<|"|>}', "{a.b-c_d:[{}]}"], ['{a:<|"|>abcd<|"|>}', "{a b:1}", "{:1}", "{a:1}"])


# -- raw text --------------------------------------------------------------------------------------------------------


def qwen(text: str, name: str = "a") -> str:
    return f"<parameter={name}>{text}</parameter>"


def raw(schema: Any, **more: Any) -> Texts:
    return texts("qwen_xml", {"properties": {"a": {"type": "string"} | schema}, "required": ["a"]}, **more)


def test_raw_text_ends_at_the_first_closing_marker() -> None:
    tricky = ["", "\n", "</", "</parameter", "<</parameter", "</paramete</parameter", "<parameter=a>", 'a"b\\', "é\t"]
    found = raw({})
    check(found, [qwen(text) for text in tricky], [qwen(f"{text}</parameter>") for text in tricky])
    check(found, [qwen("x") + qwen("y", "b")], [qwen("x") + "y", qwen("x") + qwen("y") + "z"])
    assert b"<parameter=a>\xff</parameter>" not in found  # no string
    # Not even a minimum length reaches over it.
    check(raw({"minLength": 3}), [qwen("abc")], [qwen("a"), qwen("a</parameter>b"), qwen("</parameter>")])


@pytest.mark.parametrize(
    ("schema", "accepts", "rejects"),
    [
        ({"minLength": 2}, ["ab", "é<b"], ["a"]),
        ({"maxLength": 3}, ["", "abc", "<<<", "</p"], ["abcd", "</pa"]),
        ({"minLength": 2, "maxLength": 150}, ["ab", "<" * 150, "é" * 150], ["a", "x" * 153]),
        ({"pattern": "^[a-z]+$"}, ["abc"], ["", "aB"]),
        ({"pattern": "b"}, ["b", "abc", "</parameterb"], ["", "ac"]),
        ({"pattern": "^[<\\/a-z>]+$", "maxLength": 14}, ["</parameter", "</parameter<"], ["a<</parameter/a", "A"]),
        ({"enum": ["x", 'a "b"', "<c>"]}, ["x", 'a "b"', "<c>"], ["", "y", '"x"']),
        ({"const": ""}, [""], ["x"]),
        ({"format": "date"}, ["2024-02-29"], ["2023-02-29", "x"]),
        ({"not": {"enum": ["no"]}}, ["", "n", "noo"], ["no"]),
    ],
    ids=lambda value: None,
)
def test_conditions_on_raw_text(schema: Any, accepts: list[str], rejects: list[str]) -> None:
    check(raw(schema), [qwen(text) for text in accepts], [qwen(text) for text in rejects])
    check(raw(schema), [qwen(f"\n{text}\n") for text in accepts], [])
    strict = texts("glm_xml", {"properties": {"a": {"type": "string"} | schema}})
    check(
        strict,
        [f"<arg_key>a</arg_key><arg_value>{text}</arg_value>" for text in accepts],
        [f"<arg_key>a</arg_key><arg_value>{text}</arg_value>" for text in rejects],
    )


def test_no_string_in_json_holds_the_closing_marker() -> None:
    found = texts("qwen_xml", CLOSED | {"properties": {"a": {"type": ["array", "object"]}}})
    check(
        found,
        [qwen('["</parameter", "<"]'), qwen('{"<": {"b": ["</p", "\\u00e9", "\\n"]}}'), qwen("[]")],
        [qwen('["</parameter>"]'), qwen('{"</parameter>": 1}'), qwen('[[{"a": "x</parameter>y"}]]')],
    )


def test_types_that_are_not_told_apart() -> None:
    found = texts("qwen_xml", CLOSED | {"properties": {"a": {"type": ["integer", "string"], "maxLength": 2}}})
    check(found, [qwen("123"), qwen(" 123"), qwen("ab")], [qwen("12.5"), qwen("abc")])
    found = texts("deepseek_xml", CLOSED | {"properties": {"a": {"type": ["integer", "string"], "maxLength": 2}}})
    text = '<｜DSML｜parameter name="a" string="{}">{}</｜DSML｜parameter>'
    check(
        found,
        [text.format("false", "123"), text.format("true", "ab"), text.format("true", "12")],
        [text.format("true", "123"), text.format("false", "ab"), text.format("false", '"ab"')],
    )


def test_excludes() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": True}}
    found = texts("qwen_xml", schema, excludes=["<stop>", "no"])
    check(
        found,
        [qwen("a</"), qwen("n") + qwen('{"n": "o"}', "b")],
        [qwen("<stop>"), qwen("nono"), qwen('{"no": 1}', "b"), qwen('["no"]', "b"), qwen("x", "no")],
    )
    found = Texts(Grammar.from_structural_tag(whole(styled("json", schema, excludes=["<stop>"]))))
    check(found, ['{"a": "<stop"}', '{"c": [1]}'], ['{"a": "<stop>"}', '{"c": ["<stop>"]}', '{"<stop>": 1}'])


@pytest.mark.parametrize("style", ["json", "qwen_xml", "cohere_xml", "gemma"])
def test_what_excludes_may_cost(style: str) -> None:
    schema = {"properties": {"a": {"type": "string", "maxLength": 400}}}
    with pytest.raises(UnsupportedFeatureError, match="#/format/excludes: more than 1,000 characters"):
        texts(style, schema, excludes=["ab" * 300, "ba" * 300])
    letters = "abcdefghijklmnopqrst"
    with pytest.raises(UnsupportedSchemaError, match=r"#/format/json_schema/properties/a, maxLength: .* states"):
        texts(style, schema, excludes=[letters[number:] + letters[:number] for number in range(5)])


# -- names and objects -----------------------------------------------------------------------------------------------


def test_other_names() -> None:
    found = texts("qwen_xml", {"properties": {"a": True}, "additionalProperties": {"type": "integer"}})
    check(found, [qwen("1", "b"), qwen("x") + qwen("1", "b c.d-é"), qwen("1", "aa")], [qwen("x", "b")])
    check(found, [], [qwen("1", ""), qwen("1", " b"), qwen("1", "b>"), qwen("1", 'b"'), qwen("1") + qwen("2")])
    found = texts("qwen_xml", {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False})
    check(found, [qwen("1", "x-1")], [qwen("1", "y"), qwen("a", "x-1")])


def test_bounds_and_conditions_on_members() -> None:
    found = texts("minimax_xml", {"minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "null"}})
    one, two = (f'<parameter name="{name}">null</parameter>' for name in "ab")
    check(found, [one, one + two], ["", one + two + one.replace("a", "c")])
    either = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": True, "b": True}}
    check(texts("minimax_xml", either), [one, two], ["", one + two])
    kinds = [
        {"properties": {"k": {"const": name}, name: {"type": "integer"}}, "required": ["k", name]}
        for name in ("p", "q")
    ]
    found = texts("qwen_xml", {"anyOf": kinds, "unevaluatedProperties": False})
    check(found, [qwen("p", "k") + qwen("1", "p")], [qwen("q", "k") + qwen("1", "p"), qwen("p", "k")])


def test_blanks() -> None:
    found = texts("qwen_xml", {"properties": {"a": {"type": "integer"}}}, max_whitespace_cnt=1)
    check(found, [qwen("1"), "\n" + qwen(" 1\n") + " "], ["\n\n" + qwen("1"), qwen("  1")])
    listed = {"properties": {"a": {"type": "array", "items": {"type": "number"}}}}
    found = texts("qwen_xml", listed, whitespace_before_separators=False, canonical_numbers=True)
    check(found, [qwen("[1, 2.5 ]")], [qwen("[1 ,2.5]"), qwen("[1.0]"), qwen("[1e1]")])


def test_what_is_not_an_object() -> None:
    check(texts("qwen_xml", True), ["", qwen("x"), qwen("[1]") + qwen("y", "b")], ["x", "1"])
    check(texts("qwen_xml", {"minLength": 3}), ["", qwen("x")], ["abc"])
    assert refused("qwen_xml", {"type": "string"}) == [("", "type")]


@pytest.mark.parametrize(
    ("style", "schema", "problems"),
    [
        ("qwen_xml", {"properties": {"a>b": {"type": "null"}}}, [("/properties/a>b", "properties")]),
        ("qwen_xml", {"properties": {"": {"type": "null"}}}, [("/properties/", "properties")]),
        ("qwen_xml", {"properties": {"a": {"const": "</parameter>"}}}, [("/properties/a", "const")]),
        ("qwen_xml", {"properties": {"a": {"enum": ["x", "y</parameter>"]}}}, [("/properties/a", "enum")]),
        (
            "qwen_xml",
            {"properties": {"a": {"type": "string", "pattern": "</parameter>"}}},
            [("/properties/a", "pattern")],
        ),
        ("gemma", {"properties": {"a:b": {"type": "null"}}}, [("/properties/a:b", "properties")]),
        ("gemma", {"properties": {"a": {"items": {"const": '<|"|>'}}}}, [("/properties/a/items", "const")]),
        ("qwen_xml", {"properties": {"a": {"items": {"const": "</parameter>"}}}}, [("/properties/a/items", "const")]),
        (
            "minimax_m3_xml",
            {"properties": {"a": True}, "additionalProperties": {"type": "null"}},
            [("", "additionalProperties")],
        ),
        ("glm_xml", {"properties": {"a": {"type": "string", "pattern": "(a)\\1"}}}, [("/properties/a", "pattern")]),
    ],
)
def test_what_cannot_be_written_is_refused_at_its_place(style: str, schema: Any, problems: list[Any]) -> None:
    assert refused(style, schema)[: len(problems)] == problems


def test_markers_that_are_control_tokens() -> None:
    """`｜DSML｜` is one token of its tokenizer: markers are spelt with it, and raw text never holds it."""
    vocab = [bytes((value,)) for value in range(256)] + ["｜DSML｜".encode(), b"<stop>"]
    info = TokenizerInfo(vocab, stop_token_ids=[257], special_token_ids=[256, 257])
    form = tag("(", styled("deepseek_xml", CLOSED | {"properties": {"a": {"type": "string"}}}), ")")
    matcher = GrammarMatcher(GrammarCompiler(info).compile_structural_tag(whole(form)))

    def tokens(text: str) -> list[int]:
        first, *rest = text.split("｜DSML｜")
        return [*first.encode(), *(token for piece in rest for token in (256, *piece.encode()))]

    text = '(<｜DSML｜parameter name="a" string="true">x</</｜DSML｜parameter>)'
    assert all(map(matcher.accept_token, tokens(text)))
    assert matcher.is_completed()
    matcher.reset()
    assert not all(map(matcher.accept_token, tokens(text.replace("x", "x｜DSML｜"))))
    matcher.reset()
    assert not matcher.accept_string(text)


# -- against a validator ---------------------------------------------------------------------------------------------

VALUES: list[Any] = ["", "a", "ab", "12", "null", 12, -1, 2.5, True, None, [], ["a"], [1], {}, {"k": "a"}, "</p", '"a"']
SCHEMAS: list[Any] = [
    {},
    {"type": "string"},
    {"type": "string", "minLength": 1, "maxLength": 2},
    {"type": "integer", "minimum": 0},
    {"type": ["number", "null"]},
    {"enum": ["a", 12, None, "12"]},
    {"type": "array", "items": {"type": "string"}},
    {"type": "object", "required": ["k"]},
    {"type": "boolean"},
    {"pattern": "^a"},
    {"not": {"type": "string"}},
]


def element(style: str, name: str, value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    if style == "qwen_xml":
        return f"<parameter={name}>{text}</parameter>"
    if style == "glm_xml":
        return f"<arg_key>{name}</arg_key><arg_value>{text}</arg_value>"
    flag = "true" if isinstance(value, str) else "false"
    return f'<｜DSML｜parameter name="{name}" string="{flag}">{text}</｜DSML｜parameter>'


def readings(style: str, value: Any) -> Iterator[Any]:
    """What the text of `value` may mean."""
    yield value
    if style == "deepseek_xml":
        return
    if isinstance(value, str):
        with suppress(ValueError):
            read = json.loads(value)
            if not isinstance(read, str):  # strings are never quoted
                yield read
    else:
        yield json.dumps(value)


@settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data=st.data())
def test_accepted_exactly_where_some_reading_is_valid(data: st.DataObject) -> None:
    style = data.draw(st.sampled_from(["qwen_xml", "glm_xml", "deepseek_xml"]))
    names = ["a", "b", "c"]
    schema = {
        "properties": {name: data.draw(st.sampled_from(SCHEMAS)) for name in names},
        "required": data.draw(st.lists(st.sampled_from(names), unique=True)),
        "additionalProperties": data.draw(st.sampled_from(SCHEMAS)),
    }
    found = texts(style, schema)
    for _ in range(8):
        values = data.draw(st.dictionaries(st.sampled_from([*names, "d", "e"]), st.sampled_from(VALUES)))
        ordered = sorted(values)
        text = "\n".join(element(style, name, values[name]) for name in ordered)
        valid = any(
            Draft202012Validator(schema).is_valid(dict(zip(ordered, chosen, strict=True)))
            for chosen in itertools.product(*(tuple(readings(style, values[name])) for name in ordered))
        )
        assert (text in found) == valid, (style, schema, text)


# -- walks on masks -------------------------------------------------------------------------------------------------

WALKED = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "pattern": "^[a-c<]+$", "minLength": 1},
        "b": {"type": ["integer", "null"], "maximum": 10},
        "c": {"type": "array", "items": {"enum": ["x", "<", 1]}, "minItems": 1, "maxItems": 3},
        "d": {"type": "string"},
        "e": {"type": "object", "properties": {"k": {"type": "string", "maxLength": 4}}, "additionalProperties": False},
    },
    "required": ["a", "c", "d"],
    "additionalProperties": {"type": "boolean"},
    "maxProperties": 6,
}
PIECES = ["</parameter>", "</parameter>\n", "<parameter=", "</param", "eter>", '"}', "]</", "true</parameter>", "a</"]


def read_qwen(text: str) -> list[tuple[str, str]]:
    """Names and texts, each up to the first closing marker."""
    found = []
    at = 0
    while text[at:].strip(" \n\r\t"):
        at = text.index("<parameter=", at)
        middle = text.index(">", at)
        end = text.index("</parameter>", middle)
        found.append((text[at + len("<parameter=") : middle], text[middle + 1 : end]))
        at = end + len("</parameter>")
    return found


@pytest.mark.parametrize("seed", range(25))
def test_what_masks_lead_to_is_valid(seed: int) -> None:
    """Tokens that end values in their middle, names that are free, and text that is: read back, all of it is valid."""
    chance = random.Random(seed)
    vocab = [*(bytes((value,)) for value in range(256)), *map(str.encode, PIECES), b"<stop>"]
    info = TokenizerInfo(vocab, stop_token_ids=[len(vocab) - 1])
    form = styled("qwen_xml", WALKED, max_whitespace_cnt=2)
    matcher = GrammarMatcher(GrammarCompiler(info).compile_structural_tag(whole(form)))
    taken: list[int] = []
    while not matcher.is_terminated() and len(taken) < 5000:
        allowed = matcher.allowed_token_ids()
        # Bytes of characters beyond ASCII and blanks make long texts and show nothing here.
        likely = [token for token in allowed if 0x20 < token < 0x7F or token >= 256] or allowed
        closing = [token for token in likely if token >= 256 or token in b"<>/"]
        token = chance.choice(closing if closing and chance.random() < 0.5 else likely)
        assert matcher.accept_token(token)
        taken.append(token)
    assert matcher.is_terminated()
    text = b"".join(vocab[token] for token in taken[:-1]).decode()
    arguments = read_qwen(text)
    ways = [
        [(name, value) for value in [*readings("qwen_xml", text), *readings("qwen_xml", _trimmed(text))]]
        for name, text in arguments
    ]
    assert any(Draft202012Validator(WALKED).is_valid(dict(chosen)) for chosen in itertools.product(*ways)), text


def _trimmed(text: str) -> str:
    return text.removeprefix("\n").removesuffix("\n")
