"""Limits in tokens (`max_tokens` of rules): what may begin inside of a rule, and what is dropped when nothing may.

Random grammars, vocabularies and texts of tokens and strings are compared with stacks that are written out one by one
(`tests/reference/token_limits.py`), under every way of lowering; what left recursion makes, with the same texts in a
rule that does not recurse.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import (
    BudgetExceededError,
    Grammar,
    GrammarCompiler,
    GrammarError,
    GrammarMatcher,
    Options,
    UnsupportedFeatureError,
)
from kernels_core.grammar import nodes
from kernels_core.grammar.analysis import normal_form
from kernels_core.grammar.ir import CharSet, Choice, Empty, GrammarIR, Literal, Node, Rule, RuleRef, TagDispatch
from kernels_core.inspect.classic import Chart
from tests.engine.driver import VARIANTS, compiled, follow_stacks, in_turn, mask, named, tokenizer
from tests.reference.token_limits import Stacks, TooManyStacks

TERMINALS: list[Node] = [
    Literal(b"a"),
    Literal(b"b"),
    Literal(b"ab"),
    Literal(b"aba"),
    CharSet(((0x61, 0x62),)),
    CharSet(((0x61, 0x61), (0xE9, 0xEA))),
]
VOCABULARY = [
    *(b"a", b"b", b"ab", b"ba", b"aa", b"bb", b"aab", b"abab", b"bbb", b"aaaaaa", b"babababa"),
    *("é".encode(), b"\xc3", b"\xa9", b"a\xc3", b"\xa9b", "éa".encode()),
]


@st.composite
def bodies(draw: st.DrawFn, later: list[str], every: list[str], depth: int = 0) -> Node:
    """A body that recurses on the right or inside, and never on the left."""

    def item(*, begun: bool) -> Node:
        kind = draw(st.integers(0, 9))
        names = every if begun else later
        if kind < 4 and names:
            return RuleRef(draw(st.sampled_from(names)))
        if kind == 4 and depth < 2:
            inner = draw(bodies(later, every, depth + 1))
            least = draw(st.sampled_from([0, 0, 1, 2]))
            return nodes.repeat(inner, least, draw(st.sampled_from([None, None, least + 1, least + 12])))
        if kind == 5 and depth < 2:
            return draw(bodies(later, every, depth + 1))
        if kind == 6 and depth == 0:
            return TagDispatch((), (), True, draw(st.sampled_from([(b"bb",), (b"ab", b"b"), (b"aba",)])))
        return draw(st.sampled_from(TERMINALS))

    ways = []
    for _ in range(draw(st.integers(1, 3))):
        begun, items = False, []
        for _ in range(draw(st.integers(1, 3))):
            items.append(item(begun=begun))
            begun = begun or items[-1] in TERMINALS
        ways.append(nodes.seq(items))
    if draw(st.integers(0, 5)) == 0:
        ways.append(Empty())
    return nodes.choice(ways)


@st.composite
def limited(draw: st.DrawFn) -> GrammarIR:
    """Some rules, most of which limit their tokens."""
    names = ["root", "r1", "r2", "r3"][: draw(st.integers(1, 4))]
    rules = {}
    for number, name in enumerate(names):
        most = draw(st.sampled_from([None, 1, 1, 2, 3]))
        body = draw(bodies(names[number + 1 :], names))
        # Something that ends it, so that every rule has a text.
        body = nodes.choice((body, draw(st.sampled_from(TERMINALS))))
        rules[name] = Rule(name, body, () if most is None else (("max_tokens", most),))
    return normal_form(GrammarIR(rules, "root"))


@given(limited(), st.sampled_from(list(VARIANTS)), st.randoms(use_true_random=False))
def test_masks_are_those_of_the_stacks(ir: GrammarIR, variant: str, random: Random) -> None:
    matcher = GrammarMatcher(compiled(ir, VOCABULARY, VARIANTS[variant]))
    with suppress(TooManyStacks):
        follow_stacks(matcher, Stacks(ir), VOCABULARY, random)


@given(limited(), st.sampled_from([128, 0]), st.randoms(use_true_random=False))
def test_the_chart_counts_by_positions(ir: GrammarIR, inline_limit: int, random: Random) -> None:
    """The textbook chart finds by origins what frames say, and goes back as the matcher does."""
    made = compiled(ir, VOCABULARY, Options.laboratory(inline_limit=inline_limit, unroll_limit=inline_limit // 4))
    matcher = GrammarMatcher(made)
    seen = []
    for _ in range(9):
        frontier = matcher.frontier()
        states = {(item.state, item.counter) for item in frontier.items if item.scannable}
        items = made.machine.set_items(matcher.set_number)
        assert states == {(state, counter) for state, _, counter in items if state > 1}, matcher.history
        assert frontier.completed == matcher.is_completed()
        seen.append(states)
        choices = sorted(mask(matcher) - {len(VOCABULARY)})
        if not choices:
            break
        token = random.choice(choices)
        taken = matcher.accept_string(VOCABULARY[token]) if random.random() < 0.2 else matcher.accept_token(token)
        assert taken
        assert matcher.operations().events is not None
    chart, steps = Chart(made.state_table), matcher.steps()
    chart.seek(steps)
    for count, states in reversed(list(enumerate(seen))):
        chart.seek(steps[:count])
        assert {(item.state, item.counter) for item in chart.items() if item.scannable} == states


LEFT = [
    ('root ::= r "x"?\nr[max_tokens={n}] ::= r "a" | r "b" | "a"', 'root ::= r "x"?\nr[max_tokens={n}] ::= "a" [ab]*'),
    (
        'root ::= r "x"\nr[max_tokens={n}] ::= l\nl ::= m "b" | "a"\nm ::= l "a" | l | "b"',
        'root ::= r "x"\nr[max_tokens={n}] ::= ("a" | "bb") ("a"? "b")*',
    ),
    (
        'root ::= l "x" | "ab"\nl ::= r "a" | "b"\nr[max_tokens={n}] ::= l "b" | "a"',
        None,
    ),
]


def follow_left(left: str, plain: str, most: int, options: Options) -> None:
    vocabulary = [b"a", b"b", b"ab", b"ba", b"x", b"bx", b"aa"]
    random = Random(most)
    one = GrammarMatcher(compiled(Grammar.from_ebnf(left.replace("{n}", str(most))), vocabulary, options))
    other = GrammarMatcher(compiled(Grammar.from_ebnf(plain.replace("{n}", str(most))), vocabulary))
    for _ in range(6):
        for _ in range(6):
            expected = mask(other)
            assert mask(one) == expected, one.history
            token = random.choice(sorted(expected))
            assert one.accept_token(token)
            assert other.accept_token(token)
            if one.is_terminated():
                break
        one.reset()
        other.reset()


@pytest.mark.parametrize(
    ("case", "variants"),
    in_turn({f"{at}, {most}": (*LEFT[at], most) for at in (0, 1) for most in (1, 2, 3)}, rows=4),
)
def test_left_recursion_counts_once(case: tuple[str, str, int], variants: dict[str, Options]) -> None:
    """What a rule calls on its left begins where it does, so all of them have the same number of tokens left."""
    for name, options in variants.items():
        with named(name):
            follow_left(*case, options)


def test_left_recursion_through_a_limit_keeps_to_its_own_count() -> None:
    grammar = Grammar.from_ebnf(LEFT[2][0].replace("{n}", "1"))
    matcher = GrammarMatcher(compiled(grammar, [b"a", b"b", b"x"]))
    # "a" may be r alone (spent, and ended), so "a" may follow in l; r of l of r began with it, and may not go on.
    assert matcher.accept_token(0)
    assert mask(matcher) == {0, 1}
    assert matcher.accept_token(0)
    assert mask(matcher) == {2}


SPAN = 'root ::= "<" text ">"\ntext[max_tokens=2] ::= [a-c]*'
TOKENS = [b"<", b">", b"a", b"ab", b"<a", b"c>", b"abc"]


def _mask_after(grammar: Grammar | str, steps: list[int | bytes], vocabulary: list[bytes] = TOKENS) -> list[bytes]:
    grammar = Grammar.from_ebnf(grammar) if isinstance(grammar, str) else grammar
    matcher = GrammarMatcher(compiled(grammar, vocabulary))
    for step in steps:
        assert matcher.accept_token(step) if isinstance(step, int) else matcher.accept_string(step)
    return [[*vocabulary, b"stop"][token] for token in sorted(mask(matcher))]


@pytest.mark.parametrize(
    ("steps", "allowed"),
    [
        ([0], [b">", b"a", b"ab", b"c>", b"abc"]),
        ([0, 2], [b">", b"a", b"ab", b"c>", b"abc"]),
        ([0, 2, 3], [b">"]),
        # A token that begins in front of the rule is not counted, and one that ends behind it is.
        ([4, 2], [b">", b"a", b"ab", b"c>", b"abc"]),
        ([4, 2, 2], [b">"]),
        ([0, 2, 5], [b"stop"]),
        # A string is no token; where the limit is spent it has to end the rule as a token has.
        ([b"<abcabcabc"], [b">", b"a", b"ab", b"c>", b"abc"]),
        ([b"<", b"a", b"b", b"c", 2], [b">", b"a", b"ab", b"c>", b"abc"]),
        ([b"<", 2, b"abab", 2], [b">"]),
    ],
)
def test_what_counts(steps: list[int | bytes], allowed: list[bytes]) -> None:
    assert _mask_after(SPAN, steps) == allowed


def test_a_string_cannot_go_on_in_a_rule_that_is_spent() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(SPAN), TOKENS))
    assert all(map(matcher.accept_token, (0, 2, 2)))
    assert matcher.possible_bytes() == ((0x3E, 0x3E),)
    assert matcher.find_jump_forward_string() == ">"
    assert not matcher.accept_string("a")
    assert matcher.find_forced_tokens() == [1, len(TOKENS)]
    explained = matcher.explain(2)
    assert not explained.accepted
    assert "possible" in explained.reason


WORDS = 'root ::= "<" text ">"\ntext[max_tokens=%d] ::= ([a-c]* " ")+'


@pytest.mark.parametrize(
    ("grammar", "steps", "allowed"),
    [
        # It can end behind a blank: where its tokens are spent it does.
        (WORDS % 2, [0, 4, 4], [b">"]),
        # In a word it cannot, and goes on until it can.
        (WORDS % 1, [0, 2], [b"a", b"ab", b"a ", b" ", b"b "]),
        (WORDS % 1, [0, 2, 3], [b"a", b"ab", b"a ", b" ", b"b "]),
        (WORDS % 1, [0, 2, 4], [b">"]),
        (WORDS % 1, [0, 2, 3, 5], [b">"]),
        # The smaller of two limits counts, whichever is outside.
        ('root ::= o ">"\no[max_tokens=2] ::= "<" i\ni[max_tokens=9] ::= [a-c]*', [0, 2], [b">"]),
        ('root ::= o ">"\no[max_tokens=9] ::= "<" i\ni[max_tokens=2] ::= [a-c]*', [0, 2, 2], [b">"]),
        ('root ::= o ">"\no[max_tokens=9] ::= "<" i\ni[max_tokens=2] ::= [a-c]*', [0, 2], [b">", b"a", b"ab"]),
        # Each occurrence has a count of its own; a loop is limited from outside.
        ('root ::= i+ ">"\ni[max_tokens=1] ::= [a-c]+ " "', [4, 4, 4], [b">", b"a", b"ab", b"a ", b"b "]),
        ('root ::= i ">"\ni[max_tokens=2] ::= ([a-c]+ " ")*', [4, 4], [b">"]),
        # Another rule inside is limited there, and nowhere else.
        ('root ::= l " " s ">"\nl[max_tokens=1] ::= s\ns ::= [a-c] s | [a-c]', [2], [b" "]),
        ('root ::= l " " s ">"\nl[max_tokens=1] ::= s\ns ::= [a-c] s | [a-c]', [2, 5, 2, 2], [b">", b"a", b"ab"]),
        # A reading that is spent goes although no other ends here, as long as one can go on.
        ('root ::= l "a>" | m "<"\nl[max_tokens=1] ::= [ab]+\nm ::= "a" "b"*', [2], [b"<", b"a"]),
        # The whole text.
        ("root[max_tokens=2] ::= [a-c]*", [2, 2], [b"stop"]),
        ('root[max_tokens=1] ::= "a" root | "a"', [2], [b"stop"]),
    ],
)
def test_what_is_left(grammar: str, steps: list[int | bytes], allowed: list[bytes]) -> None:
    assert _mask_after(grammar, steps, [b"<", b">", b"a", b"ab", b"a ", b" ", b"b "]) == allowed


def test_whole_tokens_count_as_well() -> None:
    grammar = 'root ::= text "<"\ntext[max_tokens=2] ::= (Token(1) | ExcludeToken(0, 1))*'
    assert _mask_after(grammar, [1]) == [b"<", b">", b"a", b"ab", b"<a", b"c>", b"abc"]
    assert _mask_after(grammar, [1, 3]) == [b"<"]


def test_masks_of_a_long_text_are_one() -> None:
    """What a token may be does not depend on how many may follow: all places share one mask, and it is made once."""
    grammar = Grammar.from_ebnf(SPAN.replace("=2", "=500"))
    made = compiled(grammar, TOKENS)
    matcher = GrammarMatcher(made)
    assert matcher.accept_token(0)
    numbers = set()
    for _ in range(500):
        numbers.add(matcher.mask_number())
        assert matcher.accept_token(2)
    assert len(numbers) == 1
    assert mask(matcher) == {1}
    matcher.reset()
    before = made.machine.set_count
    for token in [0, *[2] * 500, 1]:
        assert matcher.accept_token(token)
    assert made.machine.set_count - before <= 2


def test_deep_recursion_of_a_limited_rule() -> None:
    """Every level has a count of its own, so none is given up for the next one's, and nothing here recurses in C."""
    grammar = Grammar.from_ebnf('root ::= r "."\nr[max_tokens=2] ::= "a" r | "b"')
    made = compiled(grammar, [b"a", b"b", b".", b"a" * 5000], Options(max_bytes=200_000_000))
    matcher = GrammarMatcher(made)
    assert matcher.accept_string(b"a" * 20_000)
    assert matcher.accept_token(1)
    assert mask(matcher) == {2}
    assert matcher.accept_token(2)
    assert matcher.is_completed()


