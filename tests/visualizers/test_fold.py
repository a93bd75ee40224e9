"""The folded picture spells what the byte automaton spells, exactly; and it reads as a person would write it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options, TokenizerInfo
from kernels_core.errors import MaskscopeError
from kernels_core.grammar.ir import CharSet, Choice, GrammarIR, Literal, Rule, RuleRef, Seq, TagDispatch
from kernels_core.inspect.snapshots import Automaton, AutomatonEdge, AutomatonState, RuleAutomaton
from tests import strategies
from tests.visualizers import fixtures
from visualizers.fold import FoldedRule, Piece, fold_rule, unfolded_rule
from visualizers.labels import edge_label, full_text

INFO = TokenizerInfo([b"a", b"b", b"</s>"], stop_token_ids=[2])
Symbol = int | tuple[str, str]


def compiled(grammar: str | Grammar, *, lazy: bool = False, steps: int = 6) -> Automaton:
    """The automaton of a grammar; of a lazy engine what it has made after `steps` bytes."""
    made = GrammarCompiler(INFO, options=Options(lazy_lowering=lazy)).compile_grammar(grammar)
    matcher = GrammarMatcher(made)
    for _ in range(steps if lazy else 0):
        if not any(matcher.accept_string(bytes([byte])) for byte in strategies.ALPHABET):
            break
    return made.automaton()


class Machine:
    """A nondeterministic automaton over bytes and calls: `moves[state]` are (symbol, target), None is ε."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.moves: dict[int, list[tuple[Symbol | None, int]]] = {}
        self.ends: set[int] = set()
        self.falls: dict[int, int] = {}
        self._fresh = -1

    def add(self, source: int, symbol: Symbol | None, target: int) -> None:
        self.moves.setdefault(source, []).append((symbol, target))

    def fresh(self) -> int:
        self._fresh -= 1
        return self._fresh

    def closed(self, states: Iterable[int]) -> frozenset[int]:
        found, todo = set(states), list(states)
        while todo:
            for symbol, target in self.moves.get(todo.pop(), ()):
                if symbol is None and target not in found:
                    found.add(target)
                    todo.append(target)
        return frozenset(found)

    def reads(self, state: int) -> dict[Symbol, set[int]]:
        """Where every symbol leads from one state, with what it falls back to."""
        found: dict[Symbol, set[int]] = {}
        for symbol, target in self.moves.get(state, ()):
            if symbol is not None:
                found.setdefault(symbol, set()).add(target)
        if state in self.falls:
            for symbol, targets in self.reads(self.falls[state]).items():
                if isinstance(symbol, int) and symbol not in found:
                    found[symbol] = targets
        return found

    def step(self, states: frozenset[int]) -> dict[Symbol, frozenset[int]]:
        found: dict[Symbol, set[int]] = {}
        for state in states:
            for symbol, targets in self.reads(state).items():
                found.setdefault(symbol, set()).update(targets)
        return {symbol: self.closed(targets) for symbol, targets in found.items()}

    def ending(self, states: frozenset[int]) -> bool:
        return bool(states & self.ends)


def byte_machine(rule: RuleAutomaton, folded: FoldedRule) -> Machine:
    """The automaton as the engine has it, but for characters that it has not made to their ends."""
    machine = Machine(rule.start)
    machine.ends = {state.id for state in rule.states if state.accepting}
    begun = {state for one in folded.begun.values() for state in one.states}
    dead = {state.id for state in rule.states if state.id in begun and not state.made}
    for _ in range(3):  # states from which only those are reached
        for state in begun - dead:
            if all(edge.target in dead for edge in rule.edges if edge.source == state):
                dead.add(state)
    for edge in rule.edges:
        if edge.target in dead:
            continue
        if edge.ranges:
            for first, last in edge.ranges:
                for byte in range(first, last + 1):
                    machine.add(edge.source, byte, edge.target)
        else:
            machine.add(edge.source, (edge.kind, edge.rule or edge.label), edge.target)
    return machine


def spelt_machine(folded: FoldedRule) -> Machine:
    """The folded picture spelt out again, from its labels alone."""
    machine = Machine(folded.rule.start)
    machine.ends = {state.id for state in folded.states if state.accepting}
    machine.falls = dict(folded.otherwise)
    for edge in folded.edges:
        stops = [edge.source, *(machine.fresh() for _ in edge.between), edge.target]
        for stop in stops[1:-1]:
            if edge.otherwise is not None:
                machine.falls[stop] = edge.otherwise
            if edge.ends:
                machine.ends.add(stop)
        for piece, source, target in zip(edge.pieces, stops, stops[1:], strict=False):
            spell(machine, piece, source, target)
    return machine


