"""What is left of tokens behind a rule: handed over to callers, or kept as far as callers can take it.

Llama 3's vocabulary has thousands of tokens behind a blank; the small one here has hundreds, so the threshold is
lowered until every end of a rule is a handover.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options
from kernels_core.laboratory import with_thresholds, without
from tests.engine.driver import follow, mask, tokenizer
from tests.engine.test_first_visits import INFO
from tests.strategies import examples

GRAMMARS: Final = {
    "white space": r"""root ::= ws value ws
        value ::= "a" | "b" name | "\"" [^"\\]* "\"" | "7" ws value ws "7"
        name ::= [abZ]* ws "\\"
        ws ::= [ \u00a0]*""",
    "in each other": r"""root ::= one (two | "b")
        one ::= "a" (ws "a")*
        two ::= ws ("7" ws)+ one?
        ws ::= " "* "Z"?""",
    "counted behind it": r"""root ::= ws ([ab7]{2,9} | "\"" [^"]{1,4} "\"") ws "0"
        ws ::= " "*""",
    "free text": r"""root ::= text "7" [ab]* | text "\"" text
        text ::= "a"? "b"? [^7"\\]*""",
    "characters": """root ::= (wide | "a")+ "7"
        wide ::= [é€]+ "Z"?""",
    "names": r"""root ::= name (ws ("\\" | "\"" | "7" | "0") ws (name | "(" ws name ws ")"))*
        name ::= [abcZ] [abcZ0]*
        ws ::= (" " | "\"" [^\\]* "\\")*""",
}
SWITCHES: Final = {
    "all": Options(),
    "short walks": Options.laboratory(direct_limit=8, differential_from=0),
    "token sets": Options.laboratory(direct_limit=0, differential_from=0),
    "rules as written": Options.laboratory(direct_limit=0, differential_from=0, inline_limit=0, unroll_limit=0),
    "without walk shortcuts": Options.laboratory(direct_limit=0, differential_from=0, walk_shortcuts=False),
    "lookahead": Options.laboratory(direct_limit=0, lookahead=True),
}
NAIVE: Final = GrammarCompiler(INFO, options=Options(parser="naive"))
TOKENS: Final = [0, 1, 4, 64]
NEVER: Final = 1 << 40


@pytest.mark.parametrize("tokens", TOKENS)
@pytest.mark.parametrize("name", GRAMMARS)
# For each of the grammars.
@examples(0.2)
@given(data=st.data())
def test_callers_walked_from_a_node_take_the_same_tokens(name: str, tokens: int, data: st.DataObject) -> None:
    grammar = Grammar.from_ebnf(GRAMMARS[name])
    plain = GrammarMatcher(NAIVE.compile_grammar(grammar))
    class_trie, follow_bytes = data.draw(st.sampled_from([0, 2048])), data.draw(st.sampled_from([0, 2]))
    with with_thresholds(handed_over=tokens, class_trie_tokens=class_trie, follow_bytes=follow_bytes):
        others = {
            switch: GrammarMatcher(GrammarCompiler(INFO, options=options).compile_grammar(grammar))
            for switch, options in SWITCHES.items()
        }
        follow(plain, others, data, steps=6)


def token_set_bytes(source: str, text: bytes, options: Options) -> int:
    """Of the masks along a text."""
    matcher = GrammarMatcher(GrammarCompiler(INFO, options=options).compile_grammar(Grammar.from_ebnf(source)))
    for byte in text:
        mask(matcher)
        assert matcher.accept_string(bytes([byte]))
    mask(matcher)
    return int(matcher.compiled.masks.counters()["token_set_bytes"])


def test_no_suffixes_are_kept_of_what_is_handed_over() -> None:
    options = Options.laboratory(
        direct_limit=0, differential_from=0, inline_limit=0, warm_start=False, cross_grammar_cache=False
    )
    sizes = []
    for tokens in (16, NEVER):
        with with_thresholds(handed_over=tokens), without("FOLLOW bytes"):
            sizes.append(token_set_bytes('root ::= ws "a" ws "b"\nws ::= " "*', b" a ", options))
    assert 2 * sizes[0] < sizes[1]


def test_names_keep_no_suffixes_that_go_on_like_a_name() -> None:
    options = Options.laboratory(
        direct_limit=0, differential_from=0, inline_limit=0, warm_start=False, cross_grammar_cache=False
    )
    source = 'root ::= name [0-9 "] name\nname ::= [abcZ]*'
    kept = token_set_bytes(source, b"a", options)
    with without("FOLLOW bytes"):
        assert 2 * kept < token_set_bytes(source, b"a", options)


def test_handovers_are_saved_with_their_token_sets(tmp_path: Path) -> None:
    file = tmp_path / "pool.bin"
    with with_thresholds(handed_over=16):
        first, second = (GrammarCompiler(INFO, options=SWITCHES["rules as written"]) for _ in range(2))
        found = []
        for compiler in (first, second):
            if compiler is second:
                assert first.save_pool(file) == second.load_pool(file)
            matcher = GrammarMatcher(compiler.compile_grammar(GRAMMARS["white space"]))
            masks = [mask(matcher)]
            for byte in b'7 7 7 "a b" 7 7 7':
                assert matcher.accept_string(bytes([byte]))
                masks.append(mask(matcher))
            found.append(masks)
    assert found[0] == found[1]
    assert matcher.compiled.cache_stats().token_set_misses == 0


WALKED: Final = {"direct_limit": 0, "differential_from": 0}
PIECES: Final = tokenizer(
    [b"".join(parts) for size in (1, 2, 3, 4) for parts in product(*[(b"a", b"b", b"7", b'"', b" ")] * size)]
)
FREE_TEXT: Final = 'root ::= text "7" [ab]* | text "\\"" text\ntext ::= [^7"]+'


def told(matcher: GrammarMatcher) -> set[int]:
    """What the token sets say of the mask here, all in all."""
    found = set[int]()
    for state in matcher.token_sets().states:
        found.update(map(int, state.accepted))
        found.update(
            int(token) for token, allowed in zip(state.uncertain.ids, state.uncertain.allowed, strict=True) if allowed
        )
    return found


@pytest.mark.parametrize("shortcuts", [False, True])
@pytest.mark.parametrize("lookahead", [False, True])
def test_differences_and_lookaheads_know_no_handovers(lookahead: bool, shortcuts: bool, tmp_path: Path) -> None:
    """A pool may hold token sets with handovers: a difference is made to none, and a lookahead filters none."""
    settings: dict[str, Any] = dict(WALKED, inline_limit=0, unroll_limit=0, warm_start=False, walk_shortcuts=shortcuts)
    naive = GrammarCompiler(PIECES, options=Options(parser="naive")).compile_grammar(FREE_TEXT)
    made = set[str]()
    with with_thresholds(handed_over=16), without("FOLLOW bytes", "string bodies"):
        saving = GrammarCompiler(PIECES, options=Options.laboratory(**settings))
        loading = GrammarCompiler(PIECES, options=Options.laboratory(**settings, lookahead=lookahead))
        for compiler in (saving, loading):
            if compiler is loading:
                assert saving.save_pool(tmp_path / "pool.bin") == loading.load_pool(tmp_path / "pool.bin")
            for text in (b'a b"', b"abb7a"):
                matcher, plain = GrammarMatcher(compiler.compile_grammar(FREE_TEXT)), GrammarMatcher(naive)
                for byte in text:
                    assert mask(matcher) == mask(plain)
                    made.update(matcher.masks.strategies(matcher.set_number))
                    if compiler is loading and lookahead:
                        missing = {*map(int, matcher.token_sets().allowed)} - told(matcher)
                        assert missing <= {*matcher.stop_token_ids}
                    assert matcher.accept_string(bytes([byte]))
                    assert plain.accept_string(bytes([byte]))
    assert shortcuts or "difference" in made
