"""A grammar that was compiled for a vocabulary: automata, parser states and masks, shared by all its matchers.

Read on: `compiler.py` (which makes it and remembers it), `matcher.pyx` (which follows a text with it).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal
from weakref import WeakValueDictionary

from kernels_core.automata.inlining import named_tokens
from kernels_core.automata.lazy_dfa import LazyTables
from kernels_core.automata.lower import Lowering, refuse_restrictions
from kernels_core.automata.tables import Tables
from kernels_core.baselines.minimal import MinimalTables
from kernels_core.baselines.pushdown import PushdownMachine, refuse_left_recursion
from kernels_core.baselines.vocabulary_masks import FsmMasks, NaiveMasks
from kernels_core.clock import TimeLimit
from kernels_core.display import Displayed
from kernels_core.earley.machine import Machine
from kernels_core.errors import GrammarError
from kernels_core.grammar import Grammar
from kernels_core.grammar.ir import GrammarIR
from kernels_core.locks import new_lock, watch
from kernels_core.looking import Inspected
from kernels_core.masks.cache import MaskCache
from kernels_core.masks.lookahead import Lookahead
from kernels_core.masks.pool import TokenSetPool
from kernels_core.masks.trie import TokenTrie
from kernels_core.options import Options
from kernels_core.tokens import TokenizerInfo
from kernels_core.warming import Warming

_TRIES: WeakValueDictionary[str, TokenTrie] = WeakValueDictionary()
_POOLS_APART: WeakValueDictionary[str, _PoolApart] = WeakValueDictionary()
_TRIES_LOCK = new_lock()
# What objects of Python hold, in bytes: of any grammar, and for each rule and each character of the source.
_OF_A_GRAMMAR = 60_000
_OF_A_RULE = 2_000
_OF_A_CHARACTER = 25


def trie_of(info: TokenizerInfo) -> TokenTrie:
    """The vocabulary's trie, one for all compilers of equal vocabularies in this process."""
    with _TRIES_LOCK:
        trie = _TRIES.get(info.fingerprint)
        if trie is None:
            trie = TokenTrie(info.decoded_vocab, info.special_token_ids, info.stop_token_ids)
            _TRIES[info.fingerprint] = trie
        return trie


class _PoolApart(TokenSetPool):
    """Python's own classes can be held weakly."""


def _pool_apart(trie: TokenTrie, info: TokenizerInfo, options: Options) -> TokenSetPool:
    """The cross-grammar cache of all grammars of the vocabulary that are only asked (`CompiledGrammar.apart`)."""
    with _TRIES_LOCK:
        pool = _POOLS_APART.get(info.fingerprint)
        if pool is None:
            pool = _POOLS_APART[info.fingerprint] = _PoolApart(trie, max_bytes=options.pool_bytes)
        return pool


