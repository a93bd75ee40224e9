"""How many tokens end a text (`tokens_to_end`), and masks of what ends in time (`complete_within`).

The number is compared with a search over all texts, whose states are told apart by the engine and judged by the plain
recogniser; masks with what the numbers behind each token say; and random generations end within random budgets.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kernels_core import (
    BatchGrammarMatcher,
    CancelToken,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    OperationCancelledError,
    Options,
    TokenizerInfo,
    TooFewTokensError,
    UnsupportedFeatureError,
    allocate_token_bitmask,
)
from tests.engine.driver import VARIANTS, compiled, mask
from tests.reference import Recogniser
from tests.strategies import World, examples, texts, worlds

OPTIONS = st.sampled_from(list(VARIANTS.values()))
BYTES = [bytes((byte,)) for byte in range(256)]
JSON_WORDS = [b'{"', b'":', b'":"', b'","', b'"}', b"true", b"name", b"null", b"]}", b"],", b"[[", b"00", b"  ", b"-1"]
JSON = [*BYTES, *JSON_WORDS]


def spelt(vocab: list[bytes]) -> list[bytes]:
    """A vocabulary that spells all texts: the number is certain for these."""
    return [*vocab, *BYTES]


def searched(recogniser: Recogniser, matcher: GrammarMatcher, pieces: list[bytes], most: int) -> int | None:
    """With how many `pieces` the text can be ended at least, if no more than `most`; breadth first."""
    if recogniser.accepts(matcher.text):
        return 0
    seen, places = {matcher.set_number}, [matcher.fork()]
    for count in range(1, most + 1):
        found = []
        for place in places:
            for piece in pieces:
                after = place.fork()
                if piece and after.accept_string(piece) and after.set_number not in seen:
                    if after.is_completed():
                        assert recogniser.accepts(after.text)
                        return count
                    seen.add(after.set_number)
                    found.append(after)
        places = found
    return None


@given(worlds(), OPTIONS, st.data())
@examples(0.5)  # each looks through all texts of several tokens
def test_the_number_is_certain_and_the_bytes_are_the_fewest(
    world: World, options: Options, data: st.DataObject
) -> None:
    ir, vocab = world
    vocab = spelt(vocab)
    recogniser = Recogniser(ir)
    matcher = GrammarMatcher(compiled(ir, vocab, options))
    matcher.accept_string(data.draw(texts(recogniser)))
    number, end = matcher.tokens_to_end(), matcher.shortest_end(1000)
    assert number is not None
    if end is None:
        assert number > 10
        return
    assert number <= len(end)
    assert recogniser.accepts(matcher.text + end)
    fewest = searched(recogniser, matcher, BYTES, min(len(end), 4))
    assert fewest == len(end) if len(end) <= 4 else fewest is None
    if number <= 3:
        assert searched(recogniser, matcher, vocab, number) is not None


EXACT: list[tuple[str, list[bytes], dict[bytes, int]]] = [
    ('root ::= "abc" | "x"{5}', [b"ab"], {b"": 2, b"a": 2, b"x": 4, b"xxxx": 1, b"abc": 0}),
    ('root ::= "a"* "b"', [], {b"": 1, b"aaa": 1, b"aab": 0}),
    ('root ::= e\ne ::= e "+" t | t\nt ::= [0-9] | "(" e ")"', [], {b"": 1, b"1": 0, b"1+": 1, b"((1+": 3, b"(((": 4}),
    ('root ::= "(" root ")" | "x"', [b"((", b"(x"], {b"": 1, b"(": 2, b"((": 3, b"((x": 2, b"(((": 4}),
    ('root ::= w{3,9}\nw ::= "ab" | "c"', [b"ab", b"cc"], {b"": 2, b"c": 1, b"ca": 2, b"ab": 1}),
    ('root ::= [a-z]{4,} "."', [b"aa", b"aaa", b"a."], {b"": 2, b"q": 2, b"qq": 2, b"qqq": 1, b"qqqqqq": 1}),
    ('root ::= "<" [^<>]* ">" root | ""', [], {b"": 0, b"<": 1, b"<ab": 1, b"<ab>": 0, b"<><": 1}),
]


@pytest.mark.parametrize(("grammar", "words", "numbers"), EXACT)
@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_the_number_is_exact(grammar: str, words: list[bytes], numbers: dict[bytes, int], options: Options) -> None:
    """With the default options; where rules are not spelt out, tokens that reach beyond one are not counted on."""
    parsed = Grammar.from_ebnf(grammar)
    vocab = [*words, *(bytes((byte,)) for byte in b"abcxqz01+().<>")]
    recogniser = Recogniser(parsed.ir)
    for text, number in numbers.items():
        matcher = GrammarMatcher(compiled(parsed.ir, vocab, options))
        assert matcher.accept_string(text)
        found = matcher.tokens_to_end()
        assert found is not None
        assert searched(recogniser, matcher, vocab, found) == number <= found, text
        if options == Options():
            assert found == number, text


@given(worlds(), OPTIONS, st.data())
def test_masks_of_what_ends_in_time(world: World, options: Options, data: st.DataObject) -> None:
    """A token is allowed if the number behind it is at most what is left, and accepted if it is allowed."""
    ir, vocab = world
    vocab = spelt(vocab)
    matcher = GrammarMatcher(compiled(ir, vocab, options))
    matcher.accept_string(data.draw(texts(Recogniser(ir))))
    number, stop = matcher.tokens_to_end(), len(vocab)
    assert number is not None
    if number > 1000:
        return
    behind: dict[int, int | None] = {}
    for token in sorted(mask(matcher) - {stop}):
        after = matcher.fork()
        assert after.accept_token(token)
        behind[token] = after.tokens_to_end()
    if number:
        assert number - 1 in behind.values()
    for left in data.draw(st.lists(st.integers(number, number + 4), min_size=1, max_size=3)):
        limited = matcher.fork()
        limited.complete_within(left)
        assert limited.tokens_left == left
        expected = {token for token, more in behind.items() if more is not None and more < left}
        assert mask(limited) == expected | ({stop} if matcher.is_completed() else set())
        assert set(limited.allowed_token_ids()) == mask(limited)
        for token in behind:
            after = limited.fork()
            assert after.accept_token(token) == (token in expected)
            assert after.tokens_left == left - (token in expected)
    if number:
        with pytest.raises(TooFewTokensError) as error:
            matcher.fork().complete_within(number - 1)
        assert (error.value.shortest, error.value.max_tokens) == (number, number - 1)


def written(matcher: GrammarMatcher, max_tokens: int, random: Random) -> list[int]:
    """Tokens drawn under the mask until the text ends, or all of them are spent."""
    matcher.complete_within(max_tokens)
    tokens: list[int] = []
    while len(tokens) < max_tokens and not matcher.is_terminated():
        token = random.choice(sorted(mask(matcher)))
        assert matcher.accept_token(token)
        tokens.append(token)
    return tokens


@given(worlds(), OPTIONS, st.randoms(use_true_random=False), st.integers(0, 8))
def test_nothing_is_cut(world: World, options: Options, random: Random, more: int) -> None:
    ir, vocab = world
    vocab = spelt(vocab)
    recogniser = Recogniser(ir)
    matcher = GrammarMatcher(compiled(ir, vocab, options))
    number = matcher.tokens_to_end()
    assert number is not None
    if number > 100:
        return
    written(matcher, number + more, random)
    assert matcher.is_completed()
    assert recogniser.accepts(matcher.text)


SCHEMAS: dict[str, dict[str, Any]] = {
    "anything": {},
    "members in any order": {
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "n": {"type": "integer", "minimum": 100},
            "list": {"type": "array", "items": {"enum": ["yes", "no"]}, "minItems": 2},
            "more": {"type": "object", "additionalProperties": {"type": "null"}},
        },
        "type": "object",
        "required": ["n", "list", "name"],
    },
    "counted members": {"type": "object", "minProperties": 3, "maxProperties": 4, "required": ["b"]},
    "some of these members": {
        "type": "object",
        "properties": {name: {"type": "boolean"} for name in "abcd"},
        "additionalProperties": False,
        "anyOf": [{"required": ["a", "b"]}, {"required": ["c"]}],
        "minProperties": 2,
    },
    "lengths": {"type": "string", "minLength": 40, "maxLength": 60},
    "a pattern and a length": {"type": "string", "pattern": "^[a-c]+-[0-9]+$", "minLength": 12, "maxLength": 20},
    # No numbers: a second 0 repeats the first, however it goes on (0.0, 0e5), and is a dead end by itself.
    "items that differ": {
        "type": "array",
        "uniqueItems": True,
        "items": {"type": "string", "pattern": "^[a-c]*$"},
        "minItems": 12,
    },
    "texts that differ": {
        "type": "object",
        "properties": {"x": {"type": "array", "uniqueItems": True, "items": {"type": "string"}, "minItems": 3}},
        "required": ["x"],
    },
    "hardly any items that differ": {
        "type": "array",
        "uniqueItems": True,
        "items": {"enum": ["aa", "ab", "b", 1, 1.0]},
        "minItems": 4,
    },
    "itself": {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "value": {"type": "number"}},
        "required": ["value"],
    },
}


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_instances_of_schemas_end_in_time(schema: dict[str, Any], order: Any) -> None:
    grammar = compiled(Grammar.from_json_schema(schema, order=order), JSON)
    for seed in range(12):
        random = Random(seed)
        matcher = GrammarMatcher(grammar)
        number = matcher.tokens_to_end()
        assert number is not None
        end = matcher.shortest_end()
        assert end is not None
        Draft202012Validator(schema).validate(json.loads(end))
        written(matcher, number + random.choice([0, 1, 2, 5, 20]), random)
        Draft202012Validator(schema).validate(json.loads(matcher.text))


@pytest.mark.parametrize("name", ["items that differ", "texts that differ", "counted members"])
def test_what_a_mask_allows_is_taken_where_items_differ(name: str) -> None:
    """Of other tokens some may be taken, too: what they lead to is known when they are read."""
    grammar = compiled(Grammar.from_json_schema(SCHEMAS[name]), JSON)
    for seed in range(3):
        random = Random(seed)
        matcher = GrammarMatcher(grammar)
        number = matcher.tokens_to_end()
        assert number is not None
        matcher.complete_within(number + 12 * seed)
        while not matcher.is_terminated() and matcher.tokens_left:
            allowed = mask(matcher)
            for token in allowed:
                assert matcher.fork().accept_token(token), (matcher.text, token)
            assert matcher.accept_token(random.choice(sorted(allowed)))
        assert matcher.is_completed()


def test_the_fewest_members_are_found_in_any_order() -> None:
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in ("one", "two", "three", "four")},
        "required": ["three", "one", "four"],
        "additionalProperties": False,
    }
    matcher = GrammarMatcher(compiled(Grammar.from_json_schema(schema, order="any"), JSON))
    assert matcher.accept_string('{"two":2,"f')
    assert matcher.shortest_end() == b'our":0,"one":0,"three":0}'
    assert matcher.accept_string('our":0,"three":1')
    assert matcher.shortest_end() == b',"one":0}'
    assert matcher.accept_string(',"one":1')
    assert matcher.shortest_end() == b"}"


TAG = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<call>"],
        "tags": [
            {
                "begin": "<call>",
                "content": {
                    "type": "json_schema",
                    "json_schema": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
                },
                "end": "</call>",
            }
        ],
        "at_least_one": True,
    },
}


def test_a_tag_ends_in_time() -> None:
    grammar = compiled(Grammar.from_structural_tag(TAG), [*JSON, b"<call>", b"</call>", b"<", b'{"x":'])
    matcher = GrammarMatcher(grammar)
    assert matcher.shortest_end() == b'<call>{"x":0}</call>'
    assert matcher.tokens_to_end() == 5
    assert matcher.accept_string('<call>{"x":1')
    assert (matcher.tokens_to_end(), matcher.shortest_end()) == (2, b"}</call>")
    for seed in range(20):
        matcher = GrammarMatcher(grammar)
        written(matcher, 5 + seed, Random(seed))
        assert matcher.is_completed()
        assert b"</call>" in matcher.text


def test_tokens_that_a_grammar_names() -> None:
    vocab = [*JSON, b"<tool>", b"<end>"]
    tool, end, stop = len(JSON), len(JSON) + 1, len(JSON) + 2
    info = TokenizerInfo([*vocab, b"</s>"], stop_token_ids=[stop], special_token_ids=[tool, end, stop])
    grammar = Grammar.from_ebnf(f'root ::= [a-z]* (Token({tool}) "ab" Token({end}))+')
    matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar(grammar))
    assert (matcher.tokens_to_end(), matcher.shortest_end()) == (4, None)
    matcher.complete_within(5)
    assert matcher.accept_token(ord("q"))
    assert mask(matcher) == {tool}
    for token in (tool, ord("a"), ord("b"), end):
        assert matcher.accept_token(token)
    assert mask(matcher) == {stop}
    matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar(grammar))
    matcher.complete_within(9)
    for token in (tool, ord("a"), ord("b"), end):
        assert matcher.accept_token(token)
    assert mask(matcher) == {tool, stop}
    assert matcher.accept_token(tool)


def test_a_rule_that_limits_its_tokens() -> None:
    grammar = Grammar.from_ebnf('root ::= think "." \nthink[max_tokens=3] ::= [a-z]*')
    for seed in range(30):
        matcher = GrammarMatcher(compiled(grammar, [*BYTES, b"ab", b"abc."]))
        assert matcher.tokens_to_end() == 1
        written(matcher, 1 + seed % 8, Random(seed))
        assert matcher.is_completed()
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= r "."\nr[max_tokens=2] ::= "abcd"'), BYTES))
    with pytest.raises(UnsupportedFeatureError, match="max_tokens"):
        matcher.tokens_to_end()


def test_what_cannot_be_counted_is_refused() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "ab"'), [b"ab", b"a"]))
    with pytest.raises(UnsupportedFeatureError, match="a token for each byte"):
        matcher.complete_within(5)
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "ab"'), BYTES), override_stop_tokens=[ord("b")])
    with pytest.raises(UnsupportedFeatureError, match="stop token 98 is a token of text"):
        matcher.complete_within(5)
    with pytest.raises(ValueError, match="at least 0"):
        matcher.complete_within(-1)


def test_the_limit_goes_with_the_text() -> None:
    """Strings count as no token; forks have the limit, rollback gives tokens back, and reset lifts it."""
    grammar = compiled(Grammar.from_ebnf("root ::= [a-z]+ [.]"), BYTES)
    matcher = GrammarMatcher(grammar)
    matcher.accept_token(ord("q"))
    matcher.complete_within(2**63 - 1)
    assert matcher.tokens_left is not None
    matcher.complete_within(3)
    assert matcher.accept_string("abc")
    assert matcher.tokens_left == 3
    assert matcher.accept_token(ord("d"))
    assert matcher.accept_token(ord("e"))
    other = matcher.fork()
    assert mask(other) == mask(matcher) == {ord(".")}
    assert not matcher.accept_token(ord("f"))
    assert matcher.text == b"qabcde"
    assert not matcher.accept_string("") or matcher.tokens_left == 1
    matcher.rollback(matcher.num_steps - 2)
    assert matcher.tokens_left == 3
    assert len(mask(matcher)) == 27
    assert matcher.accept_token(ord("."))
    assert mask(matcher) == {256}
    matcher.reset()
    assert matcher.tokens_left is None
    other.complete_within(None)
    assert len(mask(other)) == 27


def test_doors_that_read_masks_in_other_ways() -> None:
    """Batches, draft trees, forced tokens and a look at what is known have the masks of one matcher."""
    grammar = compiled(Grammar.from_ebnf('root ::= "a" | "b" root "c"'), BYTES)
    matcher = GrammarMatcher(grammar)
    matcher.complete_within(3)
    words = (257 + 31) // 32
    assert not matcher.is_prepared()
    row = allocate_token_bitmask(1, 257)
    assert not matcher.peek_next_token_bitmask(row)
    matcher.prepare()
    assert matcher.is_prepared()
    assert matcher.peek_next_token_bitmask(row)
    assert mask(matcher) == {ord("a"), ord("b")}
    masks = BatchGrammarMatcher().read_masks([matcher, None])
    assert masks.populations().tolist() == [2, -1]
    rows = allocate_token_bitmask(3, 257)
    draft = np.array([ord("b"), ord("a"), ord("c")])
    chain = np.array([1, 2, -1]), np.array([-1, -1, -1])
    assert matcher.accept_token(ord("b"))
    assert matcher.traverse_draft_tree(*chain, draft, rows)
    allowed = [set(np.flatnonzero(np.unpackbits(one.view(np.uint8), bitorder="little"))) for one in rows[:, :words]]
    assert allowed == [{ord("a")}, {ord("c")}, {256}]
    assert matcher.find_forced_tokens() == [ord("a"), ord("c"), 256]


def test_a_count_of_millions_is_a_product() -> None:
    grammar = compiled(Grammar.from_json_schema({"type": "array", "items": {"type": "null"}, "minItems": 10**8}), JSON)
    matcher = GrammarMatcher(grammar)
    number = matcher.tokens_to_end()
    assert number is not None
    assert number > 10**8
    assert matcher.shortest_end() is None
    with pytest.raises(TooFewTokensError, match="allow at least"):
        matcher.complete_within(1000)


def test_masks_of_thousands_of_tokens_are_those_of_the_numbers_behind_each() -> None:
    """Few are taken out of the ordinary mask, or few are left of it."""
    words = [f"w{number}".encode() for number in range(2_000)]
    grammar = Grammar.from_ebnf('root ::= "<" ([a-z0-9]+ | "=" "x"{5})* ">"')
    matcher = GrammarMatcher(compiled(grammar, [*BYTES, *words]))
    assert matcher.accept_string("<")
    behind: dict[int, int | None] = {}
    for token in mask(matcher):
        after = matcher.fork()
        assert after.accept_token(token)
        behind[token] = after.tokens_to_end()
    sizes = []
    for left in (1, 2, 6, 7):
        limited = matcher.fork()
        limited.complete_within(left)
        assert mask(limited) == {token for token, more in behind.items() if more is not None and more < left}
        sizes.append(len(behind) - len(mask(limited)))
    assert sizes == [2_037, 1, 1, 0]


def test_masks_are_found_again() -> None:
    """Far from the limit the mask is the ordinary one, and near it that of equal states is one."""
    grammar = compiled(Grammar.from_json_schema({"type": "object"}), JSON)
    free, limited = GrammarMatcher(grammar), GrammarMatcher(grammar)
    limited.complete_within(100)
    for byte in b'{"abc':
        assert free.mask_number() == limited.mask_number()
        assert free.accept_token(byte)
        assert limited.accept_token(byte)
    first, second = GrammarMatcher(grammar), GrammarMatcher(grammar)
    for matcher, text in ((first, b'{"x'), (second, b'{"xyz')):
        assert matcher.accept_string(text)
        matcher.complete_within(4)
    assert first.mask_number() == second.mask_number() != free.mask_number()


BRACKETS = r"""root ::= item*
item ::= "(" item* ")" | "[" item* "]" | "{" item* "}" | "<" item* ">" | [a-z]
"""


def test_a_step_that_is_cancelled_while_an_end_is_looked_for_is_not_taken() -> None:
    grammar = compiled(Grammar.from_ebnf(BRACKETS), BYTES)
    ahead = GrammarMatcher(grammar)
    assert ahead.accept_string("[(((aab")
    matcher = GrammarMatcher(grammar)
    matcher.complete_within(30)
    assert matcher.accept_token(ord("["))
    matcher.cancel_token = CancelToken()
    matcher.cancel_token.cancel()
    for take in (lambda: matcher.accept_token(ord("(")), lambda: matcher.accept_string("(")):
        with pytest.raises(OperationCancelledError):
            take()
        assert (matcher.text, matcher.num_steps, matcher.tokens_left) == (b"[", 1, 29)


def test_a_token_is_taken_once_where_an_end_needs_new_parser_states() -> None:
    grammar = compiled(Grammar.from_ebnf(BRACKETS), BYTES, Options.laboratory(max_bytes=600_000, direct_limit=1024))
    matcher, other = GrammarMatcher(grammar), GrammarMatcher(grammar)
    matcher.complete_within(1000)
    assert other.accept_string("([{<(((")  # states that the steps below find
    random = Random(1)
    while not grammar.renewals:
        other.reset()
        assert other.accept_string("".join(random.choice("([{<") for _ in range(40)))
    for count, byte in enumerate(b"([{<((", 1):
        assert matcher.accept_token(byte)
        assert (matcher.text, matcher.num_steps, matcher.tokens_left) == (b"([{<(("[:count], count, 1000 - count)
