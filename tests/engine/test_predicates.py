"""Predicates on rules: masks, steps and all that follows from them.

They are compared with stacks that are written out one by one (`tests/reference/judged.py`), and texts with functions of
plain Python.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from contextlib import suppress
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from kernels_core import (
    AllDifferent,
    BudgetExceededError,
    DeadEndError,
    DeclaredBefore,
    Grammar,
    GrammarCompiler,
    GrammarError,
    GrammarMatcher,
    OneOf,
    Options,
    Predicate,
    PredicateError,
    UnsupportedFeatureError,
    allocate_token_bitmask,
)
from tests.engine.driver import VARIANTS, compiled, follow_stacks, mask, same_masks_together, tokenizer
from tests.reference.judged import JudgedStacks
from tests.reference.token_limits import TooManyStacks
from workbench.compat import xgrammar
from workbench.session.file import KeptError


class Longer(Predicate):
    """Each text is longer than the one before it, of at most three letters."""

    def start(self) -> int:
        return 0

    def judge(self, memory: int, rule: str, text: bytes) -> int | None:
        return len(text) if memory < len(text) <= 3 else None


class Turns(Predicate):
    """An even number of `b` each time; counts the texts, so that no two readings remember the same by chance."""

    def start(self) -> int:
        return 0

    def judge(self, memory: int, rule: str, text: bytes) -> int | None:
        return None if text.count(b"b") % 2 else memory + 1


class Calm(Predicate):
    """Remembers nothing: texts have no two equal letters beside each other."""

    def judge(self, memory: Any, rule: str, text: bytes) -> Any:
        return None if any(text[i] == text[i + 1] for i in range(len(text) - 1)) else memory

    def begins(self, memory: Any, rule: str, text: bytes) -> bool:
        return self.judge(memory, rule, text) is not None


WORDS = {
    "loop": "[ab]+",
    "few": "[ab]{1,3}",
    "counted": "[ab]{2,40}",
    "quoted": '"<" [ab,]* ">"',
    "chosen": '"a" | "ab" | "abb" | "b"',
    "two": '[ab] [ab]? | "," [ab]',
}
# By name: the rules, with NAME for those that are judged in the first place, and what is judged.
SHAPES = {
    "list": 'root ::= name ("," name)*',
    "in brackets": 'root ::= (list ";")*\nlist ::= "(" (name ("," name)*)? ")"',
    "ends at the end": 'root ::= "(" name ","* | name',
    "declared": 'root ::= ("(" name ";" | other ";")*',
    "blocks": 'root ::= list\nlist ::= "(" ("," name ";" | other ";" | list)* ")"',
    "a call": 'root ::= (other ";")*\nother ::= name "(" (name ("," name)*)? ")" | "(" name',
    "left recursion": 'root ::= other\nother ::= other ";" name | name',
    "right recursion": 'root ::= other ";"\nother ::= name | name "," other',
    "beside free text": 'root ::= name ";" name | plain "," plain\nplain ::= [ab;]*',
    "together": "root ::= name name?",
    "twice": 'root ::= (name | other) (";" (name | other))*',
    "nested": 'root ::= (other ";")*\nother ::= "(" list ")"\nlist ::= name ("," name)*',
    "within one": 'root ::= (other ",")* other\nother ::= name ";"?',
    "lists": 'root ::= other (";" other)*\nother ::= name ("," name)*',
}
PREDICATES: dict[str, Any] = {
    "one of": lambda: OneOf("a", "ab", "bb", "<a>", "<>", "a;"),
    "different": AllDifferent,
    "different in a list": lambda: AllDifferent(within="list"),
    "declared": lambda: DeclaredBefore("name"),
    "declared in a list": lambda: DeclaredBefore("name", within="list"),
    "longer": Longer,
    "turns": Turns,
    "calm": Calm,
}
PIECES = [
    *(bytes((byte,)) for byte in b"ab,;()<>"),
    *b"ab aa bb abb a, a; ;a a,a a,b (a a) ab) (a,a) (a,b); );( a;b; (a;a; <a a> <a> <a>, >,< <>".split(),
    *b"b;( bab aba, a(a a(b) ,a;b".split(),
]
Judged = tuple[str, dict[str, Predicate]]


@st.composite
def judged(draw: st.DrawFn) -> Judged:
    """A small grammar, and what judges some of its rules: one predicate for all, or one each."""
    text = draw(st.sampled_from([*SHAPES.values()]))
    names = [name for name in ("name", "other") if name in text]
    text += "".join(
        f"\n{name} ::= {draw(st.sampled_from([*WORDS.values()]))}" for name in names if f"{name} ::=" not in text
    )
    kinds = [kind for kind in PREDICATES if "list" in text or "in a list" not in kind]
    first = PREDICATES[draw(st.sampled_from(kinds))]()
    found: dict[str, Predicate] = {"name": first}
    if len(names) > 1:
        # By itself: what is never declared, or is not in a list, is refused.
        alone = [kind for kind in kinds if kind[:8] != "declared" and ("in a list" not in kind or "| list)" in text)]
        found["other"] = first if draw(st.booleans()) else PREDICATES[draw(st.sampled_from(alone))]()
    return text, found


@given(judged(), st.sampled_from(list(VARIANTS)), st.randoms(use_true_random=False))
def test_masks_are_those_of_the_stacks(case: Judged, variant: str, random: Random) -> None:
    text, predicates = case
    grammar = Grammar.from_ebnf(text, predicates=predicates)
    matcher = GrammarMatcher(compiled(grammar, PIECES, VARIANTS[variant]))
    with suppress(TooManyStacks):
        follow_stacks(matcher, JudgedStacks(grammar.ir), PIECES, random, ambiguous=True)


def follows(text: str, predicates: Mapping[str, Predicate], vocabulary: list[bytes] | None = None) -> GrammarMatcher:
    return GrammarMatcher(compiled(Grammar.from_ebnf(text, predicates=predicates), vocabulary or PIECES))


def is_text(grammar: Grammar, text: str) -> bool:
    matcher = GrammarMatcher(compiled(grammar, PIECES))
    return matcher.accept_string(text) and matcher.is_completed()


LIST = 'root ::= name ("," name)*\nname ::= [ab]+'


@pytest.mark.parametrize(
    ("predicate", "holds"),
    [
        (OneOf("a", "ab"), lambda names: {*names} <= {"a", "ab"}),
        (AllDifferent(), lambda names: len({*names}) == len(names)),
        (Longer(), lambda names: all(map(lambda one, two: len(one) < len(two) <= 3, ["", *names], names))),
        (Calm(), lambda names: not any("aa" in name or "bb" in name for name in names)),
    ],
)
def test_texts_are_those_that_a_function_of_python_takes(predicate: Predicate, holds: Any) -> None:
    matcher = follows(LIST, {"name": predicate})
    for count in range(1, 8):
        for letters in product("ab,", repeat=count):
            text = "".join(letters)
            names = text.split(",")
            matcher.reset()
            assert (matcher.accept_string(text) and matcher.is_completed()) == (all(names) and holds(names)), text


def test_a_name_is_declared_before_it_is_used() -> None:
    text = 'root ::= ("let " new ";" | "say " known ";")*\nnew ::= [ab]+\nknown ::= [ab]+'
    names = DeclaredBefore("new")
    grammar = Grammar.from_ebnf(text, predicates={"new": names, "known": names})
    assert is_text(grammar, "let ab;say ab;let b;say b;say ab;")
    assert not is_text(grammar, "say ab;")
    assert not is_text(grammar, "let ab;say a;")
    assert not is_text(grammar, "let ab;say abb;")


def test_a_memory_begins_anew_within_a_rule_and_is_behind_it_what_it_was() -> None:
    text = 'root ::= list\nlist ::= "(" (name | list) ("," (name | list))* ")"\nname ::= [ab]+'
    grammar = Grammar.from_ebnf(text, predicates={"name": AllDifferent(within="list")})
    assert is_text(grammar, "(a,(a,b,(a)),b,(a))")
    assert not is_text(grammar, "(a,(a,b),a)")
    assert not is_text(grammar, "(a,(b,b))")


@pytest.mark.parametrize("name", ["name", "NAME"])
def test_rules_and_terminals_of_lark(name: str) -> None:
    skip = '%ignore " "' if name == "NAME" else ""
    grammar = Grammar.from_lark(
        f'start: {name} ("," {name})*\n{name}: /[ab]+/\n{skip}', predicates={name: AllDifferent()}
    )
    assert is_text(grammar, "a,ab,b")
    assert not is_text(grammar, "a,ab,a")
    if skip:
        assert is_text(grammar, "a , ab ,b")
        assert not is_text(grammar, "a , ab , a")


def test_a_grammar_inside_of_another_keeps_its_predicates() -> None:
    inner = Grammar.from_ebnf(LIST, predicates={"name": AllDifferent()})
    grammar = Grammar.from_lark('start: "(" @inner ")" name\nname: /[ab]+/', grammars={"inner": inner})
    assert [*grammar.predicates.values()] == [*inner.predicates.values()]
    assert is_text(grammar, "(a,b)a")
    assert not is_text(grammar, "(a,b,a)a")
    assert grammar.key != Grammar.from_lark(grammar.source, grammars={"inner": Grammar.from_ebnf(LIST)}).key


def test_forks_and_rollback_have_their_own_memories() -> None:
    matcher = follows(LIST, {"name": AllDifferent()})
    assert matcher.accept_string("a,b,")
    forks = [matcher.fork() for _ in range(3)]
    for fork, own in zip(forks, ("aa", "ab", "ba"), strict=True):
        assert fork.accept_string(own + ",")
    for fork, own in zip(forks, ("aa", "ab", "ba"), strict=True):
        for name in ("a", "b", "aa", "ab", "ba"):
            assert fork.fork().accept_string(name + ",") == (name not in ("a", "b", own))
        fork.rollback(1)
        assert fork.accept_string("bb,")
    matcher.reset()
    assert matcher.accept_string("a,b,")


def test_batches_rows_and_drafts_have_the_same_masks() -> None:
    made = compiled(Grammar.from_ebnf(LIST, predicates={"name": AllDifferent()}), PIECES)
    same_masks_together(made, PIECES, ["", "a", "a,", "a,a", "a,b", "a,ab,", "ab,a", "b,a,ab"])


def test_tokens_by_their_ids_before_and_inside_of_a_text() -> None:
    grammar = 'root ::= name "," (Token(3) name ",")*\nname ::= [ab] (Token(3) [ab])?'
    matcher = follows(grammar, {"name": AllDifferent()}, [b"a", b"b", b",", b"<x>", b"ab"])
    for token in (0, 2, 3):
        assert matcher.accept_token(token)
    assert mask(matcher) == {0, 1}
    assert matcher.accept_token(0)
    assert mask(matcher) == {3}
    for token in (3, 1, 2, 3, 0, 3):
        assert matcher.accept_token(token)
    assert mask(matcher) == {0}
    ends = follows("root ::= name+\nname ::= [ab] Token(3)", {"name": AllDifferent()}, [b"a", b"b", b",", b"<x>"])
    assert ends.accept_token(0)
    with pytest.raises(UnsupportedFeatureError, match="named by its id"):
        ends.accept_token(3)


def test_parser_states_and_masks_stay_interned() -> None:
    """Memories are no part of parser states, and outside of what is judged masks are found by pointer."""
    made = compiled(Grammar.from_ebnf(LIST, predicates={"name": AllDifferent()}), PIECES)
    one, other = GrammarMatcher(made), GrammarMatcher(made)
    assert one.accept_string("aa,b,a")
    assert other.accept_string("a,bb,a")
    assert one.set_number != other.set_number  # one of them may not end here
    one.rollback(1)
    other.rollback(1)
    assert one.accept_string("aa,b,")
    assert other.accept_string("a,bb,")
    assert one.set_number == other.set_number
    assert mask(one) - mask(other) == {PIECES.index(token) for token in (b"a,", b"a,a", b"a,b")}


def test_it_is_said_which_rule_is_refused() -> None:
    matcher = follows(LIST, {"name": OneOf("ab", "b")})
    assert "'name' is refused" in str(matcher.explain("aa"))
    assert matcher.refusing_rule(ord("b")) is None
    assert matcher.accept_string("a")
    assert matcher.refusing_rule(ord("a")) == "name"  # nothing begins so
    assert matcher.refusing_rule(ord(",")) == "name"  # nothing ends so
    assert "'name' is refused" in str(matcher.explain(","))
    assert matcher.accept_string("b")
    assert matcher.refusing_rule(ord(",")) is None


def test_what_raises_is_named_and_changes_nothing() -> None:
    class Angry(Predicate):
        def judge(self, memory: Any, rule: str, text: bytes) -> Any:
            if text == b"ab":
                raise ZeroDivisionError("no")
            return memory

    matcher = follows(LIST, {"name": Angry()})
    assert matcher.accept_string("a")
    with pytest.raises(
        PredicateError, match=r"rule 'name' raised, for the text b'ab', ZeroDivisionError: no"
    ) as caught:
        matcher.accept_string("b")
    assert (caught.value.rule, caught.value.text) == ("name", b"ab")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert matcher.text == b"a"
    assert matcher.accept_string("a")
    assert pickle.loads(pickle.dumps(caught.value)).text == b"ab"
    other = follows(LIST, {"name": Angry()}, [b"a", b"b", b"b,", b","])
    assert other.accept_string("a")
    with pytest.raises(PredicateError):
        mask(other)
    assert other.accept_string(",a")

    class Yes(Predicate):
        def judge(self, memory: Any, rule: str, text: bytes) -> Any:
            return True

    with pytest.raises(PredicateError, match="judge returned True"):
        follows(LIST, {"name": Yes()}).accept_string("a")

    class Nothing(Predicate):
        def start(self) -> Any:
            raise ValueError("where?")

    with pytest.raises(PredicateError, match="where"):
        follows(LIST, {"name": Nothing()})


def test_grammars_with_other_predicates_are_other_grammars() -> None:
    compiler = GrammarCompiler(tokenizer(PIECES))
    one, other = OneOf("a"), OneOf("b")
    grammars = [Grammar.from_ebnf(LIST, predicates={"name": predicate}) for predicate in (one, other)]
    assert grammars[0] != grammars[1]
    assert grammars[0] == Grammar.from_ebnf(LIST, predicates={"name": one})
    assert grammars[0] != Grammar.from_ebnf(LIST)
    made = [compiler.compile_grammar(grammar) for grammar in (*grammars, Grammar.from_ebnf(LIST), grammars[0])]
    assert made[0] is made[3]
    masks = [mask(GrammarMatcher(one)) for one in made]
    assert masks[0] != masks[1]
    assert masks[2] > masks[0] | masks[1]
    again = pickle.loads(pickle.dumps(grammars[0]))
    assert str(again) == str(grammars[0])
    assert is_text(again, "a,a")
    assert not is_text(again, "a,b")
    by_hand = pickle.loads(pickle.dumps(Grammar(grammars[0].ir)))
    assert not is_text(by_hand, "a,b")


def test_a_matcher_goes_on_in_new_parser_states() -> None:
    text = 'root ::= name ("," name)* | "<" [ab]{0,9000} ">"\nname ::= [ab]+'
    grammar = Grammar.from_ebnf(text, predicates={"name": AllDifferent()})
    made = GrammarCompiler(tokenizer(PIECES), options=Options(max_bytes=500_000)).compile_grammar(grammar)
    matcher, other = GrammarMatcher(made), GrammarMatcher(made)
    assert matcher.accept_string("a,b")
    with pytest.raises(BudgetExceededError):
        other.accept_string("<" + 9_000 * "a")
    assert matcher.accept_string(",ab")
    assert made.renewals
    assert not matcher.accept_string(",b,")
    assert matcher.accept_string(",bb,")


def test_dead_ends_without_beginnings() -> None:
    text = 'root ::= name ";"\nname ::= [ab]{1,2}'

    class Only(Predicate):
        def judge(self, memory: Any, rule: str, text: bytes) -> Any:
            return memory if text == b"a" else None

    blind, seeing = follows(text, {"name": Only()}), follows(text, {"name": OneOf("a")})
    assert blind.accept_string("b")
    with pytest.raises(DeadEndError):
        blind.fill_next_token_bitmask(allocate_token_bitmask(1, len(PIECES) + 1))
    assert not seeing.accept_string("b")
    assert mask(seeing) == {PIECES.index(b"a"), PIECES.index(b"a;")}
    assert seeing.accept_string("a")
    assert mask(seeing) == {PIECES.index(b";")}


@pytest.mark.parametrize(
    ("text", "predicates", "message"),
    [
        (LIST, {"names": OneOf("a")}, "no rule for a predicate called 'names'.*did you mean name"),
        (LIST, {"name": AllDifferent(within="list")}, "'list'"),
        ("root ::= new known\nnew ::= [ab]\nknown ::= [ab]", {"known": DeclaredBefore("new")}, "learns from 'new'"),
        (
            "root ::= new known\nnew ::= [ab]\nknown ::= [ab]",
            {"new": DeclaredBefore("new"), "known": DeclaredBefore("new")},
            "learns from 'new': give the same object",
        ),
        (
            "root ::= name list\nname ::= [ab]\nlist ::= [ab]",
            {"name": AllDifferent(within="list")},
            "line 3, column 1: a memory begins anew within 'list', and no rule",
        ),
        ("root ::= name\nname ::= [ab]*", {"name": OneOf("a")}, "no text of it may be empty"),
        ('root[distinct] ::= "[" a "]"\na[item] ::= [1-9]', {"a": OneOf("1")}, "is an item and has a predicate"),
        ('root ::= a\na[lazy] ::= name ","\nname ::= [ab]', {"name": OneOf("a")}, "is judged by a predicate"),
    ],
)
def test_what_is_refused(text: str, predicates: dict[str, Predicate], message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        Grammar.from_ebnf(text, predicates=predicates)


@pytest.mark.parametrize(
    ("text", "rule", "message"),
    [
        ('start: name\nname: /a+/\n%ignore " "', "name", "let a terminal be judged"),
        ("start: LIST\nLIST: NAME /,/\nNAME: /a+/", "NAME", "is part of 'LIST'"),
        ("start: NAME\nNAME: /a+/", "OTHER", "called 'OTHER'"),
        ('start: b ";"\nb: /a+/', "b", "'b' means something else in EBNF, so it cannot be judged: rename it"),
    ],
)
def test_what_is_refused_in_lark(text: str, rule: str, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        Grammar.from_lark(text, predicates={rule: OneOf("a")})


@pytest.mark.parametrize(
    ("text", "predicates"),
    [
        ("root ::= [ab]+", {"root": OneOf("a", "abb")}),
        ('root ::= "a" root ";" | "b"', {"root": Turns()}),
        ('root ::= "(" (root ("," root)*)? ")" | name\nname ::= [ab]+', {"name": AllDifferent(within="root")}),
        ('root ::= "(" (name ("," name)*)? ")" | "(" root ")"\nname ::= [ab]+', {"name": Longer(), "root": Calm()}),
    ],
)
def test_the_whole_text_may_be_judged(text: str, predicates: dict[str, Predicate]) -> None:
    grammar = Grammar.from_ebnf(text, predicates=predicates)
    for seed in range(8):
        matcher = GrammarMatcher(compiled(grammar, PIECES))
        follow_stacks(matcher, JudgedStacks(grammar.ir), PIECES, Random(seed), ambiguous=True)


@pytest.mark.parametrize(
    "predicate",
    [Longer(), AllDifferent(), AllDifferent(within="array"), AllDifferent(within="nested"), OneOf("2", "10")],
)
def test_predicates_beside_items_that_differ(predicate: Predicate) -> None:
    text = """
