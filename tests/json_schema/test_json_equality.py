"""JSON values are equal if they are written as the same text."""

from __future__ import annotations

import copy
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kernels_core.grammar.ir import Unordered, children, walk
from kernels_core.grammar.json_schema import SchemaOptions
from kernels_core.grammar.json_schema.exact_text import exact_text
from kernels_core.grammar.json_schema.json_equality import are_equal, hash_of
from kernels_core.grammar.json_schema.lazy_document import LazyDocument
from kernels_core.grammar.json_schema.quick_writer import QuickWriter
from kernels_core.grammar.rulebook import RuleBook

# What JSON is read as: integers are never decimals, and with decimals there are no floats of the same text.
scalars = st.sampled_from(
    [None, True, False, 0, 1, -1, 1.0, 0.0, -0.0, Decimal("1.10"), Decimal("1e2"), "", "a", "b", "1", "é"]
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), inner), max_size=3).map(dict)
    ),
    max_leaves=6,
)


@given(values, values)
def test_values_are_alike_if_their_texts_are_equal(left: Any, right: Any) -> None:
    for other in (right, copy.deepcopy(left)):
        assert are_equal(left, other) == (exact_text(left) == exact_text(other))
        if are_equal(left, other):
            assert hash_of(left, 7) == hash_of(other, 7)


def test_an_outline_looks_at_the_beginning_alone() -> None:
    # Values that differ far behind have one hash, and are told apart by the comparison.
    left, right = [*range(1000), 1], [*range(1000), 2]
    assert hash_of(left, 1) == hash_of(right, 1)
    assert not are_equal(left, right)
    assert hash_of(left, 1) != hash_of(left, 2)


def test_schemas_that_say_the_same_share_a_rule_and_others_do_not() -> None:
    def item(last: int) -> dict[str, Any]:
        return {"enum": [*range(40), last], "description": str(last)}

    names = {f"p{i}": item(i % 30) for i in range(60)}
    book = RuleBook()
    document = {"type": "object", "properties": names, "additionalProperties": False}
    top = LazyDocument(document, QuickWriter(book, SchemaOptions()), {}).top()
    assert top is not None
    body: Any = book.rules[top.name].make(True)  # type: ignore[attr-defined]
    members = next(node for node in walk(body) if isinstance(node, Unordered))
    calls: list[Any] = [children(value)[-1].name for value in members.values]  # type: ignore[union-attr]
    by_value: dict[int, set[str]] = {}
    for i, name in enumerate(calls):
        by_value.setdefault(i % 30, set()).add(name)
    # Of those with one hash only some are looked through: what is found equal is equal, and few are made twice.
    owners = [name for names in by_value.values() for name in names]
    assert len(owners) == len(set(owners))
    assert 30 <= len(set(calls)) < 60
    assert all(len(by_value[i]) == 1 for i in range(10))