def test_limits_keep_to_the_budget() -> None:
    grammar = Grammar.from_ebnf('root ::= r "."\nr[max_tokens=2000] ::= "a" r | "a"')
    made = compiled(grammar, [b"a", b"."], Options(max_bytes=400_000))
    matcher = GrammarMatcher(made)
    with pytest.raises(BudgetExceededError, match="bytes of parser states"):
        all(matcher.accept_token(0) for _ in range(20_000))
    taken = matcher.num_steps
    assert 0 < taken < 20_000
    matcher.rollback(taken)
    assert mask(matcher) == {0}


def test_parser_states_are_made_anew() -> None:
    grammar = Grammar.from_ebnf('root ::= (text ">")*\ntext[max_tokens=40] ::= [a-c]{0,2000}')
    made = compiled(grammar, TOKENS, Options(max_bytes=800_000))
    matcher = GrammarMatcher(made)
    random = Random(3)
    for _ in range(300):
        length = random.randrange(41)
        for _ in range(length):
            assert matcher.accept_string("ab" * random.randrange(20))
            assert matcher.accept_token(random.choice([2, 3, 6]))
        assert (mask(matcher) >= {2}) == (length < 40)
        assert matcher.accept_token(1)
        matcher.reset()
    assert made.renewals


@pytest.mark.parametrize("parser", ["pushdown", "fsm"])
def test_parsers_without_frames_refuse(parser: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"max_tokens.*earley") as caught:
        compiled(Grammar.from_ebnf(SPAN), TOKENS, Options(parser=parser))  # type: ignore[arg-type]
    assert caught.value.line == 2


