"""One prompt under several grammars, and where the texts part.

    wb.generate_side_by_side(model, "weather in Lund", {"free": None, "calls": grammar}, seed=2)

Read on: `loop.py`, `workbench/reports/cockpit.py` (the displays).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernels_core.inspect.classic import in_common
from kernels_core.inspect.snapshots import Table
from workbench.generation.generation import Generation
from workbench.record import Printed

if TYPE_CHECKING:
    from workbench.generation.loop import Constraint
    from workbench.generation.model import LanguageModel, Prompt

TELLING = ("type", "$ref", "$schema", "enum", "required", "anyOf", "oneOf", "allOf", "additionalProperties")
"""Keywords whose values are no grammars."""


@dataclass(frozen=True)
class SideBySide(Printed, Table):
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
        return in_common(next(iter(self.runs.values())).tokens, self.runs[name].tokens)

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

    def __repr__(self) -> str:
        told = ", ".join(f"{name}: {len(run)} tokens" for name, run in self.runs.items())
        return f"<SideBySide {told}>"


def generate_side_by_side(
    model: LanguageModel | str, prompt: Prompt, grammars: Mapping[str, Constraint | None] | Constraint, **options: Any
) -> SideBySide:
    """Generate from one prompt under each of `grammars` (None: without one), with one seed and the same settings.

    grammars: by name; what is no such mapping, such as a schema, is one grammar, beside which the model writes freely.
    options: those of `generate`; without a seed the first run's is taken for all.
    """
    from workbench.generation.loading import model_of
    from workbench.generation.loop import generate

    model = model_of(model, prompt)
    if grammars is not None and (not isinstance(grammars, Mapping) or _describes_an_output(grammars)):
        grammars = {"under the grammar": grammars, "free": None}
    if grammars is None or len(grammars) < 2:
        raise ValueError("side by side are at least two: pass {name: grammar or None, ...}")
    runs: dict[str, Generation] = {}
    for name, grammar in grammars.items():
        runs[name] = generate(model, prompt, grammar, **options)
        options["seed"] = runs[name].settings["seed"]
    return SideBySide(runs)


def _describes_an_output(value: Mapping[str, object]) -> bool:
    """Whether a mapping is a schema, a structural tag or tools, rather than grammars by name."""
    if None in value.values():
        return False
    from kernels_core.grammar.json_schema.keywords import KEYWORDS, NOTES
    from workbench.languages.guess import guess_value

    plain = any(isinstance(one, str | bool | int | list) for name, one in value.items() if name in TELLING)
    inner = any(name in KEYWORDS and name not in NOTES for name in value) and all(name in KEYWORDS for name in value)
    return plain or inner or guess_value(value).language != "json_schema"
