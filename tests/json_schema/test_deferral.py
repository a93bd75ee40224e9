"""One judge of deferral: what the quick readers call plain, it finds deferrable by meaning; else it says why not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernels_core.grammar.json_schema import SchemaOptions
from kernels_core.grammar.json_schema.common_schemas import is_common_schema
from kernels_core.grammar.json_schema.deferrable_schemas import DeferrableSchemas
from kernels_core.grammar.json_schema.keywords import KEYWORDS
from kernels_core.grammar.json_schema.keywords.quick import Quick
from kernels_core.grammar.json_schema.lazy_document import LazyDocument
from kernels_core.grammar.json_schema.quick_writer import QuickWriter
from kernels_core.grammar.rulebook import RuleBook
from kernels_core.laboratory import without
from tests.json_schema import strategies, test_common_schemas, test_lazy_document, test_quick_reader
from tests.json_schema.strategies import MANY


def judge(document: Any, **options: Any) -> LazyDocument:
    """The judge of a document, in `emitter.deferrable`; in the laboratory it has no help of the quick readers."""
    return LazyDocument(json.loads(json.dumps(document)), QuickWriter(RuleBook(), SchemaOptions(**options)), {})


def is_deferrable(document: Any, **options: Any) -> bool:
    """What the judge says of a whole document by meaning alone."""
    with without("quick reader"):
        document_judge = judge(document, **options)
        return document_judge.emitter.are_all_deferrable(document_judge.root) and not len(document_judge.problems)


def is_plain(document: Any, **options: Any) -> bool:
    """What the quick reader says of a whole document."""
    return judge(document, **options).top() is not None


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
def test_what_is_plain_is_deferrable(document: Any, strict: bool, order: Any) -> None:
    if is_plain(document, strict_mode=strict, order=order):
        assert is_deferrable(document, strict_mode=strict, order=order)


@given(st.recursive(test_common_schemas.leaves, test_common_schemas.objects, max_leaves=4))
def test_common_schemas_are_deferrable(schema: Any) -> None:
    if is_common_schema(schema):
        assert is_plain(schema)
        assert is_deferrable(schema)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "object"}, ""),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "whether items differ"),
        ({"type": "integer", "multipleOf": 1234567891}, "remainders"),
        ({"type": "array", "minItems": 1, "items": {"$ref": "#"}}, "no instance"),
        ({"type": "string", "minLength": 3, "pattern": "^ab?$"}, "no string"),
        ({"type": "object", "properties": {"x": {"type": "string", "enum": [1]}}}, ""),
    ],
)
def test_the_judge_says_why(schema: dict[str, Any], reason: str) -> None:
    with without("quick reader"):
        document_judge = judge(schema)
        found = document_judge.emitter.deferrable.reason(document_judge.root)
    assert reason in found
    assert bool(found) == bool(reason)


@pytest.mark.parametrize("word", [entry.name for entry in KEYWORDS.values() if entry.quick == Quick.NEVER])
def test_the_quick_reader_gives_the_reason_of_the_table(word: str) -> None:
    plain = DeferrableSchemas({}, frozenset(KEYWORDS), pointers=False, strict=False)
    assert plain.reason({"type": "object", "properties": {"a": {word: 1}}}) == f"{word}: {KEYWORDS[word].why}"
    assert plain.reason({"type": "object"}) == ""
