"""`replay`: an answer that somebody has logged, under a grammar, without a model.

Read on: `workbench/replaying/__init__.py`, `workbench/cli/common.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.common import (
    DIFFERENT,
    AsJson,
    Language,
    SourceArgument,
    TokenizerOption,
    fail,
    open_source,
    open_tokenizer,
    output,
    reporting,
    say_json,
)

__all__ = ["add_commands"]


def add_commands(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("replay")(replay)


def replay(
    source: SourceArgument,
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="What was logged, a file or - for standard input: JSON of OpenAI's API, vLLM or SGLang, or a text.",
            show_default=False,
        ),
    ],
    tokenizer: TokenizerOption = "tekken",
    choice: Annotated[int, typer.Option(min=0, help="Which of several answers.")] = 0,
    begin: Annotated[
        str | None,
        typer.Option(help="The grammar begins where this text first appears.", show_default=False),
    ] = None,
    guesses: Annotated[int, typer.Option(min=0, help="Tokens that a draft guesses ahead.")] = 4,
    chrome: Annotated[
        Path | None, typer.Option(help="Write a trace for Perfetto to this .json file.", show_default=False)
    ] = None,
    language: Language = None,
    as_json: AsJson = False,
) -> None:
    """Read a logged answer again under a grammar: where it would have fought, and what its masks would have cost.

    Exit code 0: the grammar takes the whole answer; 1: it refuses a token, or the answer is not whole.

    Example: replay schema.json answer.json --tokenizer tokenizer.json --chrome trace.json
    """
    with reporting(as_json):
        from workbench import replaying

        opened = open_source(source, language, as_json=as_json)
        loaded = open_tokenizer(tokenizer)
        if mistakes := opened.check(loaded.info):
            fail("\n  ".join([f"{opened.title}:", *map(str, mistakes)]), code=DIFFERENT, as_json=as_json)
        logged = sys.stdin.read() if log == "-" else Path(log)
        try:
            found = replaying.replay(logged, opened, loaded, choice=choice, begin=begin, guesses=guesses)
            if chrome is not None:
                found.to_chrome_trace(chrome)
        except ValueError as error:
            fail(str(error), as_json=as_json)
        if as_json:
            say_json({"kind": found.kind, **found.summary(), "steps": found.rows()})
        else:
            output().print(str(found), markup=False)
    if found.died is not None or not found.complete:
        raise typer.Exit(DIFFERENT)
