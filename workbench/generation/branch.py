"""Going on from any step of a generation, with something else in its place; and one prompt under several grammars.

    other = generation.branch(12, "Malmö")          # the first 12 tokens, then this, then the model again
    wb.generate_side_by_side(model, "weather in Lund", {"free": None, "calls": grammar}, seed=2)

Read on: `loop.py` (`begin`), `workbench/cockpit.py` (the displays).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias

from workbench.generation.loop import Constraint, generate
from workbench.generation.model import LanguageModel, Prompt
from workbench.generation.trace import Generation, Step

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Edit", "SideBySide", "beginning", "branch", "generate_side_by_side", "parting"]

Edit: TypeAlias = str | bytes | int | Sequence[int] | None
"""What comes instead of a token: a text or bytes (cut into tokens), a token id, several, or nothing."""


def beginning(generation: Generation, step: int, edit: Edit = None) -> list[int | Step]:
    """What a branch begins with (`begin` of `generate`): the steps before `step`, and the tokens of `edit`.

    `IndexError` for a step outside [0, len(generation)], `ValueError` without a `source`.
    """
    if not 0 <= step <= len(generation):
        raise IndexError(f"step {step} is outside the generation, which has {len(generation)} tokens")
    if generation.source is None:
        raise ValueError("this generation has lost its model (it was pickled): generate again to branch from it")
    kept: list[int | Step] = list(generation.steps[:step])
    if edit is None:
        return kept
    if isinstance(edit, str | bytes):
        return kept + list(generation.source.model.tokenizer.encode(edit))
    if isinstance(edit, int):
        return [*kept, edit]
    return kept + [index(token) for token in edit]


def branch(generation: Generation, step: int, edit: Edit = None, **options: Any) -> Generation:
    """`Generation.branch`."""
    begin = beginning(generation, step, edit)
    source = generation.source
    assert source is not None
    settings = {**generation.settings, **options}
    return generate(source.model, list(source.prompt), source.origin, begin=begin, **settings)


def parting(one: Generation, other: Generation) -> int:
    """How many tokens two generations begin with in common."""
    for place, (mine, theirs) in enumerate(zip(one.tokens, other.tokens, strict=False)):
        if mine != theirs:
            return place
    return min(len(one), len(other))


@dataclass(frozen=True)
class SideBySide:
    """The same prompt, seed and settings under several grammars, or none: `runs` by name, in order.

    Shows itself as strips under each other, aligned from the first token to where each parts from the first run.
    """

    runs: Mapping[str, Generation]

    def __getitem__(self, name: str) -> Generation:
        return self.runs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def parts_at(self, name: str) -> int:
        """The number of the first token in which the run called `name` differs from the first run."""
        return parting(next(iter(self.runs.values())), self.runs[name])

    def rows(self) -> list[dict[str, Any]]:
        """One row for each run."""
        return [
            {
                "run": name,
                "constrained": run.constrained,
                "tokens": len(run),
                "parts_at": self.parts_at(name),
                "finish_reason": run.finish_reason,
                "complete": run.complete,
                "log_feasible_mass": run.log_feasible_mass,
                "refused_favourites": sum(step.rejected_favourite for step in run.steps),
                "text": run.text,
            }
            for name, run in self.runs.items()
        ]

    def to_frame(self) -> pd.DataFrame:
        """The rows as a `pandas.DataFrame`."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def _repr_html_(self) -> str:
        from workbench.cockpit import side_by_side_html

        return side_by_side_html(self)

    def __str__(self) -> str:
        from workbench.cockpit import side_by_side_text

        return side_by_side_text(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self) if cycle else str(self))

    def __repr__(self) -> str:
        told = ", ".join(f"{name}: {len(run)} tokens" for name, run in self.runs.items())
        return f"<SideBySide {told}>"


def generate_side_by_side(
    model: LanguageModel, prompt: Prompt, grammars: Mapping[str, Constraint | None] | Constraint, **options: Any
) -> SideBySide:
    """Generate from one prompt under each of `grammars` (None: without one), with one seed and the same settings.

    grammars: by name; what is no mapping is one grammar, beside which the model writes freely.  `options` are those of
    `generate`; without a seed the first run's is taken for all.
    """
    if grammars is not None and not isinstance(grammars, Mapping):
        grammars = {"under the grammar": grammars, "free": None}
    if grammars is None or len(grammars) < 2:
        raise ValueError("side by side are at least two: pass {name: grammar or None, ...}")
    runs: dict[str, Generation] = {}
    for name, grammar in grammars.items():
        runs[name] = generate(model, prompt, grammar, **options)
        options["seed"] = runs[name].settings["seed"]
    return SideBySide(runs)
