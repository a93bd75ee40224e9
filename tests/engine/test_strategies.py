"""Every strategy of making masks is used, and alone makes the right masks."""

from __future__ import annotations

from dataclasses import fields
from itertools import product
from random import Random
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from experiments.mechanisms import MECHANISMS, find_mechanism
from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options, allocate_token_bitmask, compiler
from kernels_core.inspect.snapshots import CacheStats
from kernels_core.laboratory import NAMES, watch, without
from kernels_core.masks.strategy import STRATEGIES as MADE_BY
from tests.engine.driver import compiled, mask
from tests.engine.test_laboratory import INFO, INPUTS, NEAR, check, expected, new_vocabulary, read

__all__ = ["expected", "new_vocabulary"]  # fixtures

IN_MASKS: Final = [mechanism for mechanism in MECHANISMS if any(part.startswith("masks/") for part in mechanism.parts)]
SWITCHES: Final = [mechanism.name for mechanism in IN_MASKS if mechanism.name in NAMES]
# A strategy that is a part of another one, which has to be there for it.
PART_OF: Final = {
    "reference states": (),
    "kept token sets": ("string bodies",),
}


def test_a_name_that_is_no_mechanism() -> None:
    with pytest.raises(KeyError, match="no mechanism 'usual bases'"):
        find_mechanism("usual bases")


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_strategy_alone_makes_the_masks_of_the_reference(
    switch: str, expected: dict[str, list[list[NDArray[np.bool_]]]]
) -> None:
    """With all other switches of the room off, but for what the strategy is a part of."""
    kept = {switch, *PART_OF.get(switch, ())}
    with without(*(name for name in SWITCHES if name not in kept)), watch() as used:
        check(expected)
        check(expected, Options())
    assert used[switch] > 0


OPTIONS: Final[dict[str, tuple[Options, Options, str]]] = {
    "memoize_sets": (Options(), Options.laboratory(memoize_sets=False), "mask_hits"),
    "direct_limit": (Options.laboratory(direct_limit=1 << 20), Options.laboratory(direct_limit=0), "walks"),
    "differential_masks": (
        Options.laboratory(direct_limit=0, differential_from=1, walk_shortcuts=False),
        Options.laboratory(direct_limit=0, differential_masks=False, walk_shortcuts=False),
        "",
    ),
    "iteration_profiles": (
        Options.laboratory(direct_limit=0),
        Options.laboratory(direct_limit=0, iteration_profiles=False, differential_masks=False),
        "",
    ),
    "cross_grammar_cache": (NEAR, Options.laboratory(direct_limit=64, cross_grammar_cache=False), "pool_hits"),
    "warm_start": (Options.laboratory(direct_limit=0), Options.laboratory(direct_limit=0, warm_start=False), ""),
    "lookahead": (
        Options.laboratory(lookahead=True, direct_limit=0),
        Options.laboratory(direct_limit=0),
        "lookahead_dropped",
    ),
}
"""By field: options that bring a strategy about, options without it, and the counter that tells them apart."""


def counted(options: Options, *, grammars: int = 2) -> tuple[dict[str, Any], set[str]]:
    """All counters after the texts of the inputs, and how the token sets were stored."""
    engine = GrammarCompiler(INFO, options=options, cache_enabled=False)
    total: dict[str, Any] = {}
    storages: set[str] = set()
    for source, texts in INPUTS.values():
        for _ in range(grammars):
            compiled = engine.compile_grammar(read(source))
            for text in [text for text in texts for _ in range(2)]:
                matcher = GrammarMatcher(compiled)
                for byte in text.encode():
                    matcher.allowed_token_ids()
                    storages |= {state.storage for state in matcher.token_sets().states}
                    assert matcher.accept_string(bytes([byte]))
            for field in fields(CacheStats):
                total[field.name] = total.get(field.name, 0) + getattr(compiled.cache_stats(), field.name)
    return total, storages


def test_every_option_that_is_a_switch_is_tried() -> None:
    assert {option for mechanism in IN_MASKS for option in mechanism.options} <= OPTIONS.keys()


