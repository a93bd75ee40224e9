"""Members in any order (`ir.Unordered`): which were read is kept beside the automaton, and every mask has to know it.

Random grammars are compared with the oracle, which keeps them in a way of its own, under every way of lowering; schemas
with `jsonschema`, on members in random orders, few and many.
"""

from __future__ import annotations

import json
import pickle
import re
from itertools import permutations, product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kernels_core import (
    BudgetExceededError,
    CompiledGrammar,
    Grammar,
    GrammarCompiler,
    GrammarMatcher,
    Options,
    TimeLimit,
)
from kernels_core.errors import GrammarError, UnsupportedFeatureError, UnsupportedSchemaError
from kernels_core.grammar import nodes
from kernels_core.grammar.analysis import check, normal_form
from kernels_core.grammar.ir import (
    CharSet,
    Choice,
    Empty,
    GrammarIR,
    Literal,
    Never,
    Node,
    Repeat,
    Rule,
    RuleRef,
    Seq,
    TokenSet,
    Unordered,
    walk,
)
from kernels_core.grammar.needs import can_be_met
from kernels_core.masks.questions import kept
from tests.engine.driver import STOP, VARIANTS, compiled, follow, mask, some_variants, tokenizer
from tests.reference import Recogniser
from tests.reference.masks import mask_at
from tests.strategies import examples

NAMES = [b"a", b"b", b"ab", b"ba", b"abc", b"c", b"ca"]
VALUES: list[Node] = [
    Literal(b"1"),
    CharSet(((0x30, 0x32),)),
    Repeat(CharSet(((0x30, 0x31),)), 1, None),
    Repeat(Literal(b"0"), 2, 40),
    Choice((Literal(b"a"), Literal(b"ab"))),
    Seq((Literal(b'"'), Repeat(CharSet(((0x61, 0x63),)), 0, None), Literal(b'"'))),
    RuleRef("digits"),
    RuleRef("text"),
]
ZEROS: Node = Repeat(Literal(b"0"), 0, None)
RULES = {
    "digits": Rule("digits", Repeat(CharSet(((0x30, 0x39),)), 1, None)),
    "text": Rule("text", Seq((Literal(b'"'), Repeat(CharSet(((0x20, 0x21), (0x23, 0x7E))), 0, None), Literal(b'"')))),
    "gap": Rule("gap", Repeat(Literal(b" "), 0, 3)),
    "others": Rule("others", Seq((CharSet(((0x78, 0x7A),)), Literal(b'"')))),
    # Values that tell by their rule what they meet; a text may be of two.
    "of_few": Rule("of_few", Seq((Literal(b":"), Repeat(CharSet(((0x30, 0x32),)), 1, None)))),
    "of_digits": Rule("of_digits", Seq((Literal(b":"), RuleRef("digits")))),
    "of_text": Rule("of_text", Seq((Literal(b":"), RuleRef("text")))),
    "of_word": Rule("of_word", Literal(b':"a"')),
    # Keys that are calls may be the beginning of others, and of themselves.
    **{f"key_{n}": Rule(f"key_{n}", Seq((Literal(n.encode()), ZEROS))) for n in ("a", "ab", "abc", "b", "ba")},
}
VOCABULARY = [
    *(bytes([byte]) for byte in b'{}[]<>:, "abcxyz012'),
    *(b'"' + name + end for name in NAMES for end in (b"", b'"', b'":', b'":1')),
    *(before + b'"' + name for name in NAMES for before in (b",", b", ", b"{", b"1,", b'":1,')),
    *(name + b'"' for name in NAMES),
    b'{"a":1}',
    b'{"a":1,"b":1}',
    b"1}",
    b"},",
    b"}}",
    b'":',
    b"  ",
    b"00",
    b"01,",
    b'"x":',
    b',"x":1,"y":2',
    b"{a",
    b"ab",
    b"abc",
    b"a0",
    b"b,a",
    b",ab}",
]


