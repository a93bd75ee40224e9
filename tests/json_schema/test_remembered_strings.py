"""Strings that are written once for all grammars are the same where the names of their rules are taken."""

from __future__ import annotations

import pytest

from kernels_core.automata.lower import Lowering
from kernels_core.automata.nfa import Nfa
from kernels_core.grammar.ir import Literal, Node
from kernels_core.grammar.json_schema import formats
from kernels_core.grammar.json_schema.formats import format_language
from kernels_core.grammar.json_schema.spelling import Speller
from kernels_core.grammar.regular.languages import ANY_CHARACTER, Language, loop
from kernels_core.grammar.regular.patterns import ecma_search as search
from kernels_core.grammar.rulebook import RuleBook
from kernels_core.options import Options
from tests.engine.driver import minimal


def language(name: str) -> Language:
    known = format_language(name)
    return search(name) if known is None else known


LANGUAGES = {name: language(name) for name in ("^[a-z/]+$", "a.b", "^é*$", "date", "email", "uri")}
LANGUAGES |= {"1..": loop(ANY_CHARACTER, 1, None), "2..3": loop(ANY_CHARACTER, 2, 3)}


def automaton(book: RuleBook, node: Node) -> object:
    ir = book.grammar(book.add("root", node).name, "")
    lowering = Lowering(ir, Options(parser="fsm", max_states=1_000_000))
    nfa = Nfa()
    assert nfa.fill(lowering, ir.rules[ir.root].body, ir.root, (), 1_000_000)
    return minimal(lowering, nfa)


@pytest.mark.parametrize("any_spelling", [False, True])
@pytest.mark.parametrize("name", LANGUAGES)
def test_names_that_are_taken_keep_their_rules(name: str, any_spelling: bool) -> None:
    free, again, taken = RuleBook(), RuleBook(), RuleBook()
    nodes = [Speller(book, any_spelling=any_spelling).quoted(LANGUAGES[name]) for book in (free, again)]
    assert nodes[0] is nodes[1]
    for rule in free.rules:
        taken.add(rule, Literal(b"taken"))
    names = list(free.rules)
    node = Speller(taken, any_spelling=any_spelling).quoted(LANGUAGES[name])
    assert (node is nodes[0]) == (not names)
    assert automaton(taken, node) == automaton(free, nodes[0])
    assert all(taken.rules[rule].body == Literal(b"taken") for rule in names)


def test_rules_that_were_shared_before_are_taken_for_the_same() -> None:
    book = RuleBook()
    speller = Speller(book, any_spelling=False)
    before = speller.quoted(LANGUAGES["1.."])
    rules = dict(book.rules)
    assert speller.quoted(LANGUAGES["1.."]) is before
    assert speller.quoted(LANGUAGES["2..3"]) is not before
    assert book.rules == rules


def test_nothing_is_taken_where_a_key_stands_for_another_rule() -> None:
    other, book = RuleBook(), RuleBook()
    other.share("key", "one", lambda: Literal(b"x"))
    other.add("two", Literal(b"y"))
    book.add("one", Literal(b"z"))
    book.share("key", "one", lambda: Literal(b"x"))  # is called otherwise here
    rules = dict(book.rules)
    assert not book.adopt(other)
    assert book.rules == rules


def test_formats_that_schemas_make_up_are_not_remembered() -> None:
    held = formats._language.cache_info().currsize
    assert {format_language(f"made up {number}") for number in range(100)} == {None}
    assert formats._language.cache_info().currsize == held
    assert format_language("date") is format_language("date")
