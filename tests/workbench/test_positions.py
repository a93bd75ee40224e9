"""The position-keeping JSON reader against Python's own: same texts accepted, every value where it is written."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.languages.layout import lay_out
from workbench.languages.positions import (
    JsonSyntaxError,
    JsonText,
    child,
    load_json,
    parts_of,
    read_json,
    text_at,
    without_comments,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
# A machine under load is slow.
LAYOUTS = st.sampled_from([{}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False, "indent": 3}])


def at(value: Any, pointer: str) -> Any:
    for part in parts_of(pointer):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def pointers(value: Any, pointer: str = "#") -> list[str]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [pointer, *(found for key, item in inner for found in pointers(item, child(pointer, key)))]


@given(VALUES, LAYOUTS)
def test_every_value_is_where_its_pointer_says(value: Any, layout: dict[str, Any]) -> None:
    text = json.dumps(value, **layout)
    found = read_json(text)
    assert sorted(found.entries) == sorted(pointers(value))
    for pointer, entry in found.entries.items():
        assert json.loads(text[entry.start : entry.end]) == at(value, pointer)
        if entry.key is not None:
            assert json.loads(text[slice(*entry.key)]) == parts_of(pointer)[-1]
        assert text_at(text, pointer) == text[entry.start : entry.end]


def test_of_a_repeated_key_the_last_value_is_found() -> None:
    text = ' {"a": 1, "b/c" : [0, {"a" :2}], "a":{"b": 3.50} } '
    assert [text_at(text, one) for one in ("#/a", "#/b~1c/1", "#/a/b")] == ['{"b": 3.50}', '{"a" :2}', "3.50"]
    for pointer in ("#/c", "#/b~1c/2", "#/a/b/0"):
        with pytest.raises(LookupError):
            text_at(text, pointer)


@given(VALUES, LAYOUTS, st.data())
def test_each_character_belongs_to_the_innermost_value_around_it(
    value: Any, layout: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(value, **layout)
    found = read_json(text)
    offset = data.draw(st.integers(0, len(text) - 1))
    holders = [(e.span[1] - e.span[0], p) for p, e in found.entries.items() if e.span[0] <= offset < e.span[1]]
    assert found.pointer_at(offset) == (min(holders)[1] if holders else "#")


@given(
    VALUES, st.lists(st.tuples(st.integers(0, 400), st.sampled_from(list("{}[],:\"\\u 0.-+eE1tn#/'\n")) | st.just("")))
)
def test_a_text_is_accepted_where_python_accepts_it(value: Any, edits: list[tuple[int, str]]) -> None:
    text = json.dumps(value)
    for place, letter in edits[:3]:
        place %= len(text) + 1
        text = text[:place] + letter + text[place + 1 :]

    def refused(name: str) -> None:
        raise ValueError(name)  # NaN and Infinity are Python's, not JSON's

    try:
        json.loads(text, parse_constant=refused)
    except ValueError:
        with pytest.raises(JsonSyntaxError) as caught:
            read_json(text)
        assert caught.value.line is not None
    else:
        read_json(text)


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "cure"),
    [
        ("", 1, 1, "nothing here", "JSON value"),
        ('{"a": 1,\n}', 1, 8, "comma before the closing", "remove the comma"),
        ('{"a": 1\n "b": 2}', 2, 2, "comma is missing", 'write ","'),
        ("{'a': 1}", 1, 2, "double quotes", "instead of '"),
        ("{a: 1}", 1, 2, "not a", '"name": value'),
        ('{"a": True}', 1, 7, "Python", "true"),
        ('{"a": TRUE}', 1, 7, "written true", "write true"),
        ('{"a": [1, 2}', 1, 12, '"}" closes nothing', 'write "]"'),
        ('{"a": [1, 2]', 1, 1, '"{" is never closed', "missing"),
        ('{"a"\n: "b}', 2, 3, "never closed", "missing"),
        ('{"a": "x\ty"}', 1, 9, "a tab inside", "\\t"),
        ('{"a": "\\d"}', 1, 8, "no escape", "\\\\d"),
        ('{"a": 01}', 1, 7, "no JSON number", "leading zero"),
        ('{"a": .5}', 1, 7, "no JSON number", "0.5"),
        ('{"a": 1} // no', 1, 10, "comments", "$comment"),
        ('{"a": 1} {}', 1, 10, "follows the end", "one value"),
        ('{"a": NaN}', 1, 7, "no JSON number", "leave"),
        ('{"a" 1}', 1, 6, '":" is missing', "member"),
        ('["a": 1]', 1, 5, "in an array", "{ }"),
        ('{"a": }', 1, 7, "value is missing", "write the value"),
    ],
)
def test_mistakes_have_a_place_and_a_cure(text: str, line: int, column: int, message: str, cure: str) -> None:
    with pytest.raises(JsonSyntaxError) as caught:
        read_json(text)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert message in error.reason
    assert cure in error.cure


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"a": 1, // "b": 2\n}', '{"a": 1           \n}'),
        ("/* one\ntwo */ [1, [2,],\t]", "      \n       [1, [2 ] \t]"),
        ('{"//": "/* no */", "a": ",}", "b": "\\"//"}', '{"//": "/* no */", "a": ",}", "b": "\\"//"}'),
        ('{"a": "http://x", /**/ /* , */}', '{"a": "http://x"              }'),
        ('{"a": 1 /* never closed }', '{"a": 1 /* never closed }'),
        ("[1,,]", "[1, ]"),
        ('{"a": "x\n// y"}', '{"a": "x\n      '),
    ],
)
def test_comments_and_last_commas_leave_blanks(text: str, left: str) -> None:
    assert without_comments(text) == left


@given(VALUES)
def test_what_has_no_comments_stays_as_it_is(value: Any) -> None:
    for indent in (None, 1):
        text = json.dumps(value, indent=indent, ensure_ascii=False)
        assert without_comments(text) == text


def test_very_deep_texts_are_read() -> None:
    deep = "[" * 5_000 + "]" * 5_000
    assert len(read_json(deep).entries) == 5_000
    with pytest.raises(JsonSyntaxError, match="never closed"):
        read_json("[" * 5_000)


def test_offsets_inside_strings_take_escapes_into_account() -> None:
    text = '{"p": "a\\u00e9\\n\\ud83d\\ude00é]"}'
    found: JsonText = read_json(text)
    value = json.loads(text)["p"]
    for offset, character in enumerate(value):
        written = text[found.inside("#/p", offset) : found.inside("#/p", offset + 1)]
        assert json.loads(f'"{written}"') == character


@given(VALUES)
def test_laid_out_values_read_back_the_same(value: Any) -> None:
    assert json.loads(lay_out(value)) == value


def test_layout_keeps_a_property_on_its_line() -> None:
    schema = {
        "type": "object",
        "properties": {"unit": {"type": "string", "enum": ["c", "f"]}, "n": {"type": "integer"}},
    }
    assert '    "unit": {"type": "string", "enum": ["c", "f"]},\n' in lay_out(schema)
    with pytest.raises(TypeError, match=r"#/enum: .*use a list"):
        lay_out({"enum": {1}})
    with pytest.raises(TypeError, match="keys of JSON objects"):
        lay_out({1: 2})


def test_what_is_nested_or_named_too_much_is_refused_in_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(JsonSyntaxError, match="nested too deeply"):
        read_json('{"items":' * 50_000 + "{}" + "}" * 50_000)
    with pytest.raises(JsonSyntaxError, match="names too long"):
        read_json('{"' + "n" * 100_000 + '": [' + "1," * 100_000 + "1]}")
    monkeypatch.setattr("workbench.languages.positions.MAX_POINTERS", 1 << 20)
    with pytest.raises(JsonSyntaxError, match="too many values"):
        read_json("[" + "1," * 20_000 + "1]")


def test_values_are_exact_and_what_is_no_json_has_its_place() -> None:
    assert load_json('[1e400, 0.10, "a"]') == [Decimal("1e400"), Decimal("0.10"), "a"]
    for text in ("[1, NaN]", "[1, -Infinity]", "[1,\n 2,]", "{'a': 1}", "\ufeff1"):
        with pytest.raises(JsonSyntaxError) as caught:
            load_json(text)
        assert caught.value.cure
