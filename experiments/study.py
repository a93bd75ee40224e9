"""The study: the runs that `docs/evidence.md` is made of, in the order of what they are worth.

`python -m workbench study` goes on where it was interrupted, since the ledger knows what was run; `--gpu` runs the part
that needs a GPU, in eight minutes.  A run is recorded once all of its trials are there.

Read on: `evidence.py` (which numbers answer which question), `cli/study.py` (the command).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rich.console import Console

from experiments.executors import make_executor
from experiments.ledger import Ledger, params_hash
from experiments.registry import find_experiment, without_folders
from experiments.report import provenance
from experiments.running import Result
from experiments.sweep import run_sweep

GPU_MINUTES: Final = 8.0
MODEL: Final = "model="
FIELD: Final = "engines=ours,xgrammar,xgrammar-default,llguidance,glrmask,maskforge"


@dataclass(frozen=True, slots=True)
class Part:
    """One run of the study.

    section: where it is recorded.  options: of the experiment's grid.  minutes: about how long it takes, on two cores
    with nothing beside it, or on one GPU.  own: in a process that is replaced where an engine hangs or crashes, which a
    trial of more than `timeout_s` seconds does.  answers: what the page has from it.
    """

    section: str
    experiment: str
    answers: str
    minutes: float
    options: tuple[str, ...] = ()
    preset: str = "full"
    own: bool = False
    timeout_s: float = 120.0
    gpu: bool = False

    @property
    def model(self) -> str:
        """What writes; "" where no model does."""
        return next((option.removeprefix(MODEL) for option in self.options if option.startswith(MODEL)), "")

    @property
    def command(self) -> str:
        """The same run by itself."""
        said = ["python -m workbench experiment run", self.experiment, *(["--quick"] if self.preset == "quick" else [])]
        said += [f"--set {option}" for option in self.options]
        said += [f"--executor processes:1 --timeout {self.timeout_s:.0f}"] if self.own else []
        return " ".join([*said, *([f"--section '{self.section}'"] if self.section != self.experiment else [])])


PARTS: Final = (
    Part("gpu", "gpu", "figure 9 and table 3, a step", 3, preset="quick", gpu=True),
    Part(
        "serving on a GPU",
        "serving",
        "figure 9, table 3, XGrammar's figure 2: a loop",
        5,
        ("device=cuda", "sources=schemas"),
        preset="quick",
        gpu=True,
    ),
    Part("masks", "masks", "the whole field on 400 schemas, XGrammar twice", 20, ("limit=400", FIELD), own=True),
    Part(
        "tools",
        "tools",
        "figures 7 and 8, the post's figure 2, the request of 500 tools",
        5,
        ("data=bfcl",),
        own=True,
        timeout_s=300,
    ),
    Part("grammars", "grammars", "XGrammar's figure 1: grammars that are no schemas", 11),
    Part(
        "masks whole folder",
        "masks",
        "figure 11, the request, every schema's status",
        6,
        ("turn=20", "engines=ours,llguidance"),
        own=True,
        timeout_s=60,
    ),
    Part(
        "masks alone",
        "masks",
        "the request of a compiler that has read no schema before",
        3,
        ("limit=1000", "turn=20", "forget=true", "engines=ours,llguidance"),
        own=True,
        timeout_s=60,
    ),
    Part("serving", "serving", "figure 9 and table 3 on a CPU, Poisson", 25),
    Part("compile-dynamic", "compile-dynamic", "figure 6", 6),
    Part("factorial", "factorial", "table 4 as 2 x 2 x 2", 23),
    Part("dispatch-size", "dispatch-size", "table 2", 5),
    Part(
        "tax by category",
        "tax",
        "table 5 as schema in the prompt x grammar, by category of the leaderboard; `--model` names the model",
        15,
        (
            "limit=25",
            "categories=simple,multiple,live_simple,live_multiple",
            "arms=free,schema,constrained,both",
            "model=smollm2",
        ),
    ),
    Part("service", "service", "a server under load", 12),
    Part(
        "made tools",
        "tools",
        "tools with bounds on lengths, and without",
        33,
        ("data=made,bare",),
        own=True,
        timeout_s=300,
    ),
)
"""In the order of what they are worth."""


def worth(*, gpu: bool, only: Sequence[str] = (), model: str = "") -> list[Part]:
    """The parts with or without a GPU, or those of these sections; `KeyError` names the known ones.

    model: those that ask a model, with this one (what `load_model` takes), each in a section of its own.
    """
    parts = [_asking(part, model) for part in PARTS if part.model] if model else PARTS
    known = {part.section: part for part in parts}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise KeyError(f"no part {', '.join(unknown)}; known: {', '.join(known)}")
    return [known[name] for name in only] if only else [part for part in parts if part.gpu == gpu]


def _asking(part: Part, model: str) -> Part:
    """The part with another model; its section has the model's name."""
    name = re.sub(r"[^\w-]+", "-", Path(model).name)
    options = [option for option in part.options if not option.startswith(MODEL)]
    return replace(part, section=f"{part.section} {name}", options=(*options, MODEL + model))


def run_part(
    part: Part,
    ledger: Ledger,
    *,
    smoke: bool = False,
    until: float | None = None,
    console: Console | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Result | None:
    """Run what the ledger lacks of a part; None where the time is over before all of it is there.

    smoke: the smallest preset, without the part's options.  until: by `clock`; no trial is begun later.
    """
    experiment = find_experiment(part.experiment)
    grid = experiment.grid("smoke") if smoke else experiment.grid(part.preset, part.options)
    keys = [params_hash(params) for params in grid]
    with make_executor(
        "processes:1" if part.own else "serial", timeout_s=part.timeout_s if part.own else None
    ) as workers:
        frame = run_sweep(
            experiment.module.trial,
            grid,
            ledger=ledger,
            sweep=part.experiment,
            executor=workers,
            console=console,
            until=None if until is None else lambda: clock() >= until,
        )
    if len(frame) < len(grid):
        return None
    command = replace(part, options=tuple(map(without_folders, part.options))).command
    ledger.record_run(part.section, part.experiment, command, keys)
    return Result(experiment, frame, provenance(frame, ledger, command))