def spell(machine: Machine, piece: Piece, source: int, target: int) -> None:
    if piece.optional:
        machine.add(source, None, target)
    if piece.kind == "bytes":
        for first, last in piece.ranges:
            for byte in range(first, last + 1):
                machine.add(source, byte, target)
    elif piece.kind == "chars":
        trie: dict[bytes, int] = {b"": source}
        for first, last in piece.ranges:
            for low, high in utf8_ranges(first, last):
                at = source
                for position in range(len(low)):
                    final = position == len(low) - 1
                    beginning = low[: position + 1] + b"|" + high[: position + 1]
                    if final:
                        after = target
                    elif beginning in trie:
                        after = trie[beginning]
                    else:
                        after = trie[beginning] = machine.fresh()
                    for byte in range(low[position], high[position] + 1):
                        machine.add(at, byte, after)
                    at = after
    else:
        machine.add(source, (piece.kind, piece.name), target)


def utf8_ranges(first: int, last: int) -> Iterable[tuple[bytes, bytes]]:
    """Code points as pairs of byte strings, each byte of which runs on its own from the one to the other."""
    for low, high in ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)):
        a, b = max(first, low), min(last, high)
        while a <= b:
            size = len(chr(a).encode())
            end = a
            for shift in (6 * k for k in range(size - 1, -1, -1)):
                block = 1 << shift
                if a % block == 0 and a + block - 1 <= b:
                    # As many whole blocks as stay under the same leading bytes.
                    limit = (a | ((block << 6) - 1)) if size > shift // 6 + 1 else b
                    end = min(limit, a + ((b - a + 1) // block) * block - 1)
                    break
            yield chr(a).encode(), chr(end).encode()
            a = end + 1


def assert_same_language(rule: RuleAutomaton, folded: FoldedRule) -> None:
    """Both automata, made deterministic, agree on every string."""
    one, other = byte_machine(rule, folded), spelt_machine(folded)
    first = (one.closed([one.start]), other.closed([other.start]))
    seen, todo = {first}, [(first, b"")]
    while todo:
        (left, right), text = todo.pop()
        assert one.ending(left) == other.ending(right), f"{rule.rule} after {text!r}"
        after, again = one.step(left), other.step(right)
        assert after.keys() == again.keys(), f"{rule.rule} after {text!r}: {after.keys() ^ again.keys()}"
        for symbol in after:
            pair = after[symbol], again[symbol]
            if pair not in seen:
                seen.add(pair)
                said = bytes([symbol]) if isinstance(symbol, int) else f"<{symbol[1]}>".encode()
                todo.append((pair, text + said))


def assert_every_state_is_somewhere(rule: RuleAutomaton, folded: FoldedRule) -> None:
    shown = {state.id for state in folded.states}
    assert rule.start in shown
    for state in rule.states:
        begun = any(state.id in one.states for one in folded.begun.values())
        assert (state.id in shown) + (state.id in folded.places) == 1 or begun, state
        for place in folded.places.get(state.id, ()):
            edge = folded.edges[place.edge]
            if place.inside:
                assert (state.id, place.offset) in edge.within
            else:
                assert edge.between[place.offset - 1] == state.id
    for edge in folded.edges:
        assert {edge.source, edge.target} <= shown
        assert len(edge.between) == len(edge.pieces) - 1


def check(automaton: Automaton) -> None:
    for rule in automaton.rules:
        reachable = {rule.start} | {edge.target for edge in rule.edges}
        whole = all(state.id in reachable for state in rule.states)
        folded = fold_rule(rule)
        assert_same_language(rule, folded)
        if whole:
            assert_every_state_is_somewhere(rule, folded)
        assert_same_language(rule, unfolded_rule(rule))


@given(strategies.grammars(dispatch=True))
@settings(max_examples=60, deadline=None)
def test_random_grammars_keep_their_language(ir: GrammarIR) -> None:
    for lazy in (False, True):
        try:
            automaton = compiled(Grammar(ir), lazy=lazy)
        except MaskscopeError:
            continue
        check(automaton)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_character_beside_free_text_keeps_its_bytes(lazy: bool) -> None:
    free = Seq((TagDispatch((), (), False, (), ()), Literal(b"bbbbbb")))
    letters = Seq((CharSet(((0xD7FF, 0xE000),)), RuleRef("root")))
    check(compiled(Grammar(GrammarIR({"root": Rule("root", Choice((free, letters)))}, "root")), lazy=lazy))


GRAMMARS = [
    'root ::= "a"? "é" | "b"? "c"? "é"',
    'root ::= "true" | "false" | "null" | "nil"',
    'root ::= "{" ws "\\"a\\"" ws ":" ws [0-9]+ ws "}"\nws ::= [ \\n\\t]{0,128}',
    'root ::= "-"? [0-9]+ ("." [0-9]+)? ([eE] [+-]? [0-9]+)?',
    "root ::= [а-яё]+ [😀-🙏]? [^a-z]",
    'root ::= "über" | "übel" | "ü" [^\\x00-\\x7F]* "é"',
    'root ::= [\\u0080-\\u07FF] [\\u0800-\\uFFFF] [\\U00010000-\\U0010FFFF] "x"',
    'root ::= root "a" | "b" | ("c" root)? "d"',
]


@pytest.mark.parametrize("text", GRAMMARS)
@pytest.mark.parametrize("lazy", [False, True])
def test_chosen_grammars_keep_their_language(text: str, lazy: bool) -> None:
    check(compiled(text, lazy=lazy))


def test_the_example_keeps_its_language() -> None:
    check(fixtures.automaton())
    check(fixtures.chain(3, 30))


def test_schemas_and_free_text_keep_their_language() -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"enum": ["C", "F", "grün"]}, "n": {"type": "number"}},
        "required": ["city"],
    }
    check(compiled(Grammar.from_json_schema(schema)))
    tags = [{"begin": "<f=a>", "content": {"type": "json_schema", "json_schema": schema}, "end": "</f>"}]
    form = {"type": "triggered_tags", "triggers": ["<f="], "tags": tags}
    check(compiled(Grammar.from_structural_tag({"type": "structural_tag", "format": form})))


