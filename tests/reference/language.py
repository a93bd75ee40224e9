"""The meaning of the IR by sets of strings: slow, small, and with no parser in it.

`language` is the set of all texts up to a length, `prefixes` the set of all their beginnings (of texts of any length);
both are least fixpoints over the rules, written down from what each node means.  They exist to check `recogniser`,
which is what everything else is checked against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
    RuleRef,
    Seq,
)

__all__ = ["LanguageTooLargeError", "language", "prefixes"]

Words = frozenset[bytes]
NOTHING: Words = frozenset()
EPSILON: Words = frozenset({b""})


class LanguageTooLargeError(RuntimeError):
    """The language has more strings of the length asked for than the caller wants to hold."""


def language(ir: GrammarIR, max_len: int, *, limit: int = 20_000) -> Words:
    """All texts of the language of at most `max_len` bytes.  Raises `LanguageTooLargeError` past `limit` strings."""
    return _Sets(ir, max_len, limit).words[ir.root]


def prefixes(ir: GrammarIR, max_len: int, *, limit: int = 20_000) -> Words:
    """All strings of at most `max_len` bytes that some text of the language (of any length) begins with."""
    sets = _Sets(ir, max_len, limit)
    return sets.fixpoint(sets.beginnings)[ir.root]


class _Sets:
    def __init__(self, ir: GrammarIR, max_len: int, limit: int) -> None:
        self.ir = ir
        self.max_len = max_len
        self.limit = limit
        self.inhabited = self._inhabited_rules()
        self.words = self.fixpoint(self.texts)

    def fixpoint(self, meaning: Callable[[Node, dict[str, Words]], Words]) -> dict[str, Words]:
        known = dict.fromkeys(self.ir.rules, NOTHING)
        while True:
            larger = {name: meaning(rule.body, known) for name, rule in self.ir.rules.items()}
            if larger == known:
                return known
            known = larger

    def texts(self, node: Node, known: dict[str, Words]) -> Words:
        match node:
            case Empty():
                return EPSILON
            case Never():
                return NOTHING
            case Literal(value):
                return self._short([value])
            case ByteSet(ranges):
                return self._short(_bytes(ranges))
            case CharSet(ranges):
                return self._short(_spellings(ranges))
            case Seq(items):
                result = EPSILON
                for item in items:
                    result = self._join(result, self.texts(item, known))
                return result
            case Choice(items):
                return self._short(word for item in items for word in self.texts(item, known))
            case Repeat(item, minimum, maximum):
                iterations = self._iterations(self.texts(item, known), maximum)
                return self._short(word for count, words in iterations if count >= minimum for word in words)
            case RuleRef(name):
                return known[name]
        raise AssertionError("unknown node")

    def beginnings(self, node: Node, known: dict[str, Words]) -> Words:
        """Prefixes of texts of `node`, cut at `max_len`; `known` are those of the rules."""
        if not self._inhabited(node, self.inhabited):
            return NOTHING
        match node:
            case Literal(value):
                return self._short(value[:end] for end in range(min(len(value), self.max_len) + 1))
            case ByteSet(ranges):
                return EPSILON | self._short(_bytes(ranges))
            case CharSet(ranges):
                # A spelling longer than `max_len` still has beginnings, so cut here and not in `texts`.
                return self._short(word[:end] for word in _spellings(ranges) for end in range(len(word) + 1))
            case Seq(items):
                result, before = NOTHING, EPSILON
                for item in items:
                    result |= self._join(before, self.beginnings(item, known))
                    before = self._join(before, self.texts(item, self.words))
                return result
            case Choice(items):
                return self._short(word for item in items for word in self.beginnings(item, known))
            case Repeat(item, _, maximum):
                result = EPSILON
                if maximum != 0:
                    part = self.beginnings(item, known)
                    iterations = self._iterations(
                        self.texts(item, self.words), None if maximum is None else maximum - 1
                    )
                    for _, before in iterations:
                        result |= self._join(before, part)
                return result
            case RuleRef(name):
                return known[name]
            case _:
                return EPSILON

    def _iterations(self, iteration: Words, maximum: int | None) -> Iterator[tuple[float, Words]]:
        """`(count, words)` for 0, 1, 2, ... iterations; once two powers agree so do all later ones: any count."""
        words, count = EPSILON, 0
        while maximum is None or count < maximum:
            longer = self._join(words, iteration)
            if longer == words:
                yield float("inf"), words
                return
            yield count, words
            words, count = longer, count + 1
        yield count, words

    def _join(self, left: Words, right: Words) -> Words:
        return self._short(one + two for one in left for two in right)

    def _short(self, words: Iterator[bytes] | list[bytes]) -> Words:
        kept = set()
        for word in words:
            if len(word) <= self.max_len:
                kept.add(word)
                if len(kept) > self.limit:
                    raise LanguageTooLargeError(f"more than {self.limit} strings of up to {self.max_len} bytes")
        return frozenset(kept)

    def _inhabited_rules(self) -> frozenset[str]:
        known: frozenset[str] = frozenset()
        while True:
            larger = frozenset(name for name, rule in self.ir.rules.items() if self._inhabited(rule.body, known))
            if larger == known:
                return known
            known = larger

    def _inhabited(self, node: Node, known: frozenset[str]) -> bool:
        """Whether the language of `node` has any text at all, of whatever length."""
        match node:
            case Never():
                return False
            case CharSet(ranges):
                return any(True for _ in _spellings(ranges))
            case Seq(items):
                return all(self._inhabited(item, known) for item in items)
            case Choice(items):
                return any(self._inhabited(item, known) for item in items)
            case Repeat(item, minimum, _):
                return minimum == 0 or self._inhabited(item, known)
            case RuleRef(name):
                return name in known
            case _:
                return True


def _bytes(ranges: tuple[tuple[int, int], ...]) -> Iterator[bytes]:
    return (bytes((byte,)) for low, high in ranges for byte in range(low, high + 1))


def _spellings(ranges: tuple[tuple[int, int], ...]) -> Iterator[bytes]:
    for low, high in ranges:
        for point in range(low, high + 1):
            if not 0xD800 <= point <= 0xDFFF:
                yield chr(point).encode()
