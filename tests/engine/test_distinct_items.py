"""Rules whose items differ (`distinct`, `item`): masks, steps and all that follows from them, as stacks that are written
out one by one say (`tests/reference/distinct.py`)."""

from __future__ import annotations

import pickle
from contextlib import suppress
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import (
    BatchGrammarMatcher,
    Grammar,
    GrammarCompiler,
    GrammarError,
    GrammarMatcher,
    Options,
    UnsupportedFeatureError,
    allocate_token_bitmask,
)
from kernels_core.grammar import nodes
from kernels_core.grammar.analysis import normal_form
from kernels_core.grammar.ir import GrammarIR, Literal, Node, Rule, RuleRef
from tests.engine.driver import VARIANTS, compiled, mask, mask_row, tokenizer
from tests.reference.distinct import DistinctStacks
from tests.reference.token_limits import TooManyStacks

# What items are made of, in spellings that are equal: 1, 1.0 and 10e-1, "a" and "\\u0061".
SCALARS = {
    "number": '[1-2] [0-1]{0,2} ("." [0]+)? ("e" "-"? [0-1])?',
    "string": '"\\"" ([ab] | "é" | "\\\\u0061" | "\\\\\\"")* "\\""',
    "short": '"\\"" [ab]{0,2} "\\""',
    "word": '"true" | "null"',
    "nested": '"[" (number ("," number)*)? "]"',
    "inner": '"[" (inner_item ("," " "? inner_item)*)? "]"',
    "object": '"{" (string ":" value ("," string ":" value)?)? "}"',
    "value": "number | short | nested",
}
PIECES = [
    *(bytes((byte,)) for byte in b'[]{},:"ab12.e0-\\u6 x'),
    *(b"1,", b"1]", b",1", b"1,1", b"[1,1]", b"[1,2", b"10", b".0", b".0,", b'","', b'"a"', b'a"', b'a",', b'"a","a"'),
    *(b'["a"', b'b"]', b"\\u0061", b'\\u0061"', b"\\u00", b'\\"', b'[""', b'"",""', b"true", b"true,true", b"],[", b"[]"),
    *("é".encode(), b"\xc3", b"\xa9", b'\xa9"', "é\",".encode(), b'{"a":1}', b'":1', b"},{", b'{"a":1,"b":2}', b"[[1],[1]]"),
    *(b'{"b":2,"a":1}', b"[1, 1", b"e0", b"e-1", b"[[1,1", b"x[1", b"[2,1,2"),
]


@st.composite
def grammars(draw: st.DrawFn) -> GrammarIR:
    """Arrays whose items differ, some beside others that are read alike or inside of each other."""
    kinds = draw(st.lists(st.sampled_from([*SCALARS]), min_size=1, max_size=3, unique=True))
    gap = draw(st.sampled_from(["", ' " "?', ' " "*']))
    most = draw(st.sampled_from(["*", "*", "{0,2}", "{1,3}"]))
    item = " | ".join(kinds)
    root = draw(
        st.sampled_from(
            [
                "array",
                '"x" array | array "x"',
                "array | plain",
                "array | other",
                '"[" array "," array "]"',
                "array array?",
                '(array | "x")*',
                'array | "x" string | number',
            ]
        )
    )
    others = draw(st.sampled_from([item, "number", "number | short", "array"]))
    rules = [
        f"root ::= {root}",
        f'array[distinct] ::= "["{gap} (item ({gap} ","{gap} item){most})?{gap} "]"',
        f"item[item] ::= {item}",
        f'plain ::= "["{gap} (({item}) ("," ({item})){{0,2}})? "]"',
        f'other[distinct] ::= "[" (other_item ("," other_item)*)? "]"',
        f"other_item[item] ::= {others}",
        "inner_item[item] ::= number | short",
        *(f"{name}{'[distinct]' * (name == 'inner')} ::= {body}" for name, body in SCALARS.items()),
    ]
    return Grammar.from_ebnf("\n".join(rules)).ir


@given(grammars(), st.sampled_from(list(VARIANTS)), st.randoms(use_true_random=False))
def test_masks_are_those_of_the_stacks(ir: GrammarIR, variant: str, random: Random) -> None:
    matcher = GrammarMatcher(compiled(ir, PIECES, VARIANTS[variant]))
    with suppress(TooManyStacks):
        _compare(matcher, DistinctStacks(ir), variant, random)


def _compare(matcher: GrammarMatcher, oracle: DistinctStacks, variant: str, random: Random) -> None:
    taken = []
    for _ in range(14):
        expected = oracle.mask(PIECES) | ({len(PIECES)} if oracle.completed else set())
        assert mask(matcher) == expected, (variant, matcher.history)
        assert set(matcher.allowed_token_ids()) == expected
        assert matcher.is_completed() == oracle.completed
        possible = {byte for low, high in matcher.possible_bytes() for byte in range(low, high + 1)}
        assert possible == {byte for byte in range(256) if oracle.after(bytes((byte,)))}
        forced = matcher.find_jump_forward_string().encode()
        assert not forced or oracle.after(forced)
        for number in random.sample(range(len(PIECES)), 12):
            assert matcher.fork().accept_token(number) == (number in expected), (matcher.history, PIECES[number])
        choices = sorted(expected - {len(PIECES)})
        if not choices:
            break
        # Long tokens, and those that repeat what there is, say most.
        token = max(random.sample(choices, min(2, len(choices))), key=lambda number: len(PIECES[number]))
        taken.append((expected, oracle.state))
        assert matcher.accept_string(PIECES[token]) if random.random() < 0.2 else matcher.accept_token(token)
        oracle.take_string(PIECES[token])
    other = matcher.fork()
    for expected, _ in reversed(taken):
        matcher.rollback(1)
        assert mask(matcher) == expected
    if taken:
        other.rollback(1)
        assert mask(other) == taken[-1][0]


@given(grammars(), st.randoms(use_true_random=False))
def test_printed_and_read_again(ir: GrammarIR, random: Random) -> None:
    again = Grammar.from_ebnf(str(Grammar(ir))).ir
    assert {name: rule.notes for name, rule in again.rules.items()} == {name: rule.notes for name, rule in ir.rules.items()}
    assert again == ir
