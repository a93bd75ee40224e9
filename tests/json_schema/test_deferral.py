"""What the quick readers call plain has no problem and an instance, as the algebra finds that puts nothing off."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, UnsupportedSchemaError
from kernels_core.grammar.json_schema import SchemaOptions
from kernels_core.grammar.json_schema.compile import compile_schema
from kernels_core.grammar.json_schema.deferrable_schemas import DeferrableSchemas
from kernels_core.grammar.json_schema.dialect import DEFAULT
from kernels_core.grammar.json_schema.keywords import KEYWORDS
from kernels_core.grammar.json_schema.keywords.quick import Quick
from kernels_core.grammar.json_schema.lazy_document import LazyDocument
from kernels_core.grammar.json_schema.quick_writer import QuickWriter
from kernels_core.grammar.rulebook import RuleBook
from tests.json_schema import strategies, test_lazy_document, test_quick_reader
from tests.json_schema.strategies import MANY


def is_plain(document: Any, **options: Any) -> bool:
    """What the quick reader says of a whole document."""
    document = json.loads(json.dumps(document))
    return (
        LazyDocument(document, json.dumps(document), QuickWriter(RuleBook(), SchemaOptions(**options)), {}).top()
        is not None
    )


def check_whole(document: Any, **options: Any) -> None:
    """Read a document with nothing put off: that raises where there is a problem, or no instance."""
    compile_schema(document, json.dumps(document), SchemaOptions(**options), {})


texts = st.sampled_from(["a", "b", "ab", "é", "\ud800"])
values = st.none() | st.booleans() | st.integers(0, 2) | texts
common_leaves = st.sampled_from(
    [True, False, {}, {"type": "string"}, {"type": "integer"}, {"type": "array"}, {"type": "any"}]
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas with some of the words that usual ones have, and a few that they have not, not always as meant."""
    kinds = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", "strin", 1, ["null"]])
    members = st.dictionaries(texts, inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": kinds,
            "properties": members | values,
            "required": st.lists(texts | values, max_size=2) | values,
            "additionalProperties": inner,
            "items": inner,
            "enum": st.lists(texts | values, max_size=2) | values,
            "description": values,
            "default": values,
            "$id": st.just("http://a/b"),
            "$ref": st.just("#"),
            "minItems": st.integers(0, 1),
            "unheard-of": values,
        },
    )


documents = st.one_of(
    test_lazy_document.documents,
    strategies.documents(),
    st.builds(
        lambda one, two, root: {"$defs": {"a": one, "b": two}, "type": "array", "items": root},
        test_quick_reader.leaves,
        test_quick_reader.leaves,
        test_quick_reader.schemas,
    ),
    st.recursive(common_leaves, objects, max_leaves=4),
)


@MANY
@given(documents, st.booleans(), st.sampled_from(["any", "declared"]))
def test_what_is_plain_has_no_problem_and_an_instance(document: Any, strict: bool, order: Any) -> None:
    if is_plain(document, strict_mode=strict, order=order):
        check_whole(document, strict_mode=strict, order=order)


@pytest.mark.parametrize("word", [entry.name for entry in KEYWORDS.values() if entry.quick == Quick.NEVER])
def test_what_the_quick_readers_do_not_know_does_not_wait(word: str) -> None:
    every_word = dataclasses.replace(DEFAULT, keywords=frozenset(KEYWORDS))
    plain = DeferrableSchemas({}, every_word, pointers=False, strict=False)
    assert KEYWORDS[word].why
    judged = [{"type": "object", "properties": {"a": {key: 1}}} for key in (word, "unknown")]
    assert [plain.holds(schema) for schema in judged] == [False, True]


@pytest.mark.parametrize(
    "bounds",
    [
        '"type": "number", "minimum": 999999999999.00001, "maximum": 999999999999',
        '"type": "number", "minimum": 0.1, "maximum": 0.09999999999999999999',
        '"type": "integer", "minimum": 999999999990.00001, "maximum": 999999999990.99999',
        '"type": "integer", "minimum": 0.00000000000000001, "maximum": 0.99999999999999999',
    ],
)
def test_bounds_that_are_one_as_floats_leave_no_number(bounds: str) -> None:
    with pytest.raises(UnsupportedSchemaError, match="#/properties/a, maximum: it contradicts"):
        Grammar.from_json_schema(f'{{"type": "object", "properties": {{"a": {{{bounds}}}}}, "required": ["a"]}}')
