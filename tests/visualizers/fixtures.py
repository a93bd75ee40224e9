"""Hand-written snapshots: a grammar of nested lists of short strings, one step into a text, and generated giants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

import numpy as np

from kernels_core.inspect.snapshots import (
    Automaton,
    AutomatonEdge,
    AutomatonState,
    CacheStats,
    EarleyItem,
    Frontier,
    Ids,
    RuleAutomaton,
    StateTokens,
    TokenSets,
    UncertainTokens,
)
from kernels_core.inspect.trace import Operation, Operations, ParserEvent

SOURCE = """root ::= list
list ::= "[" (item ("," item)*)? "]"
item ::= string | list
string ::= "\\"" char{0,8} "\\""
char ::= [^"\\\\\\x00-\\x1F] | "\\\\" ["\\\\nt]
"""


def ids(tokens: Iterable[int]) -> Ids:
    """Token ids as snapshots have them."""
    return np.array(sorted(tokens), np.int32)


def uncertain_tokens(vocab: Sequence[bytes], found: Iterable[tuple[int, int, bool]] = ()) -> UncertainTokens:
    """Those with an id, the bytes that were read when the rule ended, and whether a caller took the rest."""
    columns = np.array(sorted(found), np.int32).reshape(-1, 3).T
    return UncertainTokens(vocab, columns[0], columns[1], columns[2].astype(np.bool_))


def _states(rule: str, *rows: tuple[int, bool, bool, tuple[str, ...]]) -> tuple[AutomatonState, ...]:
    return tuple(AutomatonState(number, rule, accepting, scan, dots) for number, accepting, scan, dots in rows)


def _bytes(source: int, target: int, *ranges: tuple[int, int]) -> AutomatonEdge:
    return AutomatonEdge(source, target, "bytes", "bytes", ranges)


def _byte(source: int, target: int, character: str) -> AutomatonEdge:
    return _bytes(source, target, (ord(character), ord(character)))


def _call(source: int, target: int, rule: str) -> AutomatonEdge:
    return AutomatonEdge(source, target, "call", rule, (), rule)


def automaton() -> Automaton:
    """Five rules, 17 states; `char` is counted."""
    root = RuleAutomaton(
        "root",
        0,
        _states("root", (0, False, False, ("root ::= • list",)), (1, True, False, ("root ::= list •",))),
        (_call(0, 1, "list"),),
        None,
        (0, 13),
    )
    lists = RuleAutomaton(
        "list",
        2,
        _states(
            "list",
            (2, False, True, ('list ::= • "[" (item ("," item)*)? "]"',)),
            (3, False, True, ('list ::= "[" • (item ("," item)*)? "]"',)),
            (4, False, True, ('list ::= "[" (item • ("," item)*)? "]"', 'list ::= "[" (item ("," item •)*)? "]"')),
            (5, False, False, ('list ::= "[" (item ("," • item)*)? "]"',)),
            (6, True, False, ('list ::= "[" (item ("," item)*)? "]" •',)),
        ),
        (
            _byte(2, 3, "["),
            _call(3, 4, "item"),
            _byte(3, 6, "]"),
            _byte(4, 5, ","),
            _call(5, 4, "item"),
            _byte(4, 6, "]"),
        ),
        None,
        (14, 51),
    )
    item = RuleAutomaton(
        "item",
        7,
        _states("item", (7, False, False, ("item ::= • string", "item ::= • list")), (8, True, False, ("item •",))),
        (_call(7, 8, "string"), _call(7, 8, "list")),
        None,
        (52, 74),
    )
    string = RuleAutomaton(
        "string",
        9,
        _states(
            "string",
            (9, False, True, ('string ::= • "\\"" char{0,8} "\\""',)),
            (10, False, True, ('string ::= "\\"" • char{0,8} "\\""',)),
            (11, False, True, ('string ::= "\\"" char{0,8} • "\\""',)),
            (12, True, False, ('string ::= "\\"" char{0,8} "\\"" •',)),
        ),
        (_byte(9, 10, '"'), _call(10, 11, "char"), _byte(10, 12, '"'), _byte(11, 12, '"')),
        None,
        (75, 108),
    )
    char = RuleAutomaton(
        "char",
        13,
        _states(
            "char",
            (13, False, True, ('char ::= • [^"\\\\\\x00-\\x1F]', 'char ::= • "\\\\" ["\\\\nt]')),
            (14, False, True, ("char ::= <UTF-8 tail>",)),
            (15, False, True, ('char ::= "\\\\" • ["\\\\nt]',)),
            (16, True, False, ("char •",)),
        ),
        (
            _bytes(13, 16, (0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7F)),
            _bytes(13, 14, (0xC2, 0xDF)),
            _bytes(14, 16, (0x80, 0xBF)),
            _byte(13, 15, "\\"),
            _bytes(15, 16, (0x22, 0x22), (0x5C, 0x5C), (0x6E, 0x6E), (0x74, 0x74)),
        ),
        (0, 8),
        (109, 160),
    )
    return Automaton((root, lists, item, string, char), "root", SOURCE)


def _item(
    rule: str, dot: str, origin: int, state: int, *, iteration: int = 0, scan: bool = False, end: bool = False
) -> EarleyItem:
    return EarleyItem(rule, dot, origin, iteration, state, scan, end, None)


def at(state: int) -> Frontier:
    """A frontier of one state."""
    return Frontier(1, 1, False, (EarleyItem("r", "r ::= •", 0, 0, state, True, False, None),))


def frontiers() -> tuple[Frontier, ...]:
    """Three steps: nothing read; `[` read; `["a` read."""
    start = Frontier(
        0,
        1,
        False,
        (
            _item("root", "root ::= • list", 0, 0),
            _item("list", 'list ::= • "[" (item ("," item)*)? "]"', 0, 2, scan=True),
        ),
    )
    opened = Frontier(
        1,
        4,
        False,
        (
            _item("list", 'list ::= "[" • (item ("," item)*)? "]"', 0, 3, scan=True),
            _item("item", "item ::= • string", 1, 7),
            _item("string", 'string ::= • "\\"" char{0,8} "\\""', 1, 9, scan=True),
            _item("list", 'list ::= • "[" (item ("," item)*)? "]"', 1, 2, scan=True),
        ),
    )
    inside = Frontier(
        3,
        9,
        False,
        (
            _item("string", 'string ::= "\\"" char{0,8} • "\\""', 1, 11, scan=True, iteration=1),
            _item("char", 'char ::= • [^"\\\\\\x00-\\x1F]', 3, 13, scan=True, iteration=1),
        ),
    )
    done = Frontier(5, 12, True, (_item("list", 'list ::= "[" (item ("," item)*)? "]" •', 0, 6, end=True),))
    return start, opened, inside, done


VOCAB: tuple[bytes, ...] = (
    b"<stop>",
    *(bytes([byte]) for byte in range(256)),
    *(f"{first}{second}".encode() for first in "abcdefghij" for second in "klmnopqrst"),
    "é".encode(),
    "漢字".encode(),
    b"\xe6\xbc",
    b'a"',
    b'a"]',
    b'a",',
    b'a"}',
    b' "',
    b"</script>",
    "\u202eabc".encode(),
)


def token_sets(position: int = 3, *, vocab: tuple[bytes, ...] = VOCAB, padding: int = 2) -> TokenSets:
    """Inside a string: letters accepted, what crosses the closing quote uncertain, the rest rejected."""
    accepted: list[int] = []
    uncertain: list[tuple[int, int, bool]] = []
    for number, token in enumerate(vocab[1:], 1):
        text = token.decode(errors="replace")
        if b'"' in token:
            escape = token.index(b'"') + 1
            suffix = token[escape:]
            uncertain.append((number, escape, suffix in (b"", b"]", b",")))
        elif "\ufffd" not in text and all(ord(letter) > 31 and letter != "\\" for letter in text):
            accepted.append(number)
    entry = StateTokens(
        state=13,
        rule="char",
        dot='char ::= • [^"\\\\\\x00-\\x1F]',
        accepted=ids(accepted),
        uncertain=uncertain_tokens(vocab, uncertain),
        rejected_count=len(vocab) + padding - len(accepted) - len(uncertain),
        storage="bitset",
        nbytes=128,
    )
    quote = vocab.index(b'"')
    close = StateTokens(
        state=11,
        rule="string",
        dot='string ::= "\\"" char{0,8} • "\\""',
        accepted=ids((quote,)),
        uncertain=uncertain_tokens(vocab, [(vocab.index(b' "'), 1, False)]),
        rejected_count=len(vocab) + padding - 2,
        storage="list",
        nbytes=4,
    )
    allowed = {quote, *accepted, *(token for token, _, taken in uncertain if taken)}
    return TokenSets(position, (entry, close), ids(allowed), False, len(vocab) + padding, vocab)


def operations(step: int = 1) -> Operations:
    """One operation of each kind, over the items of a frontier."""
    items = frontiers()[step].items
    kinds = get_args(Operation)
    done = [ParserEvent(kind, step, items[k % len(items)], f"cause <{kind}>") for k, kind in enumerate(kinds)]
    return Operations(max(0, step - 1), step, tuple(done))


def stop_sets() -> TokenSets:
    """The text is complete: only the stop token is allowed and no state scans."""
    return TokenSets(5, (), ids((0,)), True, len(VOCAB), VOCAB)


def stats(step: int = 0) -> CacheStats:
    """Counters that grow with the step."""
    return CacheStats(
        states=17,
        sets=10 + step,
        frames=4 + step,
        masks=3 + step,
        distinct_masks=2 + step,
        token_sets=4,
        step_hits=100 * step,
        step_misses=20 + step,
        mask_hits=7 * step,
        mask_misses=3,
        token_set_hits=5 * step,
        token_set_misses=4,
        pool_hits=2 * step,
        arena_bytes=65_536 + 512 * step,
        mask_bytes=2_048,
        token_set_bytes=900,
    )


def chain(rules: int, states: int, *, back: int = 7) -> Automaton:
    """`rules` rules of `states` states each: a chain with a loop, a back edge every `back` states, and calls."""
    made = []
    for k in range(rules):
        first = k * states
        rows = tuple(
            AutomatonState(first + i, f"rule_{k}", i == states - 1, i < states - 1, (f"rule_{k} ::= {'x ' * i}• y",))
            for i in range(states)
        )
        edges = [_bytes(first + i, first + i + 1, (0x61 + i % 26, 0x61 + i % 26)) for i in range(states - 1)]
        edges += [_bytes(first + i, first + i - back, (0x30, 0x39)) for i in range(back, states, back)]
        edges += [_bytes(first + i, first + i, (0x20, 0x20)) for i in range(0, states, 5)]
        if k + 1 < rules:
            edges.append(_call(first, first + min(1, states - 1), f"rule_{k + 1}"))
        made.append(RuleAutomaton(f"rule_{k}", first, rows, tuple(edges), (0, None) if k % 3 == 2 else None, None))
    return Automaton(tuple(made), "rule_0", "")