def test_notes_are_printed_and_read_back() -> None:
    grammar = Grammar.from_ebnf('root ::= text\ntext[max_tokens=2, capture="n"] ::= [a-c]*')
    assert "max_tokens=2" in str(grammar)
    again = Grammar.from_ebnf(str(grammar))
    assert again == grammar
    assert _mask_after(pickle.loads(pickle.dumps(grammar)), [2, 2]) == [b"stop"]
    both = Grammar.concat(grammar, Grammar.from_ebnf('root ::= ">"'))
    assert _mask_after(both, [2, 2]) == [b">"]


def test_a_compiler_keeps_limits_apart() -> None:
    """Equal but for the limit: two grammars, and the token sets of one serve the other."""
    compiler = GrammarCompiler(tokenizer(TOKENS))
    one, two = (GrammarMatcher(compiler.compile_grammar(SPAN.replace("=2", f"={n}"))) for n in (1, 2))
    for matcher in (one, two):
        assert matcher.accept_token(0)
        assert matcher.accept_token(2)
    assert mask(one) == {1}
    assert mask(two) == {1, 2, 3, 5, 6}


def test_draft_trees_count_along_their_paths() -> None:
    import numpy as np

    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(SPAN), TOKENS))
    assert matcher.accept_token(0)
    rows = np.zeros((4, 1), dtype=np.int32)
    # root -> a -> ab -> a (refused: two tokens are spent), masks at each node
    assert matcher.traverse_draft_tree([1, 2, 3, -1], [-1, -1, -1, -1], [0, 2, 3, 2], rows)
    found = [[token for token in range(len(TOKENS) + 1) if row[0] >> token & 1] for row in rows]
    assert found == [[1, 2, 3, 5, 6], [1, 2, 3, 5, 6], [1], []]


