"""Documents that certainly hold only pointers: what is seen at a glance is what is found by searching."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.grammar.json_schema.exact_text import exact_text
from kernels_core.grammar.json_schema.local_references import has_local_references
from kernels_core.grammar.json_schema.resolve import Documents
from tests.json_schema.driver import texts
from tests.json_schema.strategies import MANY

DRAFTS = {
    "$id": ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"],
    "id": ["http://json-schema.org/draft-04/schema#"],
}
WORDS = ["$id", "id", "$ref", "$defs", "$anchor", "$dynamicRef", "$recursiveAnchor", "properties", "a", "é"]
values = st.recursive(
    st.sampled_from(["#", "#/$defs/a", "#a", "http://a/b", "b", "", "é", 1, None, True]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
    max_leaves=5,
)


@MANY
@given(st.dictionaries(st.sampled_from(WORDS), values, max_size=4), st.sampled_from(["id", "$id"]), st.data())
def test_what_is_nameless_at_a_glance_is_so(document: dict[str, Any], identifier: str, data: st.DataObject) -> None:
    document = {"$schema": data.draw(st.sampled_from(DRAFTS[identifier]))} | document
    if has_local_references(document, identifier):
        assert Documents(document, exact_text(document), {}).has_local_references


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, True),
        ({"$id": "http://a/b", "$ref": "#/$defs/a", "$defs": {"a": {"$id": "#frag"}}}, True),
        ({"$defs": {"a": {"$id": "http://a/c"}}}, False),
        ({"$defs": {"a": {"id": "http://a/c"}}}, True),
        ({"properties": {"$id": {"type": "string"}}}, True),
        ({"items": [{"$ref": "http://json-schema.org/draft-07/schema#"}]}, False),
        ({"items": [{"$ref": "é"}]}, False),
        ({"allOf": [{"$dynamicRef": "#a"}]}, False),
        ({"$recursiveAnchor": True}, False),
    ],
)
def test_names_and_references(document: dict[str, Any], expected: bool) -> None:
    assert has_local_references(document, "$id") is expected


def test_deep_documents_are_not_called_nameless() -> None:
    deep: Any = {}
    for _ in range(1000):
        deep = [deep]
    assert not has_local_references({"default": deep}, "$id")


def test_references_to_names_lead_there() -> None:
    inner = {"$id": "http://a/b", "$defs": {"t": {"type": "null"}}, "properties": {"x": {"$ref": "#/$defs/t"}}}
    document = {"$defs": {"t": {"type": "boolean"}, "n": inner}, "properties": {"y": {"$ref": "#/$defs/n"}}}
    schema = texts(document)
    assert '{"y": {"x": null}}' in schema
    assert '{"y": {"x": true}}' not in schema
