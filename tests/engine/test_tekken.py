"""The engine on a real vocabulary of 131,072 tokens, against the reference recogniser walked over all of them.

Nothing is sampled within a mask: each comparison is of all ids.  The prefixes are every byte of a few documents, and
random walks over allowed tokens, which go where no document written by hand would go.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels_core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo
from tests.engine.driver import mask_row
from tests.reference import EarleySet, TokenTrie, TrieScan

SPACED_JSON = r"""
root ::= ws value ws
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair ("," ws pair)*)? "}"
pair ::= string ws ":" ws value ws
array ::= "[" ws (value ws ("," ws value ws)*)? "]"
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex ::= [0-9a-fA-F]
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+-]? [0-9]+)?
ws ::= [ \t\n\r]*
"""
RECORD = r"""
root ::= "{\"name\": \"" [^"\\\x00-\x1f]{1,8} "\", \"tags\": [" (tag (", " tag){0,3})? "], \"age\": " age "}"
tag ::= "\"" ("red" | "green" | "blue" | [a-z]{2,5}) "\""
age ::= [1-9] [0-9]? | "1" [01] [0-9]
"""
CALLS = r"""
root ::= call (" | " call)*
call ::= name "(" (argument ("," " "? argument)*)? ")"
argument ::= call | sum | "'" [^'\n]* "'"
sum ::= sum [-+*/] atom | atom
atom ::= [0-9]+ | "(" sum ")"
name ::= [a-zA-Z_] [a-zA-Z0-9_]*
"""
GRAMMARS = {"json": None, "spaced json": SPACED_JSON, "record": RECORD, "calls": CALLS}
DOCUMENTS = {
    "json": ['{"ï":[-2.5e+1,{"b":null},"\\u00e9 中😀\\n"],"":true}', "[[]]"],
    "spaced json": ['\n{ "k" : [ 0.5 , "a b" ] ,\t"x":{ } }\n', '"😀'],
    "record": ['{"name": "Åsa 😀", "tags": ["red", "greet", "ab"], "age": 107}'],
    "calls": ["f(g(1+2*(3-4)), 'it is', h()) | _x1()"],
}


@pytest.fixture(scope="module")
def info() -> TokenizerInfo:
    from workbench.tokenizers import load_tokenizer

    return load_tokenizer("tekken").info


@pytest.fixture(scope="module")
def trie(info: TokenizerInfo) -> TokenTrie:
    excluded = {*info.special_token_ids, *info.stop_token_ids}
    return TokenTrie([b"" if token in excluded else text for token, text in enumerate(info.decoded_vocab)])


class Pair:
    """The engine and the oracle on one grammar, in step."""

    def __init__(self, name: str, info: TokenizerInfo, trie: TokenTrie) -> None:
        source = GRAMMARS[name]
        grammar = Grammar.builtin_json_grammar() if source is None else Grammar.from_ebnf(source)
        self.info = info
        self.grammar: CompiledGrammar = GrammarCompiler(info).compile_grammar(grammar)
        self.scan = TrieScan(grammar.ir, trie)
        self._rows: dict[EarleySet, NDArray[np.bool_]] = {}

    def expected(self, state: EarleySet) -> NDArray[np.bool_]:
        """Whether each id may come next after the text that led to `state`."""
        if state not in self._rows:
            row = self.scan.mask(state)
            row[self.info.stop_token_ids] = state.completed
            self._rows[state] = row
        return self._rows[state]

    def check(self, matcher: GrammarMatcher, state: EarleySet) -> NDArray[np.bool_]:
        """The mask, which has to be that of `state`."""
        found, expected = mask_row(matcher), self.expected(state)
        wrong = np.flatnonzero(found != expected)[:10].tolist()
        assert not wrong, (matcher.text, [(self.info.decoded_vocab[token], bool(found[token])) for token in wrong])
        assert matcher.is_completed() == state.completed
        return found


@pytest.fixture(scope="module", params=GRAMMARS)
def pair(request: pytest.FixtureRequest, info: TokenizerInfo, trie: TokenTrie) -> Pair:
    return Pair(request.param, info, trie)


@pytest.fixture
def documents(request: pytest.FixtureRequest, pair: Pair) -> list[bytes]:
    return [text.encode() for text in DOCUMENTS[request.node.callspec.params["pair"]]]


def test_the_vocabulary_is_the_real_one(info: TokenizerInfo) -> None:
    assert info.vocab_size == 131_072
    assert len(info.decoded_vocab) == info.vocab_size


def test_every_byte_of_a_document(pair: Pair, documents: list[bytes]) -> None:
    for document in documents:
        matcher = GrammarMatcher(pair.grammar)
        state = pair.scan.start()
        pair.check(matcher, state)
        for end in range(1, len(document) + 1):
            state = pair.scan.advance(state, document[end - 1])
            assert state.alive, document[:end]
            assert matcher.accept_string(document[end - 1 : end]), document[:end]
            pair.check(matcher, state)


@pytest.mark.parametrize("seed", range(2))
def test_random_walks(pair: Pair, seed: int) -> None:
    """Half of the tokens are chosen among all that are allowed, half among those with punctuation, which move on."""
    rng = random.Random(seed)
    telling_row = np.array([not text.strip().isalnum() for text in pair.info.decoded_vocab])
    matcher = GrammarMatcher(pair.grammar)
    state = pair.scan.start()
    for _ in range(40):
        allowed = pair.check(matcher, state)
        allowed[pair.info.stop_token_ids] = False
        tokens = np.flatnonzero(allowed).tolist()
        if not tokens:
            assert state.completed, matcher.text
            break
        # Among a hundred thousand letters the few tokens that move on would hardly ever be drawn.
        telling = np.flatnonzero(allowed & telling_row).tolist()
        token = rng.choice(telling if telling and rng.random() < 0.5 else tokens)
        assert matcher.accept_token(token)
        for byte in pair.info.decoded_vocab[token]:
            state = pair.scan.advance(state, byte)
        refused = rng.randrange(pair.info.vocab_size)
        if not pair.expected(state)[refused]:
            assert not matcher.accept_token(refused)