def test_choices_share_what_they_begin() -> None:
    """Two rules with one body and different limits, side by side: each counts for itself."""
    body = Choice((RuleRef("short"), RuleRef("long")))
    letters = nodes.repeat(CharSet(((0x61, 0x63),)), 1, None)
    rules = {
        "root": Rule("root", nodes.seq((body, Literal(b">")))),
        "short": Rule("short", nodes.seq((letters, nodes.repeat(Literal(b"<"), 0, 1))), (("max_tokens", 1),)),
        "long": Rule("long", letters, (("max_tokens", 3),)),
    }
    grammar = Grammar(GrammarIR(rules, "root"))
    assert _mask_after(grammar, [2]) == [b">", b"a", b"ab", b"c>", b"abc"]
    assert b"<" not in _mask_after(grammar, [2])
    assert _mask_after(grammar, [2, 2, 2]) == [b">"]


FREE = {"type": "any_text", "max_tokens": 2}
PIECES = [b"<think>", b"</", b"think>", b"</think>", b"a", b"b<", b"/think>x", b"x", b"<", b"ab", b"\xc3", b"\xa9"]
TAGS: list[dict[str, object]] = [
    FREE,
    FREE | {"excludes": ["ab", "x"]},
    FREE | {"max_chars": 3},
    {"type": "tag", "begin": "<think>", "content": FREE, "end": "</think>"},
    {
        "type": "tag",
        "begin": "<think>",
        "content": FREE | {"excludes": ["</think>"], "max_chars": 2},
        "end": "</think>",
    },
    {"type": "tag", "begin": "<think>", "content": FREE | {"max_tokens": 0}, "end": ["</think>", "x"]},
    {"type": "star", "content": {"type": "tag", "begin": "<", "content": FREE, "end": ["</think>", "x"]}},
    {"type": "tag", "begin": "<", "content": FREE, "end": ""},
    {
        "type": "sequence",
        "elements": [FREE, {"type": "const_string", "value": "x"}, {"type": "regex", "pattern": "a*"}],
    },
]


