"""What every user of a vocabulary needs first: token sets of JSON's strings, numbers and white space, made in advance.

The verdicts inside a string (plain, with lengths, or of a frequent format), and behind white space, are the same for
all grammars (`masks/pool.pyx`), and cost milliseconds once: no user's first mask should pay for them.  So the first
`GrammarCompiler` of a vocabulary in a process walks a few small texts and asks for every mask on the way; the compilers
after it take what was found.
`Options.warm_start` turns it off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernels_core.errors import DeadEndError
from kernels_core.matcher import GrammarMatcher

if TYPE_CHECKING:
    from kernels_core.compiled import CompiledGrammar
    from kernels_core.grammar import Grammar

FROM_TOKENS: Final = 8_192
"""Smaller vocabularies are walked in less time than this would save."""

# Schemas, and texts that visit what most schemas are made of.
_MEMBERS: Final[dict[str, Any]] = {
    "text": {"type": "string"},
    "count": {"type": "integer"},
    "share": {"type": "number"},
    "flag": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "string"}},
    "any": {},
}
_STRINGS: Final[dict[str, Any]] = {
    "name": {"type": "string", "minLength": 1},
    "title": {"type": "string", "maxLength": 100},
    "note": {"type": "string", "minLength": 1, "maxLength": 1000},
    "day": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "date-time"},
    "link": {"type": "string", "format": "uri"},
    "mail": {"type": "string", "format": "email"},
    "host": {"type": "string", "format": "hostname"},
    "word": {"type": "string", "pattern": "[0-9]"},
}
_SAMPLES: Final[tuple[tuple[dict[str, Any], bytes], ...]] = (
    (
        {"type": "object", "properties": _MEMBERS, "required": ["text", "list"]},
        b'{"text": "a b", "count": 10, "share": -0.5e1, "flag": true, "list": ["a", "b"], '
        b'"any": {"k": [1, "x"]}, "more": "y"}',
    ),
    (
        {"type": "object", "properties": _MEMBERS, "additionalProperties": False},
        b'{\n "flag": false, "any": "z"}',
    ),
    (
        {"type": "object", "properties": _STRINGS},
        b'{"name": "Ann", "title": "a b", "note": "c", "day": "2024-02-03", "time": "2024-02-03T04:05:06.7Z", '
        b'"link": "https://www.example.org:80/a/b.html?c=d#e", "mail": "a.b@example.org", '
        b'"host": "www.example.org", "word": "a1"}',
    ),
    ({"type": "string"}, b'"a b"'),
)


def visit_samples(compile_grammar: Callable[[Grammar], CompiledGrammar]) -> None:
    """Ask for the mask at every byte of every sample, with compiled grammars that share a pool.

    Where no token of the vocabulary goes on, nothing of the sample is left to be found.
    """
    from kernels_core.grammar import Grammar

    for schema, text in _SAMPLES:
        compiled = compile_grammar(Grammar.from_json_schema(schema))
        row = np.zeros((1, compiled.masks.trie.words), dtype=np.int32)
        matcher = GrammarMatcher(compiled)
        for byte in text:
            try:
                matcher.fill_next_token_bitmask(row)
            except DeadEndError:
                break
            if not matcher.accept_string(bytes([byte])):
                raise RuntimeError(f"the sample {text!r} is not of its schema from byte {len(matcher.text)} on")
