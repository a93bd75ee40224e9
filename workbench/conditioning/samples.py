"""What sampling leaves behind: texts with weights, how good they are, and what they cost.

Plain data that needs no model and no grammar to be read.
Read on: `methods.py` (who makes it), `figures.py` (the pictures).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.conditioning.drawing import FloatArray, log_sum_exp, sample_size
from workbench.conditioning.genealogy import Genealogy
from workbench.record import Printed

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True, repr=False)
class Samples(Printed):
    """Texts of a language, weighted so that together they follow p(text | text in the language).

    texts, tokens: of each draw, its text and its token ids (the stop token at the end included).
    log_weights: float64, of each draw (nats); all alike where the method draws from the target itself.  Each estimate
        of a mean over the target is a mean over the draws with these weights.
    log_evidence: estimate of the log probability of the language: that the model, left alone, writes a text of it and
        stops.  -inf where no draw was in it.
    log_evidence_error: its standard error (nats; relative error of the probability), nan where one cannot be had.
    log_evidence_bounds: what is certain of it, whatever was drawn: at least the different texts found, at most 0, or
        what the method has not ruled out.
    attempts: draws that were begun, of which those in the language became `texts`; of `smc` and `awrs` the particles.
    forwards: prefixes that the model read, each once (the prompt is not counted); passes: in how many passes.
    checks: tokens that the grammar was asked about one by one (`awrs`).
    stopped: None, or why there is less than was asked for: "max_forwards", "interrupted".
    """

    method: str
    texts: tuple[str, ...]
    tokens: tuple[tuple[int, ...], ...] = field(repr=False)
    log_weights: FloatArray = field(repr=False)
    log_evidence: float
    log_evidence_error: float
    log_evidence_bounds: tuple[float, float]
    attempts: int
    forwards: int
    passes: int
    checks: int = 0
    stopped: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    genealogy: Genealogy | None = field(default=None, repr=False)

    @cached_property
    def weights(self) -> FloatArray:
        """The weights, scaled to sum to 1."""
        if not len(self.texts):
            return np.empty(0)
        scaled: FloatArray = np.exp(self.log_weights - log_sum_exp(self.log_weights))
        return scaled

    @property
    def ess(self) -> float:
        """Effective sample size: how many draws from the target itself the weights are worth (1 to their number)."""
        return sample_size(self.log_weights)

    def distribution(self, *, weighted: bool = True) -> dict[str, float]:
        """Probability of each text, the likeliest first.  weighted=False: as the method draws, which is the target only
        where all weights are alike."""
        found: dict[str, float] = {}
        for text, weight in zip(self.texts, self.weights, strict=True):
            found[text] = found.get(text, 0.0) + (float(weight) if weighted else 1 / len(self.texts))
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def total_variation(self, other: Samples | Mapping[str, float], *, weighted: bool = True) -> float:
        """Half the sum of absolute differences between the distributions over texts, from 0 to 1."""
        theirs = other.distribution() if isinstance(other, Samples) else other
        return total_variation(self.distribution(weighted=weighted), theirs)

    def draw(self, count: int = 1, *, seed: int | None = None) -> list[str]:
        """Texts without weights: drawn anew from these, each with its weight."""
        if not len(self.texts):
            raise ValueError(f"there are no texts to draw from: {self!r}")
        places = np.random.default_rng(seed).choice(len(self.texts), size=count, p=self.weights)
        return [self.texts[place] for place in places]

    def to_frame(self) -> pd.DataFrame:
        """One row for each draw: its text, weight, log weight and number of tokens."""
        import pandas as pd

        return pd.DataFrame(
            {
                "text": list(self.texts),
                "weight": self.weights,
                "log_weight": self.log_weights,
                "tokens": [len(one) for one in self.tokens],
            }
        )

    def plot(self, other: Samples | Mapping[str, float] | None = None, *, most: int = 20) -> go.Figure:
        """The likeliest texts with their probabilities, beside those of `other` (as `exact`), as a plotly figure."""
        from workbench.conditioning.figures import texts_figure

        shown: dict[str, Mapping[str, float]] = {self.method: self.distribution()}
        if isinstance(other, Samples):
            shown[other.method if other.method != self.method else f"{other.method}, other"] = other.distribution()
        elif other is not None:
            shown["other"] = other
        return texts_figure(shown, self.summary(), most=most)

    def plot_genealogy(self, run: int = 0) -> go.Figure:
        """Who was resampled from whom in a run of particles, as a plotly figure; `ValueError` for other methods."""
        from workbench.conditioning.figures import genealogy_figure

        if self.genealogy is None:
            raise ValueError(f"method {self.method!r} has no particles: take 'smc' or 'awrs'")
        return genealogy_figure(self.genealogy, run)

    def summary(self) -> str:
        """What `repr` says, without the texts."""
        if self.log_evidence == -math.inf:
            evidence = "no text of the language was drawn"
        else:
            error = "" if math.isnan(self.log_evidence_error) else f" ± {self.log_evidence_error:.2g}"
            evidence = f"log p(language) {self.log_evidence:.4g}{error}"
        stopped = "" if self.stopped is None else f", stopped: {self.stopped}"
        return (
            f"{self.method}: {len(self.texts):,} texts, effective sample size {self.ess:.1f}, {evidence}, "
            f"{self.forwards:,} forwards in {self.passes:,} passes{stopped}"
        )

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"<Samples {self.summary()}>"

    def __str__(self) -> str:
        lines = [repr(self)]
        lines += [f"  {weight:7.2%}  {text!r}" for text, weight in list(self.distribution().items())[:20]]
        more = len(self.distribution()) - 20
        return "\n".join(lines + ([f"  and {more:,} more"] if more > 0 else []))

    def _repr_html_(self) -> str:
        from workbench.conditioning.figures import table_html

        rows = [(repr(text), f"{weight:.2%}") for text, weight in self.distribution().items()]
        return table_html(self.summary(), ("text", "probability in the language"), rows)


def total_variation(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Half the sum of absolute differences of two distributions; `ValueError` where one has no texts."""
    if not one or not other:
        raise ValueError("one of the distributions has no texts")
    return sum(abs(one.get(text, 0.0) - other.get(text, 0.0)) for text in {**one, **other}) / 2