def follow_free_text(form: dict[str, object], options: Options) -> None:
    grammar = Grammar.from_structural_tag({"format": form})
    made = compiled(grammar, PIECES, options)
    for seed in range(6):
        follow_stacks(GrammarMatcher(made), Stacks(grammar.ir), PIECES, Random(seed))


@pytest.mark.parametrize(("form", "variants"), in_turn({str(at): form for at, form in enumerate(TAGS)}, rows=3))
def test_free_text_in_tags(form: dict[str, object], variants: dict[str, Options]) -> None:
    for name, options in variants.items():
        with named(name):
            follow_free_text(form, options)


def test_a_tag_ends_at_its_first_end() -> None:
    """Limited text is a rule of its own, and the end behind it: the same texts as without a limit."""
    form = {"type": "tag", "begin": "<", "content": {"type": "any_text", "excludes": ["ab"]}, "end": ["</x>", "yz"]}
    limits = form | {"content": {**form["content"], "max_tokens": 1000}}  # type: ignore[dict-item]
    plain, other = (compiled(Grammar.from_structural_tag({"format": one}), [b"<"]) for one in (form, limits))
    random = Random(5)
    for _ in range(3000):
        text = b"<" + bytes(random.choice(b"</x>yzab") for _ in range(random.randrange(10)))
        one, two = GrammarMatcher(plain), GrammarMatcher(other)
        assert one.accept_string(text) == two.accept_string(text), text
        assert one.is_completed() == two.is_completed(), text


