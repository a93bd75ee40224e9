"""Looking leaves no trace: an engine whose session is shown in every way counts as one that nobody looks at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options, allocate_token_bitmask
from kernels_core.inspect.snapshots import CacheStats
from tests.engine.driver import tokenizer as small_tokenizer
from tests.reference import Recogniser
from tests.strategies import World, texts, worlds
from tests.workbench.vocabulary import EOS, GRAMMAR
from workbench.explorer.dashboard import Dashboard
from workbench.panels.next import NextPanel
from workbench.session import Session
from workbench.session.inspector import Inspector
from workbench.tokenizers import Tokenizer

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 9},
        "mode": {"enum": ["mode_0", "mode_1", "other"]},
        "spot": {"type": "object", "properties": {"lat": {"type": "number"}, "note": {"type": "string"}}},
        "days": {"type": "array", "items": {"type": "integer"}, "maxItems": 4},
        "free": {},
    },
    "required": ["city"],
    "additionalProperties": False,
}
TAG: dict[str, Any] = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<f"],
        "tags": [
            {"begin": "<f=one>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</f>"},
            {"begin": "<f=two>", "content": {"type": "regex", "pattern": "[a-z]{2,40}"}, "end": "</f>"},
        ],
    },
}
LARK = 'start: "[" (NAME ("," NAME)*)? "]"\nNAME: /[a-z]{1,20}[0-9]?/\n'
CASES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "ebnf": (GRAMMAR, {}, '{"name":[true,{"a":12}]}'),
    "json schema": (SCHEMA, {}, '{"city": "Lund", "mode": "mode_1", "spot": {"lat": 1.5, "note": "é"}, "days": [1,2]}'),
    "structural tag": (TAG, {}, 'so <f=one>{"city":"a", "free": [null]}</f> and <f=two>abc</f>.'),
    "lark": (LARK, {"language": "lark"}, "[abc,de1,f]"),
}


def look(session: Session) -> None:
    """Whatever a view may ask."""
    session.inspect.frontier()
    session.inspect.operations()
    session.inspect.automaton()
    session.inspect.token_sets()
    session.inspect.next_bytes()
    session.inspect.allowed_tokens(20)
    session.inspect.fills()
    for what in ("x", "}", '"', b"\xc3", 0, EOS, 260):
        str(session.inspect.explain(what))
    session.inspect.shadow().find_jump_forward_string()
    session.inspect.shadow().allowed_token_ids()
    if not session.inspect.is_terminated:
        session.inspect.mask()
    repr(session)
    str(session.inspect.grammar)
    _ = session.document.text


def bare(session: Session, source: Any, reading: dict[str, Any], options: Options | None) -> CacheStats:
    """The counters of an engine that takes the session's steps and asks for each mask, and does nothing else."""
    from workbench.languages import Source

    info = session.tokenizer.info
    compiled = GrammarCompiler(info, options=options).compile_grammar(Source.of(source, **reading).grammar(info))
    matcher = GrammarMatcher(compiled)
    row = allocate_token_bitmask(1, info.vocab_size)
    for step in session.steps:
        matcher.fill_next_token_bitmask(row)
        taken = matcher.accept_string(step.data) if step.token_id is None else matcher.accept_token(step.token_id)
        assert taken
    if not matcher.is_terminated():
        matcher.fill_next_token_bitmask(row)
    return compiled.cache_stats()


@pytest.mark.parametrize(
    "options", [None, Options(lazy_lowering=False), Options.laboratory(direct_limit=0), Options(parser="naive")]
)
@pytest.mark.parametrize("name", CASES)
def test_views_leave_no_trace_in_the_engine(tokenizer: Tokenizer, name: str, options: Options | None) -> None:
    source, reading, text = CASES[name]
    seen: list[CacheStats] = []
    # Automata that all grammars of a process share are cut out when they are met again: after that nothing changes.
    for watch in (lambda session: None, lambda session: None, lambda session: None, look):
        session = Session(source, tokenizer, options=options, **reading)
        watch(session)
        for token in tokenizer.encode(text.encode()):
            session.step(token)
            watch(session)
        assert session.text == text.encode()
        assert len(session.inspect.fills()) == len(session.steps) + 1
        assert all(session.inspect.fills())
        seen.append(session.inspect.cache_stats())
    assert seen[3] == bare(session, source, reading, options)
    # Going about in the history makes nothing either.
    before = session.inspect.cache_stats()
    while session.back("byte"):
        look(session)
    session.goto(len(session.steps))
    after = session.inspect.cache_stats()
    assert (after.states, after.sets, after.step_misses) == (before.states, before.sets, before.step_misses)
    assert after.mask_misses == before.mask_misses


