"""`python -m workbench experiment COMMAND` (list, run, history, schemas, pages)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.common import AsJson, say_json

if TYPE_CHECKING:
    from rich.console import Console

    from experiments.ledger import Ledger
    from experiments.running import Result

app = typer.Typer(help="Experiments: what they claim, running them, their results.", no_args_is_help=True)

LedgerOption = Annotated[Path, typer.Option("--ledger", help="The file that remembers trials.")]
ExecutorOption = Annotated[str, typer.Option(help="serial, processes, processes:N or dask:ADDRESS.")]
OutOption = Annotated[
    list[Path] | None,
    typer.Option("--out", help="Write rows (.csv, .parquet), the figure (.html) or the tables (.md)."),
]
RecordOption = Annotated[
    bool, typer.Option("--record", help="Keep it in experiments/results/, and write the pages anew.")
]
DEFAULT_LEDGER = Path("experiments.sqlite")


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """Every experiment: its source, its options, and what is claimed, with the bounds that refute it."""
    from rich.console import Console

    from experiments.registry import list_experiments

    if as_json:
        listed = [
            {name: getattr(one, name) for name in ("name", "title", "source", "options")}
            | {"claims": [{"text": claim.text, "number": claim.what, "must be": claim.bound} for claim in one.claims]}
            for one in list_experiments()
        ]
        say_json(listed)
        return
    console = Console()
    for found in list_experiments():
        console.print(f"[bold]{found.name}[/]  {found.title}.")
        console.print(f"  source      {found.source}", highlight=False)
        if found.options:
            told = ", ".join(f"{name}={_default(value)}" for name, value in found.options.items())
            console.print(f"  options     {told}", highlight=False, markup=False)
        for claim in found.claims:
            console.print(f"  judged by   {claim.text}\n              {claim.what}: {claim.bound}", highlight=False)
        console.print()


def _default(value: object) -> str:
    """As it is typed behind --set."""
    return ",".join(value) if isinstance(value, tuple) else "" if value is None else str(value).lower()


@app.command("run")
def run(
    name: Annotated[str, typer.Argument(help="As `experiment list` names it.")],
    quick: Annotated[bool, typer.Option("--quick", help="A small grid: does it work?")] = False,
    options: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="OPTION=VALUE, as `experiment list` names them. Again for each."),
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
    repeats: Annotated[
        int, typer.Option(min=1, help="Passes over the grid, each in a process of its own: what intervals rest on.")
    ] = 1,
    out: OutOption = None,
    record: RecordOption = False,
    section: Annotated[
        str | None, typer.Option(help="Where --record writes, if not under the name.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run what is missing of an experiment, print its tables, and judge its claims.

    Exit code 1: a trial failed, or what must hold always does not.  Interrupt it whenever: the next run goes on from
    there.  Where engines may hang or crash, --executor processes:1 has them in a process that is replaced then.

    Example: experiment run masks --set limit=50 --set engines=ours,xgrammar --executor processes:1 --timeout 120
    """
    from rich.console import Console

    from experiments.columns import finished
    from experiments.datasets import DataError
    from experiments.executors import make_executor
    from experiments.history import keep_run
    from experiments.ledger import Ledger, params_hash
    from experiments.record import check_section
    from experiments.registry import find_experiment, repeated, without_folders
    from experiments.report import provenance, rows_of
    from experiments.running import Result
    from experiments.sweep import run_sweep
    from experiments.trial import NotRunError

    try:
        experiment = find_experiment(name)
    except KeyError as error:
        raise typer.BadParameter(str(error.args[0])) from None
    command = f"python -m workbench experiment run {name}" + (" --quick" if quick else "")
    command += "".join(f" --set {without_folders(option)}" for option in options or ())
    command += "" if repeats == 1 else f" --repeats {repeats}"
    if executor != "serial":
        command += " --executor " + ("dask:ADDRESS" if executor.startswith("dask:") else executor)
    command += f" --section '{section}'" if section else ""
    section = section or name
    # Written to a file or a pipe, tables get the room they need; where JSON is asked for, nothing else is printed.
    console = Console(width=None if sys.stdout.isatty() else 200, stderr=as_json, quiet=as_json)
    for path in out or ():
        if path.suffix not in {".csv", ".parquet", ".html", ".md"}:
            raise typer.BadParameter(f"--out {path}: the name must end in .csv, .parquet, .html or .md")
    try:
        check_section(section)
        passes = repeated(experiment.grid("quick" if quick else "full", options or ()), repeats)
        kind = "processes:1" if repeats > 1 and executor == "serial" else executor
        make = partial(make_executor, kind, timeout_s=timeout, memory_gb=memory_gb)
        first = make()
    except NotRunError as error:
        console.print(f"not run: {error}", style="yellow")
        if as_json:
            say_json({"not run": str(error)})
        raise typer.Exit(0) from None
    except (DataError, ValueError, ModuleNotFoundError, OSError) as error:
        raise typer.BadParameter(str(error)) from None
    with resumable(ledger, console), Ledger(ledger) as book:
        keys = [params_hash(params) for grid in passes for params in grid]
        if fresh:
            book.forget(name, keys)
        for number, grid in enumerate(passes):
            with first if number == 0 else make() as workers:
                run_sweep(
                    experiment.module.trial,
                    grid,
                    ledger=book,
                    sweep=name,
                    executor=workers,
                    retry_errors=retry_errors,
                    console=console,
                )
        frame = book.frame(name, keys)
        book.record_run(section, name, command, keys)
        result = Result(experiment, frame, provenance(frame, book, command))
        if len(finished(frame)):
            keep_run(ledger, section, result)
        _write(result, book, console, out or [], section if record else None)
    if as_json:
        say_json({"claims": rows_of(result.claims()), "trials": rows_of(frame)})
    never = any(one.claim.always and one.word == "refuted" for one in result.verdicts())
    raise typer.Exit(int(never or (frame["status"] == "error").any()))


