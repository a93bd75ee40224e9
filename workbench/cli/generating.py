"""`generate` and `serve-notebook`: a model under a grammar, and a notebook on a source.

Read on: `workbench/generation/loop.py`, `workbench/explorer/explorer.py`, `workbench/cli/common.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from visualizers.glyphs import glyph
from workbench.cli.common import (
    DIFFERENT,
    ModelOption,
    OnSource,
    OnText,
    TokenizerOption,
    fail,
    is_file,
    open_checked,
    open_source,
    output,
    reporting,
    say,
    say_json,
    spread,
)

if TYPE_CHECKING:
    from workbench.generation import Generation


@spread
def generate(
    given: OnText,
    model: ModelOption = "demo",
    max_tokens: Annotated[int, typer.Option(min=1, help="Stop after so many tokens.")] = 256,
    temperature: Annotated[
        float | None, typer.Option(min=0.0, help="0 takes the likeliest token.", show_default="the model's own")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the draws; random if not said.", show_default=False)] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda.")] = "auto",
    complete: Annotated[bool, typer.Option("--complete", help="End within --max-tokens: nothing is cut.")] = False,
    healing: Annotated[bool, typer.Option("--healing", help="Go on from inside the prompt's last tokens.")] = False,
    canonical: Annotated[bool, typer.Option("--canonical", help="Cut the text as the tokenizer cuts it.")] = False,
    steps: Annotated[bool, typer.Option("--steps", help="List the steps, too.")] = False,
) -> None:
    """Let a model answer TEXT under a grammar, with the model's own tokenizer.

    Exit code 0: the text is a whole text of the grammar; 1: it was cut off before that, or the grammar has mistakes.

    Example: generate calls.ebnf 'weather in Lund' --seed 2
    """
    with reporting(given.as_json):
        prompt = given.read()
        if prompt is None:
            fail("say what the model is asked: generate SOURCE TEXT, or --text-file FILE")
        try:
            from kernels_core.errors import DeadEndError, TokenizerError, TooFewTokensError, UnsupportedFeatureError
            from workbench.generation import load_model, stream

            loaded = load_model(model, device)
        except (ImportError, RuntimeError, ValueError) as error:
            fail(str(error))
        opened = open_checked(given.source, given.language, loaded.tokenizer, start=given.start)
        try:
            with _warnings_shown():
                made = stream(
                    loaded,
                    prompt.decode(),
                    opened,
                    max_tokens=max_tokens,
                    temperature=temperature,
                    seed=seed,
                    complete=complete,
                    healing=healing,
                    canonical=canonical,
                ).run()
        except (TooFewTokensError, UnsupportedFeatureError, TokenizerError, DeadEndError) as error:
            fail(str(error))
        if given.as_json:
            say_json(_generation_data(made))
        else:
            _print_generation(made, steps)
    if not made.complete:
        raise typer.Exit(DIFFERENT)


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """What a grammar says that its author hardly means, on standard error and in one line each."""
    from kernels_core import GrammarWarning

    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, GrammarWarning):
                others(message, category, *place, **more)
                return
            console = Console(stderr=True, highlight=False, soft_wrap=True)
            console.print(Text.assemble(("warning: ", "yellow"), str(message)))

        warnings.showwarning = show
        yield


def _generation_data(made: Generation) -> dict[str, Any]:
    return {
        "text": made.text,
        "complete": made.complete,
        "finish_reason": made.finish_reason,
        "model": made.model,
        "prompt": made.prompt,
        "settings": made.settings,
        "log_feasible_mass": made.log_feasible_mass,
        "steps": [
            {**row, "token": glyph(row["token"]), "favourite": row["favourite"] and glyph(row["favourite"])}
            for row in made.rows()
        ],
    }


def _print_generation(made: Generation, steps: bool) -> None:
    console = output()
    print(made.text)
    total = len(made.steps)
    felt = sum(step.rejected_favourite for step in made.steps)
    forced = sum(step.forced for step in made.steps)
    verdict = ("complete", "green") if made.complete else ("not complete", "red")
    mask_us = sorted(step.mask_ns / 1e3 for step in made.steps)
    console.print(
        Text.assemble(
            verdict,
            f" ({made.finish_reason.replace('_', ' ')}), {total:,} tokens: {forced:,} forced by the grammar; "
            f"at {felt:,} the model's favourite was refused",
        )
    )
    if mask_us:
        console.print(Text(f"mask: median {mask_us[len(mask_us) // 2]:.1f} µs, largest {mask_us[-1]:.0f} µs", "dim"))
    if steps:
        from workbench.reports.cockpit import STEPS_LEGEND, steps_table

        console.print(steps_table(made.steps))
        console.print(Text(STEPS_LEGEND, "dim"))


# -- a notebook -------------------------------------------------------------------------------------------------------


@spread
def serve_notebook(
    given: OnSource,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the notebook is written.", show_default=False)
    ] = None,
    open_lab: Annotated[bool, typer.Option("--open/--no-open", help="Open JupyterLab on it.")] = True,
    port: Annotated[int | None, typer.Option(help="Of JupyterLab.", show_default=False)] = None,
    browser: Annotated[bool, typer.Option(help="Let JupyterLab open a browser.")] = True,
    tokenizer: TokenizerOption = "tekken",
) -> None:
    """Write a fresh notebook that explores SOURCE, and open JupyterLab on it.

    A source with mistakes opens, too: the panel marks them.

    Example: serve-notebook schema.json
    """
    with reporting(given.as_json):
        opened = open_source(given.source, given.language)
        file = Path(given.source) if given.source != "-" and is_file(given.source) else None
        path = out or Path(f"explore_{_stem(opened.name)}.ipynb")
        if path.suffix != ".ipynb":
            fail(f"--out {path}: a notebook's name ends in .ipynb")
        if path.exists():
            fail(f"{path} is already there: name another with --out")
        path.write_text(notebook_of(opened.text, opened.language, tokenizer, file), encoding="utf-8")
        command = [sys.executable, "-m", "jupyterlab", str(path)]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--allow-root")  # JupyterLab refuses to run as root unless told
        command += [f"--ServerApp.port={port}"] if port is not None else []
        command += [] if browser else ["--no-browser"]
        say({"notebook": str(path), "command": command}, Text(f"wrote {path}", no_wrap=True, overflow="ignore"))
        if not open_lab:
            return
        if find_spec("jupyterlab") is None:
            fail("JupyterLab is not installed. Run: pip install 'maskscope[workbench]'")
        try:
            code = subprocess.run(command).returncode
        except KeyboardInterrupt:
            code = 0
    raise typer.Exit(code)


def notebook_of(text: str, language: str, tokenizer: str, file: Path | None = None) -> str:
    """A notebook (its JSON text) that opens the explorer on a file, or on the text itself."""
    import nbformat
    from nbformat import v4

    given = f"Path({str(file.resolve())!r})" if file is not None else "SOURCE"
    imports = "import workbench as wb" if file is None else "from pathlib import Path\n\nimport workbench as wb"
    named = "" if file is None else f" on `{file.name}`"
    intro = f"# Exploring a grammar{named}\n\nRun the cells. The panel's text box takes a text; `/` searches."
    explore = f"explorer = wb.explore({given}, {tokenizer!r}, language={language!r})\nexplorer"
    cells = [
        v4.new_markdown_cell(intro),
        v4.new_code_cell(imports),
        *([] if file is not None else [v4.new_code_cell(f"SOURCE = {_literal(text)}")]),
        v4.new_code_cell(explore),
        v4.new_markdown_cell("What is selected and read in the panel is in `explorer.session`:"),
        v4.new_code_cell("explorer.session"),
    ]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return str(nbformat.writes(v4.new_notebook(cells=cells, metadata=kernel))) + "\n"


def _literal(text: str) -> str:
    """A Python literal that keeps its lines where that can be read."""
    if "\n" in text and "'''" not in text and "\\" not in text and not text.endswith("'") and text.isascii():
        return f"'''{text}'''"
    return repr(text)


def _stem(name: str) -> str:
    return re.sub(r"\W+", "_", Path(name).stem).strip("_") or "grammar"
