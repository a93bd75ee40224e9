"""`replay`: an answer that somebody has logged, under a grammar, without a model.

Read on: `workbench/replaying/__init__.py`, `workbench/cli/common.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from workbench.cli.common import (
    DIFFERENT,
    OnText,
    TokenizerOption,
    fail,
    open_checked,
    reporting,
    say,
    spread,
)


@spread
def replay(
    given: OnText,
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
) -> None:
    """Read a logged answer again under a grammar: where it would have fought, and what its masks would have cost.

    TEXT, or its file, is what was logged: JSON of OpenAI's API, vLLM or SGLang, or the text of an answer.

    Exit code 0: the grammar takes the whole answer; 1: it refuses a token, or the answer is not whole.

    Example: replay schema.json --text-file answer.json --tokenizer tokenizer.json --chrome trace.json
    """
    with reporting(given.as_json):
        from workbench import replaying
        from workbench.tokenizers import load_tokenizer

        logged = given.read()
        if logged is None:
            fail("say what was logged: replay SOURCE --text-file FILE, or replay SOURCE TEXT")
        loaded = load_tokenizer(tokenizer)
        opened = open_checked(given.source, given.language, loaded, start=given.start)
        text = logged.decode("utf-8-sig")
        try:
            found = replaying.replay(text, opened, loaded, choice=choice, begin=begin, guesses=guesses)
            if chrome is not None:
                found.to_chrome_trace(chrome)
        except ValueError as error:
            fail(str(error))
        say({"kind": found.kind, **found.summary(), "steps": found.rows()}, Text(str(found)))
    if found.died is not None or not found.complete:
        raise typer.Exit(DIFFERENT)