@app.command("history")
def show_history(
    name: Annotated[str, typer.Argument(help="An experiment, or the section of its runs.")],
    ledger: LedgerOption = DEFAULT_LEDGER,
    out: Annotated[Path | None, typer.Option("--out", help="Draw the numbers over the commits (.html).")] = None,
    as_json: AsJson = False,
) -> None:
    """What became of each claim, run after run, with the commits."""
    from rich.console import Console

    from experiments.history import draw_history, history
    from experiments.report import print_tables, rows_of

    found = history(ledger, name)
    if found.empty:
        raise typer.BadParameter(f"no run of {name} was kept beside {ledger}: experiment run {name}")
    if out is not None:
        draw_history(found).write_html(out, include_plotlyjs=True)
    if as_json:
        say_json(rows_of(found))
        return
    print_tables({f"Runs of {name}": found}, Console(width=None if sys.stdout.isatty() else 200))


@app.command("schemas")
def schemas(
    out: Annotated[Path, typer.Argument(help="The .csv file to write.")],
    section: Annotated[str, typer.Option(help="A run of masks in the ledger.")] = "masks",
    ledger: LedgerOption = DEFAULT_LEDGER,
) -> None:
    """Write what became of each schema of a run of `masks`, by engine: right, refused and why, wrong, time limit."""
    from experiments.statuses import statuses

    if out.suffix != ".csv":
        raise typer.BadParameter(f"{out}: the name must end in .csv")
    with _opened(ledger) as book:
        runs = {run["section"]: run for run in book.runs() if run["sweep"] == "masks"}
        if section not in runs:
            known = ", ".join(runs) or "none"
            raise typer.BadParameter(f"{ledger} holds no whole run of masks as {section!r}; known: {known}")
        found = statuses(book.frame("masks", runs[section]["keys"])).drop(columns="keywords")
    found.to_csv(out, index=False)
    typer.echo(f"{out}: {len(found):,} schemas")


@app.command("pages")
def write_pages() -> None:
    """Write docs/evidence.md and docs/results/ anew, from experiments/results/: nothing is measured."""
    from experiments.pages import write_pages

    for path in write_pages():
        typer.echo(path)


@contextmanager
def _opened(path: Path) -> Iterator[Ledger]:
    """The ledger; what is wrong with it ends the command."""
    from experiments.ledger import Ledger, LedgerError

    if not path.is_file():
        raise typer.BadParameter(f"no ledger {path}: run an experiment first")
    try:
        with Ledger(path) as book:
            yield book
    except LedgerError as error:
        raise typer.BadParameter(str(error)) from None


def _write(result: Result, ledger: Ledger, console: Console, out: list[Path], section: str | None) -> None:
    """Print the tables and verdicts of finished trials and write the files that were asked for."""
    from experiments.columns import finished
    from experiments.report import as_markdown, print_tables, print_verdicts, shown_table

    ran, tables, verdicts = len(finished(result.frame)) > 0, result.tables(), result.verdicts()
    print_tables(tables, console)
    console.print(result.origin, markup=False, highlight=False)
    print_verdicts(verdicts, console)
    if result.frame["git"].nunique() > 1:
        console.print("These rows come from several commits: --fresh measures all of them again.", style="yellow")
    for path in out:
        if path.suffix == ".html":
            if ran:
                result.plot().write_html(path, include_plotlyjs=True)
        elif path.suffix == ".md":
            shown = [shown_table(caption, table) for caption, table in tables.items()]
            path.write_text(f"{result.origin}\n\n{as_markdown(shown, verdicts)}\n")
        else:
            ledger.export(result.experiment.name, path)
    if section is not None:
        keep(section, result, console)


@contextmanager
def resumable(ledger: Path, console: Console) -> Iterator[None]:
    """What ends a run is told, with the exit code; what was measured until then is in the ledger."""
    from rich.console import Console

    from experiments.ledger import LedgerError
    from experiments.sweep import SweepError

    try:
        yield
    except (LedgerError, SweepError) as error:
        Console(stderr=True).print(str(error), style="red")
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        console.print(f"Interrupted. What was measured is in {ledger}; run the same command to go on.", style="yellow")
        raise typer.Exit(130) from None


def keep(section: str, result: Result, console: Console) -> None:
    """Record a run with its figure, where one can be drawn, and write the pages anew."""
    from experiments import pages, record, report
    from experiments.columns import finished
    from experiments.figures import write_figures
    from experiments.trial import NotRunError

    figure = None
    if len(finished(result.frame)):
        try:
            (figure,) = write_figures({section: result.plot()}, report.FIGURES)
        except NotRunError as reason:
            console.print(f"no figure: {reason}", style="yellow")
    pages.record_of(section, result, figure).save(record.RESULTS_FOLDER)
    pages.write_pages(record.RESULTS_FOLDER, pages.DOCS)
