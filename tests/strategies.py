"""Hypothesis strategies: random grammars, vocabularies and texts that are small, nasty, and mostly useful.

Grammars are built as IR by hand, so they reach every node and every kind of recursion whether or not a front-end would
write it so.  The alphabet is a handful of bytes and of code points whose spellings share their first bytes; everything
random has a good chance of meeting everything else.

How many examples a property gets is said by the profile (`tests/conftest.py`); `examples` changes that for one of them.

Read on: `tests/reference` (the oracle), `tests/engine/test_against_reference.py` (the properties).
"""

from __future__ import annotations

from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st

from kernels_core.grammar.ir import (
    ByteSet,
    CharSet,
    Choice,
    Empty,
    GrammarIR,
    Literal,
    Never,
    Node,
    Repeat,
    Rule,
    RuleRef,
    Seq,
    TagDispatch,
)
from tests.reference import EarleySet, Recogniser

__all__ = [
    "ALPHABET",
    "RARE_BOUNDS",
    "SMALL_BOUNDS",
    "World",
    "ambiguous_grammars",
    "ambiguous_worlds",
    "examples",
    "grammars",
    "next_bytes",
    "productive",
    "texts",
    "vocabularies",
    "worlds",
]

# Spellings that share first bytes (é ê, 中 丮), one of four bytes, and the pieces they are made of.
LETTERS = [b"a", b"b", b"c"]
WIDE = ["é".encode(), "ê".encode(), "中".encode(), "丮".encode(), "😀".encode()]
PIECES = [b"\xc3", b"\xa9", b"\xe4\xb8", b"\xad", b"\xf0\x9f", b"\x98\x80"]

TAGS = [b"a", b"b", b"ab", b"bc", b"aba", b"abc", b"\xc3", "é".encode()]
ALPHABET = sorted({byte for word in LETTERS + WIDE + PIECES for byte in word} | {0x7F, 0x80, 0xDF, 0xBF, 0xED, 0xEE})

CHAR_RANGES: list[tuple[tuple[int, int], ...]] = [
    ((0x61, 0x61),),
    ((0x61, 0x63),),
    ((0x62, 0x62), (0xE9, 0xEA)),
    ((0xE9, 0xE9),),
    ((0x4E2D, 0x4E2E),),
    ((0x61, 0x61), (0x1F5FF, 0x1F601)),
    ((0x7F, 0x80),),
    ((0x7FF, 0x800),),
    ((0xD7FF, 0xE000),),
    ((0xD800, 0xDFFF),),  # surrogates alone: nothing at all
    ((0xFFFF, 0x10000),),
]
# For recognition only: too many strings for an oracle that writes them all down.
LARGE_CHAR_RANGES: list[tuple[tuple[int, int], ...]] = [
    ((0, 0x10FFFF),),
    ((0, 0x60), (0x62, 0x10FFFF)),
    ((0x80, 0xFFFF),),
]
BYTE_RANGES: list[tuple[tuple[int, int], ...]] = [
    ((0x61, 0x61),),
    ((0x61, 0x62),),
    ((0xA9, 0xAA),),
    ((0x61, 0x61), (0xC3, 0xC3)),
    ((0x80, 0xBF),),
]
SMALL_BOUNDS: list[tuple[int, int | None]] = [
    (0, 1),
    (0, None),
    (1, None),
    (2, 2),
    (0, 2),
    (1, 3),
    (2, 5),
    (3, None),
    (0, 0),
    (1, 1),
    (3, 3),
]
LOOPS: list[tuple[int, int | None]] = [(0, None), (1, None)]
# Bounds that no text here comes near: what matters is that nothing is spelt out in advance.
RARE_BOUNDS: list[tuple[int, int | None]] = [(0, 2**31 - 1), (100, 200), (1000, None), (2**31 - 1, None), (7, 10**6)]


def examples(share: float = 1, *allowed: HealthCheck) -> settings:
    """`share` times the examples of the profile, for a property that needs another number of them: say why beside it.

    Health checks in `allowed` do not fail, besides those of the profile.
    """
    profile = settings()
    return settings(
        max_examples=max(1, round(share * profile.max_examples)),
        suppress_health_check=[*profile.suppress_health_check, *allowed],
    )


