"""Claims judged by numbers: held, refuted or undecided, with the size of the effect and its interval.

An experiment declares `CLAIMS`: each says in a sentence what should come out, how the number is computed from the
trials, and which bound it must keep.  `judge` computes it, bootstraps a 95 % interval over independent units (schemas,
sets of tools, runs; `scipy.stats.bootstrap`), and says

- held: the whole interval keeps the bound;
- refuted: none of it does;
- undecided: the interval reaches over the bound, or fewer than `FEWEST` units were measured.

What must hold *every* time (`always`) has no interval: the worst unit decides, one is enough to refute it, and
`FEWEST` are needed to say that it held.

Read on: `registry.py` (who declares them), `pairs.py` (times of two engines on the same inputs).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from experiments.columns import Column, explained, finished

__all__ = [
    "FEWEST",
    "Claim",
    "ClaimVerdict",
    "Effect",
    "Word",
    "judge",
    "mean",
    "ratio",
    "share",
    "slope",
    "verdict_table",
    "worst",
]

FEWEST: Final = 5
"""Independent units without which nothing is called held; an interval of fewer says nothing."""
RESAMPLES: Final = 2000
LEVEL: Final = 0.95

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
        taken further out, by Student's t for so many units (Hesterberg, arXiv 1411.5279, "expanded percentile").  Of
        10 units or more the interval then covers a mean of alike numbers, a median or a geometric mean 93 to 96 times
        of 100; a mean that few large numbers make is covered less (88 times, where the logarithms spread by 0.7).
        """
        if self.exact is not None:
            return self.exact(level)
        tail = stats.norm.cdf(stats.t.ppf((1 - level) / 2, self.units - 1) * np.sqrt(self.units / (self.units - 1)))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = stats.bootstrap(
                (np.arange(self.units),),
                self.of,
                n_resamples=RESAMPLES,
                confidence_level=float(1 - 2 * tail),
                method="percentile",
                vectorized=False,
                rng=np.random.default_rng(0),
            ).confidence_interval
        return float(found.low), float(found.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence that numbers can refute.

    what: the number in a few words, with its unit.  effect: computes it from the finished trials; None, or an effect
    without units, where those that it needs were not run.  at_most, at_least: the bound, one of the two.
    always: of every unit.  paper: the paper's number, and where it stands.  differs: a sentence on why ours is another.
    """

    text: str
    what: str
    effect: Callable[[pd.DataFrame], Effect | None]
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
        return number <= self.at_most if self.at_most is not None else number >= float(self.at_least or 0)

    @property
    def bound(self) -> str:
        """The bound in words."""
        bound = f"at most {self.at_most:.3g}" if self.at_most is not None else f"at least {self.at_least:.3g}"
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


def judge(claims: Sequence[Claim], frame: pd.DataFrame) -> list[ClaimVerdict]:
    """A verdict on each claim from one row a trial (`Ledger.frame`)."""
    done = finished(frame)
    if done.empty:
        return [ClaimVerdict(claim, "undecided", why="nothing was measured") for claim in claims]
    return [_judge(claim, claim.effect(done)) for claim in claims]


def _judge(claim: Claim, effect: Effect | None) -> ClaimVerdict:
    if effect is None or effect.units == 0 or np.isnan(size := effect.size):
        return ClaimVerdict(claim, "undecided", why="not measured")
    if claim.always:
        word: Word = "refuted" if not claim.keeps(size) else "held" if effect.units >= FEWEST else "undecided"
        why = f"n = {effect.units}" if word == "undecided" else ""
        return ClaimVerdict(claim, word, size, units=effect.units, unit=effect.unit, why=why)
    if effect.units < FEWEST:
        return ClaimVerdict(claim, "undecided", size, units=effect.units, unit=effect.unit, why=f"n = {effect.units}")
    low, high = effect.interval()
    if np.isnan(low) or np.isnan(high):
        return ClaimVerdict(claim, "undecided", size, low, high, effect.units, effect.unit, "no interval")
    sides = {claim.keeps(low), claim.keeps(high)}
    word = "undecided" if len(sides) == 2 else "held" if sides == {True} else "refuted"
    why = "the interval reaches over the bound" if word == "undecided" else ""
    return ClaimVerdict(claim, word, size, low, high, effect.units, effect.unit, why)


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
    Column("interval", "95 %", help="the interval of the number, bootstrapped over the units of n"),
    Column("n", help="how many independent units it was measured on"),
    Column("bound", "must be", help="the bound of the claim; always: no unit may be beyond it"),
    Column("paper", help="the paper's number for the same"),
    Column("differs", "why they differ", help="why ours is not the paper's"),
)


def _short(number: float) -> str:
    """Three significant digits, and no power of ten where there are more before the point."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


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
