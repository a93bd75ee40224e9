"""`compare` and `hunt`: engines, grammars and places beside each other.

Read on: `workbench/comparing/__init__.py`, `workbench/cli/common.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.common import (
    DIFFERENT,
    OnSource,
    OnTexts,
    TokenizerOption,
    fail,
    open_source,
    reporting,
    say,
    spread,
)
from workbench.peers.catalogue import ENGINES

if TYPE_CHECKING:
    from workbench.comparing.sides import EngineSpec

EngineOption = Annotated[
    list[str] | None,
    typer.Option(
        "--engine",
        "-e",
        help=f"{', '.join(ENGINES)}; or ours with options: ours:parser=fsm,jit=all. Again for each.",
        show_default=False,
    ),
]


@spread
def compare(
    given: OnTexts,
    others: Annotated[
        list[str] | None,
        typer.Option("--with", "-w", help="Another grammar, as SOURCE. Again for each.", show_default=False),
    ] = None,
    engine: EngineOption = None,
) -> None:
    """Masks of engines, grammars or places (behind each TEXT) side by side, and why they differ.

    Exit code 0: all agree; 1: they differ, or one refuses.

    Examples: compare schema.json '{"a": ' -e ours -e xgrammar   ·   compare old.ebnf --with new.ebnf
    """
    from workbench import comparing
    from workbench.tokenizers import load_tokenizer

    with reporting(given.as_json):
        sources = [open_source(one, given.language) for one in (given.source, *(others or ()))]
        engines = _engines(engine)
        loaded = load_tokenizer(given.tokenizer)
        texts = [data for _, data in given.read()]
        try:
            found = comparing.compare(*sources, engines=engines, texts=texts or [""], tokenizer=loaded)
        except ValueError as error:
            fail(str(error))
        say(found.to_dict(), found)
    if not found.agree:
        raise typer.Exit(DIFFERENT)


@spread
def hunt(
    given: OnSource,
    engine: EngineOption = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long to search.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Equal seeds try equal texts.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="Stop after so many disagreements.")] = 5,
    texts: Annotated[int | None, typer.Option(min=1, help="Stop after so many texts.", show_default=False)] = None,
    spellings: Annotated[
        bool, typer.Option(help="Count it, too, when the same JSON value is taken in another spelling.")
    ] = True,
    tokenizer: TokenizerOption = "tekken",
) -> None:
    """Search for a text on which engines disagree, and shrink it to a minimal text and token.

    Ctrl-C ends the search and keeps what was found. Exit code 0: no disagreement found; 1: there is one, or an engine
    refuses the grammar.

    Example: hunt schema.json -e ours -e llguidance --seconds 20
    """
    from workbench import comparing
    from workbench.tokenizers import load_tokenizer

    with reporting(given.as_json):
        source = open_source(given.source, given.language)
        engines = _engines(engine)
        loaded = load_tokenizer(tokenizer)
        try:
            found = comparing.hunt(
                source,
                engines,
                seconds=seconds,
                seed=seed,
                limit=limit,
                texts=texts,
                spellings=spellings,
                tokenizer=loaded,
                progress=(lambda hunt: None) if given.as_json else None,
            )
        except ValueError as error:
            fail(str(error))
        say(found.to_dict(), found)
    if found.findings or found.refusals:
        raise typer.Exit(DIFFERENT)


def _engines(texts: list[str] | None) -> list[EngineSpec] | None:
    """What `--engine` says, as `workbench.compare` takes it."""
    from workbench.comparing.sides import parse_engine

    try:
        return [parse_engine(text) for text in texts] if texts else None
    except ValueError as error:
        fail(f"--engine {error}")
