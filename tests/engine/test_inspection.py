"""Snapshots tell the truth: frontier, token sets, automata and counters, against the oracle and against each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import CompiledGrammar, Grammar, GrammarMatcher, Options
from kernels_core.automata.tables import FIRST_STATE
from kernels_core.grammar.ir import (
    ByteSet,
    Choice,
    Empty,
    GrammarIR,
    Node,
    Repeat,
    Rule,
    RuleRef,
    Seq,
)
from kernels_core.inspect.snapshots import Automaton, TokenSets
from tests.engine.driver import VARIANTS, compiled, mask
from tests.engine.test_against_reference import OPTIONS
from tests.reference import ClassicItem, Recogniser, classic_items
from tests.strategies import World, grammars, next_bytes, productive, texts, worlds

# Automata are then rule by rule what the grammar says.
LITERAL_RULES = Options.laboratory(inline_limit=0, unroll_limit=0, direct_limit=0)
REMEMBERING = st.sampled_from(
    [options for options in VARIANTS.values() if options.mechanisms.memoize_sets and options.parser == "earley"]
)


@pytest.mark.parametrize("state", [-1, 10**9])
@pytest.mark.parametrize(
    "name", ["row", "seen", "counted", "lengths", "characters", "may_end", "seen_members", "subset_of", "positions"]
)
def test_a_state_that_is_not_there_is_an_error(name: str, state: int) -> None:
    tables = compiled(Grammar.from_ebnf("root ::= [a-c]{2,70}"), [b"a"]).machine.tables
    counter = (0,) if name in ("counted", "characters", "may_end", "seen_members") else ()
    with pytest.raises(IndexError, match=f"no state {state}: there are"):
        getattr(tables, name)(state, *counter)
    assert tables.row(FIRST_STATE)  # the lock is free


@pytest.mark.parametrize("number", [-1, 10**6])
def test_a_set_that_is_not_there_is_an_error(number: int) -> None:
    with pytest.raises(IndexError, match=f"no set with the number {number}"):
        compiled(Grammar.from_ebnf("root ::= [a-c]+"), [b"a"]).masks.allowed_ids(number)


@given(worlds(), OPTIONS, st.data())
def test_token_sets_add_up_to_the_mask(world: World, options: Options, data: st.DataObject) -> None:
    ir, vocab = world
    matcher = GrammarMatcher(compiled(ir, vocab, options))
    for byte in data.draw(texts(Recogniser(ir))):
        check_token_sets(matcher.token_sets(), matcher, vocab)
        if not matcher.accept_string(bytes((byte,))):
            break
    check_token_sets(matcher.token_sets(), matcher, vocab)


def check_token_sets(sets: TokenSets, matcher: GrammarMatcher, vocab: list[bytes]) -> None:
    allowed = mask(matcher)
    stop = len(vocab)
    assert sets.allowed.tolist() == sorted(allowed)
    assert (sets.position, sets.vocab_size) == (matcher.position, stop + 1)
    assert list(sets.vocab[:stop]) == vocab
    assert sets.stop_allowed == (stop in allowed) == matcher.is_completed()
    explained: set[int] = {stop} if sets.stop_allowed else set()
    for entry in sets.states:
        uncertain = [verdict.token_id for verdict in entry.uncertain]
        accepted = entry.accepted.tolist()
        assert accepted == sorted(set(accepted))
        assert uncertain == sorted(set(uncertain))
        assert not set(uncertain) & set(accepted)
        assert len(accepted) + len(uncertain) + entry.rejected_count == sets.vocab_size
        for verdict in entry.uncertain:
            assert verdict.token == vocab[verdict.token_id]
            assert 0 < verdict.escape < len(verdict.token)
            assert verdict.suffix == verdict.token[verdict.escape :]
            assert entry.uncertain.verdict(verdict.token_id) == verdict
        explained.update(accepted, (verdict.token_id for verdict in entry.uncertain if verdict.allowed))
    assert explained == allowed
    assert len(sets.rows()) == sum(len(entry.accepted) + len(entry.uncertain) for entry in sets.states)
    assert {row["token_id"] for row in sets.rows() if row["allowed"]} == allowed - {stop}


@pytest.mark.parametrize("word", ["[a-z] [a-z] [a-z]?", "[a-z]{2,3}"])
@pytest.mark.parametrize("lookahead", [False, True])
def test_uncertain_tokens_say_where_they_leave_the_rule(word: str, lookahead: bool) -> None:
    vocab = [b"a", b"ab", b"abc", b"abcx", b"ab!", b"abc!", b"ab?", b"abdd", b"a!", b"!"]
    grammar = Grammar.from_ebnf(f'root ::= word ("!" | "d!")\nword ::= {word}\n')
    options = Options.laboratory(inline_limit=0, unroll_limit=0, lookahead=lookahead)
    (entry,) = GrammarMatcher(compiled(grammar, vocab, options)).token_sets().states
    assert [vocab[token] for token in entry.accepted] == [b"a", b"ab", b"abc"]
    uncertain = [(verdict.token, verdict.escape, verdict.allowed) for verdict in entry.uncertain]
    taken = [(b"ab!", 2, True), (b"abc!", 3, True), (b"abdd", 3, True)]
    refused = [] if lookahead else [(b"abcx", 2, False), (b"ab?", 2, False)]
    assert sorted(uncertain) == sorted(taken + refused)
    assert entry.rejected_count == len(vocab) + 1 - 3 - len(uncertain)


def test_token_sets_tell_how_the_engine_keeps_them() -> None:
    grammar = Grammar.from_ebnf('root ::= word "!"\nword ::= [a-z] [a-z]\n')
    options = Options.laboratory(inline_limit=0, direct_limit=0)
    matcher = GrammarMatcher(compiled(grammar, [b"a", b"ab", b"ab!"], options))
    (entry,) = matcher.token_sets().states
    assert (entry.storage, entry.nbytes) == ("", 0)  # no mask was asked for
    mask(matcher)
    (entry,) = matcher.token_sets().states
    assert entry.storage in ("list", "complement", "bitset")
    assert entry.nbytes > 0


@given(worlds(max_size=8), OPTIONS, st.data())
def test_frontier_items_are_of_the_automaton(world: World, options: Options, data: st.DataObject) -> None:
    ir, vocab = world
    grammar = compiled(ir, vocab, options)
    matcher = GrammarMatcher(grammar)
    for byte in (*data.draw(texts(Recogniser(ir))), None):
        frontier = matcher.frontier()
        states = {state.id: state for rule in grammar.automaton().rules for state in rule.states}
        bounds = {rule.rule: rule.repeat for rule in grammar.automaton().rules}
        assert frontier.position == matcher.position
        assert frontier.completed == matcher.is_completed()
        assert len(frontier) > 0
        assert len(set(frontier.items)) == len(frontier)
        for item in frontier.items:
            state = states[item.state]
            assert (item.rule, item.scannable, item.accepting) == (state.rule, state.scannable, state.accepting)
            assert item.dot == "   ".join(state.dots)
            assert item.source_rules
            assert {rule.name for rule in item.source_rules} <= {*ir.rules, *grammar.grammar.ir.rules}
            assert 0 <= item.origin <= frontier.position
            repeat = bounds[item.rule]
            assert item.counter >= 0
            assert item.counter == 0 or repeat is not None
            if repeat is not None:
                assert item.counter <= repeat[0] if repeat[1] is None else item.counter < repeat[1]
        if byte is None or not matcher.accept_string(bytes((byte,))):
            break


@given(grammars(large=False).map(productive), st.data())
def test_frontier_is_the_textbooks(ir: GrammarIR, data: st.DataObject) -> None:
    """Rule by rule, with origins and iterations, the frontier is the set of a parser that knows no automata."""
    grammar = compiled(ir, [b"a"], LITERAL_RULES)
    grammar.complete()
    repeats = {rule.rule: rule.repeat for rule in grammar.automaton().rules}
    counted = {(rule.split("{")[0], repeat) for rule, repeat in repeats.items() if repeat is not None}
    recogniser = Recogniser(grammar.grammar.ir)
    matcher, state = GrammarMatcher(grammar), recogniser.start()
    for byte in (*data.draw(texts(recogniser)), None):
        shown = {
            ClassicItem(item.rule.split("{")[0], repeats[item.rule], item.origin, item.counter)
            for item in matcher.frontier().items
        }
        assert shown >= classic_items(recogniser, state, counted, reading=True)
        assert shown <= classic_items(recogniser, state, counted, reading=False)
        if byte is None or not matcher.accept_string(bytes((byte,))):
            break
        state = recogniser.advance(state, byte)


@given(grammars().map(productive), OPTIONS, st.data())
def test_the_automata_drawn_are_the_grammar(ir: GrammarIR, options: Options, data: st.DataObject) -> None:
    """Read back as a grammar, the automaton snapshot has the same texts."""
    grammar = compiled(ir, [b"a"], options)
    grammar.complete()
    before, after = Recogniser(ir), Recogniser(read_back(grammar.automaton()))
    text = data.draw(texts(data.draw(st.sampled_from([before, after]))))
    for end in range(len(text) + 1):
        one, other = before.run(text[:end]), after.run(text[:end])
        assert one.alive == other.alive
        assert one.completed == other.completed
    assert next_bytes(before, before.run(text)) == next_bytes(after, after.run(text))


def read_back(automaton: Automaton) -> GrammarIR:
    """One rule for each state: what can be read from there on to the end of its automaton."""
    rules: dict[str, Rule] = {}
    called = {rule.rule: rule for rule in automaton.rules}
    assert len(called) == len(automaton.rules)
    for rule in automaton.rules:
        assert rule.start in {state.id for state in rule.states}
        leaving: dict[int, list[Node]] = {state.id: [] for state in rule.states}
        for state in rule.states:
            if state.accepting:
                leaving[state.id].append(Empty())
        for edge in rule.edges:
            first: Node
            if edge.kind == "bytes":
                first = ByteSet(tuple(sorted(edge.ranges)))
            else:
                assert edge.rule is not None
                callee = called[edge.rule]
                first = RuleRef(str(callee.start))
                if callee.repeat is not None:
                    first = Repeat(first, *callee.repeat)
            leaving[edge.source].append(Seq((first, RuleRef(str(edge.target)))))
        for state in rule.states:
            assert state.scannable == any(edge.source == state.id and edge.kind == "bytes" for edge in rule.edges)
            rules[str(state.id)] = Rule(str(state.id), Choice(tuple(leaving[state.id])))
    return GrammarIR(rules, str(called[automaton.root].start))


@given(worlds(max_size=8), OPTIONS, st.data())
def test_equal_numbers_are_equal_sets(world: World, options: Options, data: st.DataObject) -> None:
    """Two texts that lead to sets with one number have the same mask, and the same next bytes by the reference."""
    ir, vocab = world
    grammar = compiled(ir, vocab, options)
    recogniser = Recogniser(ir)
    seen: dict[int, tuple[set[int], list[int], bool]] = {}
    for text in data.draw(st.lists(texts(recogniser, max_size=6), min_size=2, max_size=4)):
        matcher, state = GrammarMatcher(grammar), recogniser.start()
        for byte in (*text, None):
            now = mask(matcher), next_bytes(recogniser, state), state.completed
            assert seen.setdefault(matcher.frontier().set_id, now) == now
            if byte is None or not matcher.accept_string(bytes((byte,))):
                break
            state = recogniser.advance(state, byte)


@given(worlds(max_size=8), REMEMBERING, st.data())
def test_nothing_is_computed_twice(world: World, options: Options, data: st.DataObject) -> None:
    """A second matcher on the same text finds every step and every mask that the first one made."""
    ir, vocab = world
    grammar = compiled(ir, vocab, options)
    text = data.draw(texts(Recogniser(ir)))

    def walk_along() -> tuple[int, int]:
        """The numbers of bytes that were taken and of masks that were asked for."""
        matcher = GrammarMatcher(grammar)
        mask(matcher)
        for at in range(len(text)):
            if not matcher.accept_string(text[at : at + 1]):
                return at, at + 1
            mask(matcher)
        return len(text), len(text) + 1

    def count(grammar: CompiledGrammar) -> dict[str, int]:
        return {row["counter"]: row["value"] for row in grammar.cache_stats().rows()}

    walk_along()
    before = count(grammar)
    steps, masks = walk_along()
    after = count(grammar)
    assert after.pop("mask_hits") - before.pop("mask_hits") == masks
    assert after.pop("step_hits") - before.pop("step_hits") == steps
    assert after == before
    assert after["distinct_masks"] <= after["masks"] <= after["sets"]
    assert after["states"] == grammar.automaton().state_count() + FIRST_STATE  # looking makes no state
    grammar.complete()
    assert after["states"] <= count(grammar)["states"] == grammar.automaton().state_count() + FIRST_STATE
    assert not grammar.automaton().waiting