class CompiledGrammar(Inspected, Displayed):
    """A grammar lowered for a vocabulary.  Make one with `GrammarCompiler`; give it to `GrammarMatcher`.

    Everything that matchers compute (parser states, masks) is kept here and shared by all of them.
    """

    def __init__(
        self,
        grammar: Grammar,
        tokenizer_info: TokenizerInfo,
        options: Options,
        pool: TokenSetPool | None = None,
    ) -> None:
        self.grammar = grammar
        self.tokenizer_info = tokenizer_info
        self.options = options
        self._pool = pool
        self._renewing = new_lock()
        self.renewals = 0
        where = f"grammar {grammar.lazy_ir.root!r}"
        with TimeLimit(options.max_compile_ms, where=where):
            self._compile(where, trie_of(tokenizer_info) if pool is None else pool.trie)

    def _compile(self, where: str, trie: TokenTrie) -> None:
        ir, options = self.grammar.lazy_ir, self.options
        _check_tokens(ir, self.tokenizer_info)
        machine = self._parser(self._tables(), where)
        self.masks = self._masks(trie, machine)
        watch(self)
        if options.jit or options.parser in ("fsm", "pushdown"):
            self._make_ahead()

    def _tables(self) -> Tables:
        options, when_met = self.options, self.options.makes_states_when_met
        tables = LazyTables(Lowering(self.grammar.lazy_ir if when_met else self.grammar.ir, options))
        if options.parser == "fsm" and options.mechanisms.fsm_minimise:
            return MinimalTables(tables)
        if not when_met:
            tables.complete()
        return tables

    def _make_ahead(self) -> None:
        if isinstance(self.masks, FsmMasks):
            self.masks.precompute()
        jit = "all" if self.options.parser == "pushdown" else self.options.jit
        for state in self._to_warm(jit) if jit else ():
            self.masks.warm(state)

    def _parser(self, tables: Tables, where: str) -> Machine:
        options = self.options
        if options.parser == "pushdown":
            refuse_left_recursion(tables)
            for rule in tables.lowering.ir.rules.values():
                refuse_restrictions(tables.lowering.ir, rule, options.parser)
            return PushdownMachine(tables, max_bytes=options.max_bytes, where=where, max_stacks=options.max_stacks)
        return Machine(tables, max_bytes=options.max_bytes, where=where, memoize=options.mechanisms.memoize_sets)

    def _masks(self, trie: TokenTrie, machine: Machine) -> MaskCache:
        options, mechanisms = self.options, self.options.mechanisms
        match options.parser:
            case "naive":
                return NaiveMasks(trie, machine, None, memoize=False, max_fill_ms=options.max_fill_ms)
            case "fsm":
                return FsmMasks(trie, machine, None, max_fill_ms=options.max_fill_ms)
            case "pushdown":
                return MaskCache(
                    trie,
                    machine,
                    None,
                    differential=False,
                    memoize=False,
                    lookahead=Lookahead(machine),
                    max_fill_ms=options.max_fill_ms,
                )
        return MaskCache(
            trie,
            machine,
            self._pool,
            differential=mechanisms.differential_masks,
            differential_from=mechanisms.differential_from,
            memoize=mechanisms.memoize_sets,
            lookahead=Lookahead(machine) if mechanisms.lookahead else None,
            max_fill_ms=options.max_fill_ms,
            direct_limit=mechanisms.direct_limit,
            iteration_profiles=mechanisms.iteration_profiles,
            walk_shortcuts=mechanisms.walk_shortcuts,
        )

    @property
    def pool(self) -> TokenSetPool | None:
        """The cross-grammar cache that token sets are taken from; None without one."""
        return self._pool

    @property
    def machine(self) -> Machine:
        """The parser's states that new matchers start in."""
        return self.masks.machine

    def with_room(self, full: Machine) -> MaskCache | None:
        """The present parser states and masks, for a matcher whose own are `full`; None if they are half full too."""
        masks = self.masks
        return None if masks.machine is full or 2 * masks.nbytes > self.options.max_bytes else masks

    def made_anew(self) -> MaskCache | None:
        """Parser states and masks that nobody uses yet, on the same automata; None for parser "fsm", which has one set
        of them for good.  Token sets come back from the cross-grammar cache."""
        if self.options.parser == "fsm":
            return None
        machine = self.masks.machine
        return self._masks(self.masks.trie, self._parser(machine.tables, machine.where))

    def renew(self, masks: MaskCache) -> None:
        """New matchers start in `masks`.  Matchers elsewhere stay where they are, and what they stand on is given back
        with the last of them."""
        with self._renewing:
            self.masks = masks
            self.renewals += 1

    def _to_warm(self, count: int | Literal["all"]) -> list[int]:
        """The `count` costliest states whose token sets are not known here; none for parsers without token sets."""
        if self.options.parser in ("fsm", "naive"):
            return []
        states = [state for state, _, measured in self.masks.cost_estimates() if measured is None]
        return states if count == "all" else states[:count]

    def warm(self, count: int | Literal["all"] = "all") -> int:
        """Compute the `count` costliest token sets that are missing, now; returns how many that were.

        A thread of its own may do it while a matcher goes on: it needs the GIL to make all automata at first, and then
        only between two states.  It stops where it runs in a `TimeLimit` whose token is cancelled.
        """
        states = self._to_warm(count)
        for state in states:
            self.masks.warm(state)
        return len(states)

    def warm_in_background(self, count: int | Literal["all"] = "all") -> Warming:
        """`warm` in a thread of its own, which needs the GIL only between two states.  It will go away."""
        warnings.warn("call `warm` in a thread of your own: `warm_in_background` goes away", DeprecationWarning, 2)
        return Warming(self.masks.warm, self._to_warm(count))

    def complete(self) -> None:
        """Lower every rule and make every state now, for those who want to see or warm them all."""
        self.machine.complete()

    def apart(self) -> CompiledGrammar:
        """The same grammar compiled again for questions that the engine which runs must not notice.

        It has the same options, but nothing is made ahead of time, and it shares nothing with it: the source is read
        again, automata, parser states and masks are its own, and its cross-grammar cache is that of all grammars which
        are only asked.  State ids differ where states are made as they are met (`inspect.pairs`).
        """
        options = replace(self.options, jit=0) if self.options.parser == "earley" else self.options
        pool = None if self._pool is None else _pool_apart(self.masks.trie, self.tokenizer_info, options)
        return CompiledGrammar(self.grammar.read_again(), self.tokenizer_info, options, pool)

    @cached_property
    def vocab(self) -> tuple[bytes, ...]:
        """Tokens' bytes by id."""
        return tuple(self.tokenizer_info.decoded_vocab)

    @property
    def memory_size_bytes(self) -> int:
        """Bytes held by parser states, token sets and masks; the vocabulary's trie is shared and not counted.

        A token set that other grammars and the cross-grammar cache hold as well counts in equal shares.
        """
        masks = self.masks
        return _size(masks, masks.counters())

    @property
    def held_bytes(self) -> int:
        """About all that is given back with this grammar: `memory_size_bytes`, its automata, its rules and its source.

        Objects of Python are not measured, which would take longer than compiling: `_OF_...` are what the requests of
        `tests/fuzz/strangers.py` hold.  A compiler's cache goes by this.
        """
        return self.memory_size_bytes + self._made_of()

    def held_bytes_now(self) -> int | None:
        """`held_bytes`, or None while another thread makes masks here: for callers who must not wait."""
        masks = self.masks
        counters = masks.counters(wait=False)
        return None if counters is None else _size(masks, counters) + self._made_of()

    def _made_of(self) -> int:
        rules, source = len(self.grammar.lazy_ir.rules), self.grammar.kept_characters
        return int(self.machine.tables.nbytes) + _OF_A_GRAMMAR + _OF_A_RULE * rules + _OF_A_CHARACTER * source

    def __repr__(self) -> str:
        root = self.grammar.lazy_ir.root
        states = self.machine.tables.state_count
        return (
            f"<CompiledGrammar {root}: {self.machine.tables.rule_count:,} rules, {states:,} states, "
            f"{self.tokenizer_info.vocab_size:,} tokens, {self.memory_size_bytes / 1e6:.2f} MB>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # What was computed stays behind: it is cheaper to compute again than to move.
        return CompiledGrammar, (self.grammar, self.tokenizer_info, self.options)


def _size(masks: MaskCache, counters: Mapping[str, int]) -> int:
    return int(masks.machine.nbytes) + counters["mask_bytes"] + counters["token_set_bytes"]


def _check_tokens(ir: GrammarIR, tokenizer_info: TokenizerInfo) -> None:
    """`GrammarError` if a token that the grammar names is not in the vocabulary."""
    for token in named_tokens(ir.rules):
        if not 0 <= token < tokenizer_info.vocab_size:
            raise GrammarError(
                f"the grammar names token {token}; this vocabulary has ids 0..{tokenizer_info.vocab_size - 1}"
            )