def test_deferred_schemas_beside_limited_text() -> None:
    call = {
        "type": "tag",
        "begin": "<f>",
        "content": {"type": "json_schema", "json_schema": {"type": "object"}},
        "end": "!",
    }
    think = {"type": "tag", "begin": "<think>", "content": FREE, "end": "</think>"}
    grammar = Grammar.from_structural_tag({"format": {"type": "sequence", "elements": [think, call]}})
    vocabulary = [*PIECES, b'<f>{"a":', b"{", b"}", b"!", b" 1"]
    matcher = GrammarMatcher(compiled(grammar, vocabulary))
    assert all(map(matcher.accept_token, (0, 4, 4)))
    assert mask(matcher) == {1, 3, 8}
    assert matcher.accept_token(3)
    assert matcher.accept_token(len(PIECES))
    assert matcher.accept_string(" 1}!")
    assert matcher.is_completed()


@pytest.mark.parametrize(
    ("lark", "steps", "allowed"),
    [
        ('start: "<" text ">"\ntext[max_tokens=2]: /[a-c]*/', [0, 2, 3], [b">"]),
        ('start: "<" text ">"\ntext[max_tokens=2, max_chars=3]: /[a-c]*/', [0, 3], [b">", b"a", b"c>"]),
        ('start: "<" text ">"\ntext[max_tokens=1]: WORD+\nWORD: /[ab]+ /\n', [0, 2], [b"a", b"ab", b" "]),
        ('start: (item ">")+\nitem[max_tokens=1]: "a"+\n%ignore " "', [2], [b">", b" "]),
        ('start: (item ">")+\nitem[max_tokens=1]: "a"+\n%ignore " "', [2, 1], [b"a", b" ", b"stop"]),
        ("start[max_tokens=2]: /[a-z]*/", [2, 3], [b"stop"]),
        ('start: part\npart[max_tokens=1]: %lark {\nstart: "a"+\n}\n', [2], [b"stop"]),
    ],
)
def test_lark(lark: str, steps: list[int | bytes], allowed: list[bytes]) -> None:
    assert _mask_after(Grammar.from_lark(lark), steps, [*TOKENS, b" "]) == allowed


