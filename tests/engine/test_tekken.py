"""The engine on a real vocabulary of 131,072 tokens, against the reference recogniser walked over all of them.

Nothing is sampled within a mask: each comparison is of all ids.  The prefixes are every byte of a few documents, and
random walks over allowed tokens, which go where no document written by hand would go.
"""

from __future__ import annotations

import random

import pytest

from kernels_core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo
from tests.engine.driver import mask
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
root ::= "{\"name\": \"" [^"\\\x00-\x1f]{1,24} "\", \"tags\": [" (tag (", " tag){0,3})? "], \"age\": " age "}"
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
    "json": ['{"naïve":[1,-2.5e+10,{"b":null},"\\u00e9 中文 😀\\n"],"":true}', "[[[]]]"],
    "spaced json": ['\n{ "key" : [ 0.5 , "two words" ] ,\t"x":{ } }\n', '"😀'],
    "record": ['{"name": "Åsa 😀", "tags": ["red", "greens", "ab"], "age": 107}'],
    "calls": ["f(g(1+2*(3-4)), 'it is', h()) | _x1()"],
}


@pytest.fixture(scope="module")
def info() -> TokenizerInfo:
    from workbench.tokenizers import load_tokenizer

    return load_tokenizer("tekken").info


@pytest.fixture(scope="module")
def trie(info: TokenizerInfo) -> TokenTrie:
    excluded = {*info.special_token_ids, *info.stop_token_ids}
    return TokenTrie.of([b"" if token in excluded else text for token, text in enumerate(info.decoded_vocab)])


class Pair:
    """The engine and the oracle on one grammar, in step."""

    def __init__(self, name: str, info: TokenizerInfo, trie: TokenTrie) -> None:
        source = GRAMMARS[name]
        grammar = Grammar.builtin_json_grammar() if source is None else Grammar.from_ebnf(source)
        self.info = info
        self.grammar: CompiledGrammar = GrammarCompiler(info).compile_grammar(grammar)
        self.scan = TrieScan(grammar.ir, trie)

    def expected(self, state: EarleySet) -> set[int]:
        return {*self.scan.mask(state), *(self.info.stop_token_ids if state.completed else ())}


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
        assert mask(matcher) == pair.expected(state)
        for end in range(1, len(document) + 1):
            assert matcher.accept_string(document[end - 1 : end]), document[:end]
            state = pair.scan.advance(state, document[end - 1])
            assert mask(matcher) == pair.expected(state), document[:end]
            assert matcher.is_completed() == state.completed


@pytest.mark.parametrize("seed", range(3))
def test_random_walks(pair: Pair, seed: int) -> None:
    """Half of the tokens are chosen among all that are allowed, half among those with punctuation, which move on."""
    rng = random.Random(seed)
    matcher = GrammarMatcher(pair.grammar)
    state = pair.scan.start()
    for _ in range(40):
        allowed = mask(matcher)
        assert allowed == pair.expected(state), matcher.text
        tokens = sorted(allowed.difference(pair.info.stop_token_ids))
        if not tokens:
            assert state.completed, matcher.text
            break
        telling = [token for token in tokens if not pair.info.decoded_vocab[token].strip().isalnum()]
        token = rng.choice(telling if telling and rng.random() < 0.5 else tokens)
        assert matcher.accept_token(token)
        for byte in pair.info.decoded_vocab[token]:
            state = pair.scan.advance(state, byte)
        refused = rng.randrange(pair.info.vocab_size)
        if refused not in pair.expected(state):
            assert not matcher.accept_token(refused)
