"""Texts in single quotes, backticks or before a tag are as cheap as those in double quotes: the same counts for each.

A delimiter and the double quote change places in the grammar and in the vocabulary alike, so the work is the same work
unless some place of the engine knows one of the two.
"""

from __future__ import annotations

import random
from itertools import cycle
from typing import Final

import numpy as np
import pytest

from kernels_core import GrammarCompiler, GrammarMatcher, Options, TokenizerInfo
from kernels_core.inspect.snapshots import CacheStats
from tests.engine.driver import mask_row
from tests.engine.test_first_visits import INFO
from workbench.tokenizers import load_tokenizer

QUOTE: Final = '"'
OTHERS: Final = ("'", "`")
# `~` stands for the delimiter; a text is read one byte at a time, and each mask is asked for.
GRAMMARS: Final = {
    "no escapes": (r'root ::= "~" [^~\x00-\x1f]* "~" "\n"', "~a b9"),
    "escapes": (r'root ::= "~" ([^~\\\x00-\x1f] | "\\" [~\\/bfnrt])* "~" "\n"', r"~a \~b"),
    "lines": (r'root ::= "~" [^~]* "~" "\n"', "~a\nb"),
    "arguments": (
        r"""root ::= "f(" text ("," text)* ")"
        text ::= "~" ([^~\\\x00-\x1f] | "\\" [~\\/bfnrt])* "~" """,
        "f(~a b~,~",
    ),
    "a search": (r'root ::= "~" [^~\x00-\x1f]* "ab" [0-9]{5} [^~\x00-\x1f]* "~" "\n"', "~xyab7"),
    "lengths": (r'root ::= "~" [^~\\\x00-\x1f]{2,40} "~" "\n"', "~a b"),
    "copies": (r'root ::= "~" ([^~\\\x00-\x1f] [a-z]){2,100} "~" "\n"', "~xyab"),
}
BODIES: Final = ("no escapes", "escapes", "lines", "a search")
CASES: Final = [*zip(cycle(OTHERS), GRAMMARS, strict=False), *(("<", name) for name in BODIES)]
COUNTED: Final = ("nodes_walked", "token_sets", "walks", "masks", "distinct_masks", "states", "token_set_hits")


def quoted(source: str, delimiter: str) -> str:
    return source.replace("~", "\\" + delimiter if delimiter == QUOTE else delimiter)


def exchanged(text: bytes, delimiter: str) -> bytes:
    """`text` with the double quote and `delimiter` in each other's places."""
    return text.translate(bytes.maketrans((QUOTE + delimiter).encode(), (delimiter + QUOTE).encode()))


def count(info: TokenizerInfo, name: str, delimiter: str) -> tuple[CacheStats, list[list[int]]]:
    """What the engine counted on the way through the text of a grammar, and the ids that each mask allows."""
    source, text = GRAMMARS[name]
    compiler = GrammarCompiler(info, options=Options(warm_start=False))
    compiled = compiler.compile_grammar(quoted(source, delimiter))
    matcher = GrammarMatcher(compiled)
    masks = []
    for letter in text:
        masks.append(np.flatnonzero(mask_row(matcher)).tolist())
        assert matcher.accept_string(delimiter if letter == "~" else letter)
    masks.append(np.flatnonzero(mask_row(matcher)).tolist())
    return compiled.cache_stats(), masks


@pytest.fixture(scope="module")
def info() -> TokenizerInfo:
    return load_tokenizer("tekken").info


@pytest.fixture(scope="module")
def doubled(info: TokenizerInfo) -> dict[str, tuple[CacheStats, list[list[int]]]]:
    return {name: count(info, name, QUOTE) for name in GRAMMARS}


@pytest.fixture(scope="module")
def others(info: TokenizerInfo) -> dict[str, TokenizerInfo]:
    """By delimiter, the vocabulary in which it and the double quote have changed places."""
    return {
        delimiter: TokenizerInfo(
            [exchanged(token, delimiter) for token in info.decoded_vocab],
            stop_token_ids=info.stop_token_ids,
            special_token_ids=info.special_token_ids,
        )
        for delimiter in {delimiter for delimiter, _ in CASES}
    }


@pytest.mark.parametrize(("delimiter", "name"), CASES)
def test_no_delimiter_costs_more_than_another(
    delimiter: str,
    name: str,
    doubled: dict[str, tuple[CacheStats, list[list[int]]]],
    others: dict[str, TokenizerInfo],
) -> None:
    stats, masks = count(others[delimiter], name, delimiter)
    expected, expected_masks = doubled[name]
    assert masks == expected_masks
    assert {key: getattr(stats, key) for key in COUNTED} == {key: getattr(expected, key) for key in COUNTED}
    assert expected.token_sets > 0
    # The bytes that are no delimiter fall into other ranges, and a step is made for a range.
    assert abs(stats.step_misses - expected.step_misses) <= 2


@pytest.mark.parametrize("delimiter", [QUOTE, *OTHERS, "<"])
def test_a_text_takes_all_parts_without_its_delimiter_at_once(info: TokenizerInfo, delimiter: str) -> None:
    """What is walked are the tokens that hold the delimiter, control characters, or parts of characters."""
    stats, _ = count(info, "no escapes", delimiter)
    assert stats.nodes_walked < 6_000


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("delimiter", [QUOTE, *OTHERS, "<", "|", "a", "\n", "\\"])
def test_masks_are_right_whatever_the_delimiter_is(name: str, delimiter: str) -> None:
    """Bytes that the engine does not expect to end a text, too, on a vocabulary with all short strings of a few."""
    vocabulary = [exchanged(token, delimiter) for token in INFO.decoded_vocab]
    info = TokenizerInfo(vocabulary, stop_token_ids=INFO.stop_token_ids, special_token_ids=INFO.special_token_ids)
    spelt = {QUOTE: '\\"', "\n": "\\n", "\\": "\\\\"}.get(delimiter, delimiter)
    source = GRAMMARS[name][0]
    draw = random.Random(f"{name} {delimiter}")
    fast = GrammarMatcher(
        GrammarCompiler(info, options=Options.laboratory(direct_limit=0)).compile_grammar(source.replace("~", spelt))
    )
    plain = GrammarMatcher(
        GrammarCompiler(info, options=Options(parser="naive")).compile_grammar(source.replace("~", spelt))
    )
    for _ in range(5):
        row = mask_row(plain)
        assert (mask_row(fast) == row).all(), plain.text
        row[info.stop_token_ids] = False
        if not row.any():
            break
        token = draw.choice(np.flatnonzero(row).tolist())
        assert plain.accept_token(token)
        assert fast.accept_token(token)
