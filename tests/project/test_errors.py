"""Every error that the project raises on purpose travels between processes."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from kernels_core import CompiledGrammar, Grammar, Options, TokenizerInfo
from kernels_core.errors import BudgetExceededError, MaskscopeError, SchemaProblem
from tests.project.tree import PACKAGES

SAMPLES = {
    "what": "states",
    "limit": 5,
    "where": "here",
    "reason": "no rule",
    "source": "root ::= a",
    "offset": 9,
    "path": "#/format",
    "rule": "name",
    "text": b"ab",
    "shortest": 7,
    "max_tokens": 5,
    "problems": (SchemaProblem("#", "not", "a reason", "is dropped"),),
}


def all_errors(kind: type[MaskscopeError] = MaskscopeError) -> Iterator[type[MaskscopeError]]:
    for below in kind.__subclasses__():
        yield below
        yield from all_errors(below)


def load_everything() -> None:
    for package in PACKAGES:
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            try:
                importlib.import_module(found.name)
            except ModuleNotFoundError as error:  # a library that is not here
                if (error.name or "").partition(".")[0] in PACKAGES:
                    raise


def made(kind: type[MaskscopeError]) -> MaskscopeError:
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    needed = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty]
    return kind(*(SAMPLES[name] for name in needed)) if needed else kind("a reason")


def test_every_error_pickles_with_its_attributes_and_notes() -> None:
    load_everything()
    kinds = sorted(set(all_errors()), key=lambda kind: (kind.__module__, kind.__name__))
    assert len(kinds) > 15
    for kind in kinds:
        error = made(kind)
        error.add_note("a note")
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind
        assert str(again) == str(error)
        assert vars(again) == vars(error)
        assert again.__notes__ == ["a note"]


def test_a_budget_error_comes_out_of_a_process_pool() -> None:
    info = TokenizerInfo([b"a", b"b", b"</s>"], stop_token_ids=[2])
    options = Options(max_states=10, lazy_lowering=False)
    grammar = Grammar.from_ebnf('root ::= "' + "ab" * 50 + '"')
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        future = pool.submit(CompiledGrammar, grammar, info, options)
        with pytest.raises(BudgetExceededError, match="states") as caught:
            future.result(timeout=60)
    assert caught.value.limit == 10
