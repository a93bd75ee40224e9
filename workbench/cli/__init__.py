"""The command line: `python -m workbench check | mask | explain | replay | compare | hunt | generate | model | serve |
serve-notebook | doctor | version`.

Each command is a thin shell around what can be called from Python.  Read on: `common` (what they share), `checking`
(check, mask, explain), `replaying` (replay), `comparing`, `generating` (generate, serve-notebook), `models` (model),
`serving` (serve), `doctor` (what this machine lacks).
`experiment` and `study` are of the package `experiments`, which stands on this one and is found by its name.
"""

from __future__ import annotations

from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Annotated

import typer

from workbench.cli import checking, comparing, generating, models, replaying, serving
from workbench.cli.doctor import examine, print_report

__all__ = ["app"]

app = typer.Typer(
    help="Maskscope: a workbench for grammar-constrained decoding.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    *(checking.check, checking.mask, checking.explain, replaying.replay),
    *(comparing.compare, comparing.hunt, generating.generate, generating.serve_notebook),
):
    app.command()(command)
app.add_typer(models.app, name="model")
app.command()(serving.serve)
if find_spec("experiments") is not None:
    for name, commands in import_module("experiments.cli").COMMANDS.items():
        app.add_typer(commands, name=name)


def _tell_version(asked: bool) -> None:
    if asked:
        print_version()
        raise typer.Exit


@app.callback()
def begin(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_tell_version, is_eager=True)
    ] = False,
) -> None: ...


@app.command("doctor")
def run_doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check this machine and say what is missing and how to mend it.

    The exit code is 0 when the main job works: a grammar, a tokenizer, masks and constrained generation in JupyterLab.
    """
    raise typer.Exit(print_report(examine(), as_json=as_json))


@app.command("version")
def print_version() -> None:
    """Print the version."""
    typer.echo(find_version())


def find_version() -> str:
    """The version of an installed Maskscope, else the one that the checkout's pyproject.toml declares."""
    try:
        return metadata.version("maskscope")
    except metadata.PackageNotFoundError:
        import tomllib
        from pathlib import Path

        project = Path(__file__).resolve().parents[2] / "pyproject.toml"
        return str(tomllib.loads(project.read_text())["project"]["version"])