@pytest.mark.parametrize("field", OPTIONS)
def test_a_strategy_of_the_options_is_used_and_makes_the_masks_of_the_reference(
    field: str, expected: dict[str, list[list[NDArray[np.bool_]]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    if field == "warm_start":
        monkeypatch.setattr(compiler, "FROM_TOKENS", 1)  # small vocabularies have a warm start, too
    on, off, counter = OPTIONS[field]
    check(expected, on)
    check(expected, off)
    (with_it, stored), (without_it, stored_without) = counted(on), counted(off)
    if counter:
        assert with_it[counter] > without_it[counter] == 0
    elif field == "differential_masks":
        assert "difference" in stored - stored_without
    elif field == "iteration_profiles":
        assert "iterations" in stored - stored_without
    else:
        assert with_it["pool_hits"] > without_it["pool_hits"]
        assert with_it["token_set_misses"] < without_it["token_set_misses"]


TOKENS: Final = 'root ::= (Token(7) | "a")*'
"""Names a token by its id."""


def told(options: Options, source: object, text: bytes) -> tuple[set[str], set[str]]:
    """The strategies of masks along `text`, and those of the token sets; the masks are the naive ones."""
    engine = GrammarCompiler(INFO, options=options, cache_enabled=False)
    naive = GrammarMatcher(
        GrammarCompiler(INFO, options=Options(parser="naive"), cache_enabled=False).compile_grammar(read(source))
    )
    masks: set[str] = set()
    sets: set[str] = set()
    rows = allocate_token_bitmask(2, INFO.vocab_size)
    for _ in range(2):
        matcher = GrammarMatcher(engine.compile_grammar(read(source)))
        for at in range(len(text) + 1):
            with matcher.trace() as events:
                for _ in range(2):
                    matcher.fill_next_token_bitmask(rows, 0)
                    naive.fill_next_token_bitmask(rows, 1)
                    assert np.array_equal(rows[0], rows[1])
            made, found = events.fills()
            assert found.kind == "mask hit"
            assert found.strategies == made.strategies
            assert made.strategies or at == len(text)  # where nothing can follow, nothing had to be made
            assert set(made.strategies) <= set(MADE_BY)
            assert all(name in made.how for name in made.strategies)
            masks |= set(made.strategies)
            sets |= {state.made_by for state in matcher.token_sets().states}
            if at < len(text):
                assert matcher.accept_string(text[at : at + 1])
                assert naive.accept_string(text[at : at + 1])
        naive.reset()
    return masks, sets - {""}


def test_masks_and_token_sets_say_which_strategy_made_them() -> None:
    masks: set[str] = set()
    sets: set[str] = set()
    for options in (Options(), NEAR, Options.laboratory(direct_limit=0, walk_shortcuts=False, differential_from=1)):
        for source, texts in [*INPUTS.values(), (TOKENS, ["aa"])]:
            some, more = told(options, source, texts[0].encode())
            masks |= some
            sets |= more
    assert masks == set(MADE_BY)
    assert sets == {"iteration profile", "excluded words", "string body", "difference", "vocabulary walk"}


# A word of `shared` that ends where it may end twice is uncertain far inside of it, taken a letter before, and refused
# where it begins.
ENDS_TWICE: Final = r"""root ::= shared ";q!" root | shared ";q!!"
shared ::= "pxx" | [a-oq-z] ("p;qzz" | [a-oq-z] ([a-oq-z]* ("p" | "!" shared)))
"""


@pytest.mark.parametrize("options", [Options(), Options.laboratory(walk_shortcuts=False)])
@pytest.mark.parametrize("order", [("aa", "a", ""), ("", "a", "aa"), ("a", "aa", "")])
def test_a_difference_to_a_difference_whatever_was_asked_first(order: tuple[str, ...], options: Options) -> None:
    letters = "abcdefghijkp"
    words = ["".join(word).encode() for size in (2, 3, 4) for word in product(letters, repeat=size)]
    Random(3).shuffle(words)
    vocabulary = (
        [bytes((byte,)) for byte in sorted(set(f"{letters}xyzq;!".encode()))] + words[:15_500] + [b"p;q", b"p;"]
    )
    grammar = compiled(Grammar.from_ebnf(ENDS_TWICE), vocabulary, options)
    short = [token for token, word in enumerate(vocabulary) if len(word) == 1 or word not in words]
    made_by = set()
    for text in order:
        matcher = GrammarMatcher(grammar)
        assert matcher.accept_string(text)
        allowed = mask(matcher)
        made_by.update(state.made_by for state in matcher.token_sets().states)
        for token in short:
            assert (token in allowed) == matcher.fork().accept_token(token), (text, vocabulary[token])
    assert order[0] != "aa" or "difference" in made_by
