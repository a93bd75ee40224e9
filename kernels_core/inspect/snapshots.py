"""Frozen pictures of the engine: plain data that views draw and tests compare.

Everything here is a small immutable object made on request by `kernels_core.inspect`; the engine itself never
holds one.  `visualizers` knows these types and nothing else of the engine.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Automaton",
    "AutomatonEdge",
    "AutomatonState",
    "CacheStats",
    "CostTable",
    "EarleyItem",
    "Explanation",
    "Frontier",
    "StateCost",
    "StateTokens",
    "Table",
    "TokenSets",
    "TokenVerdict",
]


@dataclass(frozen=True, slots=True)
class AutomatonState:
    """One state of a rule's automaton.

    `id` is unique in the whole compiled grammar; `dots` are the dotted rules this state stands for
    (`value ::= "[" • elements "]"`), more than one where determinising or minimising merged positions.
    """

    id: int
    rule: str
    accepting: bool
    scannable: bool
    dots: tuple[str, ...]


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

    A counted rule's automaton is that of one repetition; reaching an accepting state counts one lap.
    `span` is the half-open character range of the rule in the grammar's source, None for a rule made by lowering.
    """

    rule: str
    start: int
    states: tuple[AutomatonState, ...]
    edges: tuple[AutomatonEdge, ...]
    repeat: tuple[int, int | None] | None
    span: tuple[int, int] | None


@dataclass(frozen=True, repr=False)
class Automaton:
    """All rule automata of a compiled grammar, root first."""

    rules: tuple[RuleAutomaton, ...]
    root: str
    source: str

    def state_count(self) -> int:
        return sum(len(rule.states) for rule in self.rules)

    def __repr__(self) -> str:
        return f"Automaton(root={self.root!r}, {len(self.rules)} rules, {self.state_count()} states)"


@dataclass(frozen=True, slots=True)
class EarleyItem:
    """One hypothesis of the parser: a dotted rule, where it began, and its lap counter.

    `origin` is the byte position at which the rule was predicted (the paper's first index); `counter` is 0 outside
    counted rules; `state` is the automaton state's id; `span` the rule's character range in the source.
    """

    rule: str
    dot: str
    origin: int
    counter: int
    state: int
    scannable: bool
    accepting: bool
    span: tuple[int, int] | None

    def __str__(self) -> str:
        counter = f", lap {self.counter}" if self.counter else ""
        return f"[{self.origin}, {self.dot}{counter}]"


class Table:
    """Shared by the snapshots that are lists of rows: a pandas view on demand."""

    def rows(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """The rows as a `pandas.DataFrame` (pandas is imported here, not by the engine)."""
        import pandas as pd

        return pd.DataFrame(self.rows())


@dataclass(frozen=True, repr=False)
class Frontier(Table):
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


@dataclass(frozen=True, repr=False)
class StateTokens:
    """Accepted / rejected / uncertain tokens of one scannable state (paper: adaptive token mask cache).

    `accepted` and `uncertain` are token ids, ascending; the rest of the vocabulary is rejected.
    `storage` names how the engine keeps the accepted set ("list", "complement" or "bitset"), `nbytes` its size;
    `cached` says whether it was known before this step.
    """

    state: int
    rule: str
    dot: str
    accepted: tuple[int, ...]
    uncertain: tuple[TokenVerdict, ...]
    rejected_count: int
    storage: str
    nbytes: int
    cached: bool

    def __repr__(self) -> str:
        kinds = f"{len(self.accepted)} accepted, {len(self.uncertain)} uncertain, {self.rejected_count} rejected"
        return f"StateTokens(state {self.state} of {self.rule}: {kinds})"


@dataclass(frozen=True, repr=False)
class TokenSets(Table):
    """The mask of the current step, grouped by reason: one `StateTokens` for each scannable state of the frontier.

    `allowed` are the ids the mask finally allows (stop tokens included), ascending; `vocab` maps an id to its bytes.
    """

    position: int
    states: tuple[StateTokens, ...]
    allowed: tuple[int, ...]
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
            for token in entry.accepted:
                rows.append(self._row(entry, token, "accepted", True))
            for verdict in entry.uncertain:
                rows.append(self._row(entry, verdict.token_id, "uncertain", verdict.allowed, verdict.suffix))
        return rows

    def _row(self, entry: StateTokens, token: int, kind: str, allowed: bool, suffix: bytes = b"") -> dict[str, Any]:
        return {
            "state": entry.state,
            "rule": entry.rule,
            "dot": entry.dot,
            "token_id": token,
            "token": self.vocab[token],
            "kind": kind,
            "allowed": allowed,
            "suffix": suffix,
        }


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
class CacheStats(Table):
    """Counters of one compiled grammar's machine, all since it was compiled or renewed (`renewals` times).

    `sets`, `frames`, `masks`: interned objects alive.  `step_hits` / `step_misses`: byte transitions found / made.
    `mask_hits` / `mask_misses`: masks found by pointer / computed.  `token_set_hits` / `token_set_misses`:
    accepted-rejected-uncertain entries found in this grammar / computed.  Found in the cross-grammar cache:
    `pool_hits` as they were wanted (perfect), `partial_hits` for an equal state with another lookahead, which are
    filtered again.  `walks`: masks where the trie was followed from the parser state itself; `nodes_walked`: trie
    nodes that walks for token sets visited.
    `lookahead_dropped`: uncertain tokens' rests that no caller can take, dropped by the lookahead filter.
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