@st.composite
def grammars(
    draw: st.DrawFn, *, large: bool = True, dispatch: bool = False, rare: bool = True, max_rules: int = 4
) -> GrammarIR:
    """A grammar of one to `max_rules` rules; `large=False` leaves out classes of thousands of code points.

    With `dispatch` some have free text with tags, which EBNF has no spelling for.  `rare=False` leaves out bounds of
    hundreds of iterations, for tests that spell out iterations or look at every derivation.

    Nothing forbids left recursion, cycles, ambiguity, unreachable or unproductive rules; most rules get an alternative
    without a call, so that most grammars have texts.  One grammar uses few different terminals and few different
    bounds, so that its alternatives overlap and its repetitions are easily taken for each other.
    """
    names = ["root", "r1", "r2", "r3", "r4", "r5"][: draw(st.integers(1, max_rules))]
    terminals = draw(st.lists(_terminals(large=large), min_size=2, max_size=5))
    some_bounds = LOOPS * 5 + SMALL_BOUNDS * 2 + (RARE_BOUNDS if rare else [])
    bounds = draw(st.lists(st.sampled_from(some_bounds), min_size=1, max_size=3))
    leaves: list[Node] = [*terminals, *terminals, *map(RuleRef, names), *map(RuleRef, names), Empty()]

    def node(depth: int) -> Node:
        kind = draw(st.integers(0, 10 if dispatch else 9)) if depth else 9
        if kind == 10:
            tags = tuple(draw(st.lists(st.sampled_from(TAGS), max_size=2)))
            some = st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(sorted).map(tuple)
            contents = tuple(node(depth - 1) for _ in tags)
            return TagDispatch(tags, contents, draw(st.booleans()), draw(some), draw(some))
        if kind < 4:
            return Seq(tuple(node(depth - 1) for _ in range(draw(st.integers(2, 3)))))
        if kind < 6:
            return Choice(tuple(node(depth - 1) for _ in range(draw(st.integers(2, 3)))))
        if kind < 8:
            return Repeat(node(depth - 1), *draw(st.sampled_from(bounds)))
        return draw(st.sampled_from(leaves))

    rules = {}
    for name in names:
        body = node(3 if name == "root" else 2)
        match draw(st.integers(0, 9)):
            case 0:
                pass
            case 1:
                body = Choice((body, Never()))
            case 2:
                body = Choice((body, Empty()))
            case _ if name == "root":
                body = Choice((body, Seq((draw(st.sampled_from(terminals)), RuleRef(names[-1])))))
            case _:
                body = Choice((body, draw(st.sampled_from(terminals))))
        rules[name] = Rule(name, body)
    return GrammarIR(rules, "root")


@st.composite
def ambiguous_grammars(draw: st.DrawFn) -> GrammarIR:
    """A grammar of one to three rules with many derivations of one text: operands side by side, or with words between.

    Most alternatives are two or three calls with a word, an optional word or nothing between, before and behind them,
    and calls stay within two or three rules, so operands may be grouped in any way.
    """
    names = ["root", "r1", "r2"][: draw(st.integers(1, 3))]
    words: list[Node] = [Literal(word) for word in draw(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=2))]
    some: list[Node] = [
        *words,
        *(Choice((word, Empty())) for word in words),
        *(Repeat(word, 0, None) for word in words),
    ]
    filler: list[Node] = [Empty(), Empty(), *some]

    def alternative() -> Node:
        parts: list[Node] = [draw(st.sampled_from(filler))]
        for _ in range(draw(st.integers(1, 3))):
            parts += [RuleRef(draw(st.sampled_from(names))), draw(st.sampled_from(filler))]
        return Seq(tuple(parts))

    rules = {}
    for name in names:
        alternatives = tuple(alternative() for _ in range(draw(st.integers(1, 3))))
        rules[name] = Rule(name, Choice((draw(st.sampled_from(some)), *alternatives)))
    return GrammarIR(rules, "root")


