"""Values as text: what `json.dumps` writes, or nothing where that would be another thing; and the parts in it."""

from __future__ import annotations

import json
import signal
import time
from decimal import Decimal
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.clock import look
from kernels_core.grammar.canonical_json import write, write_text
from kernels_core.grammar.json_schema.exact_text import exact_text
from kernels_core.grammar.structural_tag.deferrable_calls import DeferrableCalls

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(["tags", 'a"b\\', "\x00\x1f\x7f", "é" * 9])
scalars = st.none() | st.booleans() | st.integers(-(10**17), 10**17) | TEXTS
floats = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars | floats, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
)


@given(values)
def test_the_text_is_that_of_json(value: Any) -> None:
    written = write(value, "tags")
    assert written is not None
    assert written.text == write_text(value) == json.dumps(value, ensure_ascii=False)


@given(TEXTS, st.lists(st.dictionaries(TEXTS, scalars)), st.lists(st.dictionaries(TEXTS, scalars)))
def test_parts_are_the_text_of_lists_and_of_their_items(text: str, one: list[Any], two: list[Any]) -> None:
    other = [{"x": 1}]
    whole = {"a": text, "tags": one, "b": {text: 1, "tags": two, "items": other}}
    written = write(whole, "tags")
    for tags in (one, two):
        assert written.knows(tags)
        parts = DeferrableCalls(tags, ("",), written)
        assert parts.whole_text() == json.dumps(tags, ensure_ascii=False)
        found = [parts.text(at) for at in range(len(tags))]
        assert found == [json.dumps(tag, ensure_ascii=False) for tag in tags]
    assert not written.knows(other)
    before = written.text
    one.append(1)
    assert written.text == before


def test_items_that_a_list_gets_later_are_not_those_that_were_written() -> None:
    tags: list[Any] = [{"x": 1}, {"x": 2}]
    written = write({"tags": tags}, "tags")
    tags += [{"x": 3}] * 100
    assert len(DeferrableCalls(tags, ("",), written).begins) == 2


@pytest.mark.parametrize("beside", [Decimal("0.10"), 10**18, "\ud800"])
def test_no_string_is_taken_for_a_number(beside: Any) -> None:
    value = ["\ufdd01\ufdd1", "\ufdd0", beside, '"\ufdd1']
    read = json.loads(exact_text(value), parse_float=Decimal)
    assert read == value
    assert [*map(type, read)] == [*map(type, value)]


def test_decimals_keep_their_digits() -> None:
    assert write({"a": Decimal("0.10"), "b": Decimal("1E+40")}, "tags").text == '{"a": 0.10, "b": 1E+40}'


class Number(IntEnum):
    ONE = 1


class Text(str):
    pass


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def circle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [
        (1, 2),
        b"a",
        {1},
        Number.ONE,
        Text("a"),
        float("nan"),
        float("inf"),
        Decimal("nan"),
        10**30,
        "\ud800",
        {"\ud800": 1},
        {1: 2},
        {None: 2},
        {Text("a"): 2},
        object(),
        deep(1000),
        circle(),
    ],
)
def test_what_is_not_plain_is_left_alone(value: Any) -> None:
    assert write(value, "tags") is None
    assert write({"a": [value]}, "tags") is None
    assert write_text([value]) is None


@given(st.text(st.characters(min_codepoint=0x1E, max_codepoint=0x80), max_size=30))
def test_escapes_are_found_at_every_place(text: str) -> None:
    assert write([text], "tags").text == json.dumps([text], ensure_ascii=False)


def test_large_texts_and_small_ones_take_turns() -> None:
    for size in (10, 5_000_000, 3, 70_000, 0):
        assert write(["x" * size, "é"], "tags").text == json.dumps(["x" * size, "é"], ensure_ascii=False)


@pytest.mark.parametrize("kind", [list, dict])
def test_another_thread_may_change_what_is_written(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    inner: Any = [f"{i}" * 40 for i in range(2000)]
    value: list[Any] = [{"a": [inner if kind is list else dict(zip(inner, inner, strict=True))]}, "x"]
    del inner
    reused: list[str] = []

    def change(number: int) -> Any:
        """All that the value held goes, as other threads may have it where Ctrl-C is asked for."""
        value.clear()
        reused.extend("y" * size for size in range(400) for _ in range(20))
        return signal.default_int_handler

    look(1_000)
    time.sleep(0.15)  # until it is asked for again
    monkeypatch.setattr(signal, "getsignal", change)
    assert write(value, "tags") is None
    assert reused
