"""`ablate`: what mechanisms of the engine are worth on a grammar and texts of one's own.

    wb.ablate(schema, ["weather in Lund", "a mail to Ada"], model="smollm2", repeats=5)
    wb.ablate(schema, texts, design="factorial")         # all combinations of the mechanisms, and their interactions

A model writes a text for each prompt, once.  Then each variant of the engine compiles the grammar afresh and makes the
masks of all texts, `repeats` times, in an order that turns, so that none is always the first.  Masks must be the same
in all variants; they are compared outside of what is timed.

Read on: `factorial.py` (effects over all combinations), `kernels_core/options.py` (the switches),
`workbench/panels/ablate.py` (the same on the screen).
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options, allocate_token_bitmask
from kernels_core.errors import BudgetExceededError
from kernels_core.inspect.snapshots import Table
from visualizers.glyphs import clip, html_escape, many
from visualizers.tables import card, dim, pre, table
from workbench.comparing.factorial import Times, contrasts, subsets
from workbench.languages import Source
from workbench.peers.base import quiet
from workbench.progress import told
from workbench.tokenizers import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from workbench.generation.model import LanguageModel

Design = Literal["leave one out", "factorial"]
"""Which mechanisms a variant leaves out: one of them or all, or every combination."""

MECHANISMS: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    "jit": ("just-in-time masks", {"jit": "all"}),
    "cache": ("cross-grammar cache", {"cross_grammar_cache": False}),
    "repetition": ("repetition compression", {"repetition": "expand"}),
    "interning": ("interned parser states", {"memoize_sets": False}),
    "laziness": ("lazy lowering", {"lazy_lowering": False}),
    "warm start": ("warm start", {"warm_start": False}),
    "inlining": ("inlining", {"inline_limit": 0}),
    "differences": ("differential masks", {"differential_masks": False}),
    "profiles": ("iteration profiles", {"iteration_profiles": False}),
    "shortcuts": ("walk shortcuts", {"walk_shortcuts": False}),
    "walks": ("direct walks", {"direct_limit": 0}),
}
"""By the word that chooses it: what it is, and the values of `Options.laboratory` that leave it out."""
FIRST: Final = ("jit", "cache", "repetition")
NONE, ALL = "nothing", "all of these"
AVERAGED: Final = ", whatever the others do"
METRICS: Final = {
    "compile": "preprocessing the grammar",
    "mask": "one mask, on average",
    "total": "the grammar and all masks",
}
"""What is timed, by the name of its column."""
WARM: Final = 'root ::= "warm up"'
LEVEL: Final = 0.95
MAX_TOKENS: Final = 120
MOST_FACTORS: Final = 5  # 32 variants
BUDGETS: Final = {"max_compile_ms": 60_000, "max_fill_ms": 10_000}
"""Without some mechanisms there is an input that never ends; with these it is refused, and the table says so."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One variant in one repeat: nanoseconds for the grammar and for all masks; or why the variant refused it."""

    without: str
    repeat: int
    compile_ns: int
    mask_ns: int
    masks: int
    refused: str = ""

    def value(self, metric: str) -> float:
        """Microseconds of one of `METRICS`; NaN where it was refused."""
        if self.refused:
            return math.nan
        found = {"compile": self.compile_ns, "mask": self.mask_ns / self.masks, "total": self.compile_ns + self.mask_ns}
        return found[metric] / 1e3


@dataclass(frozen=True, slots=True)
class Effect:
    """A variant beside the whole engine: microseconds on average, and how many times slower it is, with the interval
    of 95 % over repeats; NaN where it is not known."""

    without: str
    metric: str
    repeats: int
    us: float = math.nan
    ratio: float = math.nan
    low: float = math.nan
    high: float = math.nan
    refused: str = ""


