"""A recorded run: what the model drew and where the parser was after each token.

A `Trace` is plain data.  It shows itself as a strip of tokens coloured by how hard the grammar pushed, and `save`
writes one HTML file in which the arrow keys step through the run, without Python.

Read on: `workbench/session/run.py` (makes traces), `workbench/generation/generation.py` (the generation's own records),
`visualizers/standalone.py` (the page).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from workbench.generation.generation import Edit, Generation
from workbench.generation.step import Step
from workbench.record import Record
from workbench.session.result import Reading

if TYPE_CHECKING:
    import pandas as pd

    from kernels_core.inspect.snapshots import Automaton, Frontier
    from workbench.generation.cuts import Cuts
    from workbench.generation.model import LanguageModel, Prompt


class RunningSession(Protocol):
    """A session, as far as a trace goes on in it."""

    def run(self, model: LanguageModel, prompt: Prompt, *, constrained: bool = True, **options: object) -> Trace: ...


@dataclass(frozen=True)
class Trace(Record):
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
    session: RunningSession | None = field(default=None, repr=False, compare=False)

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

    @property
    def verdict(self) -> str:
        """In a word."""
        return "conforms" if self.valid else "refused" if self.reason else "incomplete"

    def __len__(self) -> int:
        return len(self.generation)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.generation.steps)

    def __repr__(self) -> str:
        return f"<Trace of {self.generation!r}; {self.verdict}{f': {self.reason}' if self.reason else ''}>"

    def __getstate__(self) -> dict[str, Any]:
        """The session stays behind."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"session": None}

    def branch(self, step: int, edit: Edit = None, **options: object) -> Trace:
        """Go on from before token `step` with `edit` in its place, in the same session: see `Generation.branch`.

        Every view of the session follows.  `ValueError` once the trace was pickled.
        """
        begin = self.generation.beginning(step, edit)
        source = self.generation.source
        if self.session is None or source is None:
            raise ValueError("this trace has lost its session (it was pickled): generate again to branch from it")
        settings = {**self.generation.settings, **options}
        constrained = self.generation.constrained
        return self.session.run(source.model, list(source.prompt), constrained=constrained, begin=begin, **settings)

    def cuts(self, *, passes: int = 16) -> Cuts:
        """In which other tokens the text could have been written: see `Generation.cuts`."""
        return self.generation.cuts(passes=passes)

    def to_frame(self) -> pd.DataFrame:
        """One row for each token: the generation's columns, and how many Earley items there were before it."""
        frame = self.generation.to_frame()
        sizes: list[int | None] = [len(frontier) for frontier in self.frontiers[: len(frame)]]
        frame["items"] = sizes + [None] * (len(frame) - len(sizes))
        return frame