root ::= array | "a" array
array[distinct] ::= "[" (item ("," item)*)? "]"
item[item] ::= number | nested
nested[distinct] ::= "[" (inner ("," inner)*)? "]"
inner[item] ::= number
number ::= [1-2] [0-1]?
"""
    grammar = Grammar.from_ebnf(text, predicates={"number": predicate})
    pieces = [*(bytes((byte,)) for byte in b"[],12a"), *b"1, ,1 1] [1 [1,2] 1,1 ],[ [[1 12 ]]".split()]
    for seed in range(8):
        matcher = GrammarMatcher(compiled(grammar, pieces))
        follow_stacks(matcher, JudgedStacks(grammar.ir), pieces, Random(seed), ambiguous=True)


def test_what_is_written_as_json_refuses_it() -> None:
    grammar = Grammar.from_ebnf(LIST, predicates={"name": OneOf("a")})
    session = wb.Session(grammar, tokenizer(PIECES))
    assert not session.read("b").ok  # a session keeps the predicates of its grammar
    assert "a text of 'name' is refused by its predicate" in session.read("a,b").message
    assert session.read("a").ok
    with pytest.raises(KeptError, match="cannot be kept"):
        session.save("predicates.json")
    with pytest.raises(UnsupportedFeatureError, match="no predicates"):
        xgrammar.Grammar.wrap(grammar).serialize_json()


@pytest.mark.parametrize(
    ("made", "names", "message"),
    [
        (OneOf, ("users", "orders"), r"OneOf takes texts one by one, not a tuple: write OneOf\(\*texts\)"),
        (OneOf, ["users"], "not a list"),
        (DeclaredBefore, ("new",), r"takes names of rules .* write DeclaredBefore\(\*names\)"),
    ],
)
def test_what_is_given_in_a_collection_is_refused(made: Any, names: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        made(names)


def test_only_predicates_judge() -> None:
    with pytest.raises(TypeError, match="is a Predicate, not set"):
        Grammar.from_ebnf(LIST, predicates={"name": {b"a"}})  # type: ignore[dict-item]


@pytest.mark.parametrize("parser", ["pushdown", "fsm"])
def test_parsers_without_frames_refuse_it(parser: Any) -> None:
    with pytest.raises(UnsupportedFeatureError, match="judged"):
        compiled(Grammar.from_ebnf(LIST, predicates={"name": OneOf("a")}), PIECES, Options(parser=parser))


def test_regular_operations_and_combinations_refuse_it() -> None:
    grammar = Grammar.from_ebnf(LIST, predicates={"name": OneOf("a")})
    with pytest.raises(UnsupportedFeatureError, match="judged"):
        grammar.complement()
    with pytest.raises(UnsupportedFeatureError, match="predicates"):
        Grammar.union(grammar, Grammar.from_ebnf(LIST))


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("root ::= name+\nname ::= [ab]+", AllDifferent()),  # where does one begin?
        ('root ::= (name | plain) ("," name)*\nname ::= [ab]+\nplain ::= [ab]+', AllDifferent()),  # was there one?
        ('root ::= name\nname ::= name | [ab] name "," | [ab]', Turns()),  # how many ended?
    ],
)
def test_what_is_ambiguous_is_no_silent_guess(text: str, predicate: Predicate) -> None:
    with pytest.raises(UnsupportedFeatureError, match="ambiguous"):
        follows(text, {"name": predicate}).accept_string("ab,ab,ab")


def test_what_remembers_nothing_may_have_two_readings() -> None:
    text = 'root ::= (name | plain) ("," (name | plain))*\nname ::= [ab]+\nplain ::= "a" [ab]*'
    grammar = Grammar.from_ebnf(text, predicates={"name": OneOf("b", "bb")})
    assert is_text(grammar, "ab,bb,b,aa")
    assert not is_text(grammar, "ab,ba")


def test_an_end_in_time_is_one_that_predicates_take() -> None:
    """A text is not ended by a name that is refused, and with the fewest tokens there is one that is taken."""
    text = 'root ::= "select " column ("," column){1,3} " from " table\ncolumn ::= [ab]{1,2}\ntable ::= [a-z]{1,5}'
    rules = {"column": AllDifferent(), "table": OneOf("users", "city")}
    vocabulary = [bytes([byte]) for byte in range(256)]
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(text, predicates=rules), vocabulary))
    assert matcher.tokens_to_end() == len(matcher.shortest_end() or b"") == len("select a,b from city")
    random = Random(3)
    for most in range(20, 40):
        matcher.reset()
        matcher.complete_within(most)
        for _ in range(most):
            allowed = matcher.allowed_token_ids()
            if not allowed or matcher.is_terminated():
                break
            assert matcher.accept_token(random.choice(allowed))
        assert matcher.is_completed() or matcher.is_terminated()


def test_a_predicate_that_remembers_none_at_first_is_an_error() -> None:
    """None is no memory, and without one nothing would be judged."""

    class Forgets(Predicate):
        def start(self) -> Any:
            self.seen: list[bytes] = []

        def judge(self, memory: Any, rule: str, text: bytes) -> Any:
            return None

    with pytest.raises(PredicateError, match="TypeError: start returned None"):
        follows(LIST, {"name": Forgets()}).accept_string("a,b")


def test_an_interrupt_while_predicates_are_compared_leaves_nothing_half_done() -> None:
    class Interrupted(Predicate):
        armed = False

        def __init__(self, text: bytes) -> None:
            self.text = text

        def __eq__(self, other: object) -> bool:
            if Interrupted.armed:
                Interrupted.armed = False
                raise KeyboardInterrupt
            return self is other

        def __hash__(self) -> int:
            return 1

        def judge(self, memory: Any, rule: str, text: bytes) -> Any:
            return memory if text == self.text else None

    text = 'root ::= one ";" two\none ::= [a-z]+\ntwo ::= [a-z]+ "."'
    predicates = {"one": Interrupted(b"x"), "two": Interrupted(b"y.")}
    vocabulary = [bytes((byte,)) for byte in range(128)]
    grammar = compiled(Grammar.from_ebnf(text, predicates=predicates), vocabulary)
    matcher = GrammarMatcher(grammar)
    Interrupted.armed = True
    with pytest.raises(KeyboardInterrupt):
        matcher.accept_string("x;")
    assert not Interrupted.armed
    for _ in range(2):
        assert not GrammarMatcher(grammar).accept_string("x;z.")
        assert GrammarMatcher(grammar).accept_string("x;y.")


@pytest.mark.parametrize("between", ['","', "Token(2)"])
def test_where_a_text_begins_is_not_guessed_behind_a_token_by_its_id(between: str) -> None:
    class Two(Predicate):
        within = "part"

        def start(self) -> int:
            return 0

        def judge(self, memory: int, rule: str, text: bytes) -> int | None:
            return memory + 1 if memory < 2 else None

    text = f'root ::= part+\npart ::= name {between} (name {between})*\nname ::= [ab] "!"'
    matcher = follows(text, {"name": Two()}, [b"a", b"!", b"," if between == '","' else b"<x>"])
    with pytest.raises(UnsupportedFeatureError, match="ambiguous where texts of 'name' begin"):
        _ = [matcher.accept_token(token) for token in (0, 1, 2, 0, 1, 2, 0, 1, 2)]


@pytest.mark.parametrize(
    "text",
    [
        'root ::= list "."*\nlist ::= "(" name ("," name)* Token(5)',
        'root ::= (list | "(a!" Token(5)) "."*\nlist ::= "(" name ("," name)* ")"',
    ],
)
def test_a_token_by_its_id_leads_out_of_all_that_is_judged(text: str) -> None:
    """Equal places are equal again: nothing remembers what was inside."""
    words = [b"(", b"a", b"!", b",", b".", b"<x>"]
    matcher = follows(text + '\nname ::= [ab] "!"', {"name": AllDifferent(within="list")}, words)
    keys = []
    for token in (0, 1, 2, 5, 4, 4, 4):
        assert matcher.accept_token(token)
        keys.append(matcher.state_key)
    assert keys[-1] == keys[-2]


def test_memories_that_cannot_be_compared_are_an_error_of_their_predicate() -> None:
    class Memory:
        def __eq__(self, other: object) -> bool:
            raise ZeroDivisionError("no")

        __hash__ = None  # type: ignore[assignment]

    class Remembers(Predicate):
        def start(self) -> Memory:
            return Memory()

        def judge(self, memory: Memory, rule: str, text: bytes) -> Memory:
            return Memory()

    text = 'root ::= (name | plain) ("," name)*\nname ::= [ab]+\nplain ::= [ab]+'
    matcher = follows(text, {"name": Remembers()})
    with pytest.raises(PredicateError, match="raised ZeroDivisionError: no") as caught:
        matcher.accept_string("a,")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert matcher.text == b""