@st.composite
def members(draw: st.DrawFn, *, depth: int = 0) -> Node:
    """Members in any order, from their opening bracket on."""
    names = draw(st.lists(st.sampled_from(NAMES), max_size=5, unique=True))
    values = [*VALUES, RuleRef("inner")] if depth else VALUES
    gap = draw(st.sampled_from([Empty(), RuleRef("gap"), Literal(b" ")]))
    others: list[tuple[Node, Node]] = []
    if draw(st.booleans()) or not names:
        key = draw(st.sampled_from([RuleRef("others"), RULES["others"].body]))
        others.append((nodes.seq((Literal(b'"'), key)), nodes.seq((Literal(b":"), draw(st.sampled_from(values))))))
    called = draw(st.sampled_from([0, 0, 1, 2]))  # of three names
    declared: list[tuple[Node, Node, bool]] = []
    for i, name in enumerate(names):
        quoted: Node = Literal(b'"' + name + b'"')
        value: Node = nodes.seq((Literal(b":"), draw(st.sampled_from(values))))
        if f"key_{name.decode()}" in RULES and i % 3 < called:
            quoted = RuleRef(f"key_{name.decode()}")
            value = draw(st.sampled_from([value, Empty(), ZEROS]))
        declared.append((quoted, value, draw(st.booleans())))
    needed = max(1, sum(required for _, _, required in declared))
    least = draw(st.sampled_from([0, 0, 2, 3]))
    if not others:
        least = min(least, len(names))
    most = draw(st.sampled_from([None, None, max(least, needed), max(least, needed) + 1]))
    separator, closing = draw(
        st.sampled_from([(Literal(b","), Literal(b"}")), (Empty(), Empty()), (Literal(b","), Literal(b",}"))])
    )
    node = nodes.unordered(
        declared, others, nodes.seq((gap, separator)), nodes.seq((gap, closing)), least=least, most=most
    )
    filled = nodes.seq((Literal(b"{"), node))
    return nodes.choice((filled, Literal(b"{}"))) if draw(st.booleans()) else filled


@st.composite
def needy_members(draw: st.DrawFn) -> Node:
    """Members some of which have to meet something, from their opening bracket on."""
    needs = draw(st.integers(1, 3))
    called = st.lists(st.sampled_from(["few", "digits", "text", "word"]), min_size=1, max_size=2, unique=True)

    def options() -> list[tuple[Node, int]]:
        return [(RuleRef(f"of_{name}"), draw(st.integers(0, (1 << needs) - 1))) for name in draw(called)]

    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    declared = [
        (Literal(b'"' + name + b'"'), value, required, meets)
        for name in names
        for required in [draw(st.integers(0, 3)) == 0]
        for value, meets in options()
    ]
    other = nodes.seq((Literal(b'"'), RuleRef("others")))
    others = [(other, value, meets) for value, meets in options()] if draw(st.booleans()) else []
    most = draw(st.sampled_from([None, None, 1, 2, 3]))
    least = draw(st.sampled_from([0, 0, 2]))
    node = nodes.unordered(declared, others, Literal(b","), Literal(b"}"), least, most, None, needs)
    return nodes.seq((Literal(b"{"), node))


@st.composite
def grammars(draw: st.DrawFn) -> GrammarIR:
    """An object in any order, members of which may be objects in any order."""
    rules = {"root": Rule("root", draw(members(depth=1))), "inner": Rule("inner", draw(members())), **RULES}
    wrapped = draw(st.sampled_from([None, Seq((Literal(b"<"), RuleRef("root"), Literal(b">")))]))
    if wrapped is not None:
        rules["wrapped"] = Rule("wrapped", wrapped)
    if draw(st.booleans()):
        rules["many"] = Rule("many", Repeat(RuleRef("wrapped" if wrapped else "root"), 1, 40))
    return normal_form(GrammarIR(rules, list(rules)[-1] if wrapped or "many" in rules else "root"))


@given(needy_members(), st.sampled_from(list(VARIANTS)), st.randoms(use_true_random=False))
def test_masks_where_members_meet_needs(body: Node, variant: str, random: Random) -> None:
    ir = GrammarIR({"root": Rule("root", body), **RULES}, "root")
    if isinstance(body, Never) or not Recogniser(ir).start().alive:
        return
    walk_beside_the_oracle(normal_form(ir), variant, random)


@given(grammars(), st.sampled_from(list(VARIANTS)), st.randoms(use_true_random=False))
def test_masks_are_those_of_the_oracle(ir: GrammarIR, variant: str, random: Random) -> None:
    check(ir)
    walk_beside_the_oracle(ir, variant, random)


def walk_beside_the_oracle(ir: GrammarIR, variant: str, random: Random) -> None:
    oracle = Recogniser(ir)
    matcher = GrammarMatcher(compiled(ir, VOCABULARY, VARIANTS[variant]))
    state = oracle.start()
    rolled = []
    for _ in range(12):
        stop = {len(VOCABULARY)} if state.completed else set()
        expected = mask_at(oracle, state, VOCABULARY) | stop
        assert mask(matcher) == expected, (variant, matcher.text)
        assert matcher.is_completed() == state.completed
        choices = sorted(expected - stop)
        if not choices:
            break
        token = random.choice(choices)
        assert matcher.accept_token(token)
        rolled.append((expected, state))
        for byte in VOCABULARY[token]:
            state = oracle.advance(state, byte)
    other = matcher.fork()
    for expected, _ in reversed(rolled):
        matcher.rollback(1)
        assert mask(matcher) == expected
    if rolled:
        other.rollback(1)
        assert mask(other) == rolled[-1][0]