@dataclass(frozen=True, repr=False)
class Ablation(Table):
    """What `ablate` measured so far.  `texts` are what was written, `note` says on what and with what."""

    source: Source
    mechanisms: tuple[str, ...]
    repeats: int
    tokenizer: str
    texts: tuple[bytes, ...] = ()
    trials: tuple[Trial, ...] = ()
    steps: int = 0
    planned: int = 1
    doing: str = ""
    note: str = field(default="", compare=False)
    design: Design = "leave one out"

    @property
    def variants(self) -> tuple[str, ...]:
        """What is left out in each variant: nothing, each of the mechanisms, some of them in the factorial, and where
        there are several, all."""
        count = len(self.mechanisms)
        some = [chosen for chosen in subsets(count) if len(chosen) in (0, 1, count) or self.design == "factorial"]
        return tuple(self._called(chosen) for chosen in some)

    def _called(self, left_out: Sequence[int]) -> str:
        """The variant without these mechanisms."""
        if len(left_out) == len(self.mechanisms) > 1:
            return ALL
        return " + ".join(self.mechanisms[at] for at in left_out) or NONE

    def left_out(self, variant: str) -> tuple[str, ...]:
        """The mechanisms that a variant lacks."""
        if variant == NONE:
            return ()
        return self.mechanisms if variant == ALL else tuple(variant.split(" + "))

    @property
    def done(self) -> bool:
        """Whether all repeats were made; otherwise it was stopped, or goes on."""
        return self.steps >= self.planned

    def effects(self) -> tuple[Effect, ...]:
        """Each variant and metric beside the whole engine, paired by repeat."""
        return tuple(
            self._effect(without, metric)
            for metric in METRICS
            for without in self.variants
            if any(trial.without == without for trial in self.trials)
        )

    def _effect(self, without: str, metric: str) -> Effect:
        mine = {trial.repeat: trial for trial in self.trials if trial.without == without}
        whole = {trial.repeat: trial for trial in self.trials if trial.without == NONE}
        refused = next((trial.refused for trial in mine.values() if trial.refused), "")
        if refused:
            return Effect(without, metric, len(mine), refused=refused)
        us = sum(trial.value(metric) for trial in mine.values()) / len(mine)
        logs = [math.log(trial.value(metric) / whole[n].value(metric)) for n, trial in mine.items() if n in whole]
        return Effect(without, metric, len(mine), us, *_ratio(logs))

    def worth(self) -> tuple[Effect, ...]:
        """In the factorial design: each mechanism averaged over all combinations of the others, and each group of them.

        Of a group the ratio is above 1 where one is worth more without the others (they do the same work), below 1
        where it is worth more beside them, and 1 where they do not depend on each other.
        """
        if self.design != "factorial":
            return ()
        groups = subsets(len(self.mechanisms))
        by_variant = {
            one: {trial.repeat: trial for trial in self.trials if trial.without == one} for one in self.variants
        }
        whole = sorted(set.intersection(*(set(trials) for trials in by_variant.values())))
        refused = next((trial.refused for trial in self.trials if trial.refused), "")
        found = []
        for metric in METRICS:
            logs: Mapping[tuple[int, ...], Times] = {}
            if whole and not refused:
                logs = contrasts(
                    {
                        tuple(at not in left_out for at in range(len(self.mechanisms))): [
                            by_variant[self._called(left_out)][repeat].value(metric) for repeat in whole
                        ]
                        for left_out in groups
                    }
                )
            for group in groups[1:]:
                named = " × ".join(self.mechanisms[at] for at in group)
                named += AVERAGED if len(group) == 1 else ""
                ratio = _ratio(logs.get(group, ()))
                found.append(Effect(named, metric, len(whole), math.nan, *ratio, refused))
        return tuple(found)

    def rows(self) -> list[dict[str, Any]]:
        """One row for each variant and repeat, times in microseconds; `summary()` has them beside each other."""
        return [
            {"without": trial.without, "repeat": trial.repeat, "masks": trial.masks, "refused": trial.refused}
            | {f"{metric}, µs": trial.value(metric) for metric in METRICS}
            for trial in self.trials
        ]

    def summary(self) -> pd.DataFrame:
        """One row for each variant and metric: the average, and how many times slower it is, with its interval; then
        what the factorial is for (`worth`)."""
        return _frame((*self.effects(), *self.worth()))

    def plot(self) -> go.Figure:
        """How many times slower each variant is than the whole engine, by metric, with intervals; of the factorial what
        each mechanism and each group of them is worth."""
        import plotly.express as px

        alone = (replace(one, without=f"without {one.without}") for one in self.effects() if one.without != NONE)
        shown = _frame(self.worth() or alone)
        drawn = px.scatter(
            shown.assign(
                above=shown["at most"] - shown["times slower"], below=shown["times slower"] - shown["at least"]
            ),
            x="times slower",
            y="without",
            facet_col="what",
            error_x="above",
            error_x_minus="below",
            log_x=True,
            height=130 + 30 * shown["without"].nunique(),
            template="plotly_white",
        )
        drawn.for_each_annotation(lambda one: one.update(text=one.text.removeprefix("what="), font_size=12))
        drawn.add_vline(x=1, line={"color": "#9aa3ae", "width": 1})
        drawn.update_yaxes(title_text="", automargin=True, autorange="reversed")
        return drawn.update_layout(margin={"t": 30, "b": 50, "r": 10})

    def _repr_html_(self) -> str:
        worth = self.worth()
        found = {(effect.without, effect.metric): effect for effect in (*self.effects(), *worth)}
        named = {one: f"without {one}" for one in self.variants} | {one.without: one.without for one in worth}
        rows = [
            [html_escape(name), *(_cell(found[without, metric]) for metric in METRICS)]
            for without, name in named.items()
            if (without, "compile") in found
        ]
        body = table(["", *METRICS.values()], rows, align="l" + "r" * len(METRICS))
        texts = "\n".join(clip(text.decode(errors="replace"), 120) for text in self.texts)
        return card("Ablation", [html_escape(self.headline)], body + pre(texts) + dim(html_escape(self.note)))

    @property
    def verdict(self) -> str:
        """What the mechanisms are worth together for the grammar and all masks, and which of them most; "" before two
        repeats were made."""
        effects = {one.without: one for one in self.effects() if one.metric == "total"}
        together = effects.get(self.variants[-1])
        if together is None or together.repeats < 2:
            return ""
        count = {1: MECHANISMS[self.mechanisms[0]][0], 2: "both", 3: "all three"}.get(
            len(self.mechanisms), f"all {len(self.mechanisms)}"
        )
        if together.refused:
            return f"Without {count} the engine refuses this grammar: it takes more than a limit."
        if together.low <= 1 <= together.high:
            return f"On this grammar these repeats show no difference with {count} or without."
        found = together.low, together.ratio, together.high
        how = "fast" if together.ratio > 1 else "slow"
        low, ratio, high = found if together.ratio > 1 else (1 / one for one in reversed(found))
        said = f"On this grammar the engine is {ratio:.2g} times as {how} ({low:.2g} to {high:.2g}) with {count}"
        parts = [(math.log(effects[name].ratio), name) for name in self.mechanisms if effects[name].ratio > 0]
        most, name = max(parts, default=(0.0, ""))
        if len(self.mechanisms) > 1 and together.ratio > 1 and most > math.log(together.ratio) / 2:
            said += f"; most of it is {MECHANISMS[name][0]}"
        return f"{said}."

    @property
    def headline(self) -> str:
        """How far it is, and on what."""
        masks = next((trial.masks for trial in self.trials if trial.masks), 0)
        count = min((sum(trial.without == one for trial in self.trials) for one in self.variants), default=0)
        repeats = many(count, "repeat") if self.done else f"{count} of {self.repeats} repeats"
        return f"{repeats}, {masks:,} masks of {many(len(self.texts), 'text')} each, vocabulary {self.tokenizer}"

    def __repr__(self) -> str:
        return f"<Ablation of {', '.join(self.mechanisms)}: {self.headline}>"