def written(text: str, **options: bool) -> dict[str, list[str]]:
    """Every rule's edges as a person reads them."""
    folded = [fold_rule(rule) for rule in compiled(text, **options).rules]
    return {one.rule.rule: sorted(map(full_text, one.edges)) for one in folded}


class TestReading:
    """What is on an edge is what a person would have written."""

    def test_literals_are_one_edge(self) -> None:
        assert written('root ::= "{\\"city\\": " [0-9]') == {"root": ['{"city":␣[0-9]']}

    def test_alternatives_keep_their_endings(self) -> None:
        assert written('root ::= "true" | "false"') == {"root": ["false", "true"]}

    def test_bytes_become_characters(self) -> None:
        assert written("root ::= [а-яё]") == {"root": ["[а-яё]"]}
        assert written('root ::= [^"]') == {"root": ['[^"]']}
        assert written("root ::= [^a]") == {"root": ["[^a]"]}
        assert written("root ::= [\\x00-\\U0010FFFF]") == {"root": ["any character"]}

    def test_options_are_marked(self) -> None:
        assert written('root ::= "-"? [0-9] [a-f]? ";"') == {"root": ["-?[0-9][a-f]?;"]}

    def test_white_space_that_may_be_left_out_is_part_of_the_chain(self) -> None:
        read = written('root ::= "{" ws ":" ws "}"\nws ::= [ \\t]{0,128}')
        assert read["root"] == ["{ws{0,128}?:ws{0,128}?}"]

    def test_free_text_says_what_else_leads_back(self) -> None:
        tags = [{"begin": "<f>", "content": {"type": "any_text"}, "end": "</f>"}]
        form = {"type": "triggered_tags", "triggers": ["<f>"], "tags": tags}
        automaton = compiled(Grammar.from_structural_tag({"type": "structural_tag", "format": form}))
        root = next(fold_rule(rule) for rule in automaton.rules if rule.rule == automaton.root)
        tag = next(edge for edge in root.edges if full_text(edge).startswith("<f>"))
        assert tag.otherwise == tag.source == root.rule.start
        assert tag.ends
        assert "[^<]" in map(full_text, root.edges)

    def test_a_state_in_a_chain_has_a_place(self) -> None:
        (rule,) = compiled('root ::= "city"').rules
        folded = fold_rule(rule)
        (edge,) = folded.edges
        assert [place.offset for state in edge.between for place in folded.places[state]] == [1, 2, 3]
        label = edge_label(edge)
        assert label.lines == ("city",)
        assert label.cuts == ((0, 1), (0, 2), (0, 3))

    def test_long_literals_are_cut_in_the_middle(self) -> None:
        (rule,) = compiled(f'root ::= "{"ab " * 200}"').rules
        label = edge_label(fold_rule(rule).edges[0])
        assert len(label.lines) <= 4
        assert all(len(line) <= 40 for line in label.lines)
        assert sum("…" in line for line in label.lines) == 1
        assert len(label.cuts) == 599

    def test_a_long_class_is_cut_between_its_signs(self) -> None:
        (rule,) = compiled("root ::= [ !#-\\[\\]-\\x7F\\u1000-\\uCFFF]").rules
        assert edge_label(fold_rule(rule).edges[0]).lines == ("[␣!#-[\\]-\\x7F\\u{1000}…]",)

    def test_a_class_that_is_repeated_is_counted(self) -> None:
        (rule,) = compiled('root ::= [0-9] [0-9] [0-9] [0-9] "-" [a-f] [a-f]').rules
        label = edge_label(fold_rule(rule).edges[0])
        assert label.lines == ("[0-9]{4}-[a-f]{2}",)
        assert label.cuts == ((0, 5), (0, 5), (0, 5), (0, 8), (0, 9), (0, 14))

    def test_byte_by_byte_nothing_is_folded(self) -> None:
        for rule in compiled('root ::= "über" [а-я]').rules:
            folded = unfolded_rule(rule)
            assert folded.states == rule.states
            assert all(len(edge.pieces) == 1 for edge in folded.edges)


def test_a_broken_automaton_is_refused() -> None:
    state = AutomatonState(1, "r", True, False, ())
    edge = AutomatonEdge(1, 99, "call", "x", (), "x")
    with pytest.raises(ValueError, match="rule 'r': edge 1 -> 99 names no state"):
        fold_rule(RuleAutomaton("r", 1, (state,), (edge,), None, None))
    with pytest.raises(ValueError, match="its start 7 is no state"):
        fold_rule(RuleAutomaton("r", 7, (state,), (), None, None))