@pytest.mark.report(
    "guidance-ai/llguidance#236", "What has `max_tokens` 0 is the empty text, in Lark and EBNF as in tags."
)
@pytest.mark.parametrize(
    "grammar",
    [
        Grammar.from_ebnf('root ::= "<" text ">"\ntext[max_tokens=0] ::= [a-c]*'),
        Grammar.from_ebnf('root ::= "<" text ">"\ntext[max_tokens=0, capture] ::= [a-c]+ text?'),
        Grammar.from_ebnf('root ::= "<" text ">"\ntext[max_tokens=00, max_chars=2] ::= [a-c]+'),
        Grammar.from_lark('start: "<" text ">"\ntext[max_tokens=0]: /[a-c]*/'),
        Grammar.from_lark('start: "<" text ">"\ntext[max_tokens=0, capture]: /[a-c]/ text?\n%ignore " "'),
        Grammar.from_lark('start: "<" text ">"\ntext[max_tokens=0, max_chars=2]: /[a-c]+/'),
        Grammar.from_lark('start: "<" text? text ">"\ntext[max_tokens=0]: %json {}\n%ignore " "'),
        Grammar.from_structural_tag(
            {"format": {"type": "tag", "begin": "<", "content": {"type": "any_text", "max_tokens": 0}, "end": ">"}}
        ),
    ],
)
def test_no_tokens_are_the_empty_text(grammar: Grammar) -> None:
    """Not even bytes of a token that begins in front of the rule stand in it, whatever the rule is."""
    matcher = GrammarMatcher(compiled(grammar, [b"<", b">", b"<a", b"<>", b"a", b"<a>"]))
    assert mask(matcher) == {0, 3}
    assert matcher.accept_token(0)
    assert mask(matcher) == {1}
    assert not matcher.accept_string("a")


def test_what_is_empty_is_read_nonetheless() -> None:
    with pytest.raises(GrammarError, match="unknown name 'word'"):
        Grammar.from_lark("start: text\ntext[max_tokens=0]: word")


def test_what_is_shown_is_what_is_read() -> None:
    """Readings that were dropped are in no view."""
    from kernels_core.inspect.derivation import call_stack, derivation

    grammar = Grammar.from_ebnf('root ::= one "!" | two "?"\none[max_tokens=1] ::= w\ntwo ::= w\nw ::= [ab] w | [ab]')
    matcher = GrammarMatcher(compiled(grammar, [b"a", b"ab", b"!", b"?"]))
    assert matcher.accept_token(1)
    assert {item.rule for item in matcher.frontier().items} >= {"root"}
    with matcher.trace() as events:
        assert matcher.accept_token(0)
    assert events.steps()
    assert mask(matcher) == {0, 1, 3}
    shown = [line.split()[0] for line in f"{call_stack(matcher)}\n{derivation(matcher)}".splitlines()]
    assert "two" in shown
    assert "one" not in shown


def test_limits_are_kept_behind_a_frame_that_was_refused() -> None:
    """Another text of the same compiled grammar comes to a limit in a rule that is judged."""
    text = r"""root ::= "1" a | "2" lim ";"
a[max_tokens=3] ::= b
b[distinct] ::= "[" item "]"
item[item] ::= [0-9]
lim[max_tokens=2] ::= ([a-z] " ")* [a-z]+
"""
    grammar = compiled(Grammar.from_ebnf(text), [bytes((byte,)) for byte in range(128)])
    for _ in range(2):
        with pytest.raises(UnsupportedFeatureError, match="which is not built"):
            GrammarMatcher(grammar).accept_string("1[1")
    matcher = GrammarMatcher(grammar)
    assert [matcher.accept_token(byte) for byte in b"2a b c d"] == [True] * 4 + [False] * 4
