"""Targets: a text of an input language is refused as documented, or compiled, and then followed."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from random import Random
from typing import Any, Final

from kernels_core import CompiledGrammar, GrammarCompiler
from kernels_core.grammar.templates import get_model_structural_tag
from tests.fuzz.following import follow
from tests.fuzz.rules import LIMITS, Canary, Finding, attempt, small_vocabulary

__all__ = ["LANGUAGES"]


@cache
def _compiler() -> GrammarCompiler:
    compiler = GrammarCompiler(small_vocabulary(), options=LIMITS)
    compiler.compile_regex("\\w\\p{L}", flags="i")  # tables of characters that a process makes once
    return compiler


@cache
def _canary() -> Canary:
    return Canary(_compiler())


def _run(
    data: bytes, compile_text: Callable[[str], CompiledGrammar], *, located: bool = True, as_json: bool = False
) -> None:
    text = data.decode("utf-8", "replace")
    _canary()
    compiled = attempt("a compile", LIMITS.max_compile_ms, lambda: compile_text(text), located=located)
    if compiled is not None:
        matcher = follow(compiled, Random(sha256(data).digest()))
        if as_json and matcher.is_completed() and not matcher.is_terminated():
            _check_json(matcher.text)
    _canary().look()


def _check_json(text: bytes) -> None:
    try:
        json.loads(text, parse_int=str)  # digits without end are JSON, whatever int() says
    except ValueError as error:
        raise Finding(f"a schema's text is not JSON: {text!r}") from error


def ebnf(data: bytes) -> None:
    """EBNF text."""
    _run(data, _compiler().compile_grammar)


def regex(data: bytes) -> None:
    """A regular expression, with flags and either way to match by its length."""
    flags = ("", "i", "s", "m")[len(data) % 4]
    match: Any = ("full", "search")[len(data) // 4 % 2]
    _run(data, lambda text: _compiler().compile_regex(text, flags=flags, match=match))


def lark(data: bytes) -> None:
    """Lark text."""
    _run(data, _compiler().compile_lark)


def schema(data: bytes) -> None:
    """A JSON schema as text."""
    _run(data, _compiler().compile_json_schema, as_json=True)


def tag(data: bytes) -> None:
    """A structural tag as JSON text; an object with a `model` is a request for that model's tool format."""
    _run(data, _tag, located=False)


def _tag(text: str) -> CompiledGrammar:
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):
        request = None
    if not isinstance(request, dict) or not isinstance(request.get("model"), str):
        return _compiler().compile_structural_tag(text)
    made = get_model_structural_tag(
        request["model"], request.get("tools"), request.get("tool_choice"), request.get("reasoning", "enabled")
    )
    return _compiler().compile_structural_tag(made)


LANGUAGES: Final[dict[str, Callable[[bytes], None]]] = {
    "ebnf": ebnf,
    "regex": regex,
    "lark": lark,
    "schema": schema,
    "tag": tag,
}