@pytest.mark.parametrize("parser", ["earley", "pushdown", "naive"])
def test_each_name_comes_once(parser: str) -> None:
    declared = [(Literal(b'"%d"' % i), Literal(b":1"), i % 2 == 0) for i in range(70)]
    node = nodes.unordered(declared, [], Literal(b","), Literal(b"}"))
    ir = GrammarIR({"root": Rule("root", nodes.seq((Literal(b"{"), node)))}, "root")
    tokens = [b"{", b"}", b",", *(b'"%d":1' % i for i in range(70))]
    matcher = GrammarMatcher(compiled(ir, tokens, Options(parser=parser)))  # type: ignore[arg-type]
    left = set(range(70))
    Random(0).shuffle(order := list(left))
    assert matcher.accept_token(0)
    for i in order:
        assert mask(matcher) == {3 + other for other in left}
        assert matcher.accept_token(3 + i)
        left.remove(i)
        may_close = not any(other % 2 == 0 for other in left)
        assert mask(matcher) == ({1} if may_close else set()) | ({2} if left else set())
        assert (left and matcher.accept_token(2)) or not left
    assert matcher.accept_token(1)
    assert matcher.is_completed()


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_token_that_ends_a_key_asks_which_member_may_come(variant: str) -> None:
    tokens = [b"a", b"b", b"1", b".", b"<k>", b"</k>"]
    begin, end = TokenSet((4,)), TokenSet((5,))
    declared = [(nodes.seq((begin, Literal(name), end)), Literal(b"1"), False) for name in (b"a", b"ab")]
    ir = GrammarIR({"root": Rule("root", nodes.unordered(declared, [], Empty(), Literal(b".")))}, "root")
    matcher = GrammarMatcher(compiled(ir, tokens, VARIANTS[variant]))
    for token, expected in (
        (4, {0}),
        (0, {1, 5}),
        (5, {2}),
        (2, {3, 4}),
        (4, {0}),
        (0, {1}),
        (1, {5}),
        (5, {2}),
        (2, {3}),
    ):
        assert matcher.accept_token(token)
        assert mask(matcher) == expected, matcher.text


def test_a_finite_automaton_has_no_members() -> None:
    ir = GrammarIR({"root": Rule("root", _two())}, "root")
    with pytest.raises(UnsupportedFeatureError, match="earley"):
        compiled(ir, [b"a"], Options(parser="fsm"))


def _two(*, required: bool = True, **bounds: Any) -> Node:
    pairs = [(Literal(b"a"), Literal(b"1"), required), (Literal(b"b"), Literal(b"2"), required)]
    return nodes.unordered(pairs, [], Empty(), Literal(b"."), **bounds)


@pytest.mark.parametrize(
    "body",
    [
        Seq((_two(), Literal(b"x"))),
        Repeat(_two(), 0, None),
        Choice((_two(), Seq((Literal(b"x"), _two(required=False))))),
        Unordered((), (), (), (), (), Empty(), Empty()),
        Unordered((Literal(b"a"),), (Literal(b"1"),), (True,), (), (), Empty(), Empty(), 0, 0),
        Unordered((Literal(b"a"),), (Literal(b"1"),), (False,), (), (), Empty(), Empty(), 2),
    ],
)
def test_where_members_may_not_stand(body: Node) -> None:
    with pytest.raises(GrammarError):
        Grammar(GrammarIR({"root": Rule("root", body)}, "root"))


def test_members_without_text_are_left_out() -> None:
    one = (Literal(b"a"), Literal(b"1"), False)
    left = nodes.unordered([one, (Literal(b"b"), Never(), False)], [(Never(), Empty())], Empty(), Empty())
    assert isinstance(left, Unordered)
    assert (len(left.keys), len(left.other_keys)) == (1, 0)
    assert nodes.unordered([one, (Literal(b"b"), Never(), True)], [], Empty(), Empty()) == Never()
    assert nodes.unordered([one], [], Empty(), Empty(), least=2) == Never()
    assert nodes.unordered([one], [], Empty(), Never()) == Never()


