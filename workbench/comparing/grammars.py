"""What is compared: a `Source`, which each engine reads as text, in the language it was written in.

Our own engine takes all options of a source; the others get its text, and `peer_note` says what they were not told.

Read on: `workbench/languages/source.py`, `workbench/comparing/sides.py`.
"""

from __future__ import annotations

import json

from kernels_core.errors import MaskscopeError
from workbench.json_values import Json
from workbench.languages import Source
from workbench.languages.positions import JsonSyntaxError
from workbench.peers.base import Constraint, Engine, RefusedError
from workbench.peers.ours import REFUSALS, Ours


def schema_of(source: Source) -> Json:
    """The JSON value of a schema; None for other languages and for text that is no JSON."""
    if source.language != "json_schema":
        return None
    try:
        found: Json = json.loads(source.text)
    except ValueError:
        return None
    return found


def peer_note(source: Source) -> str:
    """What engines other than ours are not told of `source`, "" where that is nothing."""
    if source.language == "tools":
        return "Other engines get the structural tag that the tools become."
    if source.options:
        said = ", ".join(name if value is True else f"{name} {value}" for name, value in source.options.items())
        return f"Other engines are not told the options {said}."
    return ""


def compile_for(engine: Engine, source: Source) -> Constraint:
    """The grammar, compiled by `engine`.  `RefusedError` where it does not take it, `NotRunError` for the language."""
    if isinstance(engine, Ours):
        try:
            return engine.compile(source.grammar(engine.tokenizer.info))
        except (*REFUSALS, JsonSyntaxError) as error:
            raise RefusedError(str(error)) from error
    if source.language == "tools":
        try:
            return engine.compile_tag(json.dumps(source.tool_tag.tag, default=str))
        except MaskscopeError as error:
            raise RefusedError(str(error)) from error
    return engine.compile_source(source.language, source.text)
