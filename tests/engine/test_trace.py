"""Traces: the parser's operations add up to the chart, masks say where they came from, and tracing changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import BudgetExceededError, Grammar, GrammarCompiler, GrammarMatcher, Options
from kernels_core.inspect import classic
from kernels_core.inspect.trace import FillEvent, ParserEvent, StepEvent, parser_events
from tests.engine.driver import compiled, mask, tokenizer
from tests.engine.test_against_reference import OPTIONS
from tests.reference import Recogniser
from tests.strategies import World, texts, worlds

PAIRS = 'root ::= "[" pair ("," pair)* "]"\npair ::= name ":" name\nname ::= [a-c]+'
TAGS = 'root ::= TagDispatch(("<t>", num))\nnum ::= [0-9]{1,3} "</t>"'
PLAIN = Options.laboratory(inline_limit=0, unroll_limit=0, direct_limit=0)


@given(worlds(max_size=8), OPTIONS, st.data())
def test_operations_bring_exactly_the_frontier(world: World, options: Options, data: st.DataObject) -> None:
    """At every byte the items brought by operations are the frontier, but for the start, which nobody brings."""
    ir, vocab = world
    matcher = GrammarMatcher(compiled(ir, vocab, options))
    with matcher.trace() as events:
        for byte in data.draw(texts(Recogniser(ir))):
            if not matcher.accept_string(bytes((byte,))):
                break
            here = list(events.steps()[-1].parser)
            assert tuple(here) == matcher.operations().events
            assert {event.item for event in here} == set(matcher.frontier().items)
            assert {event.position for event in here} == {matcher.position}
            check_causes(here, matcher)
    whole = parser_events(matcher)
    assert list(whole[len(whole) - len(events.parser()) :]) == events.parser()
    assert whole == matcher.parser_events()
    before = whole[: len(whole) - len(events.parser())]
    assert all(event.kind in ("predict", "dispatch") and event.position == 0 for event in before)


def check_causes(events: list[ParserEvent], matcher: GrammarMatcher) -> None:
    repeats = {rule.rule: rule.repeat for rule in matcher.compiled.automaton().rules}
    for event in events:
        match event.kind:
            case "scan":
                assert event.cause
            case "predict" | "dispatch":
                assert event.item.origin == event.position
                assert event.cause in repeats
            case "complete":
                assert event.item.origin <= event.position
                assert event.cause in repeats
            case "iteration":
                assert event.item.rule == event.cause
                assert repeats[event.cause] is not None
            case kind:
                raise AssertionError(kind)


def test_the_operations_of_a_short_text() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(PAIRS), [b"[a", b":b]", b"x"], PLAIN))
    with matcher.trace() as events:
        assert matcher.accept_token(0)
        assert not matcher.accept_token(2)  # a refusal is no event
        assert matcher.accept_token(1)
        assert matcher.accept_token(3)  # the stop token
    told = [
        [(done.kind, done.position, done.item.rule, done.cause) for done in event.parser] for event in events.steps()
    ]
    assert told == [
        [
            ("scan", 1, "root", "["),
            ("predict", 1, "pair", "root"),
            ("predict", 1, "name", "pair"),
            ("scan", 2, "name", "a"),
            ("complete", 2, "pair", "name"),
        ],
        [
            ("scan", 3, "pair", ":"),
            ("predict", 3, "name", "pair"),
            ("scan", 4, "name", "b"),
            ("complete", 4, "pair", "name"),
            ("complete", 4, "root", "pair"),
            ("scan", 5, "root", "]"),
        ],
        [],
    ]
    assert [(event.step, event.position, event.token, event.text) for event in events.steps()] == [
        (1, 2, 0, b"[a"),
        (2, 5, 1, b":b]"),
        (3, 5, 3, b""),
    ]
    assert all(event.nanoseconds > 0 for event in events.steps())
    assert [event.transitions_made for event in events.steps()] == [2, 3, 0]
    assert "complete" in str(events.parser()[4])
    assert str(matcher.operations()).startswith("Operations(bytes 2 to 5, 6 operations)")
    assert matcher.operations().to_frame()["cause"].tolist() == [":", "pair", "b", "name", "pair", "]"]
    matcher.reset()
    assert len(matcher.operations()) == 0  # the root's start reads "[" and calls nothing


def test_tags_dispatch_and_laps_count() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(TAGS), [b"<t>", b"12"], PLAIN))
    with matcher.trace() as events:
        assert matcher.accept_string("a<t>12</t>b")
    kinds = [event.kind for event in events.parser()]
    assert kinds.count("dispatch") == 1
    dispatch = events.parser()[kinds.index("dispatch")]
    assert (dispatch.position, dispatch.item.rule, dispatch.cause) == (4, "num", "root")
    iterations = [event for event in events.parser() if event.kind == "iteration"]
    assert [(event.position, event.item.counter) for event in iterations] == [(5, 1), (6, 2)]


def test_whole_tokens_are_told_from_bytes() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= Token(0) "b" | "a" "c"'), [b"a", b"b", b"c"], PLAIN))
    with matcher.trace() as events:
        assert matcher.accept_token(0)
    assert [(event.kind, event.cause) for event in events.parser()] == [("scan", "a"), ("token", "0")]


def test_kinds_of_fills() -> None:
    def kinds(source: str) -> list[str]:
        matcher = GrammarMatcher(compiler.compile_grammar(source))
        with matcher.trace() as events:
            assert matcher.accept_string("[a")
            mask(matcher)
            mask(matcher)
            assert matcher.accept_string("b")
            matcher.rollback()
            mask(matcher)
        assert [(event.step, event.position) for event in events.fills()] == [(1, 2)] * 3
        assert all(event.nanoseconds >= 0 and event.nbytes > 0 for event in events.fills())
        return [event.kind for event in events.fills()]

    name = "name ::= [a-c]+"
    options = Options.laboratory(inline_limit=0, lookahead=True, direct_limit=0)
    compiler = GrammarCompiler(tokenizer([b"a", b"[", b"]", b";", b"a]"]), options=options, cache_enabled=False)
    hits = ["mask hit", "mask hit"]
    rules = f'pair ::= name "]"\nhalf ::= name ";"\n{name}'
    assert kinds(f'root ::= "[" pair\n{rules}') == ["miss", *hits]
    assert kinds(f'root ::= "[" pair\n{rules}') == ["pool hit", *hits]
    assert kinds(f'root ::= "[" half\n{rules}') == ["miss", *hits]  # after the name there is something new
    # Both ways to go on are known, but not that a name can be followed by either.
    assert kinds(f'root ::= "[" pair | "-" half\n{rules}') == ["partial hit", *hits]


def test_a_mask_of_what_ends_in_time_is_made_beside_the_one_that_is_known() -> None:
    vocab = [*(bytes((byte,)) for byte in range(128)), b"aa", b"aaa"]
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf('root ::= "<" [a-z]* ">"'), vocab, PLAIN))
    assert matcher.accept_string("<")
    free = mask(matcher)

    def asked() -> tuple[str, bool]:
        with matcher.trace() as events:
            found = mask(matcher)
        return events.fills()[-1].kind, found == free

    assert asked() == ("mask hit", True)
    matcher.complete_within(2)
    assert [asked(), asked()] == [("walk", True), ("mask hit", True)]
    matcher.complete_within(1)
    assert [asked(), asked()] == [("walk", False), ("mask hit", False)]
    matcher.complete_within(100, redraws=True)  # far from the end nobody walks
    assert asked() == ("mask hit", True)
    matcher.complete_within(1_000)
    assert asked() == ("mask hit", True), "what is right for two is right for all"


def test_tracing_goes_along_with_forks_and_rollbacks() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(PAIRS), [b"[a", b":b]"], PLAIN))
    assert matcher.accept_string("[a:b")
    with matcher.trace() as events:
        fork = matcher.fork()
        assert fork.accept_string(",")  # a fork is another matcher: not traced
        assert matcher.accept_string(",")
        matcher.rollback()
        assert matcher.accept_string("]")
        matcher.reset()
        assert matcher.accept_string("[b")
        with matcher.trace() as inner:
            assert matcher.accept_string("c")
    assert [event.text for event in inner.steps()] == [b"c"]
    assert [event.text for event in events.steps()] == [b",", b"]", b"[b"]
    last = events.steps()[-1].parser[-1]
    assert (last.kind, last.position, last.item.rule, last.item.origin) == ("complete", 2, "pair", 1)
    assert not matcher.accept_string("?")
    assert len(events) == 3


def test_a_chart_too_large_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(PAIRS), [b"[a"], PLAIN))
    monkeypatch.setattr(classic.Chart, "max_items", 30)
    with matcher.trace() as events:
        assert matcher.accept_string("[a")
        with pytest.raises(BudgetExceededError, match="chart"):
            matcher.accept_string("a" * 30)
        assert (matcher.text, len(events)) == (b"[a", 1)
        assert matcher.accept_string(":")
        assert events.steps()[-1].parser[0].position == 3
    assert matcher.accept_string("a" * 30)  # untraced there is no chart


def test_events_as_a_table() -> None:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(PAIRS), [b"[a", b":b]"], PLAIN))
    with matcher.trace() as events:
        mask(matcher)
        assert matcher.accept_token(0)
    assert isinstance(events[0], FillEvent)
    assert isinstance(events[1], StepEvent)
    frame = events.to_frame()
    assert frame["event"].tolist() == ["mask", "step"]
    assert frame["kind"].tolist() == ["miss", "token"]
    assert frame.loc[1, ["scan", "predict", "complete"]].tolist() == [2, 2, 1]
