"""Every mechanism of the laboratory, left out: the masks are those of the reference recogniser, over all tokens.

The inputs are such that each mechanism is used on them, which is checked as well, so that leaving it out means
something.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options, compiled
from kernels_core.laboratory import NAMES, has_mechanism, watch, without
from tests.covering import covering_rows
from tests.engine.driver import mask_row, tokenizer
from tests.engine.test_first_visits import VOCAB
from tests.reference import TokenTrie, TrieScan

# Many letters behind a quote, so that a name that begins there is worth a look ahead.
INFO: Final = tokenizer(list(dict.fromkeys([*VOCAB, *(b'"%c' % letter for letter in range(0x61, 0x7B))])))
# Verdicts are worked out for few tokens too, so that a small vocabulary gets there.
NEAR: Final = Options.laboratory(direct_limit=64, differential_from=256)
STRINGS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "string", "maxLength": 9},
        "7": {"type": "string", "pattern": "[a7][b0]"},
        "c": {"type": "string", "pattern": "[a7]", "minLength": 2, "maxLength": 30},
        "Z": {"type": "string", "pattern": "^[^7]*7[^é]*b$"},
        "0": {"type": "array", "items": {"enum": ["a", "ab", "b7"]}},
    },
    "required": ["a", "b"],
    "additionalProperties": {"type": "integer"},
}
CLOSED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "a": {"anyOf": [{"type": "string", "not": {"enum": ["a", "b7a"]}}, {"type": "boolean"}]},
        "b": {"allOf": [{"type": "object"}, {"required": ["7"]}]},
    },
    "required": ["a"],
    "additionalProperties": False,
}
TAG: Final[dict[str, Any]] = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["7["],
        "tags": [
            {
                "type": "tag",
                "begin": f"7[{name}",
                "content": {
                    "type": "json_schema",
                    "json_schema": {"type": "object", "properties": {name: {"type": "string"}}},
                },
                "end": "]",
            }
            for name in ("a", "ab", "b")
        ],
    },
}
COUNTED: Final = r"""root ::= word gap text gap word
word ::= "\"" [a-c7]{2,60} "\"" | "'" ([^'\\] | "\\" ['\\])* "'"
gap ::= " "{0,40} ","? " "{0,40}
text ::= "[" (number ("," gap number)*)? "]"
number ::= [0-9]+ ("." [0-9]{1,40})?
"""
INPUTS: Final = {
    "strings": (STRINGS, ['{"a": "a7", "b": "é€ab", "7": "ab7bb", "c": "ab7", "Z": "aé7ab", "0": ["ab"], "aZ": 70}']),
    "closed": (CLOSED, ['{"a": "b7b", "b": {"7": {}, "a": [null]}}', '{"a":true}']),
    "tag": (TAG, ['ab7 7[ab{"ab": "a7", "c": 7}]a']),
    "counted": (COUNTED, ["\"abca7cab\"  , [7,70, 0.07] 'a7 \\'b é' ".rstrip()]),
}
# Every two mechanisms are both there, both left out, and either without the other.
SOME: Final = [
    tuple(name for name, there in row.items() if not there)
    for row in covering_rows(dict.fromkeys(NAMES, (False, True)))
]
PAIRS: Final = list(combinations(NAMES, 2))


def read(source: object) -> Grammar:
    if isinstance(source, str):
        return Grammar.from_ebnf(source)
    if source is TAG:
        return Grammar.from_structural_tag(source)
    return Grammar.from_json_schema(source)  # type: ignore[arg-type]


@pytest.fixture
def expected() -> dict[str, list[list[NDArray[np.bool_]]]]:
    """The masks at every byte of every text, by input."""
    return _expected()


@cache  # for the modules that import the fixture
def _expected() -> dict[str, list[list[NDArray[np.bool_]]]]:
    trie = TokenTrie([b"" if at in INFO.stop_token_ids else text for at, text in enumerate(INFO.decoded_vocab)])
    found: dict[str, list[list[NDArray[np.bool_]]]] = {}
    for name, (source, texts) in INPUTS.items():
        scan = TrieScan(read(source).ir, trie)
        for text in texts:
            rows = []
            state = scan.start()
            for byte in [*text.encode(), None]:
                row = scan.mask(state)
                row[INFO.stop_token_ids] = state.completed
                rows.append(row)
                if byte is not None:
                    state = scan.advance(state, byte)
                    assert state.alive, (name, text)
            found.setdefault(name, []).append(rows)
    return found


def masks(name: str, options: Options) -> Iterator[list[NDArray[np.bool_]]]:
    """The engine's masks along the texts of an input, with a compiler of its own."""
    source, texts = INPUTS[name]
    engine = GrammarCompiler(INFO, options=options, cache_enabled=False)
    for _ in range(3):  # what several grammars share is shared from the third on
        compiled = engine.compile_grammar(read(source))
        for text in texts:
            matcher = GrammarMatcher(compiled)
            rows = [mask_row(matcher)]
            for byte in text.encode():
                assert matcher.accept_string(bytes([byte])), (name, text, matcher.text)
                rows.append(mask_row(matcher))
            yield rows


def check(expected: dict[str, list[list[NDArray[np.bool_]]]], options: Options = NEAR) -> None:
    for name, rows in expected.items():
        for found, right in zip(masks(name, options), 3 * rows, strict=True):
            for at, (one, other) in enumerate(zip(found, right, strict=True)):
                wrong = np.flatnonzero(one != other)[:10].tolist()
                assert not wrong, (name, at, [(INFO.decoded_vocab[token], bool(one[token])) for token in wrong])


@pytest.fixture(autouse=True)
def new_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept with the vocabulary was found with other mechanisms."""
    monkeypatch.setattr(compiled, "_TRIES", WeakValueDictionary())


@pytest.mark.parametrize("name", NAMES)
def test_without_a_mechanism_masks_are_the_same(name: str, expected: dict[str, list[list[NDArray[np.bool_]]]]) -> None:
    with without(name), watch() as used:
        check(expected)
        check(expected, Options())
    assert used[name] == 0


def test_with_everything_every_mechanism_is_used(expected: dict[str, list[list[NDArray[np.bool_]]]]) -> None:
    with watch() as used:
        check(expected)
        check(expected, Options())
    assert [name for name in NAMES if used[name] == 0] == []


def test_without_any_mechanism_masks_are_the_same(expected: dict[str, list[list[NDArray[np.bool_]]]]) -> None:
    with without(*NAMES):
        check(expected)


@pytest.mark.parametrize(
    "names", [*SOME, *(pytest.param(pair, marks=pytest.mark.long) for pair in PAIRS)], ids=", ".join
)
def test_without_some_mechanisms_masks_are_the_same(
    names: tuple[str, ...], expected: dict[str, list[list[NDArray[np.bool_]]]]
) -> None:
    with without(*names), watch() as used:
        check(expected)
    assert [name for name in names if used[name]] == []


def test_a_mechanism_is_back_afterwards() -> None:
    with without("self-loops", "byte-class trie"):
        assert not has_mechanism("self-loops")
        with pytest.raises(ZeroDivisionError), without("whole subtrees"):
            assert 1 / (has_mechanism("self-loops") or has_mechanism("whole subtrees"))
        assert has_mechanism("whole subtrees")
        assert not has_mechanism("byte-class trie")
    assert all(has_mechanism(name) for name in NAMES)


def test_an_unknown_mechanism_is_named() -> None:
    with pytest.raises(ValueError, match="no mechanism 'lops'; known: self-loops"), without("lops"):
        pass