def test_few_states_are_shown_where_few_are_made(tokenizer: Tokenizer) -> None:
    session = Session(SCHEMA, tokenizer)
    session.step('{"ci')
    look(session)
    automaton = session.inspect.automaton()
    assert automaton.state_count() + 2 == session.inspect.cache_stats().states
    assert automaton.waiting
    assert any(not state.made for rule in automaton.rules for state in rule.states)
    active = {item.state for item in session.inspect.frontier().items}
    drawn = {state.id: state for rule in automaton.rules for state in rule.states}
    assert active <= drawn.keys()
    assert automaton is session.inspect.automaton()
    assert session.back()
    assert session.inspect.automaton() is automaton
    whole = Session(SCHEMA, tokenizer, options=Options(lazy_lowering=False)).inspect.automaton()
    assert not whole.waiting
    assert whole.state_count() > 3 * automaton.state_count()


@given(worlds(max_size=8), st.data())
def test_what_the_twin_tells_is_told_in_states_of_the_engine(world: World, data: st.DataObject) -> None:
    ir, vocab = world
    session = Session(Grammar(ir), small_tokenizer(vocab))
    for byte in data.draw(texts(Recogniser(ir))):
        sets, frontier = session.inspect.token_sets(), session.inspect.frontier()
        scannable = {(item.state, item.rule, item.dot) for item in frontier.items if item.scannable}
        assert {(entry.state, entry.rule, entry.dot) for entry in sets.states} <= scannable
        assert sets.allowed.tolist() == session.inspect.allowed_ids()
        for tried in (b"\x00", bytes((byte,))):
            waiting = session.inspect.explain(tried).waiting
            assert {(item.state, item.rule, item.dot, item.origin) for item in waiting} <= {
                (item.state, item.rule, item.dot, item.origin) for item in frontier.items
            }
        if byte not in session.inspect.next_bytes():
            break
        session.step(bytes((byte,)))


def test_the_twin_may_be_played_with(tokenizer: Tokenizer) -> None:
    session = Session(SCHEMA, tokenizer)
    session.step('{"city": "')
    before = session.inspect.cache_stats(), session.text, session.inspect.frontier()
    twin = session.inspect.shadow()
    assert twin.accept_string('Lund", "mode": "mode_0", "spot": {"lat": 2}}')
    assert twin.is_completed()
    assert before == (session.inspect.cache_stats(), session.text, session.inspect.frontier())
    assert session.inspect.shadow().text == session.text


def test_the_shortest_end_is_looked_for_beside_the_engine(tokenizer: Tokenizer) -> None:
    session = Session(SCHEMA, tokenizer)
    session.read('{"ci')
    desk = Dashboard(session, [NextPanel])
    panel = desk.panels["next"]
    assert isinstance(panel, NextPanel)
    before = session.inspect.cache_stats(), session.inspect.automaton(), session.inspect.frontier()
    assert panel._end({}) == {"end": 'ty":""}', "bytes": 7}
    assert before == (session.inspect.cache_stats(), session.inspect.automaton(), session.inspect.frontier())
    desk.close()


def test_each_place_has_its_mask_once(tokenizer: Tokenizer) -> None:
    session = Session(GRAMMAR, tokenizer)
    session.read('[[1],"a"]')
    fills = session.inspect.fills()
    assert len(fills) == len(session.steps) + 1
    assert [fill.position for fill in fills[1:] if fill is not None] == [step.end for step in session.steps]
    assert {fill.kind for fill in fills if fill is not None} & {"walk", "miss", "pool hit"}
    assert all(fill.how for fill in fills if fill is not None)
    session.goto(2)
    session.back("byte")
    session.goto(len(session.steps))
    assert session.inspect.fills() == fills
    again = Session(GRAMMAR, tokenizer)
    again.read("[1,1,1")
    assert [fill.kind for fill in again.inspect.fills()[-2:] if fill is not None] == ["mask hit", "mask hit"]
    again.back()
    again.step("2")
    assert len(again.inspect.fills()) == len(again.steps) + 1
    again.step(ord("]"))
    again.step(EOS)
    assert again.inspect.fills()[-1] is None


@pytest.mark.parametrize("make", [lambda s: s.frontier(), lambda s: s.explain("x"), lambda s: s.token_sets()])
def test_sets_are_known_by_parser_state(tokenizer: Tokenizer, make: Callable[[Inspector], Any]) -> None:
    session = Session("root ::= ([a-z]+ [0-9])*", tokenizer)
    session.step("abc")
    first = session.inspect.token_sets()
    session.step("d")
    make(session.inspect)
    second = session.inspect.token_sets()
    assert (first.position, second.position) == (3, 4)
    assert second.states is first.states
    assert np.array_equal(first.allowed, second.allowed)