Progress = Callable[[Ablation], object]


def _frame(effects: Iterable[Effect]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        [
            (one.without, METRICS[one.metric], one.us, one.ratio, one.low, one.high, one.repeats, one.refused)
            for one in effects
        ],
        columns=["without", "what", "µs", "times slower", "at least", "at most", "repeats", "refused"],
    )


def _cell(effect: Effect) -> str:
    if effect.refused:
        return f'<span title="{html_escape(effect.refused)}">refused</span>'
    within = "" if math.isnan(effect.low) else f" ({effect.low:.3g} to {effect.high:.3g})"
    times = "" if effect.without == NONE or math.isnan(effect.ratio) else f"× {effect.ratio:.3g}{within}"
    return f"{'' if math.isnan(effect.us) else f'{effect.us:,.3g} µs'} {times}"


def _ratio(logs: Sequence[float] | Times) -> tuple[float, float, float]:
    """The mean of logarithms as a ratio, and its interval by Student's distribution; NaN where there is none."""
    middle = float(np.mean(logs)) if len(logs) else math.nan
    if len(logs) < 2:
        return math.exp(middle), math.nan, math.nan
    from scipy import stats

    wide = float(stats.t.ppf((1 + LEVEL) / 2, len(logs) - 1) * stats.sem(logs))
    return math.exp(middle), math.exp(middle - wide), math.exp(middle + wide)


