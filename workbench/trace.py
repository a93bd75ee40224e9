"""A recorded run: what the model drew and where the parser was after each token.

A `Trace` is plain data.  It shows itself as a strip of tokens coloured by how hard the grammar pushed, and `save`
writes one HTML file in which the arrow keys step through the run, without Python.

Read on: `workbench/run.py` (makes traces), `workbench/generation/trace.py` (the generation's own records),
`visualizers/standalone.py` (the page).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualizers.standalone import iframe
from workbench.page import Page
from workbench.reading import Reading
from workbench.strip import save_html, trace_html

if TYPE_CHECKING:
    import pandas as pd

    from kernels_core.inspect.snapshots import Automaton, Frontier
    from workbench.blame import Blame
    from workbench.generation import Generation, Step
    from workbench.generation.branch import Edit
    from workbench.generation.cuts import Cuts
    from workbench.session import Session

__all__ = ["Page", "Trace"]


@dataclass(frozen=True)
class Trace:
    """One generation and the parser's frontier before its first token and after each.

    `frontiers` has one entry more than the tokens that were followed: all of them, or those up to the token that the
    grammar refused (`died` then tells where, and `reason` in a sentence).  `session` is the one that followed it (None
    once the trace was pickled).  `source` is the grammar's text.
    """

    generation: Generation
    source: str = field(repr=False)
    automaton: Automaton = field(repr=False)
    frontiers: tuple[Frontier, ...] = field(repr=False)
    died: Reading | None = None
    reason: str = ""
    session: Session | None = field(default=None, repr=False, compare=False)

    @property
    def text(self) -> str:
        """What the model wrote."""
        return self.generation.text

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.generation.steps

    @property
    def followed(self) -> int:
        """How many of the tokens the grammar (and so the session) took."""
        return len(self.frontiers) - 1

    @property
    def refused_from(self) -> int | None:
        """The number of the first token that the grammar refused; None where it took all that were followed."""
        return None if self.died is None else self.followed

    @property
    def valid(self) -> bool:
        """Whether the whole text is a sentence of the grammar."""
        return not self.reason and self.frontiers[-1].completed

    def __len__(self) -> int:
        return len(self.generation)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.generation.steps)

    def __repr__(self) -> str:
        verdict = "conforms" if self.valid else f"refused: {self.reason}" if self.reason else "incomplete"
        return f"<Trace of {self.generation!r}; {verdict}>"

    def __getstate__(self) -> dict[str, Any]:
        """The session stays behind."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"session": None}

    def branch(self, step: int, edit: Edit = None, **options: Any) -> Trace:
        """Go on from before token `step` with `edit` in its place, in the same session: see `Generation.branch`.

        Every view of the session follows.  `ValueError` once the trace was pickled.
        """
        from workbench.generation.branch import beginning

        begin = beginning(self.generation, step, edit)
        source = self.generation.source
        if self.session is None or source is None:
            raise ValueError("this trace has lost its session (it was pickled): generate again to branch from it")
        settings = {**self.generation.settings, **options}
        constrained = self.generation.constrained
        return self.session.run(source.model, list(source.prompt), constrained=constrained, begin=begin, **settings)

    def blame(self, *, seconds: float = 10.0) -> Blame:
        """Which parts of the grammar took how much probability: see `Generation.blame`."""
        return self.generation.blame(seconds=seconds)

    def cuts(self, *, passes: int = 16) -> Cuts:
        """In which other tokens the text could have been written: see `Generation.cuts`."""
        return self.generation.cuts(passes=passes)

    def to_frame(self) -> pd.DataFrame:
        """One row for each token: the generation's columns, and how many Earley items there were before it."""
        frame = self.generation.to_frame()
        sizes: list[int | None] = [len(frontier) for frontier in self.frontiers[: len(frame)]]
        frame["items"] = sizes + [None] * (len(frame) - len(sizes))
        return frame

    def to_html(self, *, title: str = "Maskscope trace", heading: bool = True) -> str:
        """The run as one HTML document: the model cockpit, the automaton, the frontier and the caches.

        It is stepped by the arrow keys, without Python.

        Without `heading` it has no title line and no margins, as in a frame.
        """
        from visualizers.live import AutomatonView, FrontierView, to_page
        from workbench.cockpit import generation_views, step_label

        automaton, frontier = AutomatonView(self.automaton), FrontierView()
        automaton.play(self.frontiers)
        frontier.play(self.frontiers)
        cockpit, *caches = generation_views(self.generation, places=len(self.frontiers), refused_from=self.refused_from)
        labels = ["before the first token", *map(step_label, self.steps[: self.followed])]
        document = to_page([cockpit, automaton, frontier, *caches], title=title, labels=labels, heading=heading)
        automaton.close()
        frontier.close()
        return document

    def save(self, path: str | Path, *, title: str = "Maskscope trace") -> Path:
        """Write `to_html()` to `path`, which must end in `.html`; returns the path."""
        return save_html(path, self.to_html(title=title))

    def show(self, *, height: int = 640) -> Page:
        """The same page in a frame, `height` pixels high, for the notebook: step with the arrow keys."""
        return Page(iframe(self.to_html(heading=False), height=height), repr(self))

    def _repr_html_(self) -> str:
        from workbench.cockpit import trace_table

        return trace_html(self) + trace_table(self)

    def __str__(self) -> str:
        from workbench.cockpit import generation_text

        return f"{self!r}\n{generation_text(self.generation)}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """In IPython's terminal: as `print` shows it."""
        printer.text(repr(self) if cycle else str(self))
