"""Claims judged by numbers: held, refuted or undecided, with the size of the effect and its interval.

An experiment declares `CLAIMS`: each says in a sentence what should come out, by which number, and which bound it must
keep (`claims.toml`), and how the number is computed from the trials (`claims_of`).  `judge` computes it with a 95 %
interval over independent units (schemas, sets of tools, runs), and says

- held: the whole interval keeps the bound, also when all claims of the section are looked at together (Holm);
- refuted: none of it does, in the same way;
- undecided: anything else, and whatever was measured on fewer than `FEWEST` units.

What must hold *every* time (`always`) has no interval: the worst unit decides, one is enough to refute it, and
`FEWEST` are needed to say that it held.  Units that turn out equal (trials with the same `content`) count once.

Read on: `registry.py` (who declares them), `pairs.py` (times of two engines on the same inputs).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from experiments.columns import Column, explained, finished

REGISTER: Final = Path(__file__).with_name("claims.toml")
FEWEST: Final = 10
"""Independent units without which nothing is called held; intervals of fewer cover too seldom."""
RESAMPLES: Final = 2000
LEVEL: Final = 0.95
CONTENT: Final = "content"
"""The metric that says what a trial drew (a digest): trials that agree in it are one unit, measured more than once."""

Word = Literal["held", "refuted", "undecided"]
Numbers = npt.ArrayLike
Chosen = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Effect:
    """A number that was measured on `units` independent things, which are called `unit`, in the plural.

    of: the number for some of the units, given by their places (with repetitions, when they are resampled).
    exact: the interval of a level where it is known without resampling.
    """

    units: int
    unit: str
    of: Callable[[Chosen], float]
    exact: Callable[[float], tuple[float, float]] | None = None

    @property
    def size(self) -> float:
        """The number for all units."""
        return self.of(np.arange(self.units))

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Of this level: the exact one, or by the bootstrap over the units, always with the same draws.

        Percentiles of few units are too close together: of 10 they hold the truth 90 times of 100, not 95.  They are
        taken further out, by Student's t for so many units (Hesterberg, arXiv 1411.5279, "expanded percentile").
        Student's t with the spread of the draws is asked as well (of logarithms, where all are positive, since ratios
        and times are skewed), and the further end counts.  Of 10 units or more the interval then covers means of alike
        numbers, ratios of sums, medians and geometric means 94 to 97 times of 100; the mean of single times 93 times
        where their logarithms spread by 0.7, 89 where they spread by 1.
        """
        if self.exact is not None:
            return self.exact(level)
        student = float(stats.t.ppf((1 + level) / 2, self.units - 1))
        wider = float(np.sqrt(self.units / (self.units - 1)))
        random = np.random.default_rng(0)
        draws = np.array([self.of(random.integers(0, self.units, self.units)) for _ in range(RESAMPLES)])
        if np.isnan(draws).any():
            return float("nan"), float("nan")
        tail = float(stats.norm.cdf(-student * wider))
        low, high = np.quantile(draws, [tail, 1 - tail])
        logs = bool((draws > 0).all() and np.isfinite(draws).all())
        middle, draws = (np.log(self.size), np.log(draws)) if logs else (self.size, draws)
        ends = middle + np.array([-1, 1]) * student * wider * draws.std()
        least, most = np.exp(ends) if logs else ends
        low, high = min(low, least), max(high, most)
        return float(low), float(high)


Measure: TypeAlias = Callable[[pd.DataFrame], Effect | None]
"""Computes a claim's number from the finished trials; None, or an effect without units, where those that it needs were
not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence that numbers can refute.

    what: the number in a few words, with its unit.  effect: computes it.  at_most, at_least: the bound, one of the two.
    always: of every unit.  paper: the paper's number, and where it stands.  differs: a sentence on why ours is another.
    """

    text: str
    what: str
    effect: Measure
    at_most: float | None = None
    at_least: float | None = None
    always: bool = False
    paper: str = ""
    differs: str = ""

    def __post_init__(self) -> None:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError(f"{self.text!r} needs one bound, at_most or at_least")

    def keeps(self, number: float) -> bool:
        """Whether `number` is on the claim's side of the bound."""
        return number <= self.limit if self.at_most is not None else number >= self.limit

    @property
    def limit(self) -> float:
        """The bound as a number."""
        return self.at_most if self.at_most is not None else float(self.at_least or 0)

    @property
    def bound(self) -> str:
        """The bound in words."""
        bound = f"at {'most' if self.at_most is not None else 'least'} {_short(self.limit)}"
        return f"always {bound}" if self.always else bound


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """What became of a claim.  `low`, `high`: the interval, NaN where there is none.  `why`: of what is undecided."""

    claim: Claim
    word: Word
    size: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    units: int = 0
    unit: str = ""
    why: str = ""

    def __str__(self) -> str:
        reason = f": {self.why}" if self.why else ""
        return f"{self.word}{reason}"

    @property
    def p(self) -> float:
        """How likely an effect this far from the bound is where the truth lies on it (two-sided); NaN without interval.

        Worked out from the interval (Altman and Bland, BMJ 2011;343:d2304), on logarithms where all is positive: below
        0.05 exactly where the bound is outside.
        """
        numbers = [self.size, self.low, self.high, self.claim.limit]
        if np.isnan(numbers).any() or self.units < 2:
            return float("nan")
        size, low, high, limit = np.log(numbers) if min(numbers) > 0 else numbers
        reach, way = (high - size, limit - size) if limit > size else (size - low, size - limit)
        if reach <= 0:
            return 0.0  # all draws are alike: beyond the bound, or on it, which keeps it
        student = stats.t(self.units - 1)
        return float(2 * student.sf(way / reach * student.ppf((1 + LEVEL) / 2)))