def ablate(
    grammar: object,
    prompts: str | Sequence[str],
    *,
    model: str | LanguageModel | None = None,
    mechanisms: Sequence[str] = FIRST,
    repeats: int = 5,
    tokenizer: object = None,
    max_tokens: int = MAX_TOKENS,
    seed: int = 1,
    design: Design = "leave one out",
    progress: Progress | None = None,
) -> Ablation:
    """What each of `mechanisms` (words of `MECHANISMS`) is worth on `grammar`: what describes an output, or a session.
    The engine has its default options, but for what is left out and for larger limits of time.

    design: each left out by itself, and all; or "factorial": every combination of them, at most 32, for what each is
    worth whatever the others do, and how they depend on each other (`Ablation.worth`).
    model: what `load_model` takes, or a model, on a GPU where there is one; it writes a text for each prompt.  Without
    one `prompts` are the texts themselves.  tokenizer: whose tokens the masks are of; by default the session's,
    else the model's, else `tekken` with 131,072 of them.
    progress: called with what is known before each text that is written, and before and after each trial; where it
    returns True, that is all.  In a notebook and on a terminal a line tells, where it is None.
    An interruption (Ctrl+C, the stop button) returns what was measured until then.
    """
    unknown = [name for name in mechanisms if name not in MECHANISMS]
    if unknown or not mechanisms:
        said = f"no mechanism {unknown[0]!r}" if unknown else "ablate needs a mechanism to leave out"
        raise ValueError(f"{said}; known: {', '.join(MECHANISMS)}")
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, not {repeats}")
    asked = (prompts,) if isinstance(prompts, str) else tuple(prompts)
    if not asked:
        raise ValueError("ablate needs at least one prompt, or without a model at least one text")
    source = Source.of(grammar)
    if tokenizer is None:
        tokenizer = getattr(grammar, "tokenizer", None)
    chosen = tuple(dict.fromkeys(mechanisms))
    if design not in get_args(Design):
        raise ValueError(f"no design {design!r}; known: {', '.join(get_args(Design))}")
    if design == "factorial" and len(chosen) > MOST_FACTORS:
        raise ValueError(
            f"a factorial of {len(chosen)} mechanisms has {2 ** len(chosen)} variants: name {MOST_FACTORS} at most"
        )
    found = Ablation(source, chosen, repeats, getattr(tokenizer, "name", ""), note=_note(model, seed), design=design)
    writes = len(asked) if model is not None else 0
    found = begun = replace(found, planned=writes + repeats * len(found.variants))
    with told(progress, "measuring ...", lambda found: f"{found.steps} of {found.planned}: {found.doing}") as report:
        try:
            for found in _measured(begun, asked, model, tokenizer, max_tokens, seed):
                if report(found) is True:
                    break
        except KeyboardInterrupt:
            if not found.trials:
                raise
    return found


