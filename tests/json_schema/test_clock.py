"""Reading a schema takes no longer than its limit, whichever part of the algebra the time goes to."""

from __future__ import annotations

import gc
import time
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from kernels_core import BudgetExceededError, Grammar, UnsupportedSchemaError
from kernels_core.clock import TimeLimit, look
from tests.work import calls


def doubled(times: int, *keywords: str) -> Any:
    schema: Any = {"const": 4}
    for number in range(times):
        schema = {keywords[number % len(keywords)]: [schema, {"items": schema}]}
    return schema


SCHEMAS = {
    "arrays": doubled(10, "oneOf", "allOf", "anyOf"),
    "objects": {
        "oneOf": [{"properties": {f"p{i}": {"minimum": i}, f"p{i + 1}": {"maximum": i}}} for i in range(60)],
    },
    "numbers": {"oneOf": [{"minimum": i, "maximum": 2 * i + 7, "multipleOf": 0.5 + i} for i in range(200)]},
    "remainders": {"type": "integer", "minimum": 10**20, "multipleOf": 14_285_714_285_714_285_715},
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_limit_ends_the_algebra(name: str) -> None:
    """Between two looks at the clock there is little work, so a limit of any length is kept."""

    def read(looks: int) -> None:
        with TimeLimit(0, looks=looks):
            Grammar.from_json_schema(SCHEMAS[name])

    with suppress(BudgetExceededError, UnsupportedSchemaError):
        read(1000)  # what is imported and remembered once in a process
    for looks in (0, 1, 10, 100, 1000):
        assert calls(partial(read, looks), BudgetExceededError, UnsupportedSchemaError) < 5_000 + 6_000 * looks
    with pytest.raises(BudgetExceededError):
        read(10)


def test_what_was_worked_out_for_a_refused_schema_does_not_wait_for_the_collector() -> None:
    from kernels_core.grammar.json_schema.schema_algebra import SchemaAlgebra

    gc.collect()
    gc.disable()
    try:
        before = {id(one) for one in gc.get_objects() if isinstance(one, SchemaAlgebra)}
        with pytest.raises(UnsupportedSchemaError):
            Grammar.from_json_schema(
                {"oneOf": [doubled(5, "oneOf", "allOf"), {"not": {"uniqueItems": True}, "minItems": 3}]}
            )
        left = [one for one in gc.get_objects() if isinstance(one, SchemaAlgebra) and id(one) not in before]
        assert not any(found for one in left for found in vars(one).values() if isinstance(found, dict))
    finally:
        gc.enable()


def test_a_request_does_not_pay_for_the_collector() -> None:
    """A collection walks all objects of the process, in the thread that happens to begin it."""
    heap = [[number] for number in range(300_000)]
    limit_ms = 100
    with TimeLimit(limit_ms):
        look(10_000)
        began = time.thread_time_ns()
        while time.thread_time_ns() - began < 3e6 * limit_ms:
            gc.collect()
        look(10_000)
    assert len(heap) == 300_000

    def work() -> None:
        began = time.thread_time_ns()
        with TimeLimit(limit_ms):
            while time.thread_time_ns() - began < 3e6 * limit_ms:
                look(10_000)

    with pytest.raises(BudgetExceededError):
        work()


def test_a_limit_ends_the_search_for_misspelt_words() -> None:
    grammar = Grammar.from_json_schema({"type": "object", **{f"minimun{i}zq": 0 for i in range(2_000)}})
    with pytest.raises(BudgetExceededError), TimeLimit(20):
        _ = grammar.warnings
