"""`serve`: an OpenAI-compatible server on one model, to try constrained generation with, and a page that looks on.

Read on: `workbench/serving/__init__.py`, `docs/concepts/serving.md`.
"""

from __future__ import annotations

import gc
import sys
from typing import Annotated, Any

import typer

from workbench.cli.common import ModelOption, fail, reporting, spread
from workbench.serving.limits import Limits

SWITCH_SECONDS = 0.0005  # between threads: one that sends waits so long for the one that writes


@spread
def serve(
    limits: Limits,
    model: ModelOption = "demo",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda.")] = "auto",
    host: Annotated[str, typer.Option(help="Where to listen; nobody is asked for a password.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    name: Annotated[
        str | None, typer.Option(help="What requests call the model, instead of its name.", show_default=False)
    ] = None,
    tool_format: Annotated[
        str | None,
        typer.Option(help="How the model writes calls: qwen_3, llama, ...; by its chat template.", show_default=False),
    ] = None,
    tell_schema: Annotated[
        bool, typer.Option(help="Tell the model the schema that its answer must fit, where no tools are sent.")
    ] = True,
    complete: Annotated[
        bool, typer.Option(help="Answers are whole when their tokens run out, unless a request says otherwise.")
    ] = True,
    drafts: Annotated[int, typer.Option(min=0, help="Tokens that are guessed ahead; answers stay the same.")] = 0,
    draft_model: Annotated[
        str | None, typer.Option(help="A smaller model that guesses, instead of the text itself.", show_default=False)
    ] = None,
    draft_branches: Annotated[int, typer.Option(min=1, help="Guesses for one place.")] = 1,
    guess_forced: Annotated[
        bool, typer.Option("--guess-forced", help="Read text that a grammar forces in one pass; answers stay the same.")
    ] = False,
    pause: Annotated[float, typer.Option(min=0, help="Seconds between two tokens, for looking on.")] = 0.0,
    page: Annotated[
        bool | None,
        typer.Option("--page/--no-page", help="The page that shows all requests; by default on this machine alone."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A name by which clients may call the server; may be repeated.", show_default=False),
    ] = None,
) -> None:
    """Serve a model to OpenAI's clients: response_format, tools and streams under grammars.

    Example: serve --model demo, then open the address in a browser
    """
    try:
        from workbench.generation import Drafts, load_model
        from workbench.serving import Service
        from workbench.serving import serve as run
    except ImportError as error:
        fail(str(error))
    if not drafts and (draft_model is not None or draft_branches > 1):
        option = "--draft-branches" if draft_model is None else "--draft-model"
        fail(f"{option} guesses nothing without --drafts: say how many tokens ahead")
    with reporting():
        try:
            loaded = load_model(model, device)
            smaller = None if draft_model is None else load_model(draft_model, device)
            service = Service(
                loaded,
                limits,
                name=name,
                tool_format=tool_format,
                tell_schema=tell_schema,
                complete=complete,
                pause=pause,
                drafts=Drafts(drafts, draft_branches, smaller) if drafts else 0,
                guess_forced=guess_forced,
            )
        except (ImportError, RuntimeError, ValueError) as error:
            fail(str(error))
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.collect()
        gc.freeze()  # what is loaded stays: each walk of the collector over it would halt all answers for 0.3 s
        _serve(run, service, host=host, port=port, watch=page, hosts=allow_host or None)


def _serve(run: Any, service: Any, **where: Any) -> None:
    def ready(address: str) -> None:
        print(f"{service.name} at {address}/v1", flush=True)
        if service.teller.tells_tools:
            print(
                f"its chat template tells of no tools: a system prompt does, in the format {service.tool_format}",
                flush=True,
            )
        if where["watch"] is not False and (where["watch"] or "127.0.0.1" in address or "[::1]" in address):
            print(f"what runs, for looking on: {address}/", flush=True)

    try:
        run(service, ready=ready, **where)
    except KeyboardInterrupt:  # raised again by uvicorn when all is over: this is how a person ends it
        return
    except SystemExit as error:  # uvicorn's, which has said why
        raise typer.Exit(int(error.code or 0)) from None