def judge(claims: Sequence[Claim], frame: pd.DataFrame) -> list[ClaimVerdict]:
    """A verdict on each claim from one row a trial (`Ledger.frame`)."""
    done = different(finished(frame))
    if done.empty:
        return [ClaimVerdict(claim, "undecided", why="nothing was measured") for claim in claims]
    return decide([_measured(claim, claim.effect(done)) for claim in claims])


def different(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials whose content no earlier one of the same engine and repetition had."""
    if CONTENT not in trials:
        return trials
    same = [name for name in ("engine", "repeat", CONTENT) if name in trials]
    return trials[trials[CONTENT].isna() | ~trials.duplicated(same)]


def decide(measured: Sequence[ClaimVerdict]) -> list[ClaimVerdict]:
    """The words, from the numbers: those of all claims of one section, since each of them is a look.

    Holm: of m claims with an interval the smallest p must be below 0.05 / m, the next below 0.05 / (m - 1), and so on.
    """
    looks = sorted(one.p for one in measured if one.units >= FEWEST and not np.isnan(one.p))
    passed = 0
    while passed < len(looks) and looks[passed] < (1 - LEVEL) / (len(looks) - passed):
        passed += 1
    return [_decided(one, looks[:passed], len(looks)) for one in measured]


def _measured(claim: Claim, effect: Effect | None) -> ClaimVerdict:
    if effect is None or effect.units == 0 or np.isnan(size := effect.size):
        return ClaimVerdict(claim, "undecided")
    low, high = effect.interval() if effect.units >= FEWEST and not claim.always else (float("nan"), float("nan"))
    return ClaimVerdict(claim, "undecided", size, low, high, effect.units, effect.unit)


def _decided(one: ClaimVerdict, passed: Sequence[float], looks: int) -> ClaimVerdict:
    claim, keeps = one.claim, one.claim.keeps(one.size)
    kept: Word = "held" if keeps else "refuted"
    if not one.units:
        return replace(one, word="undecided", why="not measured")
    if one.units < FEWEST and not (claim.always and not keeps):
        return replace(one, word="undecided", why=f"{one.units} unit{'s' * (one.units > 1)}")
    if claim.always:
        return replace(one, word=kept, why="")
    if np.isnan(one.p):
        return replace(one, word="undecided", why="no interval")
    if one.p in passed:
        return replace(one, word=kept, why="")
    over = "the interval reaches over the bound"
    return replace(one, word="undecided", why=over if one.p >= 1 - LEVEL else f"{over} when {looks} claims are judged")


def verdict_table(verdicts: Sequence[ClaimVerdict]) -> pd.DataFrame:
    """One row a claim, for reading."""
    rows = [
        {
            "claim": one.claim.text,
            "verdict": str(one),
            "number": one.claim.what,
            "ours": one.size,
            "interval": "" if np.isnan(one.low) else f"{_short(one.low)} to {_short(one.high)}",
            "n": f"{one.units:,} {one.unit}" if one.units else "",
            "bound": one.claim.bound,
            "paper": one.claim.paper,
            "differs": one.claim.differs,
        }
        for one in verdicts
    ]
    return explained(rows, COLUMNS)


COLUMNS: Final = (
    Column("claim", help="what should come out"),
    Column("verdict", help="held, refuted or undecided (a number on one side of its bound, with its interval, or not)"),
    Column("number", help="the number that decides"),
    Column("ours", help="as measured here"),
    Column("interval", "95 %", help="the interval of the number, over the units of n"),
    Column("n", help="how many independent units it was measured on"),
    Column("bound", "must be", help="the bound of the claim; always: no unit may be beyond it"),
    Column("paper", help="the paper's number for the same"),
    Column("differs", "why they differ", help="why ours is not the paper's"),
)


def _short(number: float) -> str:
    """Three significant digits, and no power of ten where there are more before the point."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


# -- the register ------------------------------------------------------------------------------------------------------
# A bound that was chosen after the numbers were seen proves nothing.  So every bound is written down with a day before
# its experiment is run, the bounds that it had before stay there, and pages of results tell what moved and when.

BOUND: Final = re.compile(r"(always )?at (most|least) ([\d.,]+)")


@cache
def _read() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads(REGISTER.read_text())


def claims_of(experiment: str, effects: Mapping[str, Measure]) -> tuple[Claim, ...]:
    """The claims that are registered for an experiment; effects: how each number is computed, by the claim's name.

    `ValueError` where one is not registered, or has no effect.
    """
    registered = _read()[experiment]
    if apart := registered.keys() ^ effects.keys():
        raise ValueError(f"{experiment}: registered without an effect, or the other way round: {', '.join(apart)}")
    return tuple(_claim(known, effects[name]) for name, known in registered.items())


def _claim(known: Mapping[str, Any], effect: Measure) -> Claim:
    words = known["bounds"][-1][1]
    bound = BOUND.fullmatch(words)
    if bound is None:
        raise ValueError(f"{known['text']!r}: write at most or at least, and a number, not {words!r}")
    always, side, number = bound.groups()
    limit = float(number.replace(",", ""))
    said = {name: known.get(name, "") for name in ("text", "what", "paper", "differs")}
    most, least = (limit, None) if side == "most" else (None, limit)
    return Claim(**said, effect=effect, at_most=most, at_least=least, always=always is not None)


def bounds_of(experiment: str) -> dict[str, list[tuple[str, str]]]:
    """By the text of each claim: the day and the bound (`Claim.bound`), the newest last."""
    known = _read().get(experiment, {}).values()
    return {one["text"]: [(day, bound) for day, bound in one["bounds"]] for one in known}


def history_of(experiment: str, text: str, measured: str) -> str:
    """What a reader must know of a claim's bound beside a measurement of that day; "" where there is nothing."""
    entries = bounds_of(experiment).get(text, [])
    if not entries:
        return "The bound is not registered"
    told = [f"the bound was {bound} until {after[0]}" for (_, bound), after in pairwise(entries)]
    since = entries[-1][0]
    told += [f"the bound is younger than the measurement, of {since}"] if since > measured else []
    return "; ".join(told).capitalize()


# -- the usual effects ------------------------------------------------------------------------------------------------


def ratio(above: Numbers, below: Numbers, unit: str) -> Effect:
    """The sum of `above` over the sum of `below`, unit by unit: how many times as much, over all."""
    a, b = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
    return Effect(len(a), unit, lambda chosen: _quotient(a[chosen].sum(), b[chosen].sum()))


def mean(values: Numbers, unit: str) -> Effect:
    """The average over the units."""
    found = np.asarray(values, dtype=float)
    return Effect(len(found), unit, lambda chosen: float(found[chosen].mean()))


def share(flags: Numbers, unit: str) -> Effect:
    """How many of the units it is true of, from 0 to 1; the interval is Clopper and Pearson's.

    Resampling shows no uncertainty where all units are alike: of fifty that are all true a share of 93 % is possible.
    """
    found = np.asarray(flags, dtype=bool)
    true = int(found.sum())

    def exact(level: float) -> tuple[float, float]:
        interval = stats.binomtest(true, found.size).proportion_ci(confidence_level=level, method="exact")
        return float(interval.low), float(interval.high)

    return Effect(found.size, unit, lambda chosen: float(found[chosen].mean()), exact)


def slope(x: Numbers, y: Numbers) -> float:
    """The exponent with which `y` grows with `x`: the slope of log(y) over log(x), by least squares.

    1 is linear, 0 constant; NaN without two different `x`.
    """
    across, up = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    return float(np.polyfit(across, up, 1)[0]) if np.ptp(across) > 0 else float("nan")


def worst(values: Numbers, unit: str, *, least: bool = False) -> Effect:
    """The greatest value of all units, or the least: for claims that hold always."""
    found = np.asarray(values, dtype=float)
    return Effect(len(found), unit, lambda chosen: float(found[chosen].min() if least else found[chosen].max()))


def _quotient(above: float, below: float) -> float:
    return float(above / below) if below else float("nan")