def _terminals(*, large: bool) -> st.SearchStrategy[Node]:
    ranges = CHAR_RANGES + LARGE_CHAR_RANGES if large else CHAR_RANGES
    literal = st.lists(st.sampled_from(LETTERS * 3 + WIDE + PIECES), min_size=1, max_size=3).map(
        lambda parts: Literal(b"".join(parts))
    )
    letter = st.sampled_from(LETTERS).map(Literal)
    return st.one_of(
        letter, letter, literal, st.sampled_from(ranges).map(CharSet), st.sampled_from(BYTE_RANGES).map(ByteSet)
    )


def productive(ir: GrammarIR) -> GrammarIR:
    """Grammars without any text are refused, which `test_a_grammar_without_texts_is_refused` checks."""
    assume(Recogniser(ir).start().alive)
    return ir


def next_bytes(recogniser: Recogniser, state: EarleySet) -> list[int]:
    """The bytes of the tests' alphabet that may come next."""
    return [byte for byte in ALPHABET if recogniser.reads(state, byte)]


@st.composite
def texts(draw: st.DrawFn, recogniser: Recogniser, *, max_size: int = 10) -> bytes:
    """A text that is mostly a viable prefix: each byte is one that may come, except for a rare slip at the end."""
    text = _walk(draw, recogniser, recogniser.start(), draw(st.integers(0, max_size)))
    if draw(st.integers(0, 7)) == 7:
        text += bytes((draw(st.sampled_from(ALPHABET)),))
    return text


def _walk(draw: st.DrawFn, recogniser: Recogniser, state: EarleySet, size: int) -> bytes:
    """Up to `size` bytes that may come after `state`."""
    text = bytearray()
    while len(text) < size and (choices := next_bytes(recogniser, state)):
        text.append(draw(st.sampled_from(choices)))
        state = recogniser.advance(state, text[-1])
    return bytes(text)


@st.composite
def vocabularies(draw: st.DrawFn, recogniser: Recogniser | None = None, *, max_size: int = 24) -> list[bytes]:
    """Tokens with shared beginnings, duplicates, empty ones, pieces of code points, and now and then a long one.

    With a `recogniser`, half of them are pieces of texts of its language: hardly any others would ever be allowed.
    """
    token = st.lists(st.sampled_from(LETTERS * 3 + WIDE + PIECES), min_size=1, max_size=4).map(b"".join)
    tokens = draw(st.lists(token, min_size=2, max_size=max_size // 2))
    if recogniser is not None:
        for _ in range(draw(st.integers(1, 2))):
            text = _walk(draw, recogniser, recogniser.start(), 9)
            for _ in range(min(len(text), draw(st.integers(1, max_size // 4)))):
                begin = draw(st.integers(0, len(text) - 1))
                tokens.append(text[begin : draw(st.integers(begin + 1, len(text)))])
    for extra in draw(st.lists(st.integers(0, 4), max_size=4)):
        kept = tokens[draw(st.integers(0, len(tokens) - 1))]
        match extra:
            case 0:
                tokens.append(b"")
            case 1:
                tokens.append(kept)
            case 2:
                tokens.append(kept[: draw(st.integers(1, max(1, len(kept))))])
            case 3:
                tokens.append(kept + tokens[draw(st.integers(0, len(tokens) - 1))])
            case _:
                tokens.append((kept * 60)[: draw(st.integers(20, 60))] or b"a")
    return tokens


World = tuple[GrammarIR, list[bytes]]


@st.composite
def worlds(draw: st.DrawFn, *, max_rules: int = 4, max_size: int = 24, dispatch: bool = True) -> World:
    """A grammar with texts, and a vocabulary that has something to do with it."""
    ir = productive(draw(grammars(max_rules=max_rules, dispatch=dispatch)))
    return ir, draw(vocabularies(Recogniser(ir), max_size=max_size))


@st.composite
def ambiguous_worlds(draw: st.DrawFn) -> World:
    """An ambiguous grammar, and a vocabulary that has something to do with it."""
    ir = productive(draw(ambiguous_grammars()))
    return ir, draw(vocabularies(Recogniser(ir), max_size=12))