def test_a_required_member_that_never_ends_leaves_no_text() -> None:
    endless = Rule("endless", Seq((Literal(b"x"), RuleRef("endless"))))
    for required, least, alive in ((False, 0, True), (False, 2, False), (True, 0, False)):
        body = nodes.unordered(
            [(Literal(b"a"), Literal(b"1"), False), (Literal(b"b"), RuleRef("endless"), required)],
            [],
            Literal(b","),
            Literal(b"."),
            least=least,
        )
        ir = GrammarIR({"root": Rule("root", body), "endless": endless}, "root")
        assert Recogniser(ir).start().alive is alive
        if not alive:
            with pytest.raises(GrammarError, match="no text"):
                normal_form(ir)
            continue
        matcher = GrammarMatcher(compiled(normal_form(ir), [b"a", b"b", b"1", b",", b"."]))
        assert mask(matcher) == {0}


def test_the_node_is_kept_when_it_is_pickled_and_told() -> None:
    node = _two(least=1, most=2)
    assert pickle.loads(pickle.dumps(node)) == node
    assert str(Grammar(GrammarIR({"root": Rule("root", node)}, "root"))).strip() == (
        'root ::= Unordered(("a", "1", required), ("b", "2", required), separator=(""), closing=("."), least=1, most=2)'
    )


@given(
    st.one_of(grammars(), needy_members().map(lambda body: GrammarIR({"root": Rule("root", body), **RULES}, "root")))
)
def test_what_is_printed_is_read_again(ir: GrammarIR) -> None:
    body = ir.rules[ir.root].body
    if isinstance(body, Never) or any(
        isinstance(one, Unordered) and one.needs and not can_be_met(one) for one in walk(body)
    ):
        return
    grammar = Grammar(normal_form(ir))
    assert Grammar.from_ebnf(str(grammar), root_rule_name=ir.root) == grammar


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('("a")', "a value is missing"),
        ('("a", "b", "c")', 'expected ")"'),
        ('("a", "b", required, "c")', 'expected ")"'),
        ('"a"', "expected (key, value)"),
        ('("a", "b"), size=3', "no argument 'size'"),
        ('least=1, ("a", "b")', "in front of named"),
        ('("a", "b"), least=1, least=2', "given twice"),
        ('("a", "b"), least=x', "a number"),
        ('("a", "b"), closing="c"', "parentheses"),
        ('("a", "b"), others=("c", "d")', "expected (key, value)"),
        ('("a", "b") least=1', 'expected ","'),
        ('("a", "b"), others=(("c", "d", required))', 'expected ")"'),
        ('("a", "b", 2), needs=1', "meets a need beyond the 1 that there are"),
        ('("a", "b", 1), needs=65', "a number of at most 64"),
        ('("a", "b", 1), needs=1', "has to be a rule"),
        ('("a", root, 1), needs=2', "no members that may come together meet all needs"),
        ('("a", root, 1), ("c", root, 2), most=1, needs=2', "no members that may come together meet all needs"),
        ('("a", root, 1), most=1, needs=11', "there may be 10 needs"),
    ],
)
def test_mistakes_in_the_macro(arguments: str, reason: str) -> None:
    with pytest.raises(GrammarError, match=re.escape(reason)) as caught:
        Grammar.from_ebnf(f"root ::= Unordered({arguments})")
    assert caught.value.line == 1


def test_the_macro_ends_its_rule() -> None:
    with pytest.raises(GrammarError, match="last thing of its rule"):
        Grammar.from_ebnf('x ::= "y"\nroot ::= Unordered(("a", "b")) x')


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        'Unordered(("a", "1"), ("ab", "2"), separator=(","))',
        'Unordered(("a:", "1"), ("b:", "2", required), separator=(","), closing=("}")) | "a:9}"',
        '"x"* [a:]* Unordered(("a:", "1"), ("b:", "2"), separator=(","))',
        'Unordered(("a:", [0-9,:a-c]*), ("b:", "2"), ("c:", "3"), separator=(","), closing=("}"))',
        'Unordered(("a:", ""), ("a:", ","), separator=(","), closing=("}"))',
        'key\nkey ::= Unordered((k, ",b:"), (k, "2"), separator=(","))\nk ::= "a:"',
    ],
)
def test_keys_that_may_be_something_else_are_refused(body: str, lazy: bool) -> None:
    """An update is made for all readings of a text, so a key that is read in one of them only is refused."""
    grammar = Grammar.from_ebnf(f"root ::= {body}")

    def read() -> None:
        vocabulary = [bytes([byte]) for byte in b"ab:19,}"]
        GrammarMatcher(compiled(grammar, vocabulary, Options(lazy_lowering=lazy))).accept_string(b"a:1,b:")

    with pytest.raises(UnsupportedFeatureError, match="may be something else as well"):
        read()


