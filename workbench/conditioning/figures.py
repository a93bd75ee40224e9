"""Pictures of samples: the likeliest texts, and the genealogy of particles; and the displays of a notebook.

Figures are plotly's.  A display is a table of plain HTML, which a notebook keeps without a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from visualizers.glyphs import clip, html_escape
from visualizers.tables import card, more, table
from workbench.conditioning.drawing import log_sum_exp

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from workbench.conditioning.genealogy import Genealogy, Generation

MOST_TEXT: Final = 60  # characters of a text that a figure shows
ROWS: Final = 12  # texts that a display shows
BLUE, GREEN, GREY, RED = "#4274ec", "#1f9d63", "#808892", "#d64545"


def texts_figure(distributions: Mapping[str, Mapping[str, float]], head: str, *, most: int) -> go.Figure:
    """The likeliest texts of some distributions over texts, by name, side by side."""
    import pandas as pd
    import plotly.express as px

    frame = pd.DataFrame({name: dict(one) for name, one in distributions.items()}).fillna(0.0)
    frame = frame.loc[frame.max(axis="columns").sort_values(ascending=False, kind="stable").index[:most]]
    drawn = px.bar(
        frame.rename(index=lambda text: clip(repr(text), MOST_TEXT)),
        orientation="h",
        barmode="group",
        labels={"value": "probability of the text, given that it is in the language", "index": "", "variable": ""},
        height=160 + 32 * len(frame),
        template="plotly_white",
    )
    drawn.update_yaxes(autorange="reversed", type="category", automargin=True)
    drawn.update_layout(title={"text": html_escape(head), "font": {"size": 12}}, showlegend=len(distributions) > 1)
    return drawn


def genealogy_figure(genealogy: Genealogy, run: int) -> go.Figure:
    """Particles of a run: a column for each step, a line from each to the one that it continues.

    A line is blue where a text at the end comes from it, and grey where it was in vain; a particle is as large as its
    weight.  Steps after which particles were drawn by weight have a dotted line.
    """
    import plotly.graph_objects as go

    if not -len(genealogy.runs) <= run < len(genealogy.runs):
        raise IndexError(f"there are {len(genealogy.runs)} runs, and none is number {run}")
    generations = genealogy.runs[run]
    useful = _useful(generations)
    drawn = go.Figure()
    for wanted, colour, name in ((False, GREY, "in vain"), (True, BLUE, "led to a text")):
        x: list[int | None] = []
        y: list[int | None] = []
        for step, generation in enumerate(generations):
            for particle, parent in enumerate(generation.parents.tolist()):
                if bool(useful[step][particle]) == wanted:
                    x += [step, step + 1, None]
                    y += [parent, particle, None]
        drawn.add_trace(
            go.Scatter(
                x=x,
                y=y,
                mode="lines",
                name=name,
                hoverinfo="skip",
                line={"color": colour, "width": 1.6 if wanted else 0.8},
                opacity=0.8 if wanted else 0.45,
            )
        )
    for kind, colour in (("ended", GREEN), ("going on", BLUE), ("dead", RED)):
        places = [
            (step + 1, particle, _share(generation, particle), generation.texts[particle])
            for step, generation in enumerate(generations)
            for particle in range(len(generation.parents))
            if _kind(generation, particle) == kind
        ]
        if places:
            drawn.add_trace(
                go.Scatter(
                    x=[place[0] for place in places],
                    y=[place[1] for place in places],
                    mode="markers",
                    name=kind,
                    marker={"color": colour, "size": [4 + 12 * math.sqrt(place[2]) for place in places]},
                    customdata=[(html_escape(clip(repr(text), MOST_TEXT)), share) for _, _, share, text in places],
                    hovertemplate="%{customdata[0]}<br>weight %{customdata[1]:.2%} of its step<extra></extra>",
                )
            )
    for step, generation in enumerate(generations):
        if generation.resampled:
            drawn.add_vline(x=step + 0.5, line={"color": GREY, "width": 1, "dash": "dot"})
    resampled = sum(generation.resampled for generation in generations)
    drawn.update_xaxes(title_text="token", dtick=max(1, len(generations) // 20))
    drawn.update_yaxes(title_text="particle", autorange="reversed", rangemode="tozero")
    drawn.update_layout(
        title=f"Who was resampled from whom: run {run}, {len(generations)} tokens, drawn by weight {resampled} times",
        template="plotly_white",
        height=max(320, min(900, 120 + 14 * max((len(one.parents) for one in generations), default=1))),
    )
    return drawn


def _useful(generations: Sequence[Generation]) -> list[npt.NDArray[np.bool_]]:
    """Of each particle of each step, whether a text with a weight comes from it."""
    found: list[npt.NDArray[np.bool_]] = []
    for generation, later in zip(reversed(generations), [None, *reversed(generations)], strict=False):
        if later is None:
            found.append(np.array(generation.ended, dtype=np.bool_) & (generation.log_weights != -math.inf))
        else:
            found.append(np.isin(np.arange(len(generation.parents)), later.parents[found[-1]]))
    return found[::-1]


def _kind(generation: Generation, particle: int) -> str:
    if generation.log_weights[particle] == -math.inf:
        return "dead"
    return "ended" if generation.ended[particle] else "going on"


def _share(generation: Generation, particle: int) -> float:
    """A particle's weight among those of its step."""
    total = log_sum_exp(generation.log_weights)
    return 0.0 if total == -math.inf else float(np.exp(generation.log_weights[particle] - total))


def table_html(head: str, heads: Sequence[str], rows: Sequence[tuple[str, str]]) -> str:
    """The first rows in a table, and how many more there are."""
    cells = [[html_escape(clip(text, MOST_TEXT)), html_escape(value)] for text, value in rows[:ROWS]]
    return card(html_escape(head), (), table(heads, cells, align="lr", mono=(0,)) + more(len(rows) - ROWS, "texts"))
