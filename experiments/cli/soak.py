"""`python -m workbench soak`: strangers' schemas at many matchers, as long as one likes; see `experiments/soak.py`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.cli.experiment import DEFAULT_LEDGER, LedgerOption, OutOption, RecordOption, run

if TYPE_CHECKING:
    from experiments.soaking import Window

__all__ = ["app"]

app = typer.Typer(invoke_without_command=True)


@app.callback()
def soak(
    minutes: Annotated[float, typer.Option(min=0.01, help="How long.")] = 60.0,
    matchers: Annotated[int, typer.Option(min=1, help="Texts that are under way at the same time.")] = 64,
    threads: Annotated[int, typer.Option(min=1)] = 8,
    vocabulary: Annotated[
        str | None, typer.Option(help="tekken, llama3, demo, or a path. Default: llama3 if there, else tekken.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the requests.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was counted as JSON, and nothing else.")] = False,
    ledger: LedgerOption = DEFAULT_LEDGER,
    out: OutOption = None,
    record: RecordOption = False,
) -> None:
    """Strangers' schemas, valid, broken and hostile, at many matchers in many threads; exit code 1 where something
    happened that must never be."""
    from experiments import soak as experiment
    from experiments.registry import find_experiment

    grid = experiment.grid_of(60 * minutes, matchers=matchers, threads=threads, vocabulary=vocabulary, seed=seed)
    if as_json:
        counted = experiment.trial(grid[0])
        typer.echo(json.dumps(counted))
        raise typer.Exit(int(any(window["never"] for window in counted["windows"])))
    given: dict[str, Any] = {"minutes": minutes, "matchers": matchers, "threads": threads}
    given |= {} if vocabulary is None else {"vocabulary": vocabulary}
    given |= {} if seed == 0 else {"seed": seed}
    command = " ".join(
        [
            "python -m workbench soak",
            *(
                f"--{name} {value:g}" if isinstance(value, float) else f"--{name} {value}"
                for name, value in given.items()
            ),
        ]
    )
    never: list[int] = []

    def tell(window: Window) -> None:
        never.append(window.never)
        _tell(window)

    experiment.TELL.append(tell)
    try:
        run(
            find_experiment("soak"),
            lambda: grid,
            command,
            executor="serial",
            ledger=ledger,
            fresh=True,
            retry_errors=False,
            out=out or [],
            record=record,
        )
    except typer.Exit as done:
        raise typer.Exit(done.exit_code or int(any(never))) from None
    finally:
        experiment.TELL.remove(tell)


def _tell(window: Window) -> None:
    """One line for each window, while it goes on."""
    masks = window.times.get("mask", {})
    typer.echo(
        f"{window.tokens / window.seconds:10,.0f} tokens/s  {window.requests / window.seconds:8,.1f} requests/s  "
        f"mask p99.9 {masks.get('p99.9', float('nan')) / 1000:8.2f} ms  {window.resident / 1e6:8,.0f} MB  "
        f"{window.never} that must never be",
        err=True,
    )
