"""Which grammars share which token sets, and who made them first: the cross-grammar cache, looked at.

A token set never changes once it is made, and grammars (and the rules of one grammar) that have equal automaton states
hold the same object.  So what is shared can be read off the objects themselves (`masks/questions.pyx`): nothing is
noted while masks are made, and looking changes nothing.

    sharing(compiler).to_frame()          # of all grammars that the compiler made and that are still held
    sharing(compiled)                     # of one grammar: what its rules share with each other

Who *made* a token set is known for certain.  Where a state is reached from several places, `inside` names the place
with the lowest set number, which is where a text came first.

Read on: `fills.py` (mask by mask), `masks/pool.pyx` (the cache), `automata/identity.pyx` (when states are equal).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kernels_core.inspect.fills import Places
from kernels_core.inspect.snapshots import Table
from kernels_core.masks.questions import OF_STATE, held_by, made_by, pooled, visited

if TYPE_CHECKING:
    from kernels_core.compiled import CompiledGrammar
    from kernels_core.compiler import GrammarCompiler

Relation: TypeAlias = Literal["made", "perfect", "partial"]
Origin: TypeAlias = Literal["a grammar", "warm start", "unknown"]


@dataclass(frozen=True, slots=True)
class Use:
    """One place that a token set is used at: an automaton state of a rule of a grammar.

    `relation`: "made" (computed for this grammar), "perfect" (found as it was wanted), or "partial" (found for the
    state, then filtered for what can follow it: `Mechanisms.lookahead`).  `inside`: rules under way there, outermost
    first; for a structural tag the first but one names the tag.  `callers`: the bytes that go on behind the rule, where
    verdicts are kept for those alone; None for any.  `own`: of what the rule reads there, callers go on with these
    bytes alone, and perhaps with what it does not read.  `places`: parser states whose masks use it.
    """

    grammar: int
    state: int
    rule: str
    inside: tuple[str, ...]
    relation: Relation
    form: str
    callers: bytes | None
    own: bool
    places: int

    @property
    def part(self) -> str:
        """What it belongs to at the top: a tag or tool of a structural tag, else the root or what it calls."""
        if len(self.inside) > 2 or (len(self.inside) == 2 and self.inside[1] != self.rule):
            return self.inside[1]
        return self.inside[0] if self.inside else self.rule


@dataclass(frozen=True, slots=True)
class SharedSet:
    """One token set: accepted, rejected and uncertain tokens of a state.

    `number` counts from 1 in the order of this snapshot.  `nbytes` of its own (a difference's base is another).
    `nanoseconds` it took, None unless a grammar that is still held made it.  `origin`: "a grammar" (the first use made
    it), "warm start" (made with the first compiler of the vocabulary), or "unknown" (a grammar that is gone, a file, or
    the vocabulary's own store of string bodies).  `in_pool`: whether other grammars can still find it.
    """

    number: int
    nbytes: int
    storage: str
    nanoseconds: int | None
    origin: Origin
    in_pool: bool
    uses: tuple[Use, ...]

    @property
    def grammars(self) -> tuple[int, ...]:
        """The grammars that hold it, the one that made it first."""
        return tuple(dict.fromkeys(use.grammar for use in self.uses))

    @property
    def parts(self) -> tuple[tuple[int, str], ...]:
        """(grammar, part) of every use, each once: more than one means that it was reused."""
        return tuple(dict.fromkeys((use.grammar, use.part) for use in self.uses))


@dataclass(frozen=True, slots=True)
class GrammarShare:
    """One grammar's token sets: how many it holds, how many of them it made itself, and their bytes.

    `about` is the first line of the grammar's text, to tell grammars apart.
    """

    number: int
    root: str
    about: str
    rules: int
    token_sets: int
    made: int
    found: int
    nbytes: int


@dataclass(frozen=True, repr=False)
class Sharing(Table):
    """Who shares token sets with whom: a snapshot, most widely used sets first.

    `pool_sets` and `pool_bytes` are all that the cross-grammar cache holds, `pool_budget` what it may; `idle_sets` of
    them nobody in this snapshot uses (most come from the warm start).  The counters are the cache's since it was made.
    """

    grammars: tuple[GrammarShare, ...]
    sets: tuple[SharedSet, ...]
    pool_sets: int = 0
    idle_sets: int = 0
    pool_bytes: int = 0
    pool_budget: int = 0
    pool_hits: int = 0
    pool_partial_hits: int = 0
    pool_misses: int = 0
    pool_evictions: int = 0

    def reused(self) -> tuple[SharedSet, ...]:
        """The token sets with more than one part, or that came from elsewhere."""
        return tuple(found for found in self.sets if len(found.parts) > 1 or found.origin != "a grammar")

    def rows(self) -> list[dict[str, Any]]:
        """One row for each use of a token set."""
        return [
            {
                "token_set": found.number,
                "bytes": found.nbytes,
                "storage": found.storage,
                "microseconds": None if found.nanoseconds is None else found.nanoseconds / 1e3,
                "made_by": found.origin
                if found.origin != "a grammar"
                else f"grammar {found.uses[0].grammar}: {found.uses[0].part}",
                "grammar": use.grammar,
                "part": use.part,
                "rule": use.rule,
                "state": use.state,
                "relation": use.relation,
                "followed_by": use.callers,
                "parser_states": use.places,
            }
            for found in self.sets
            for use in found.uses
        ]

    def __repr__(self) -> str:
        shared = sum(len(found.parts) > 1 for found in self.sets)
        return f"Sharing({len(self.grammars)} grammars, {len(self.sets)} token sets, {shared} used by several parts)"


def sharing(what: GrammarCompiler | CompiledGrammar | Iterable[CompiledGrammar]) -> Sharing:
    """The token sets of a compiler's grammars (those still held), of one grammar, or of several of one compiler."""
    from kernels_core.compiled import CompiledGrammar
    from kernels_core.compiler import GrammarCompiler

    if isinstance(what, GrammarCompiler):
        grammars: tuple[CompiledGrammar, ...] = what.grammars
        pool = what.pool
    else:
        grammars = (what,) if isinstance(what, CompiledGrammar) else tuple(what)
        pool = grammars[0].masks.pool if grammars else None
    known: dict[int, _Draft] = {}
    for number, compiled in enumerate(grammars):
        _add(known, number, compiled)
    entries = [] if pool is None else pooled(pool)
    in_pool = {address for address, _, _ in entries}
    warm = getattr(pool.trie, "warm", None) if pool is not None else None
    started = {address for address, _, _ in pooled(warm)} if warm is not None else set()
    drafts = sorted(known.items(), key=lambda pair: (-pair[1].breadth, -pair[1].places, pair[1].nbytes))
    sets = tuple(
        draft.finish(i, address in in_pool, address in started) for i, (address, draft) in enumerate(drafts, 1)
    )
    counters: dict[str, int] = {}
    if pool is not None:
        counters = {
            "pool_bytes": pool.nbytes,
            "pool_budget": pool.max_bytes,
            "pool_hits": pool.hits,
            "pool_partial_hits": pool.partial_hits,
            "pool_misses": pool.misses,
            "pool_evictions": pool.evictions,
        }
    return Sharing(
        tuple(_share(number, compiled, sets) for number, compiled in enumerate(grammars)),
        sets,
        pool_sets=len(in_pool),
        idle_sets=len(in_pool - known.keys()),
        **counters,
    )


class _Draft:
    """A token set while its uses are collected."""

    def __init__(self, nbytes: int, storage: str) -> None:
        self.nbytes, self.storage = nbytes, storage
        self.nanoseconds: int | None = None
        self.uses: list[Use] = []

    @property
    def breadth(self) -> int:
        return len({(use.grammar, use.part) for use in self.uses})

    @property
    def places(self) -> int:
        return sum(use.places for use in self.uses)

    def finish(self, number: int, in_pool: bool, started: bool) -> SharedSet:
        """The one that made it first; of several that did, for states of one inside of a string, the first."""
        uses = sorted(self.uses, key=lambda use: (use.relation != "made", use.grammar))
        origin: Origin = "warm start" if started else "a grammar" if uses[0].relation == "made" else "unknown"
        uses = [
            replace(use, relation="perfect") if use.relation == "made" and (k or started) else use
            for k, use in enumerate(uses)
        ]
        return SharedSet(
            number,
            self.nbytes,
            self.storage,
            self.nanoseconds if origin == "a grammar" else None,
            origin,
            in_pool,
            tuple(uses),
        )


def _add(known: dict[int, _Draft], number: int, compiled: CompiledGrammar) -> None:
    """Collect the token sets of one grammar, with the places at which its texts used them."""
    masks = compiled.masks
    places = Places(masks)
    at: dict[int, tuple[int, tuple[tuple[str, ...], ...]]] = {}  # by state: parser states, and the ways there by part
    for _, items in visited(masks):
        here: set[int] = set()
        for state, frame, _ in items:
            count, ways = at.get(state, (0, ()))
            way = places.of_item(state, frame)
            if all(way[:2] != other[:2] for other in ways):
                ways = (*ways, way)
            at[state] = (count + (state not in here), ways)
            here.add(state)
    made = {(address, state): spent for address, state, spent, _ in reversed(made_by(masks))}
    found_filtered = {state for _, state, _, form, _, _ in held_by(masks) if form == "filtered"}
    for address, state, code, form, storage, nbytes in held_by(masks):
        draft = known.setdefault(address, _Draft(nbytes, storage))
        relation: Relation = "perfect"
        if (address, state) in made:
            relation = "made"
            if draft.nanoseconds is None:
                draft.nanoseconds = made[address, state]
        elif form == "verdicts" and state in found_filtered:
            relation = "partial"
        key = code.to_bytes(8, "big").lstrip(b"\0")
        callers, own = (key[1:], key[0] == OF_STATE) if key else (None, False)
        count, ways = at.get(state, (0, ()))
        rule = places.rule(state)
        for k, way in enumerate(ways or ((),)):
            # The state itself was made once: what comes there later from another part found it.
            once: Relation = "perfect" if k and relation == "made" else relation
            draft.uses.append(Use(number, state, rule, way, once, form, callers, own, count if k == 0 else 0))


def _share(number: int, compiled: CompiledGrammar, sets: tuple[SharedSet, ...]) -> GrammarShare:
    mine = [found for found in sets if number in found.grammars]
    made = [found for found in mine if any(use.grammar == number and use.relation == "made" for use in found.uses)]
    return GrammarShare(
        number,
        compiled.grammar.lazy_ir.root,
        next((line.strip()[:60] for line in compiled.grammar.lazy_ir.source.splitlines() if line.strip()), ""),
        compiled.machine.tables.rule_count,
        len(mine),
        len(made),
        len(mine) - len(made),
        sum(found.nbytes for found in mine),
    )