def test_keys_that_are_calls_may_be_the_beginning_of_others() -> None:
    grammar = Grammar.from_ebnf("""
        root ::= "[" Unordered((one, ""), (more, "", required), ("x:", [0-9]), separator=(gap ","), closing=(gap "]"))
        one  ::= "1" ("." "0"+)?
        more ::= "1" "2" | "1.5"
        gap  ::= " "*
    """)
    vocabulary = [*(bytes([byte]) for byte in b"125.0x:, []"), b"1.", b"[1", b"12", b",1", b"1]", b"0,1", b".0 ]"]
    for name, options in VARIANTS.items():
        made = compiled(grammar.ir, vocabulary, options)
        for text in ("[1,12]", "[12 ,1.00 ,x:5]", "[1.5,1.0]", "[12]"):
            matcher = GrammarMatcher(made)
            assert matcher.accept_string(text), (name, text)
            assert matcher.is_completed(), (name, text)
        for text in ("[1]", "[1 ]", "[1,1.0", "[12,1.5", "[1.0,12,1,", "[x:1,x"):
            assert not GrammarMatcher(made).accept_string(text), (name, text)


def test_grammars_with_other_required_members_share_no_verdicts() -> None:
    """What surrounds the objects is the same automaton, and so are the objects but for what is required."""
    compiler = GrammarCompiler(tokenizer(VOCABULARY), options=Options.laboratory(direct_limit=0, differential_from=0))
    for required in (set(), {0}, {1}, {0, 1}):
        pairs = [(Literal(b'"%c"' % name), Literal(b":1"), i in required) for i, name in enumerate(b"ab")]
        body = nodes.seq((Literal(b"{"), nodes.unordered(pairs, [], Literal(b","), Literal(b"}"))))
        rules = {"root": Rule("root", Repeat(RuleRef("one"), 1, None)), "one": Rule("one", body)}
        ir = GrammarIR(rules, "root")
        oracle, matcher = Recogniser(ir), GrammarMatcher(compiler.compile_grammar(Grammar(ir)))
        state = oracle.start()
        for byte in b'{"a":1,"b":1}{"b":1':
            stop = {len(VOCABULARY)} if state.completed else set()
            assert mask(matcher) == mask_at(oracle, state, VOCABULARY) | stop
            if required and not state.alive:
                break
            state = oracle.advance(state, byte)
            assert matcher.accept_string(bytes([byte])) == state.alive


def test_what_is_kept_for_some_needs_is_not_told_of_others() -> None:
    schema = {"type": "object", "properties": {name: {"type": "boolean"} for name in "abcd"}}
    pieces = [bytes(pair) for pair in product(b'abcdtrue"', b'abcdefgh":,{}')]
    info = tokenizer([*(bytes([value]) for value in range(256)), *pieces])
    compiler = GrammarCompiler(info, options=Options.laboratory(direct_limit=0))
    matcher = GrammarMatcher(compiler.compile_json_schema({**schema, "additionalProperties": False}))
    for byte in b'{"b":true,"a":true,"c":false':
        mask(matcher)
        assert matcher.accept_string(bytes([byte]))
    found = [[kept(matcher.masks, state, counter) for counter in (0, 1)] for state in range(12)]
    assert any(first[0] and not second[0] for first, second in found)


# -- schemas -----------------------------------------------------------------------------------------------------------

SCALARS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"type": "integer"}, [0, 12, -3]),
    ({"type": "boolean"}, [True, False]),
    ({"type": "string"}, ["", "a", 'q"', "é"]),
    ({"enum": ["x", 1]}, ["x", 1]),
    ({"type": "array", "items": {"type": "integer"}}, [[], [1, 2]]),
    ({}, [None, {"a": 1, "b": {}}, [[]]]),
]


