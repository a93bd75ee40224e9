"""`python -m workbench bench masks | tools`: our engine beside its peers; a thin shell around `experiments`.

Every trial runs in one worker process that is replaced when an engine kills it or hangs, so that one engine's trouble
costs one row and nobody else's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.experiment import DEFAULT_LEDGER, LedgerOption, OutOption, RecordOption, run

__all__ = ["app"]

app = typer.Typer(help="Benchmarks beside the installed peers (pip install '.\\[peers]').", no_args_is_help=True)

EnginesOption = Annotated[str, typer.Option(help="Comma-separated: ours, xgrammar, llguidance, ...")]
VocabularyOption = Annotated[
    str | None, typer.Option(help="tekken, llama3, or a tokenizer's path. Default: llama3 if there, else tekken.")
]
QuickOption = Annotated[bool, typer.Option("--quick", help="A few inputs: does it work?")]
TimeoutOption = Annotated[float, typer.Option("--timeout", help="Seconds an engine may take for one input.")]
MemoryOption = Annotated[
    float | None, typer.Option("--memory-gb", help="What the engines may use together. Default: 3/4 of the memory.")
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run, do not start afresh.")]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Take this many inputs, evenly spread.")]


@app.command("masks")
def masks(
    paths: Annotated[
        list[str] | None,
        typer.Argument(help="Folders, .json, .jsonl or .jsonl.gz files, or synthetic:SEED. Default: the data folder."),
    ] = None,
    quick: QuickOption = False,
    engines: EnginesOption = "ours,xgrammar,llguidance",
    limit: LimitOption = None,
    vocabulary: VocabularyOption = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Of each instance.")] = None,
    in_use: Annotated[
        bool, typer.Option("--in-use", help="Each engine compiles something small, untimed, before it is timed.")
    ] = False,
    turn: Annotated[int, typer.Option(min=1, help="Schemas an engine takes before the next one takes the same.")] = 1,
    timeout: TimeoutOption = 120.0,
    memory_gb: MemoryOption = None,
    resume: ResumeOption = False,
    ledger: LedgerOption = DEFAULT_LEDGER,
    out: OutOption = None,
    record: RecordOption = False,
    section: Annotated[str | None, typer.Option(help="Where --record writes, if not under 'masks'.")] = None,
) -> None:
    """Compile, masks and accepting over JSON Schemas with instances (MaskBench)."""
    from experiments import datasets
    from experiments import masks as experiment
    from experiments.registry import find_experiment

    if quick:
        limit, max_tokens = limit or experiment.QUICK_CASES, max_tokens or experiment.QUICK_TOKENS
    run(
        find_experiment("masks"),
        lambda: experiment.grid_of(
            datasets.find_cases(paths or datasets.default_schemas(), limit),
            engines=_engines(engines),
            vocabulary=vocabulary,
            max_tokens=max_tokens,
            in_use=in_use,
            turn=turn,
        ),
        _command(
            "masks",
            *(Path(path).name for path in paths or ()),
            *(["--in-use"] if in_use else []),
            limit=limit,
            turn=turn if turn > 1 else None,
            max_tokens=max_tokens,
            engines=engines,
            section=f"'{section}'" if section else None,
        ),
        executor="processes:1",
        ledger=ledger,
        fresh=not resume,
        retry_errors=False,
        out=out or [],
        record=record,
        section=section,
        timeout_s=timeout,
        memory_gb=memory_gb or _most_memory(),
    )


@app.command("tools")
def tools(
    quick: QuickOption = False,
    engines: EnginesOption = "ours,xgrammar,llguidance",
    limit: LimitOption = None,
    vocabulary: VocabularyOption = None,
    seed: Annotated[int, typer.Option(help="Of the random tool sets.")] = 0,
    timeout: TimeoutOption = 300.0,
    memory_gb: MemoryOption = None,
    resume: ResumeOption = False,
    ledger: LedgerOption = DEFAULT_LEDGER,
    out: OutOption = None,
    record: RecordOption = False,
) -> None:
    """Sets of 5 to 500 tools, every set fresh, as one structural tag and as one schema."""
    from experiments import tools as experiment
    from experiments.registry import find_experiment

    run(
        find_experiment("tools"),
        lambda: experiment.grid_of(
            experiment.QUICK_SIZES if quick else experiment.SIZES,
            sets=limit or (1 if quick else experiment.SETS),
            engines=_engines(engines),
            vocabulary=vocabulary,
            seed=seed,
        ),
        _command("tools", *(["--quick"] if quick else []), limit=limit, seed=seed or None, engines=engines),
        executor="processes:1",
        ledger=ledger,
        fresh=not resume,
        retry_errors=False,
        out=out or [],
        record=record,
        timeout_s=timeout,
        memory_gb=memory_gb or _most_memory(),
    )


def _most_memory() -> float:
    from experiments.machine import describe_machine

    return round(0.75 * describe_machine().memory_gb, 1)


def _engines(text: str) -> list[str]:
    from workbench.peers.catalogue import ENGINES

    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in ENGINES]
    if unknown or not names or len(set(names)) != len(names):
        raise typer.BadParameter(f"--engines {text}: name each engine once, of {', '.join(ENGINES)}")
    return names


def _shown(path: str) -> str:
    """A path without the folders of this machine."""
    return Path(path).name if Path(path).is_absolute() else path


def _command(name: str, *words: str, **options: object) -> str:
    """The command as one would type it: options that were given."""
    given = [f"--{key.replace('_', '-')} {value}" for key, value in options.items() if value is not None]
    return " ".join(["python -m workbench bench", name, *words, *given])
