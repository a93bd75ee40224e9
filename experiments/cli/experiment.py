"""`python -m workbench experiment list | run | export | merge | report`: a thin shell around `experiments`."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from experiments.ledger import Ledger
    from experiments.registry import Experiment
    from experiments.running import Result

__all__ = ["app", "finish", "run"]

app = typer.Typer(help="Experiments: what they claim, running them, their results.", no_args_is_help=True)

LedgerOption = Annotated[Path, typer.Option("--ledger", help="The file that remembers trials.")]
ExecutorOption = Annotated[str, typer.Option(help="serial, processes, processes:N or dask:ADDRESS.")]
OutOption = Annotated[
    list[Path] | None,
    typer.Option("--out", help="Write rows (.csv, .parquet), the figure (.html) or the tables (.md)."),
]
RecordOption = Annotated[bool, typer.Option("--record", help="Write the tables into experiments/RESULTS.md.")]
DEFAULT_LEDGER = Path("experiments.sqlite")


@app.command("list")
def list_all() -> None:
    """Every experiment: its source, what is claimed, and what would refute it."""
    from rich.console import Console

    from experiments.registry import list_experiments

    console = Console()
    for found in list_experiments():
        console.print(f"[bold]{found.name}[/]  {found.title}.")
        console.print(f"  source      {found.source}\n  claim       {found.claim}\n  refuted by  {found.refuted_by}")
        for claim in found.claims:
            console.print(f"  judged by   {claim.text}\n              {claim.what}: {claim.bound}", highlight=False)
        console.print()


@app.command("run")
def run_one(
    name: Annotated[str, typer.Argument(help="As `experiment list` names it.")],
    quick: Annotated[bool, typer.Option("--quick", help="A small grid: does it work?")] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Take this many schemas, evenly spread, in place of all.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Which model writes, where one does: a name or a folder, as `model` lists them.")
    ] = None,
    executor: ExecutorOption = "serial",
    ledger: LedgerOption = DEFAULT_LEDGER,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what the ledger holds already.")] = False,
    retry_errors: Annotated[bool, typer.Option("--retry-errors", help="Run trials again that failed.")] = False,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds for one trial (with --executor processes:N or dask:ADDRESS).")
    ] = None,
    memory_gb: Annotated[
        float | None, typer.Option("--memory-gb", help="Memory that one trial may add (with these executors).")
    ] = None,
    part: Annotated[
        str | None, typer.Option(help="K/N: the K-th of N parts, each for another machine; merge the ledgers then.")
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Passes over the grid, each in a process of its own: what intervals rest on.")
    ] = 1,
    out: OutOption = None,
    record: RecordOption = False,
) -> None:
    """Run what is missing of an experiment, print its tables, and judge its claims.

    Interrupt it whenever: the next run goes on from there.
    """
    from experiments.registry import find_experiment

    try:
        experiment = find_experiment(name)
    except KeyError as error:
        raise typer.BadParameter(str(error.args[0])) from None
    if limit is not None and "limit" not in experiment.choices:
        raise typer.BadParameter(f"{name} does not go through schemas one by one: run it without --limit")
    if model is not None and "model" not in experiment.choices:
        raise typer.BadParameter(f"{name} asks no model that one could choose: run it without --model")
    place = _place(part)
    preset = "quick" if quick else "full"
    command = f"python -m workbench experiment run {name}" + (" --quick" if quick else "")
    chosen = {key: value for key, value in (("limit", limit), ("model", model)) if value is not None}
    command += "".join(f" --{key} {shlex.quote(str(value))}" for key, value in chosen.items())
    command += "" if repeats == 1 else f" --repeats {repeats}"
    if executor != "serial":
        command += " --executor " + ("dask:ADDRESS" if executor.startswith("dask:") else executor)
    run(
        experiment,
        lambda: experiment.module.grid(preset, **chosen),
        command,
        executor=executor,
        ledger=ledger,
        fresh=fresh,
        retry_errors=retry_errors,
        out=out or [],
        record=record,
        timeout_s=timeout,
        memory_gb=memory_gb,
        repeats=repeats,
        part=place,
    )


def _place(part: str | None) -> tuple[int, int]:
    """`--part` as numbers; all is the first part of one."""
    if part is None:
        return 1, 1
    first, _, count = part.partition("/")
    if not (first.isdecimal() and count.isdecimal() and 1 <= int(first) <= int(count)):
        raise typer.BadParameter(f"--part {part}: write K/N, from 1/N to N/N")
    return int(first), int(count)


@app.command("merge")
def merge(
    others: Annotated[list[Path], typer.Argument(help="Ledgers of other machines, or of parts of a run.")],
    ledger: LedgerOption = DEFAULT_LEDGER,
) -> None:
    """Take the trials of other ledgers into this one; of those that both hold, the one that went better stays."""
    from experiments.ledger import Ledger, LedgerError

    try:
        with Ledger(ledger) as book:
            for path in others:
                added, replaced, left, unlike = book.merge(path)
                typer.echo(f"{path}: {added:,} trials added, {replaced:,} replaced, {left:,} known already")
                if unlike:
                    typer.echo(
                        f"{unlike:,} trials failed on one machine and went well on the other: only the latter stays"
                    )
    except LedgerError as error:
        raise typer.BadParameter(str(error)) from None


@app.command("export")
def export(
    name: Annotated[str, typer.Argument(help="A sweep in the ledger.")],
    out: Annotated[Path, typer.Argument(help="A .csv or .parquet file.")],
    ledger: LedgerOption = DEFAULT_LEDGER,
) -> None:
    """Write all rows of a sweep to a file."""
    from experiments.ledger import Ledger, LedgerError

    if not ledger.is_file():
        raise typer.BadParameter(f"no ledger {ledger}: run an experiment first")
    try:
        with Ledger(ledger) as book:
            typer.echo(book.export(name, out))
    except LedgerError as error:
        raise typer.BadParameter(str(error)) from None


@app.command("report")
def report(
    out: Annotated[Path, typer.Argument(help="The page to write.")] = Path("build/report.html"),
    ledger: LedgerOption = DEFAULT_LEDGER,
    figures: Annotated[
        Path | None, typer.Option("--figures", help="Write the figures into this folder as SVG as well.")
    ] = None,
) -> None:
    """Write one HTML page of all runs in the ledger: verdicts, figures, tables, the paper beside them; no network."""
    from experiments.ledger import Ledger, LedgerError
    from experiments.page import page, sections, write_figures
    from experiments.trial import NotRunError

    if not ledger.is_file():
        raise typer.BadParameter(f"no ledger {ledger}: run an experiment first")
    try:
        with Ledger(ledger) as book:
            found = sections(book)
    except LedgerError as error:
        raise typer.BadParameter(str(error)) from None
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(found))
    typer.echo(out)
    if figures is not None:
        try:
            for path in write_figures({one.name: one.figure for one in found if one.figure is not None}, figures):
                typer.echo(path)
        except NotRunError as error:
            raise typer.BadParameter(str(error)) from None


def run(
    experiment: Experiment,
    make_grid: Any,
    command: str,
    *,
    executor: str,
    ledger: Path,
    fresh: bool,
    retry_errors: bool,
    out: list[Path],
    record: bool,
    section: str | None = None,
    timeout_s: float | None = None,
    memory_gb: float | None = None,
    repeats: int = 1,
    part: tuple[int, int] = (1, 1),
) -> None:
    """Run a grid of an experiment, print and write what came of it; exit code 1 when a trial failed.

    make_grid: a function without arguments that returns the grid.  section: where `record` writes, if not under the
    name of the experiment.  repeats: passes over the grid; with several, each has processes of its own, so that none
    finds what another has made.  part: (k, n): every n-th group of trials that are compared, from the k-th on.
    """
    from rich.console import Console

    from experiments.datasets import DataError
    from experiments.executors import make_executor
    from experiments.ledger import Ledger, LedgerError, params_hash
    from experiments.registry import repeated
    from experiments.sweep import SweepError, run_sweep, take_part
    from experiments.trial import NotRunError

    # Written to a file or a pipe, tables get the room they need.
    console = Console(width=None if sys.stdout.isatty() else 200)
    for path in out:
        if path.suffix not in {".csv", ".parquet", ".html", ".md"}:
            raise typer.BadParameter(f"--out {path}: the name must end in .csv, .parquet, .html or .md")
    try:
        passes = repeated(list(make_grid()), repeats)
        kind = "processes:1" if repeats > 1 and executor == "serial" else executor
        make = partial(make_executor, kind, timeout_s=timeout_s, memory_gb=memory_gb)
        first = make()
    except NotRunError as error:
        console.print(f"not run: {error}", style="yellow")
        raise typer.Exit(0) from None
    except (DataError, ValueError, ModuleNotFoundError, OSError) as error:
        raise typer.BadParameter(str(error)) from None
    try:
        with Ledger(ledger) as book:
            all_keys = [params_hash(params) for grid in passes for params in grid]
            passes = [take_part(grid, *part) for grid in passes]
            keys = [params_hash(params) for grid in passes for params in grid]
            if fresh:
                book.forget(experiment.name, keys)
            for number, grid in enumerate(passes):
                with first if number == 0 else make() as workers:
                    run_sweep(
                        experiment.module.trial,
                        grid,
                        ledger=book,
                        sweep=experiment.name,
                        executor=workers,
                        retry_errors=retry_errors,
                        console=console,
                    )
            frame = book.frame(experiment.name, keys)
            # Of a part too, all trials are noted: the run is complete when the ledgers are merged.
            book.record_run(section or experiment.name, experiment.name, command, all_keys)
            finish(
                experiment,
                frame,
                book,
                command,
                console,
                out=out,
                section=(section or experiment.name) if record else None,
            )
    except (LedgerError, SweepError) as error:
        console.print(str(error), style="red")
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        console.print(f"Interrupted. What was measured is in {ledger}; run the same command to go on.", style="yellow")
        raise typer.Exit(130) from None
    raise typer.Exit(int((frame["status"] == "error").any()))


def finish(
    experiment: Experiment,
    frame: pd.DataFrame,
    ledger: Ledger,
    command: str,
    console: Console,
    *,
    out: list[Path],
    section: str | None,
) -> None:
    """Print the tables and verdicts of finished trials and write the files that were asked for."""
    from experiments.report import CLAIMS_CAPTION, as_markdown, print_tables, print_verdicts, provenance, write_section
    from experiments.running import Result

    ran = bool((frame["status"] == "ok").any())
    origin = provenance(frame, ledger, command)
    result = Result(experiment, frame, origin)
    tables = result.tables()
    print_tables({caption: table for caption, table in tables.items() if caption != CLAIMS_CAPTION}, console)
    console.print(origin, markup=False, highlight=False)
    print_verdicts(result.verdicts(), console)
    if frame["git"].nunique() > 1:
        console.print("These rows come from several commits: --fresh measures all of them again.", style="yellow")
    for path in out:
        if path.suffix == ".html":
            if ran:
                result.plot().write_html(path, include_plotlyjs=True)
        elif path.suffix == ".md":
            path.write_text(f"{origin}\n\n{as_markdown(tables, result.verdicts())}\n")
        else:
            ledger.export(experiment.name, path)
    if section is not None:
        figure = _drawn(section, result, console) if ran else None
        write_section(section, experiment.title, tables, origin, verdicts=result.verdicts(), figure=figure)


def _drawn(section: str, result: Result, console: Console) -> Path | None:
    """The result's figure as a file for the results; None, with the reason, where none can be drawn."""
    from experiments import report
    from experiments.page import write_figures
    from experiments.trial import NotRunError

    try:
        (path,) = write_figures({section: result.plot()}, report.FIGURES)
    except NotRunError as reason:
        console.print(f"no figure: {reason}", style="yellow")
        return None
    return path