@st.composite
def objects(draw: st.DrawFn, most: int = 12, *, depth: int = 1) -> tuple[dict[str, Any], Any]:
    """A schema of an object, and an object that is often valid; JSON spells some names with escapes."""
    spelt = st.text(st.sampled_from('ab_é"\\/\n'), max_size=4)
    numbered = st.integers(0, 3 * most).map("name_{}".format)
    names = draw(
        st.lists(st.one_of(spelt, numbered) if most < 50 else numbered, min_size=1, max_size=most, unique=True)
    )
    properties: dict[str, Any] = {}
    value: dict[str, Any] = {}
    for name in names:
        if depth and draw(st.integers(0, 9)) == 0:
            properties[name], value[name] = draw(objects(4, depth=depth - 1))
        else:
            properties[name], examples = draw(st.sampled_from(SCALARS))
            value[name] = draw(st.sampled_from(examples))
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if draw(st.booleans()):
        schema["required"] = draw(st.lists(st.sampled_from(names), unique=True))
    more = draw(st.sampled_from([None, True, False, {"type": "integer"}]))
    if more is not None:
        schema["additionalProperties"] = more
    if draw(st.integers(0, 3)) == 0:
        schema["patternProperties"] = {"^z": {"type": "boolean"}}
    if draw(st.integers(0, 3)) == 0:
        schema["propertyNames"] = {"maxLength": draw(st.integers(1, 8))}
    if draw(st.integers(0, 3)) == 0:
        schema["maxProperties"] = draw(st.integers(0, len(names) + 1))
    if draw(st.integers(0, 3)) == 0:
        schema["minProperties"] = draw(st.integers(0, 3))
    kept = [name for name in names if draw(st.integers(0, 5))] + draw(
        st.lists(st.sampled_from(["zz", "more", "zy"]), unique=True)
    )
    draw(st.randoms(use_true_random=False)).shuffle(kept)
    return schema, {name: value.get(name, draw(st.sampled_from([1, True]))) for name in kept}


BYTES = tokenizer([bytes([value]) for value in range(256)])
WAYS = [Options(), Options(lazy_lowering=False), Options.laboratory(direct_limit=0, differential_from=0)]


def _grammar(schema: dict[str, Any]) -> Grammar | None:
    """None where nothing is valid; no other schema of these is refused."""
    try:
        return Grammar.from_json_schema(schema)
    except UnsupportedSchemaError as error:
        if not all("no instance" in problem.lenient for problem in error.problems):
            raise
        return None


def _accepts(grammar: Grammar, text: str, options: Options) -> bool:
    matcher = GrammarMatcher(CompiledGrammar(grammar, BYTES, options))
    return matcher.accept_string(text) and matcher.is_completed()


@given(st.one_of(objects(), objects(200, depth=0)), st.sampled_from(WAYS))
def test_schemas_take_what_is_valid(case: tuple[dict[str, Any], Any], options: Options) -> None:
    schema, value = case
    grammar = _grammar(schema)
    if grammar is None:
        assert not Draft202012Validator(schema).is_valid(value)
        return
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert _accepts(grammar, text, options) == Draft202012Validator(schema).is_valid(value), (schema, text)


@given(objects(20, depth=1), st.randoms(use_true_random=False))
def test_a_name_comes_once_however_it_is_spelt(case: tuple[dict[str, Any], Any], random: Random) -> None:
    schema, value = case
    declared = [name for name in value if name in schema["properties"]]
    if not declared or not Draft202012Validator(schema).is_valid(value):
        return
    grammar = Grammar.from_json_schema(schema)
    name = random.choice(declared)
    again = json.dumps(name, ensure_ascii=False)
    escaped = '"' + "".join(f"\\u{ord(letter):04x}" for letter in name) + '"'
    body = json.dumps(value)[1:-1]
    member = json.dumps(value[name])
    assert _accepts(grammar, "{" + body + "}", WAYS[0])
    for key in (again, escaped):
        assert not _accepts(grammar, f"{{{body}, {key}: {member}}}", WAYS[0])
        assert not _accepts(grammar, f"{{{key}: {member}, {body}}}", WAYS[0])


@pytest.mark.parametrize("last", ["a", "b", "c"])
def test_a_name_comes_once_where_some_member_must_be_something(last: str) -> None:
    """More has to be known than which names were read."""
    integers = {name: {"type": "integer"} for name in "abc"}
    none_is = {"not": {"properties": {name: {"const": 1} for name in "abc"}}}
    grammar = Grammar.from_json_schema(
        {"type": "object", "properties": integers, "additionalProperties": False} | none_is
    )
    for names in permutations("abc"):
        members = [f'"{name}": 2' for name in names]
        assert _accepts(grammar, "{" + ", ".join(members) + "}", WAYS[0])
        assert not _accepts(grammar, "{" + ", ".join([*members, f'"{last}": 2']) + "}", WAYS[0])


