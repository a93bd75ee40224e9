"""What may be chosen about compiling and running a grammar: `Options` for users, `Mechanisms` for the laboratory."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

Parser = Literal["earley", "pushdown", "fsm", "naive"]
Repetition = Literal["counters", "compress", "expand"]


def _one_of(name: str, known: tuple[str, ...], value: object) -> str:
    return f"{name} must be one of {', '.join(known)}; got {value!r}"


def _at_least(least: int, of: Mechanisms | Options, name: str) -> None:
    value = getattr(of, name)
    if value < least:
        bound = "not be negative" if least == 0 else f"be at least {least}"
        raise ValueError(f"{type(of).__name__}.{name} must {bound}, got {value}")


@dataclass(frozen=True, slots=True)
class Mechanisms:
    """How the engine works inside: what an experiment leaves out or sets, and nobody else has a reason to.

    Masks do not depend on any of these.  Mechanisms without a field here are left out of the whole process, by
    `kernels_core.laboratory.without`.

    memoize_sets: remember the mask of a parser state and where each byte leads from it; without it both are computed
        again at every step (token sets stay).
    lookahead: drop uncertain tokens whose suffix no caller of the rule can take.
    repetition: what becomes of a counted repetition `x{l,r}` too big for `unroll_limit`.
        "counters": one automaton with an iteration counter serves all counts.
        "compress": XGrammar-2's Algorithm 3: up to `repetition_threshold` t it is spelt out; above, `x{l-t,r-t}` is
            counted and t copies follow it (the last iterations, where masks differ, are plain states).
        "expand": copies, always, as far as `max_states` allows.
    fsm_minimise: whether "fsm" minimises its automaton; without it there are more states, hence more masks.
    inline_limit: a rule that is not recursive, has no loop over a wide character class and costs at most this many
        automaton edges (eight times as many if it ends in a wide loop) is spelt out where it is called, which leaves
        fewer uncertain tokens; 0 turns inlining off.
    unroll_limit: a counted repetition `x{l,r}` whose copies cost at most this many edges becomes plain states;
        above it one automaton with an iteration counter serves all counts.  In a quoted text 32 times as many are
        copied if states are made as they are met, unless it is one class of characters whose place in the text is
        known.
    direct_limit: parts of a parser state that a walk over at most this many trie nodes (estimated) settles get no token
        sets: the trie is followed from the parser state itself; 0 makes token sets for all.
    iteration_profiles: where a counted repetition allows it, find out once how many iterations each token needs, for
        all counts and bounds, instead of verdicts for each count near a bound.
    walk_shortcuts: accept whole subtrees of the vocabulary where every byte in them keeps the parser alive, instead of
        walking them, and walk the others in the byte-class trie, where all bytes of one class are
        one; keep the rows of self-loops, and unions of them with token sets, for all grammars; put token sets of
        strings together from those of their bodies.
    differential_masks: compute a state's token sets as a difference to a similar state's where there is one.
    differential_from: ... for states whose first bytes begin at least this many tokens; others are cheap to compute.
    """

    memoize_sets: bool = True
    lookahead: bool = False
    repetition: Repetition = "counters"
    repetition_threshold: int = 8
    fsm_minimise: bool = True
    inline_limit: int = 128
    unroll_limit: int = 32
    direct_limit: int = 1024
    iteration_profiles: bool = True
    walk_shortcuts: bool = True
    differential_masks: bool = True
    differential_from: int = 2048

    def __post_init__(self) -> None:
        if self.repetition not in get_args(Repetition):
            raise ValueError(_one_of("Mechanisms.repetition", get_args(Repetition), self.repetition))
        for name in ("inline_limit", "unroll_limit", "direct_limit", "differential_from"):
            _at_least(0, self, name)
        _at_least(1, self, "repetition_threshold")


@dataclass(frozen=True, slots=True)
class Options:
    """How a grammar is parsed, what is made ahead of time, and how much it may cost.  Masks do not depend on these.

    parser: how texts are followed and masks are made.
        "earley": interned Earley sets, masks by union of token sets (the engine proper; all below applies).
        "pushdown": one stack for each caller, all token sets ahead of time, nothing remembered between steps
            (XGrammar).  Refuses left recursion.  Implies `jit="all"`, `lookahead`, and no `memoize_sets`,
            `differential_masks` nor `cross_grammar_cache`.
        "fsm": the whole grammar as one automaton, a mask for every state ahead of time (Outlines).  Refuses recursion.
        "naive": every token of the vocabulary is tried at every fill.
    jit: how many states' token sets are computed at compile time, the costliest first; "all" is ahead of time.
    lazy_lowering: spell a rule out when it is first predicted and determinise a state when it is first met, so that
        compiling costs what reading the grammar costs; otherwise all is lowered and determinised at once.
        Only "earley" and "naive" parsers without `lookahead` can be lazy; the others have to see all callers.
    cross_grammar_cache: share token sets between the grammars of a compiler, by structural identity of states.
    warm_start: begin with the token sets of JSON's strings (with lengths and frequent formats, too), numbers and white
        space, made once for a vocabulary and process when the first compiler is made; of use with "earley" and
        `cross_grammar_cache` alone.
    pool_bytes: what the cross-grammar cache may hold before it drops what was not used for longest.
    max_stacks: stacks of "pushdown" at one place; an ambiguous grammar that needs more raises `BudgetExceededError`.
    max_states: automaton states of one grammar; more raises `BudgetExceededError`.
    max_bytes: bytes of interned parser states and masks of one grammar.  Past it they are made anew between steps
        (`CompiledGrammar.renew`); a text that needs more than half of it by itself raises `BudgetExceededError`.
    max_compile_ms: processor time of one compile, from the first byte of the request on, work ahead of time included.
    max_fill_ms: ... of one mask, and of one step: taking a token, or a thousand bytes of a string.  For both, 0 is any
        time; longer raises `BudgetExceededError`, and everything is as it was.  The defaults are sixteen times the
        slowest compile and forty-three times the slowest mask of 7,895 real schemas
        (docs/decisions/0012-one-clock-and-budgets.md); ahead-of-time work (`jit="all"`, "fsm", "pushdown") over a large
        vocabulary may need more.
    mechanisms: what experiments leave out or set; `Options.laboratory` takes them beside the options themselves.
    """

    parser: Parser = "earley"
    jit: int | Literal["all"] = 0
    lazy_lowering: bool = True
    cross_grammar_cache: bool = True
    warm_start: bool = True
    pool_bytes: int = 1 << 28
    max_stacks: int = 4096
    max_states: int = 200_000
    max_bytes: int = 1 << 30
    max_compile_ms: int = 5_000
    max_fill_ms: int = 1_000
    mechanisms: Mechanisms = Mechanisms()

    @classmethod
    def laboratory(cls, **chosen: Any) -> Options:
        """Options and mechanisms by name, side by side: `Options.laboratory(parser="naive", inline_limit=0)`.

        `TypeError` for a name that is neither, `ValueError` for a value out of its range.
        """
        names = {field.name for field in fields(Mechanisms)}
        inside = {name: value for name, value in chosen.items() if name in names}
        outside = {name: value for name, value in chosen.items() if name not in names}
        return cls(**outside, mechanisms=Mechanisms(**inside)) if inside else cls(**outside)

    def to_dict(self) -> dict[str, Any]:
        """Options and mechanisms by name: what `laboratory` takes."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "mechanisms"}
        return values | asdict(self.mechanisms)

    @property
    def makes_states_when_met(self) -> bool:
        """Whether `lazy_lowering` applies: some ways to parse have to see all callers."""
        return self.lazy_lowering and self.parser in ("earley", "naive") and not self.mechanisms.lookahead

    def __post_init__(self) -> None:
        if self.parser not in get_args(Parser):
            raise ValueError(_one_of("Options.parser", get_args(Parser), self.parser))
        if self.jit != "all" and (not isinstance(self.jit, int) or self.jit < 0):
            raise ValueError(f'Options.jit must be a number of states or "all", got {self.jit!r}')
        for name in ("max_compile_ms", "max_fill_ms"):
            _at_least(0, self, name)
        for name in ("max_stacks", "pool_bytes", "max_states", "max_bytes"):
            _at_least(1, self, name)
