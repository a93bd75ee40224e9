"""What the paper's tables of definitions and of sizes are computed with: brute force, and the textbook's automaton."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from experiments import dispatch_size, formal
from experiments.ledger import Ledger
from experiments.paper_definitions import Definitions, Item
from experiments.running import run
from kernels_core import GrammarCompiler, GrammarMatcher, Options, TokenizerInfo
from tests.experiments.reports import told

VOCAB = [b"a", b"ab", b"abc", b"abcx", b"ab!", b"abc!", b"ab?", b"!", b"ba"]


def compiled(text: str, **options: Any) -> Any:
    info = TokenizerInfo([*VOCAB, b"</s>"], stop_token_ids=[len(VOCAB)])
    made = GrammarCompiler(info, options=Options.laboratory(**options)).compile_grammar(text)
    made.complete()
    return made


@pytest.mark.parametrize("options", [{}, {"unroll_limit": 0}, {"lazy_lowering": False, "repetition": "compress"}])
def test_kinds_of_tokens_by_hand(options: dict[str, Any]) -> None:
    made = compiled('root ::= word "!"\nword ::= [a-z]{2,3}\n', inline_limit=0, **options)
    definitions = Definitions(made.automaton())
    (state,) = GrammarMatcher(made).token_sets().states
    (item,) = (one for one in GrammarMatcher(made).frontier().items if one.state == state.state)
    found = dict(zip(VOCAB, definitions.kinds(Item(item.rule, item.state, 0, item.counter), VOCAB), strict=True))
    assert [token for token, kind in found.items() if kind == "accepted"] == [b"a", b"ab", b"abc", b"ba"]
    assert [token for token, kind in found.items() if kind == "uncertain"] == [b"abcx", b"ab!", b"abc!", b"ab?"]
    chart = definitions.chart(b"")
    allowed = definitions.allowed(Item(item.rule, item.state, 0, item.counter), chart, VOCAB)
    assert [token for token, taken in zip(VOCAB, allowed, strict=True) if taken] == VOCAB[:3] + [b"ab!", b"abc!", b"ba"]


def test_left_recursion_empty_rules_and_laps_without_end() -> None:
    made = compiled('root ::= root item | item\nitem ::= "a" none "b"{3,}\nnone ::= "" | "!"\n', inline_limit=0)
    definitions = Definitions(made.automaton())
    for text, ends in ((b"abbb", True), (b"abb", False), (b"a!bbbbbabbb", True), (b"aabbb", None)):
        last = definitions.chart(text)[-1]
        assert any(one.rule == definitions.root and one.origin == 0 for one in last.ended) == bool(ends)
        assert bool(last.items) == (ends is not None)


def test_a_state_that_calls_its_own_rule_was_not_called_from_there() -> None:
    """After "(" a list may end, or hold another one; a ")" ends the list itself, whose callers nobody knows."""
    made = compiled('root ::= list\nlist ::= "(" (list | "!")* ")"\n', inline_limit=0)
    definitions = Definitions(made.automaton())
    matcher = GrammarMatcher(made)
    assert matcher.accept_string("((")
    (item,) = (one for one in matcher.frontier().items if one.scannable and one.origin == 1)
    tokens = [b")", b"!)", b"))", b")!", b"()", b"())", b"()!"]
    found = definitions.kinds(Item(item.rule, item.state, item.origin), tokens)
    assert found == ["accepted", "accepted", "uncertain", "uncertain", "rejected", "rejected", "rejected"]
    chart = definitions.chart(b"((")
    assert definitions.allowed(Item(item.rule, item.state, item.origin), chart, tokens[:4]) == [True] * 4


QUOTED = [
    b'"',
    b"a",
    b"b",
    b"c",
    b"ab",
    b"aa",
    b"ba",
    b'a"',
    b'ab"',
    b'""',
    b'",',
    b'a"]',
    b'"]',
    b"]",
    b"[",
    b'["',
    b",",
    b"\\",
]
QUOTED += [b"\xc3\xa4", b"\xc3", b"\xa4", b'a","a', b"\\u0061", b"u006"]


@pytest.mark.parametrize("pattern", ["b", "^(a|bb)+c?$", "a.*b$", "(ä|b)c"])
@pytest.mark.parametrize("options", [{}, {"inline_limit": 0, "direct_limit": 0}])
def test_texts_of_bounded_length(pattern: str, options: dict[str, Any]) -> None:
    """Characters are counted beside the automaton; brute force counts them along the picture of it."""
    info = TokenizerInfo([*QUOTED, b"</s>"], stop_token_ids=[len(QUOTED)])
    random = Random(f"lengths {pattern}")
    places = bounded = 0
    for least, most in ((0, 3), (2, 5), (4, 4), (3, 40)):
        schema = {
            "type": "array",
            "items": {"type": "string", "pattern": pattern, "minLength": least, "maxLength": most},
        }
        made = GrammarCompiler(info, options=Options.laboratory(**options)).compile_json_schema(schema)
        made.complete()
        bounded += any(rule.lengths == (least, most) for rule in made.automaton().rules)
        definitions, matcher, text = Definitions(made.automaton()), GrammarMatcher(made), b""
        while len(text) < 20 and not matcher.is_terminated():
            found = formal._compared(definitions, matcher, text, list(range(len(QUOTED))))
            assert found["misplaced"] == found["misjudged"] == found["masks_differ"] == 0, (pattern, least, most, text)
            places += 1
            token = random.choice([one for one in matcher.allowed_token_ids() if one < len(QUOTED)] or [len(QUOTED)])
            matcher.accept_token(token)
            text += b"" if token == len(QUOTED) else QUOTED[token]
    assert bounded == 4
    assert places > 20


def test_another_grammar_is_found_to_differ() -> None:
    """The comparison can fail: brute force over one grammar, the engine with another."""
    one, other = (compiled(f'root ::= word "!"\nword ::= {word}\n', inline_limit=0) for word in ("[ab]+", "[abx?]+"))
    found = formal._compared(Definitions(other.automaton()), GrammarMatcher(one), b"", list(range(len(VOCAB))))
    assert found["misplaced"] > 0
    assert found["masks_differ"] == 1
    same = formal._compared(Definitions(one.automaton()), GrammarMatcher(one), b"", list(range(len(VOCAB))))
    assert same["misplaced"] == same["misjudged"] == same["masks_differ"] == 0


def test_formal_experiment(ledger: Ledger) -> None:
    result = run("formal", "smoke", ledger=ledger)
    frame, (tables, figure) = result.frame, told(result)
    assert frame["decisions"].sum() > 1000
    assert frame[["misplaced", "misjudged", "masks_differ"]].to_numpy().sum() == 0
    assert frame[["accepted", "uncertain", "rejected"]].sum().sum() == frame["decisions"].sum()
    (table,) = tables.values()
    assert table["in another set"].tolist() == [0, 0]
    large = table["uncertain, large vocabulary, %"], table["uncertain after lookahead, large vocabulary, %"]
    assert (large[1] < large[0]).all()
    assert len(figure.data) == 3


def test_the_automaton_of_aho_and_corasick() -> None:
    """The example of their paper: he, she, his, hers."""
    nodes = dispatch_size.automaton(["he", "she", "his", "hers"])
    assert len(nodes) == 10
    spelt: dict[int, str] = {0: ""}
    for at, node in enumerate(nodes):
        spelt |= {child: spelt[at] + character for character, child in node.next.items()}
    fails = {spelt[at]: spelt[node.fail] for at, node in enumerate(nodes) if node.fail}
    assert fails == {"sh": "h", "she": "he", "his": "s", "hers": "s"}


def test_dispatch_size_experiment(ledger: Ledger) -> None:
    result = run("dispatch-size", "smoke", ledger=ledger)
    frame, (tables, figure) = result.frame, told(result)
    assert frame["disagree"].tolist() == [0, 0]
    assert frame["linked_disagree"].sum() > 0  # failure links as references let a text leave a tag
    assert (frame["taken"] < frame["texts"]).all()  # not all texts are in the language
    random = frame[frame["kind"] == "random"].iloc[0]
    assert (random["length"], random["ac_edges"]) == (50, 2 * (random["ac_states"] - 1))
    sizes = tables["Sizes: Aho-Corasick automaton, plain EBNF, TagDispatch"]
    assert sizes["paper, states"].tolist()[0] == 50
    assert len(figure.data) == 13