def _measured(
    found: Ablation,
    asked: Sequence[str],
    model: str | LanguageModel | None,
    tokenizer: object,
    max_tokens: int,
    seed: int,
) -> Iterator[Ablation]:
    """What is known step by step, from `found`, of which nothing was measured."""
    if model is None:
        found = replace(found, texts=tuple(text.encode() for text in asked))
    else:
        from workbench.generation import stream
        from workbench.generation.model import read_model

        if isinstance(model, str):
            yield replace(found, doing=f"loading {model}")
            model = read_model(model, "auto", None)
        for number, prompt in enumerate(asked):
            yield replace(found, doing=f"the model writes: {clip(prompt, 40)}")
            made = stream(model, prompt, found.source, max_tokens=max_tokens, seed=seed + number, record=False).run()
            found = replace(found, texts=(*found.texts, made.text_bytes), steps=found.steps + 1)
    if tokenizer is None:
        tokenizer = "tekken" if model is None else model.tokenizer
    words = load_tokenizer(tokenizer)
    found = replace(found, tokenizer=words.name)
    tokens = [list(words.encode(text)) for text in found.texts]
    digest: int | None = None
    yield replace(found, doing="warming up")
    _trial(found.source, words, _options(()), tokens, NONE, -1)  # what is loaded once belongs to no variant
    for repeat in range(found.repeats):
        turn = repeat % len(found.variants)
        for without in (*found.variants[turn:], *found.variants[:turn]):
            left = "with everything" if without == NONE else f"without {without}"
            yield replace(found, doing=f"repeat {repeat + 1} of {found.repeats}, {left}")
            trial, masks = _trial(found.source, words, _options(found.left_out(without)), tokens, without, repeat)
            if not trial.refused and digest not in (None, masks):
                raise RuntimeError(
                    f"masks without {without} are others: this is a mistake of the engine, please report it"
                )
            digest = digest if trial.refused else masks
            found = replace(found, trials=(*found.trials, trial), steps=found.steps + 1)
    yield replace(found, doing="")


def _options(left_out: Sequence[str]) -> Options:
    changes: dict[str, object] = dict(BUDGETS)
    for name in left_out:
        changes |= MECHANISMS[name][1]
    return Options.laboratory(**changes)


def _trial(
    source: Source, words: Tokenizer, options: Options, texts: Sequence[Sequence[int]], without: str, repeat: int
) -> tuple[Trial, int]:
    """One compile and all masks, with the collector off; and a digest of the masks."""
    source = source.with_text(source.text)  # nothing of it was read before
    compiler = GrammarCompiler(words.info, options=options, cache_enabled=False)
    row = allocate_token_bitmask(1, words.info.vocab_size)
    # Tables of the vocabulary are made with a compiler's first mask, and live as long as one of its grammars does.
    warm = GrammarMatcher(compiler.compile_grammar(Grammar.from_ebnf(WARM)))
    warm.fill_next_token_bitmask(row)
    clock, spent, masks, digest, compile_ns = time.perf_counter_ns, 0, 0, 0, 0
    try:
        with quiet():
            start = clock()
            compiled = compiler.compile_grammar(source.grammar(words.info))
            compile_ns = clock() - start
            for number, text in enumerate(texts, start=1):
                matcher = GrammarMatcher(compiled)
                for at, token in enumerate((*text, None)):
                    start = clock()
                    matcher.fill_next_token_bitmask(row)
                    spent += clock() - start
                    masks += 1
                    digest = zlib.crc32(row.tobytes(), digest)
                    if token is not None and not matcher.accept_token(token):
                        read = words.decode(text[:at])
                        raise ValueError(f"the grammar refuses text {number} after {clip(repr(read), 60)}")
    except BudgetExceededError as error:
        return Trial(without, repeat, compile_ns, spent, masks, str(error)), 0
    return Trial(without, repeat, compile_ns, spent, masks), digest


def _note(model: object, seed: int) -> str:
    from workbench.reports.caches import versions

    return f"{getattr(model, 'name', model)}, seed {seed}; {versions()}" if model is not None else versions()