@pytest.mark.parametrize("extra", [False, {"type": "integer"}])
def test_masks_of_many_members(extra: Any) -> None:
    """As all ways to make them say, token by token; the automaton is that of the members in one order."""
    random = Random(7)
    names = [f"{random.choice(['user', 'item', 'x'])}_{random.choice('abc')}{i}" for i in range(80)]
    schema = {
        "type": "object",
        "properties": {name: {"type": random.choice(["integer", "boolean"])} for name in names},
        "required": names[::3],
        "additionalProperties": extra,
    }
    pieces = [
        '{"',
        '": ',
        ', "',
        '",',
        "user",
        "item_",
        "_a",
        "_b1",
        "1}",
        "true",
        "e}",
        ", ",
        '"}',
        "x_c",
        "12",
        '5, "',
    ]
    vocabulary = [*(bytes([value]) for value in range(0x20, 0x7F)), *(piece.encode() for piece in pieces)]
    grammar = Grammar.from_json_schema(schema)
    ways = {name: GrammarMatcher(compiled(grammar, vocabulary, options)) for name, options in VARIANTS.items()}
    oracle = Recogniser(grammar.ir)
    state = oracle.start()
    random.shuffle(names)
    value = {name: 1 if schema["properties"][name]["type"] == "integer" else True for name in names}  # type: ignore[index]
    for position, byte in enumerate(json.dumps(value).encode()):
        if position % 97 == 0:
            expected = mask_at(oracle, state, vocabulary)
            for name, matcher in ways.items():
                assert mask(matcher) == expected, (name, matcher.text)
        state = oracle.advance(state, byte)
        for matcher in ways.values():
            assert matcher.accept_string(bytes([byte]))
    assert state.completed
    assert all(matcher.is_completed() for matcher in ways.values())
    in_order = GrammarMatcher(
        compiled(Grammar.from_json_schema(schema, order="declared"), vocabulary, Options(lazy_lowering=False))
    )
    states = compiled(grammar, vocabulary, Options(lazy_lowering=False)).cache_stats().states
    assert states < 1.2 * in_order.compiled.cache_stats().states


@st.composite
def needy_objects(draw: st.DrawFn) -> dict[str, Any]:
    """A schema of members some of which have to be something."""
    names = [f"m{i}" for i in range(draw(st.integers(11, 13)))]
    integer = {"type": "integer"}

    def some(most: int) -> list[str]:
        return draw(st.lists(st.sampled_from(names), min_size=1, max_size=most, unique=True))

    conditions: list[dict[str, Any]] = [
        {"not": {"properties": dict.fromkeys(some(5), integer)}},
        {"anyOf": [{"required": [name]} for name in some(4)]},
        {"oneOf": [{"properties": dict.fromkeys(some(2), integer)}, {"required": some(2)}]},
        {"minProperties": 2},
        {"not": {"required": some(3)}},
    ]
    return {
        "type": "object",
        "properties": {name: {"type": ["integer", "string"]} for name in names},
        "required": draw(st.lists(st.sampled_from(names), max_size=2, unique=True)),
        "additionalProperties": draw(st.sampled_from([False, {"type": "boolean"}])),
        "allOf": draw(st.lists(st.sampled_from(conditions), min_size=1, max_size=2, unique_by=str)),
    }


# Sixty objects each.
@examples(0.5)
@given(needy_objects(), st.sampled_from(WAYS), st.randoms(use_true_random=False))
def test_what_some_member_must_be(schema: dict[str, Any], options: Options, random: Random) -> None:
    grammar = Grammar.from_json_schema({"anyOf": [schema, {"type": "null"}]})  # it may be void
    made = CompiledGrammar(grammar, BYTES, options)
    validator = Draft202012Validator(schema)
    names = [*schema["properties"], "more"]
    for _ in range(60):
        chosen = random.sample(names, random.choice([0, 1, 2, 3, 4, len(names)]))
        value = {name: True if name == "more" else random.choice([1, 1, "x"]) for name in chosen}
        matcher = GrammarMatcher(made)
        text = json.dumps(value)
        assert (matcher.accept_string(text) and matcher.is_completed()) == validator.is_valid(value), text


def test_of_many_members_one_must_be_something() -> None:
    names = [f"m{i}" for i in range(40)]
    schema = {
        "type": "object",
        "properties": {name: {"type": ["integer", "string"]} for name in names},
        "not": {"properties": {name: {"type": "integer"} for name in names[:30]}},
        "additionalProperties": False,
    }
    matcher = GrammarMatcher(CompiledGrammar(Grammar.from_json_schema(schema), BYTES, Options()))
    integers = [f'"m{i}": {i}' for i in range(40)]
    Random(5).shuffle(integers)
    assert not matcher.accept_string("{}")
    # The last of those that could be no integer must be none.
    last = next(member for member in reversed(integers) if int(member.split()[1]) < 30)
    before, behind = integers[: integers.index(last)], integers[integers.index(last) + 1 :]
    assert matcher.accept_string("{" + ", ".join(before) + ", " + last.split()[0] + " ")
    assert not matcher.accept_string("1")
    assert matcher.accept_string(", ".join(['"x"', *behind]) + "}")
    assert matcher.is_completed()


