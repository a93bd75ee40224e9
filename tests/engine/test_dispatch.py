"""TagDispatch and whole-token edges, against their definitions read straight off `grammar.ir`."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import BudgetExceededError, Grammar, GrammarError, GrammarMatcher, Options, TimeLimit
from kernels_core.automata.lower import Lowering
from kernels_core.grammar.ir import GrammarIR, Literal, Node, Rule, Seq, TagDispatch, TokenSet
from kernels_core.grammar.nodes import literal
from tests.engine.driver import compiled, mask
from tests.reference import Recogniser
from tests.reference.dispatch import definition
from tests.reference.masks import mask_at

VOCABULARY = [bytes(token) for size in (1, 2, 3) for token in product(b"abc", repeat=size)]


def grammar(body: Node) -> Grammar:
    return Grammar(GrammarIR({"root": Rule("root", body)}, "root"))


words = st.text("abc", min_size=1, max_size=3).map(str.encode)


@st.composite
def dispatches(draw: st.DrawFn) -> TagDispatch:
    tags = draw(st.lists(words, max_size=3))
    contents = tuple(literal(draw(st.text("abc", max_size=2)).encode()) for _ in tags)
    excludes = draw(st.lists(words, max_size=2, unique=True))
    stops = draw(st.lists(words, max_size=2, unique=True))
    return TagDispatch(tuple(tags), contents, draw(st.booleans()), tuple(sorted(excludes)), tuple(sorted(stops)))


@given(dispatches(), st.sampled_from([Options(), Options.laboratory(differential_from=0, unroll_limit=0)]))
def test_every_short_text(node: TagDispatch, options: Options) -> None:
    matcher = GrammarMatcher(compiled(grammar(node), [b"a"], options))
    contents = [{content.value if isinstance(content, Literal) else b""} for content in node.contents]
    texts = [bytes(text) for size in range(7) for text in product(b"abc", repeat=size)]
    whole = {text for text in texts if definition(node, contents, text)}
    prefixes = {text[:end] for text in whole for end in range(len(text) + 1)}
    for text in texts:
        matcher.reset()
        accepted = matcher.accept_string(text)
        assert (accepted and matcher.is_completed()) == (text in whole), text
        assert accepted or text not in prefixes, text


def reference_masks(ir: GrammarIR, vocabulary: list[bytes], text: bytes) -> list[set[int]]:
    """The masks before each byte of a text and behind it, with the stop token, as far as it begins a text."""
    reference = Recogniser(ir)
    state, found = reference.start(), []
    for byte in [*text, None]:
        if not state.alive:
            break
        found.append(mask_at(reference, state, vocabulary) | ({len(vocabulary)} if state.completed else set()))
        state = state if byte is None else reference.advance(state, byte)
    return found


@given(dispatches(), st.text("abc", max_size=4).map(str.encode))
def test_masks_of_free_text(node: TagDispatch, text: bytes) -> None:
    expected = reference_masks(grammar(node).ir, VOCABULARY, text)
    for options in (
        Options(),
        Options.laboratory(differential_from=0, direct_limit=0),
        Options.laboratory(differential_masks=False),
    ):
        matcher = GrammarMatcher(compiled(grammar(node), VOCABULARY, options))
        for number, masked in enumerate(expected):
            assert matcher.accept_string(text[max(number - 1, 0) : number])
            assert mask(matcher) == masked, text[:number]


NAMES = ["a", "ab", "abc", "abd", "b", "ba", "bab", "c>", "ca", "caa", "cab", "cb"]
PIECES = [
    *VOCABULARY,
    b"<",
    b"<a",
    b"<ab",
    b">",
    b"a>",
    b"a>[",
    b"ab>[1",
    b"bc>[1]",
    b"ca>",
    b"cab>[1]<",
    b"[1]<ab",
    b"]",
]


@pytest.mark.parametrize("text", [b"c<ab>[1]<abc>[1]a", b"<c>>[1]<ca>", b"<cab>[1]<bab", b"ab<b>[1]"])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize(
    "options", [Options(), Options.laboratory(direct_limit=0, differential_from=0), Options(lazy_lowering=False)]
)
def test_masks_behind_a_trigger(text: bytes, same: bool, options: Options) -> None:
    """In the names of many tools, some of which begin others, or are called the same."""
    schema = {"type": "array", "items": {"const": 1}, "minItems": 1, "maxItems": 1}
    names = [*NAMES, "ab"] if same else NAMES
    tags = [
        {"type": "tag", "begin": f"<{name}>", "content": {"type": "json_schema", "json_schema": schema}, "end": ""}
        for name in names
    ]
    tag = {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<"], "tags": tags}}
    vocabulary = [*PIECES, b"1", b" "]
    matcher = GrammarMatcher(compiled(Grammar.from_structural_tag(tag), vocabulary, options))
    for number, masked in enumerate(reference_masks(Grammar.from_structural_tag(tag).ir, vocabulary, text)):
        assert matcher.accept_string(text[max(number - 1, 0) : number])
        assert mask(matcher) == masked, text[:number]
    assert matcher.text == text


def test_a_tag_whose_content_is_impossible_is_excluded() -> None:
    from kernels_core.grammar.ir import Never

    matcher = GrammarMatcher(compiled(grammar(TagDispatch((b"ab",), (Never(),))), [b"a"]))
    assert matcher.accept_string(b"aacb")
    assert not matcher.accept_string(b"ab")


def test_tokens_by_id() -> None:
    """Ids 0..: a, b, <ctl> (control), "" (empty), stop."""
    from kernels_core import GrammarCompiler, TokenizerInfo

    info = TokenizerInfo([b"a", b"b", b"<ctl>", b"", b"<stop>"], stop_token_ids=[4], special_token_ids=[2, 3])
    compiler = GrammarCompiler(info)

    def allowed(body: Node, *tokens: int) -> list[int]:
        matcher = GrammarMatcher(compiler.compile_grammar(grammar(body)))
        for token in tokens:
            assert matcher.accept_token(token), token
        return matcher.allowed_token_ids()

    assert allowed(TokenSet((2, 3))) == [2, 3], "named tokens are allowed whatever they are"
    assert allowed(TokenSet((0,), negated=True)) == [1, 2], "neither empty nor stop tokens are in a negated set"
    assert allowed(TokenSet((0,)), 0) == [4]
    assert allowed(Seq((TokenSet((4,)), Literal(b"a")))) == [4], "a stop token may be named in the middle"
    assert allowed(Seq((TokenSet((4,)), Literal(b"a"))), 4) == [0]
    matcher = GrammarMatcher(compiler.compile_grammar(grammar(Seq((Literal(b"a"), TokenSet((4,)))))))
    assert matcher.accept_token(0)
    assert not matcher.is_completed()
    assert matcher.accept_token(4)
    assert matcher.is_terminated()
    matcher.rollback()
    assert matcher.allowed_token_ids() == [4]
    assert not matcher.accept_string(b"<stop>"), "bytes do not match a whole token"


def test_token_ids_belong_to_the_cache_key() -> None:
    """One compiler, two grammars that differ in a token id only."""
    from kernels_core import GrammarCompiler, TokenizerInfo

    info = TokenizerInfo([b"a", b"b", b"c", b"<stop>"], stop_token_ids=[3])
    compiler = GrammarCompiler(info)
    for token in (1, 2):
        body = Seq((TokenSet((token,)), Literal(b"a")))
        assert GrammarMatcher(compiler.compile_grammar(grammar(body))).allowed_token_ids() == [token]


def test_a_token_that_is_not_in_the_vocabulary() -> None:
    with pytest.raises(GrammarError, match="token 9"):
        compiled(grammar(TokenSet((9,))), [b"a"])


def test_an_empty_string_is_a_step_that_changes_nothing() -> None:
    matcher = GrammarMatcher(compiled(grammar(Literal(b"ab")), [b"a", b"b"]))
    before = matcher.frontier()
    assert matcher.accept_string(b"")
    assert matcher.num_steps == 1
    assert matcher.frontier() == before


def test_after_the_end_there_are_no_token_sets() -> None:
    matcher = GrammarMatcher(compiled(grammar(Literal(b"a")), [b"a"]))
    assert matcher.accept_token(0)
    assert matcher.accept_token(1)
    assert matcher.token_sets().states == ()
    assert matcher.token_sets().allowed.tolist() == []


def test_a_counted_call_inside_a_small_rule() -> None:
    """Found by a random grammar: the rule is small enough to inline, what it counts is not."""
    text = 'root ::= r3\nr3 ::= "a" r1{2} | "b" r3\nr1 ::= r1 "c" | "a"'
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(text), [b"a"], Options.laboratory(unroll_limit=0)))
    assert matcher.accept_string(b"aaca")
    assert matcher.is_completed()


def test_a_budget_of_states_beyond_what_a_number_of_states_may_be() -> None:
    matcher = GrammarMatcher(
        compiled(grammar(TagDispatch((b"ab",), (literal(b"c"),), True, (), ())), [b"a"], Options(max_states=50_000_000))
    )
    assert matcher.accept_string("aabca")


def random_words(count: int) -> tuple[bytes, ...]:
    random = Random(1)
    return tuple(sorted(bytes(random.choices(b"abcdefghijklmnopqrstuvwxyz", k=20)) for _ in range(count)))


@pytest.mark.parametrize("looks", [1_000, 5_000, 10_000])
def test_many_patterns_end_at_a_time_limit(looks: int) -> None:
    """The trie, its links and the states: each of them looks at the clock some 4,000 times."""
    lowering = Lowering(grammar(TagDispatch((), (), True, random_words(200), ())).ir, Options())
    number = lowering.rule_id("root")
    with pytest.raises(BudgetExceededError, match="milliseconds"), TimeLimit(0, looks=looks):
        lowering.nfa(number)
    assert 3_500 < lowering.nfa(number).size < 4_000


def test_many_patterns_end_at_a_limit_of_edges() -> None:
    """A state of free text has an edge for each byte that any pattern begins with."""
    ir = grammar(TagDispatch((), (), True, random_words(1_000), ())).ir
    lowering = Lowering(ir, Options())
    assert lowering.nfa(lowering.rule_id("root")).size > 18_000
    lowering = Lowering(ir, Options(max_states=1_000))
    with pytest.raises(BudgetExceededError, match="more than 1,000 automaton states"):
        lowering.nfa(lowering.rule_id("root"))


def test_nested_tags_end_at_a_limit_of_ends() -> None:
    """All shorter tags end where one of them does."""
    tags = tuple(b"a" * length for length in range(1, 400))
    ir = grammar(TagDispatch(tags, (literal(b"c"),) * len(tags))).ir
    lowering = Lowering(ir, Options(max_states=1_000))
    with pytest.raises(BudgetExceededError, match="more than 1,000 automaton states"):
        lowering.nfa(lowering.rule_id("root"))
