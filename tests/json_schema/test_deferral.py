"""What the quick readers call plain has no problem and an instance, as the algebra finds that puts nothing off."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernels_core.grammar.json_schema import SchemaOptions
from kernels_core.grammar.json_schema.common_schemas import is_common_schema
from kernels_core.grammar.json_schema.compile import compile_schema
from kernels_core.grammar.json_schema.deferrable_schemas import DeferrableSchemas
from kernels_core.grammar.json_schema.keywords import KEYWORDS
from kernels_core.grammar.json_schema.keywords.quick import Quick
from kernels_core.grammar.json_schema.lazy_document import LazyDocument
from kernels_core.grammar.json_schema.quick_writer import QuickWriter
from kernels_core.grammar.rulebook import RuleBook
from tests.json_schema import strategies, test_common_schemas, test_lazy_document, test_quick_reader
from tests.json_schema.strategies import MANY


def is_plain(document: Any, **options: Any) -> bool:
    """What the quick reader says of a whole document."""
    document = json.loads(json.dumps(document))
    return LazyDocument(document, QuickWriter(RuleBook(), SchemaOptions(**options)), {}).top() is not None


def check_whole(document: Any, **options: Any) -> None:
    """Read a document with nothing put off: that raises where there is a problem, or no instance."""
    compile_schema(document, json.dumps(document), SchemaOptions(**options), {})


documents = st.one_of(
    test_lazy_document.documents,
    strategies.documents(),
    st.builds(
        lambda one, two, root: {"$defs": {"a": one, "b": two}, "type": "array", "items": root},
        test_quick_reader.leaves,
        test_quick_reader.leaves,
        test_quick_reader.schemas,
    ),
    test_common_schemas.objects(test_common_schemas.leaves),
)


# No string is 1: the member may be declared, and never comes.
NEVER_THERE = {
    "type": "object",
    "properties": {"a": {"type": ["string"], "enum": [1]}, "b": {"type": "string"}},
    "additionalProperties": False,
}


@MANY
@given(documents, st.booleans(), st.sampled_from(["any", "declared"]))
@example(NEVER_THERE, False, "any")
def test_what_is_plain_has_no_problem_and_an_instance(document: Any, strict: bool, order: Any) -> None:
    if is_plain(document, strict_mode=strict, order=order):
        check_whole(document, strict_mode=strict, order=order)


@given(st.recursive(test_common_schemas.leaves, test_common_schemas.objects, max_leaves=4))
def test_common_schemas_are_plain(schema: Any) -> None:
    if is_common_schema(schema):
        assert is_plain(schema)
        check_whole(schema)


@pytest.mark.parametrize("word", [entry.name for entry in KEYWORDS.values() if entry.quick == Quick.NEVER])
def test_the_quick_reader_gives_the_reason_of_the_table(word: str) -> None:
    plain = DeferrableSchemas({}, frozenset(KEYWORDS), pointers=False, strict=False)
    assert plain.reason({"type": "object", "properties": {"a": {word: 1}}}) == f"{word}: {KEYWORDS[word].why}"
    assert plain.reason({"type": "object"}) == ""