@given(objects(9), some_variants(), st.data())
def test_all_ways_have_the_same_masks(
    case: tuple[dict[str, Any], Any], variants: dict[str, Options], data: st.DataObject
) -> None:
    schema, _ = case
    grammar = _grammar(schema)
    if grammar is None:
        return
    vocabulary = [
        *(bytes([value]) for value in range(0x20, 0x7F)),
        b'{"',
        b'": ',
        b', "',
        b"name_1",
        b"_2",
        b"true",
        b"1, ",
    ]
    plain = GrammarMatcher(compiled(grammar, vocabulary, Options(parser="naive", lazy_lowering=False)))
    others = {name: GrammarMatcher(compiled(grammar, vocabulary, options)) for name, options in variants.items()}
    follow(plain, others, data, steps=15)


def test_guards_look_at_the_clock() -> None:
    """Each member whose need was met, so that it may not come, asks all others whether they can meet the others."""
    members = ", ".join(f'("{"a" if i % 8 == 0 else "b"}{i}:", v{i % 8}, {1 << i % 8})' for i in range(200))
    body = f'"{{" Unordered({members}, separator=(","), closing=("}}"), most=8, needs=8)'
    values = "\n".join(f'v{need} ::= "{need}"' for need in range(8))
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(f"root ::= {body}\n{values}"), [b"0"]))
    assert matcher.accept_string("{a0:0")
    with pytest.raises(BudgetExceededError), TimeLimit(0, looks=1000):
        matcher.accept_string(",")
    assert matcher.accept_string(",b1:1")


def test_five_hundred_members() -> None:
    names = [f"member_{i}" for i in range(500)]
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}, "required": names}
    grammar = Grammar.from_json_schema({**schema, "additionalProperties": False})
    matcher = GrammarMatcher(CompiledGrammar(grammar, BYTES, Options()))
    random = Random(3)
    for _ in range(3):
        random.shuffle(names)
        matcher.reset()
        text = json.dumps(dict.fromkeys(names, 7))
        assert not (matcher.accept_string(text[:-1] + ', "member_7": 1}'))
        assert matcher.accept_string(text)
        assert matcher.is_completed()
        matcher.reset()
        assert not matcher.accept_string(json.dumps(dict.fromkeys(names[:-1], 7)))


def test_the_chart_tells_the_members() -> None:
    schema = {"properties": {name: {"type": "integer"} for name in ("a", "b", 'c"')}, "required": ["b", 'c"']}
    for options in WAYS:
        matcher = GrammarMatcher(CompiledGrammar(Grammar.from_json_schema(schema), BYTES, options))
        assert matcher.accept_string('{"a": 1, "c\\"": 5')
        told = {(item.seen, item.missing) for item in matcher.frontier().items if item.seen is not None}
        assert (("a", 'c"'), ("b",)) in told
        assert any("read: a, c" in str(item) and "still required: b" in str(item) for item in matcher.frontier().items)
        assert not matcher.frontier().completed
        assert matcher.accept_string(', "b": 2}')
        assert matcher.frontier().completed
        assert STOP


def test_the_chart_tells_members_far_behind() -> None:
    names = [f"n{i}" for i in range(200)]
    schema = {"type": "array", "uniqueItems": True, "items": {"enum": names}}
    matcher = GrammarMatcher(CompiledGrammar(Grammar.from_json_schema(schema), BYTES, WAYS[0]))
    assert matcher.accept_string('["n100", "n3", "n150"')
    (seen,) = {item.seen for item in matcher.frontier().items if item.seen is not None}
    assert {name.strip('"') for name in seen} == {"n100", "n3", "n150"}
    schema = {"properties": {name: {"const": 1} for name in names}, "required": names[::2]}
    matcher = GrammarMatcher(CompiledGrammar(Grammar.from_json_schema(schema), BYTES, WAYS[0]))
    assert matcher.accept_string('{"n199": 1, "n40": 1, "n64": 1')
    ((seen, missing),) = {(item.seen, item.missing) for item in matcher.frontier().items if item.seen is not None}
    assert set(seen) == {"n199", "n40", "n64"}
    assert set(missing) == {*names[::2]} - {"n40", "n64"}
