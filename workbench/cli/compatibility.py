"""`python -m workbench compat matrix`: what XGrammar does and what the drop-in module does, call by call.

Read on: `workbench/compat/matrix`.
"""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["add_commands"]

_LEAST = 0.98


def add_commands(app: typer.Typer) -> None:
    """Adds the group `compat`."""
    group = typer.Typer(help="The module for programs that were written for XGrammar.", no_args_is_help=True)

    @group.callback()
    def root() -> None:
        """The module for programs that were written for XGrammar."""

    group.command("matrix")(matrix)
    app.add_typer(group, name="compat")


def matrix(
    everything: Annotated[bool, typer.Option("--all", help="Print the rows that are alike, too.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Write docs/compat-matrix.md; needs XGrammar.")] = False,
) -> None:
    """Make the calls of the behaviour matrix, and compare them with XGrammar's.

    XGrammar's side is run where XGrammar is installed, and read from docs/compat-matrix.md elsewhere.
    The exit code is 0 when at least 98 % of the rows are alike, or differ for a reason that is given.
    """
    from importlib.metadata import version as installed

    from workbench.compat.matrix import table

    live = table.peer() is not None
    if write and not live:
        typer.echo("compat matrix --write needs XGrammar: pip install xgrammar", err=True)
        raise typer.Exit(2)
    version = installed("xgrammar") if live else table.recorded()[0]
    rows = table.compare()
    if write:
        table.PAGE.write_text(table.page(rows, version), encoding="utf-8")
    for one in rows:
        if everything or not one.is_alike:
            typer.echo(f"{one.row.group} | {one.row.feature} | {one.row.shown}")
            typer.echo(
                f"    XGrammar: {one.theirs}\n    here:     {one.here}" + f"\n    {one.reason}" * bool(one.reason)
            )
    alike, explained = (sum(values) for values in zip(*((one.is_alike, one.is_explained) for one in rows), strict=True))
    side = "run" if live else "as recorded"
    typer.echo(f"{len(rows)} rows, XGrammar {version} {side}: {alike} alike, {explained - alike} differ for a reason.")
    if explained < _LEAST * len(rows):
        typer.echo(f"{len(rows) - explained} differ without a reason.", err=True)
        raise typer.Exit(1)
