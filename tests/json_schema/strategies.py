"""Random schemas over a few names and values, so that keywords meet; and instances from the same few."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.strategies import examples

# A random schema has a few of forty keywords, and those that disagree have to meet.
MANY = examples(4)
NAMES = ["a", "b", "c"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
# Patterns that Python and ECMA-262 read alike.
PATTERNS = ["a", "^a", "b$", "^[ab]*$", "^.$", "^(?!a)", "^$"]

scalars = st.sampled_from([None, True, False, 0, 1, 2, 3, -1, 1.5, 2.5, 10, "", "a", "b", "ab", "abc", "x"])
instances = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from([*NAMES, "ab", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)
small = st.integers(0, 3)
names = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)

SCALAR_KEYWORDS: dict[str, st.SearchStrategy[Any]] = {
    "type": st.one_of(st.sampled_from(TYPES), st.lists(st.sampled_from(TYPES), min_size=1, max_size=2, unique=True)),
    "enum": st.lists(instances, min_size=1, max_size=3),
    "const": instances,
    "minimum": st.sampled_from([-1, 0, 1, 1.5, 2]),
    "maximum": st.sampled_from([0, 1, 1.5, 2, 3]),
    "exclusiveMinimum": st.sampled_from([-1, 0, 1, 1.5]),
    "exclusiveMaximum": st.sampled_from([1, 1.5, 2, 3]),
    "multipleOf": st.sampled_from([1, 2, 0.5, 3]),
    "minLength": small,
    "maxLength": small,
    "pattern": st.sampled_from(PATTERNS),
    "required": names,
    "minProperties": small,
    "maxProperties": small,
    "minItems": small,
    "maxItems": small,
    "dependentRequired": st.dictionaries(st.sampled_from(NAMES), names, max_size=2),
}


def _keywords(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    several = st.lists(inner, min_size=1, max_size=3)
    return {
        "properties": st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3),
        "patternProperties": st.dictionaries(
            st.sampled_from(["^a", "b", "^x$", "^(?!b)"]), inner, min_size=1, max_size=2
        ),
        "additionalProperties": inner,
        "propertyNames": inner,
        "items": inner,
        "prefixItems": several,
        "contains": inner,
        "minContains": small,
        "maxContains": small,
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "dependentSchemas": st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=2),
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
        "$ref": st.sampled_from(["#/$defs/p", "#/$defs/q"]),
    }


def _objects(keywords: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    chosen = st.lists(st.sampled_from(sorted(keywords)), min_size=1, max_size=4, unique=True)
    return chosen.flatmap(lambda words: st.fixed_dictionaries({word: keywords[word] for word in words}))


leaves = st.one_of(st.booleans(), _objects(SCALAR_KEYWORDS))
schemas = st.recursive(leaves, lambda inner: _objects({**SCALAR_KEYWORDS, **_keywords(inner)}), max_leaves=6)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A schema with definitions that its references may lead to."""
    body = draw(schemas.filter(lambda schema: isinstance(schema, dict)))
    assert isinstance(body, dict)
    return {**body, "$defs": {"p": draw(leaves), "q": draw(leaves)}}
