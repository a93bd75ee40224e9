"""Strings that are written when the parser gets there: as a compact body they are what their language says, and the
same that is written at once, wherever the names of their rules are taken."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher
from kernels_core.automata.compact_bodies import spell_compact_body
from kernels_core.automata.lower import Lowering
from kernels_core.automata.nfa import Nfa
from kernels_core.grammar.compact_body import Diagram
from kernels_core.grammar.ir import DeferredRule, GrammarIR, Literal, Node, Rule
from kernels_core.grammar.json_schema import formats
from kernels_core.grammar.json_schema.formats import format_language
from kernels_core.grammar.json_schema.spelling import Speller
from kernels_core.grammar.regular.languages import (
    ALL,
    ANY_CHARACTER,
    Language,
    character,
    complement,
    concat,
    intersection,
    loop,
    matches,
    union,
    words,
)
from kernels_core.grammar.regular.patterns import ecma_search as search
from kernels_core.grammar.rulebook import RuleBook
from kernels_core.options import Options
from tests.engine.driver import minimal, tokenizer

# Characters and their spellings: as themselves, as escapes that are always allowed, and as needless ones.
SPELLINGS = {
    "a": ("a", None, "\\u0061"),
    "/": ("/", "\\/", "\\u002f"),
    "é": ("é", "\\u00E9", None),
    "\n": (None, "\\n", None),
}
TEXTS = ["".join(text) for size in range(4) for text in product(SPELLINGS, repeat=size)]
VOCABULARY = tokenizer([bytes([byte]) for byte in range(256)])

parts = st.sampled_from(
    [
        ALL,
        words(["a", "a/"]),
        words(["", "é"]),
        search("^a"),
        search("/$"),
        search("\n"),
        loop(character(((97, 200),)), 1, 2),
    ]
)
languages = st.recursive(
    parts,
    lambda inner: st.one_of(
        inner.map(complement),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: intersection(*some)),
        st.lists(inner, min_size=2, max_size=2).map(lambda some: union(*some)),
        st.lists(inner, min_size=2, max_size=2).map(lambda some: concat(*some)),
    ),
    max_leaves=5,
)


def by_automaton(ir: GrammarIR) -> list[Any]:
    """The rules that waited for the automaton of their strings."""
    waited = [rule for rule in (*ir.rules.values(), *ir.made.values()) if isinstance(rule, DeferredRule)]
    return [rule for rule in waited if isinstance(rule.make(True), Diagram)]  # type: ignore[attr-defined]


def spellings(text: str, way: int) -> str | None:
    """`text` with every character in one way of spelling; None where one has none."""
    found = [SPELLINGS[letter][way] for letter in text]
    return None if None in found else "".join(map(str, found))


@given(languages, st.booleans())
def test_a_diagram_says_what_its_language_says(language: Language, any_spelling: bool) -> None:
    book = RuleBook()
    diagram = Speller(book, any_spelling=any_spelling).diagram(language)
    lowering = Lowering(GrammarIR({"root": Rule("root", Literal(b"x")), **book.rules}, "root"), Options(parser="fsm"))
    nfa = Nfa()
    assert spell_compact_body(nfa, lowering, diagram, "root", 100_000)
    edges, accepting = minimal(lowering, nfa)
    steps = {(source, byte): target for source, low, high, target in edges for byte in range(low, high + 1)}

    def accepts(text: str) -> bool:
        state = 0
        for byte in text.encode():
            state = steps.get((state, byte), -1)
        return state >= 0 and accepting[state]

    for text in TEXTS:
        for way in range(3):
            written = spellings(text, way)
            if written is not None:
                inside = matches(language, text)
                if way < 2 or any_spelling:
                    assert accepts(f'"{written}"') == inside, text
                else:  # where no condition is left, needless escapes are allowed
                    assert inside or not accepts(f'"{written}"'), text
    assert not accepts('"')
    assert not accepts("")


def test_rules_wait_until_the_text_gets_there() -> None:
    """Lazily and in full a schema accepts the same; the automaton is a compact body, of which no body is made."""
    schema = {
        "properties": {"a": {"type": "string", "not": {"pattern": "^x"}}, "b": {"type": "integer"}},
        "patternProperties": {"^k[0-9]+$": {"type": "boolean"}},
        "additionalProperties": {"type": "null"},
    }
    grammar = Grammar.from_json_schema(schema)
    lazy = GrammarCompiler(VOCABULARY).compile_grammar(grammar)
    whole = GrammarCompiler(VOCABULARY, options=Options(lazy_lowering=False)).compile_grammar(
        Grammar.from_json_schema(schema)
    )
    texts = [
        *({"a": text} for text in ("", "y", "xy", "é", "\n")),
        *({key: value} for key in ("k1", "k", "kk1", "k1x", "c", "", "b", "a") for value in (True, None, 1)),
        {"a": "y", "b": 1, "k12": False, "z": None, "k3": True},
    ]
    for text in map(json.dumps, texts):
        found = [
            matcher.accept_string(text) and matcher.is_completed() for matcher in map(GrammarMatcher, (lazy, whole))
        ]
        assert found[0] == found[1], text
    assert by_automaton(grammar.lazy_ir)


@pytest.mark.parametrize("any_spelling", [False, True])
def test_keys_stand_for_languages(any_spelling: bool) -> None:
    def key(language: Language, any_spelling: bool = any_spelling) -> bytes:
        book = RuleBook()
        rule = book.rules[Speller(book, any_spelling=any_spelling).later(language, "x").name]
        assert isinstance(rule, DeferredRule)
        return rule.key

    one, other = complement(search("^a")), complement(search("^b"))
    assert key(one) == key(complement(search("^a")))
    assert len({key(one), key(other), key(one, not any_spelling), key(intersection(one, other))}) == 4


HOSTS = [
    "a",
    "a-b.c1",
    "x" * 63 + ".y",
    "1.2.3.4",
    "::1",
    "a." * 8 + "b",
    "",
    "-a",
    "a-",
    "a..b",
    "x" * 64,
    "a_b",
    "::1.2",
]


@pytest.mark.parametrize("formats", [["hostname"], ["hostname", "ipv4"], ["ipv6", "hostname"]])
def test_host_names_are_read_along_one_automaton(formats: list[str]) -> None:
    """They are what their language says, and one rule that counts nothing, also where something else is allowed."""
    compiler = GrammarCompiler(VOCABULARY)
    compiled = compiler.compile_json_schema({"type": "string", "anyOf": [{"format": name} for name in formats]})
    language = union(*(found for name in formats if (found := format_language(name)) is not None))
    assert len({matches(language, text) for text in HOSTS}) == 2
    for text in HOSTS:
        matcher = GrammarMatcher(compiled)
        taken = matcher.accept_string(json.dumps(text)) and matcher.is_completed()
        assert taken == matches(language, text), text
    ir = compiled.grammar.lazy_ir
    rules = by_automaton(ir)
    assert [rule.make(True).spans for rule in rules] == [None]
    tables = compiled.machine.tables
    lowered = [tables.lowering.rules[rule] for rule in range(tables.rule_count)]
    assert not any(one.repeat for one in lowered if one.source == rules[0].name)
    assert len(formats) > 1 or not any(one.repeat for one in lowered)


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
