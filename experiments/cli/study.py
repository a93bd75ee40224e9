"""`python -m workbench study`: the runs that the evidence is made of, one after the other."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from experiments.cli.experiment import DEFAULT_LEDGER, LedgerOption, RecordOption, keep, resumable

app = typer.Typer(help="The study: every run of docs/evidence.md, resumable.", invoke_without_command=True)


@app.callback()
def study(
    gpu: Annotated[bool, typer.Option("--gpu", help="The part that needs a GPU, within eight minutes.")] = False,
    only: Annotated[list[str] | None, typer.Option("--only", help="One section. Again for each.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Say what would run, and for about how long.")] = False,
    model: Annotated[
        str, typer.Option("--model", help="Ask this model, by name or path, in the part `tax by category`.")
    ] = "",
    smoke: Annotated[bool, typer.Option("--smoke", help="The smallest preset, on a CPU: does it run?")] = False,
    minutes: Annotated[
        float | None, typer.Option(help="Begin no trial after so many minutes.", show_default="8 with --gpu")
    ] = None,
    ledger: LedgerOption = DEFAULT_LEDGER,
    record: RecordOption = False,
) -> None:
    """Run what is missing, in the order of what it is worth.  Interrupt it whenever: the next run goes on from there.

    Exit code 3: the time was over before everything was there.
    """
    import time

    from rich.console import Console

    from experiments.columns import finished
    from experiments.datasets import DataError
    from experiments.ledger import Ledger
    from experiments.report import print_verdicts, reasons
    from experiments.study import GPU_MINUTES, run_part, worth

    console = Console(width=None if sys.stdout.isatty() else 200)
    if smoke and record:
        raise typer.BadParameter("--smoke measures nothing that could be kept: leave out --record")
    if smoke and model:
        raise typer.BadParameter("--smoke asks the demo model: leave out --model")
    try:
        parts = worth(gpu=gpu, only=only or (), model=model)
    except KeyError as error:
        raise typer.BadParameter(str(error.args[0])) from None
    if listed:
        for part in parts:
            console.print(f"{part.section}: about {part.minutes:g} min. {part.answers}", highlight=False)
            console.print(f"    {part.command}", highlight=False, markup=False, soft_wrap=True)
        console.print(f"all: about {sum(part.minutes for part in parts) / 60:.1f} hours", highlight=False)
        return
    allowed = minutes if minutes is not None else GPU_MINUTES if gpu else None
    until = None if allowed is None else time.monotonic() + 60 * allowed
    left = []
    with resumable(ledger, console), Ledger(ledger) as book:
        for part in parts:
            began = time.monotonic()
            try:
                result = run_part(part, book, smoke=smoke, until=until, console=console)
            except DataError as error:
                console.print(f"{part.section}: not run: {error}", style="yellow", highlight=False)
                continue
            if result is None:
                left.append(part.section)
                continue
            done = len(finished(result.frame))
            console.print(f"[bold]{part.section}[/]: {done} trials, {time.monotonic() - began:,.0f} s")
            for row in reasons(result.frame).itertuples(index=False):
                console.print("    " + ", ".join(str(cell) for cell in row), highlight=False, markup=False)
            print_verdicts(result.verdicts(), console)
            if record and done:
                keep(part.section, result, console)
    if left:
        console.print(f"The time is over: {', '.join(left)}. Run the same command to go on.", style="yellow")
        raise typer.Exit(3)
