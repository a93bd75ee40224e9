"""The table of keywords: it agrees with the meta-schemas of the drafts, and its entries with each other."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

from kernels_core.grammar.json_schema import explain_schema
from kernels_core.grammar.json_schema.dialect import dialect_of
from kernels_core.grammar.json_schema.keywords import KEYWORDS, NOTES, QUICK, TABLE, Quick, blamed
from kernels_core.grammar.json_schema.keywords.entry import ARRAY, NUMBER, OBJECT, STRING
from kernels_core.grammar.json_schema.keywords.quick import QuickTable
from tests.json_schema.driver import texts

DRAFTS = [
    "http://json-schema.org/draft-04/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
]
# The first drafts' meta-schemas do not speak of references, and later ones keep words that mean nothing any more.
UNSPOKEN = {"$ref"}
KEPT = {"dependencies", "$recursiveRef"}


def words_of(uri: str) -> set[str]:
    """The words that the meta-schema of a draft, and those of its vocabularies, say something of."""
    meta: Any = REGISTRY.contents(uri)
    found = set(meta["properties"])
    for part in meta.get("allOf", ()):
        found |= set(REGISTRY.contents(uri.removesuffix("schema") + part["$ref"])["properties"])
    return found


@pytest.mark.parametrize("uri", DRAFTS)
def test_a_draft_knows_the_words_of_its_meta_schema(uri: str) -> None:
    dialect = dialect_of(uri)
    assert dialect is not None
    spoken = words_of(uri) - NOTES - (KEPT - dialect.keywords if dialect.draft >= 2019 else set())
    assert dialect.keywords - UNSPOKEN == spoken - UNSPOKEN


def test_entries_name_each_other() -> None:
    assert len(KEYWORDS) == len(TABLE)
    order = list(KEYWORDS)
    for entry in TABLE:
        assert entry.meaning
        assert all(order.index(other) < order.index(entry.name) for other in entry.after)
        if entry.beside:
            assert not KEYWORDS[entry.beside].beside
            assert entry.drafts & KEYWORDS[entry.beside].drafts == entry.drafts


@pytest.mark.parametrize("way", [Quick.BOUND, Quick.LENGTH, Quick.ITEM_COUNT])
def test_a_word_that_no_reader_in_c_asks_for_is_refused(way: Quick) -> None:
    """It would be checked and then forgotten, and masks would be too wide."""
    entry = dataclasses.replace(next(entry for entry in TABLE if entry.quick == way), name="unheardOf")
    with pytest.raises(ValueError, match=f"no reader in C asks for 'unheardOf': quick={way.name} is for"):
        QuickTable((entry,))


def test_notes_that_may_stand_beside_the_type_of_a_scalar() -> None:
    assert {"title", "description", "default", "examples"} <= QUICK.idle < NOTES
    assert QUICK.idle.isdisjoint(("$id", "id", "$schema", "$anchor", "$defs"))


def test_the_likeliest_keyword_is_blamed_first() -> None:
    assert blamed(STRING)[:4] == ("pattern", "maxLength", "minLength", "format")
    assert blamed(OBJECT)[:2] == ("minProperties", "maxProperties")
    assert blamed(ARRAY)[:2] == ("uniqueItems", "contains")
    assert blamed(NUMBER)[0] == "multipleOf"
    assert all(words[-1] == "$ref" for words in map(blamed, (STRING, OBJECT, ARRAY, NUMBER)))


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: entry.name)
def test_every_word_is_explained(entry: Any) -> None:
    """A row for each word, whatever its value is, in every draft; and no error besides refusals."""
    for uri in (None, *DRAFTS, "https://spec.openapis.org/oas/3.0/dialect"):
        dialect = dialect_of(uri) if uri is not None else None
        for value in (True, 1, "a", [{}], {"a": {}}):
            schema: dict[str, Any] = {} if uri is None else {"$schema": uri}
            schema |= {"properties": {"a": {entry.name: value}}}
            rows = {row.keyword: row.status for row in explain_schema(schema) if row.pointer == "#/properties/a"}
            assert entry.name in rows
            if dialect is not None and entry.name not in dialect.keywords:
                assert rows[entry.name] in ("annotation", "refused")


def test_a_vocabulary_that_a_meta_schema_leaves_out() -> None:
    uri = "http://example.com/meta"
    core = {f"https://json-schema.org/draft/2020-12/vocab/{name}": True for name in ("core", "applicator")}
    meta = {"$schema": DRAFTS[-1], "$id": uri, "$vocabulary": core}
    schema = {"$schema": uri, "type": "array", "items": {"type": "string", "not": {"items": False}}}
    found = texts(schema, resources={uri: meta})
    assert '"x"' in found
    assert "[[1]]" in found
    assert "[1]" not in found
    assert '{"a": 1}' in texts({"$schema": uri, "properties": {"a": {"type": "string"}}}, resources={uri: meta})
