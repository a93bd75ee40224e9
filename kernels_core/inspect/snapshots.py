"""Frozen pictures of the engine: plain data that views draw and tests compare.

Everything here is a small immutable object made on request by `kernels_core.inspect`; the engine itself never
holds one.  `visualizers` knows these types and nothing else of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from kernels_core.display import Displayed

if TYPE_CHECKING:
    import pandas as pd

Ids: TypeAlias = npt.NDArray[np.int32]
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class AutomatonState:
    """One state of a rule's automaton.

    `id` is unique in the whole compiled grammar; `dots` are the dotted rules this state stands for
    (`value ::= "[" • elements "]"`), more than one where determinising or minimising merged positions.
    `made`: its edges are known; otherwise the engine has heard of the state and has not gone on from it yet.
    `ends_character`: to come here is to have read a character that the rule's `lengths` count; in a text of characters
    the place before the first of them counts, too.
    """

    id: int
    rule: str
    accepting: bool
    scannable: bool
    dots: tuple[str, ...]
    made: bool = True
    ends_character: bool = False


@dataclass(frozen=True, slots=True)
class AutomatonEdge:
    """`source --label--> target`.  `kind` is "bytes", "call" or "token".

    For "bytes", `ranges` are inclusive byte ranges; for "call", `rule` is the called rule's name and `target` the
    state the parser returns to; a "token" edge takes one whole token out of a set that `label` names.
    """

    source: int
    target: int
    kind: str
    label: str
    ranges: tuple[tuple[int, int], ...] = ()
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class RuleAutomaton:
    """The automaton of one rule.  `repeat` is (minimum, maximum or None) for a counted rule, else None.

    A counted rule's automaton is that of one repetition; reaching an accepting state counts one iteration.
    `span` is the half-open character range of the rule in the grammar's source, None for a rule made by lowering.
    `lengths`: how many characters a text of the rule has, (least, most), where that is counted beside the automaton.
    """

    rule: str
    start: int
    states: tuple[AutomatonState, ...]
    edges: tuple[AutomatonEdge, ...]
    repeat: tuple[int, int | None] | None
    span: tuple[int, int] | None
    lengths: tuple[int, int] | None = None


@dataclass(frozen=True, repr=False)
class Automaton(Displayed):
    """The rule automata of a compiled grammar as far as the engine has made them, root first.

    `waiting`: names of rules that are called somewhere and not made yet, as the parser has not predicted them; `call`
    edges may name one.
    """

    rules: tuple[RuleAutomaton, ...]
    root: str
    source: str
    waiting: tuple[str, ...] = ()

    def state_count(self) -> int:
        return sum(len(rule.states) for rule in self.rules)

    def __repr__(self) -> str:
        more = f", {len(self.waiting)} rules not made yet" if self.waiting else ""
        return f"Automaton(root={self.root!r}, {len(self.rules)} rules, {self.state_count()} states{more})"


@dataclass(frozen=True, slots=True)
class SourceRule:
    """A rule as it was written: its name, and the character range of its definition in the grammar's source, if any."""

    name: str
    span: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class EarleyItem:
    """One hypothesis of the parser: a dotted rule, where it began, and its counter.

    `rule` is the rule whose automaton has the `state`, and `span` its character range in the source.  `source_rules`
    are the rules that the dots stand in as they were written: `rule`, or small rules that are spelt out in it.
    `origin` is the byte position at which `rule` was predicted (the paper's first index); `counter` is the iteration of
    a counted rule; where a rule bounds the characters of its texts, those that were read, and one if something is read
    before the first; where members come in any order, a code of those that were read; 0 elsewhere.  `characters`: those
    that were read, None where they are not counted.  `seen`: names of the members that were read, None where their
    order is fixed, and `missing` the required ones that were not.  `state` is the automaton state's id in the engine
    that runs; -1 if the engine has not made it (an item of a text that was only asked about).  `dot`: its dotted rules,
    three blanks apart.
    """

    rule: str
    dot: str
    origin: int
    counter: int
    state: int
    scannable: bool
    accepting: bool
    span: tuple[int, int] | None
    source_rules: tuple[SourceRule, ...] = ()
    characters: int | None = None
    seen: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Iterations of a counted rule, or characters where a rule bounds them; else 0."""
        if self.seen is not None:
            return 0
        return self.counter if self.characters is None else self.characters

    @property
    def members(self) -> str:
        """What is known of members in any order, in words; "" where there are none."""
        if self.seen is None:
            return ""
        seen = f"read: {', '.join(self.seen)}" if self.seen else "none of the members read"
        return f"{seen}; still required: {', '.join(self.missing)}" if self.missing else seen

    def __str__(self) -> str:
        counter = f", iteration {self.count}" if self.count else ""
        if self.characters is not None:
            counter = f", {self.characters} character{'' if self.characters == 1 else 's'}"
        if self.seen is not None:
            counter = f", {self.members}"
        return f"[{self.origin}, {self.dot}{counter}]"


NAMING: Final = ("rule", "dot", "cause", "source_rules")
"""Columns that name rules of the engine."""


class Table:
    """Shared by the snapshots that are lists of rows: a pandas view on demand.

    Displays and frames call rules as `written` does: as the engine, or as the source (`renamed`).
    """

    written: Callable[[str], str] = staticmethod(str)

    def renamed(self, written: Callable[[str], str]) -> Self:
        """The same, with `written` for the names of rules and dotted rules."""
        other = copy(self)
        object.__setattr__(other, "written", written)  # most are frozen
        return other

    def rows(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """The rows as a `pandas.DataFrame` (pandas is imported here, not by the engine)."""
        import pandas as pd

        frame = pd.DataFrame(self.rows())
        if self.written is not str:
            for name in frame.columns.intersection(NAMING):
                frame[name] = [self._as_written(one) for one in frame[name]]
        return frame

    def _as_written(self, cell: object) -> object:
        """A cell of such a column, a text or `SourceRule`s as dicts, with its rules called as `written` does."""
        if isinstance(cell, str):
            return self.written(cell)
        return tuple({**one, "name": self.written(one["name"])} for one in cell) if isinstance(cell, tuple) else cell


@dataclass(frozen=True, repr=False)
class Frontier(Displayed, Table):
    """The Earley set after `position` bytes.

    `set_id` is the interned set's number: equal numbers are the same parser state.  `completed` says whether the
    text may end here.
    """

    position: int
    set_id: int
    completed: bool
    items: tuple[EarleyItem, ...]

    def rows(self) -> list[dict[str, Any]]:
        return [asdict(item) for item in self.items]

    def active_states(self) -> tuple[int, ...]:
        return tuple(sorted({item.state for item in self.items}))

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        end = ", may end here" if self.completed else ""
        return f"Frontier(after {self.position} bytes, set {self.set_id}, {len(self.items)} items{end})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *map(str, self.items)])


@dataclass(frozen=True, slots=True)
class TokenVerdict:
    """What became of one uncertain token: its id, its bytes, where it left the rule, and whether the caller took it.

    `escape` is the number of bytes read when the rule ended; `suffix` what was left for the callers.
    """

    token_id: int
    token: bytes
    escape: int
    suffix: bytes
    allowed: bool


class UncertainTokens(Sequence[TokenVerdict]):
    """The uncertain tokens of a state as arrays that lie side by side; as a sequence it has `TokenVerdict`s, made when
    they are asked for.

    `ids` (int32, ascending), `escapes` (int32: bytes read when the rule ended), `allowed` (bool: whether a caller took
    the rest); all of shape (count,) and not to be written to.
    """

    __slots__ = ("_vocab", "allowed", "escapes", "ids")

    def __init__(self, vocab: Sequence[bytes], ids: Ids, escapes: Ids, allowed: Flags) -> None:
        self._vocab = vocab
        self.ids, self.escapes, self.allowed = ids, escapes, allowed

    @overload
    def __getitem__(self, index: int) -> TokenVerdict: ...
    @overload
    def __getitem__(self, index: slice) -> UncertainTokens: ...
    def __getitem__(self, index: int | slice) -> TokenVerdict | UncertainTokens:
        if isinstance(index, slice):
            return UncertainTokens(self._vocab, self.ids[index], self.escapes[index], self.allowed[index])
        token_id, escape = int(self.ids[index]), int(self.escapes[index])
        token = self._vocab[token_id]
        return TokenVerdict(token_id, token, escape, token[escape:], bool(self.allowed[index]))

    def __len__(self) -> int:
        return len(self.ids)

    def verdict(self, token_id: int) -> TokenVerdict | None:
        """That of one token; None if it is not uncertain.  A look-up, however many there are."""
        at = int(np.searchsorted(self.ids, token_id))
        return self[at] if at < len(self.ids) and self.ids[at] == token_id else None

    def __repr__(self) -> str:
        return f"<{len(self)} uncertain tokens, {int(self.allowed.sum())} allowed>"


@dataclass(frozen=True, repr=False, eq=False)
class StateTokens:
    """Accepted / rejected / uncertain tokens of one scannable state (paper: adaptive token mask cache).

    `accepted` are token ids (an int32 array, ascending), `uncertain` the `UncertainTokens`; the rest of the vocabulary
    is rejected.  `storage` names how the engine keeps the state's token set ("list", "complement", "bitset",
    "difference" or "iterations"; "" where no mask has needed one yet), `nbytes` its size, and `made_by` the strategy
    that made it (`kernels_core.masks.strategy.STRATEGIES`; "" as before).  `counter` and `source_rules` as in
    `EarleyItem`.
    """

    state: int
    rule: str
    dot: str
    accepted: Ids
    uncertain: UncertainTokens
    rejected_count: int
    storage: str
    nbytes: int
    counter: int = 0
    source_rules: tuple[SourceRule, ...] = ()
    made_by: str = ""

    def __repr__(self) -> str:
        kinds = f"{len(self.accepted)} accepted, {len(self.uncertain)} uncertain, {self.rejected_count} rejected"
        return f"StateTokens(state {self.state} of {self.rule}: {kinds})"


@dataclass(frozen=True, repr=False, eq=False)
class TokenSets(Displayed, Table):
    """The mask of the current step, grouped by reason: one `StateTokens` for each scannable state of the frontier.

    `allowed` are the ids the mask finally allows (stop tokens included; an int32 array, ascending); `vocab` maps an id
    to its bytes.
    """

    position: int
    states: tuple[StateTokens, ...]
    allowed: Ids
    stop_allowed: bool
    vocab_size: int
    vocab: tuple[bytes, ...]

    def __repr__(self) -> str:
        # A vocabulary has no place in one line: it holds a hundred thousand tokens.
        allowed = f"{len(self.allowed)} of {self.vocab_size} tokens allowed"
        return f"TokenSets(after {self.position} bytes, {allowed}, {len(self.states)} scannable states)"

    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for entry in self.states:
            about = {"state": entry.state, "rule": entry.rule, "dot": entry.dot}
            told = [(token, self.vocab[token], "accepted", True, b"") for token in entry.accepted.tolist()]
            told += [(one.token_id, one.token, "uncertain", one.allowed, one.suffix) for one in entry.uncertain]
            rows += [
                {**about, "token_id": token, "token": text, "kind": kind, "allowed": allowed, "suffix": suffix}
                for token, text, kind, allowed, suffix in told
            ]
        return rows


@dataclass(frozen=True)
class Explanation:
    """Why a token or a text is accepted or not at a place (`GrammarMatcher.explain`).

    `read` bytes of `text` were taken; if not `accepted`, the next one cannot come.  `expected` are the inclusive byte
    ranges possible there, `may_end` whether the text could have ended there, `waiting` the Earley items that could
    scan there (with their rules' spans in the source).  `nearest` are allowed tokens that begin with what was taken of
    `text`, (id, bytes), shortest first.  `reason` is the verdict in one line.
    """

    token_id: int | None
    text: bytes
    accepted: bool
    read: int
    reason: str
    expected: tuple[tuple[int, int], ...]
    may_end: bool
    waiting: tuple[EarleyItem, ...]
    nearest: tuple[tuple[int, bytes], ...]

    def __str__(self) -> str:
        shown = "".join(_character(byte) for byte in self.text)
        place = sum(len(_character(byte)) for byte in self.text[: self.read])
        lines = [self.reason, f"  {shown}"]
        if not self.accepted:
            lines.append("  " + " " * place + "^")
            lines += [f"  waiting: {item}" for item in self.waiting[:5]]
        if self.nearest:
            lines.append("  allowed: " + ", ".join(f"{token} {text!r}" for token, text in self.nearest))
        return "\n".join(lines)


def _character(byte: int) -> str:
    return chr(byte) if 0x20 <= byte < 0x7F else f"<{byte:02X}>"


@dataclass(frozen=True, slots=True)
class StateCost:
    """What the token set of one scannable state costs: trie nodes estimated, nanoseconds measured (None: not made)."""

    state: int
    rule: str
    estimated: int
    measured_ns: int | None


@dataclass(frozen=True, repr=False)
class CostTable(Table):
    """All scannable states of a compiled grammar by estimated cost, costliest first (`Options.jit` goes by it)."""

    states: tuple[StateCost, ...]

    def rows(self) -> list[dict[str, Any]]:
        return [asdict(state) for state in self.states]

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        made = sum(state.measured_ns is not None for state in self.states)
        return f"CostTable({len(self.states)} scannable states, {made} computed)"


@dataclass(frozen=True)
class CacheStats(Displayed, Table):
    """Counters of one compiled grammar's machine, all since it was compiled or renewed (`renewals` times).

    `sets`, `frames`, `masks`: interned objects alive.  `step_hits` / `step_misses`: byte transitions found / made.
    `mask_hits` / `mask_misses`: masks found by pointer / computed.  `token_set_hits` / `token_set_misses`:
    accepted-rejected-uncertain entries found in this grammar / computed.  Found in the cross-grammar cache:
    `pool_hits` as they were wanted (perfect), `partial_hits` for an equal state with another lookahead, which are
    filtered again.  `walks`: masks where the trie was followed from the parser state itself; `nodes_walked`: trie
    nodes that walks for token sets visited.
    `lookahead_dropped`: uncertain tokens' suffixes that no caller can take, dropped by the lookahead filter.
    `*_bytes` are bytes held.
    """

    states: int
    sets: int
    frames: int
    masks: int
    distinct_masks: int
    token_sets: int
    step_hits: int
    step_misses: int
    mask_hits: int
    mask_misses: int
    token_set_hits: int
    token_set_misses: int
    pool_hits: int
    arena_bytes: int
    mask_bytes: int
    token_set_bytes: int
    lookahead_dropped: int = 0
    partial_hits: int = 0
    renewals: int = 0
    walks: int = 0
    nodes_walked: int = 0

    def rows(self) -> list[dict[str, Any]]:
        return [{"counter": name, "value": value} for name, value in asdict(self).items()]
