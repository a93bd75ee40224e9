"""Tools, as chat APIs describe them, to the structural tag of a model family; and which tool each part came from.

A source is a list of tools, or an object with `tools` and, beside them, `model`, `tool_choice`, `reasoning` and
`parallel_tool_calls`: what stands in the text wins over the options of the `Source`.  With `arguments_alone` the text
is the JSON of the arguments of the one tool that must be called, with nothing around it.

The templates put the very schema objects of the request into the tag they make, so the way back from a pointer in
the tag to one in the tools is found by identity, whatever a template does around them.

Read on: `kernels_core/grammar/templates` (the templates), `workbench/languages/source.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from kernels_core.errors import GrammarError
from kernels_core.grammar.json_schema import TAG_OPTIONS
from kernels_core.grammar.templates import get_model_structural_tag, normalize_tool_choice
from workbench.languages.positions import child

__all__ = ["DEFAULT_MODEL", "DEFAULT_REASONING", "REQUEST_KEYS", "ToolTag", "ToolsError", "as_function", "tag_of_tools"]

DEFAULT_MODEL: Final = "qwen_3"
# A text that one types begins with the answer: not inside a reasoning block that the prompt has opened, as the
# templates have it by default.
DEFAULT_REASONING: Final = "disabled"
REQUEST_KEYS: Final = (
    *("model", "tool_choice", "reasoning", "parallel_tool_calls"),
    *TAG_OPTIONS,
    "arguments_alone",
)
_KEYS: Final = ("name", "description", "parameters", "input_schema", "strict")  # of a function
# What other APIs and libraries write beside these, and what a call does not depend on.
_NOTES: Final = frozenset(
    ("type", "title", "annotations", "return", "returns", "response", "responses", "examples", "input_examples")
    + ("output_schema", "outputSchema", "cache_control", "defer_loading", "metadata", "meta", "_meta")
)


class ToolsError(GrammarError):
    """Tools or a choice among them are malformed; `path` is the JSON pointer of what is at fault, in the source."""

    def __init__(self, reason: str, path: str) -> None:
        self.path = path
        super().__init__(f"{path}: {reason}", language="tools")
        self.reason = reason


@dataclass(frozen=True)
class ToolTag:
    """The structural tag of some tools.

    `moved`: pointers of tags and schemas in the tag to pointers in the tools' text.  `names`: pointers of tags, in the
    tag, to the names of the tools they call.
    """

    tag: dict[str, Any]
    moved: dict[str, str]
    names: dict[str, str]


def tag_of_tools(value: object, options: Mapping[str, Any]) -> ToolTag:
    """The tag of `value`, a loaded source; raises `ToolsError`."""
    request = {"reasoning": DEFAULT_REASONING, **options}
    base = "#"
    if isinstance(value, Mapping) and "tools" in value:
        unknown = [key for key in value if key not in ("tools", *REQUEST_KEYS)]
        if unknown:
            raise ToolsError(
                f"unknown key {unknown[0]!r}; there are tools, {', '.join(REQUEST_KEYS)}", child("#", unknown[0])
            )
        request.update((key, value[key]) for key in REQUEST_KEYS if key in value)
        tools, base = value["tools"], "#/tools"
    else:
        tools = value
    if isinstance(tools, Mapping):
        raise ToolsError("tools are a list; write [ ] around this one", base)
    if not isinstance(tools, list):
        raise ToolsError("tools are a list of functions", base)
    for index, tool in enumerate(tools):
        _check_keys(tool, child(base, index))
    copies = [_with_parameters(tool) for tool in tools]
    alone = request.pop("arguments_alone", False)
    try:
        tag = _arguments_alone(copies, request) if alone else None
        tag = tag or get_model_structural_tag(request.pop("model", DEFAULT_MODEL), copies, **request)
    except GrammarError as error:
        raise ToolsError(*_placed(error.reason, base, value)) from error
    except TypeError as error:
        raise ToolsError(str(error), "#") from error
    owners = {id(_body(tool)["parameters"]): index for index, tool in enumerate(copies)}
    moved, names = {}, {}
    for pointer, found in _walk(tag, "#"):
        if id(found) in owners:
            moved[pointer] = _written(base, tools, owners[id(found)])
    for pointer, found in _walk(tag, "#"):
        if not isinstance(found, Mapping) or found.get("type") != "tag":
            continue
        inside = {target for place, target in moved.items() if place.startswith(pointer + "/")}
        if len(inside) == 1:
            index = int(inside.pop()[len(base) + 1 :].split("/")[0])
            moved[pointer] = child(base, index)
            names[pointer] = str(_body(copies[index])["name"])
    return ToolTag(tag, moved, names)


def _arguments_alone(tools: list[Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the one tool that must be called."""
    allowed, mode = normalize_tool_choice(tools, request.get("tool_choice"))
    if mode == "auto" or len(allowed) != 1:
        raise ToolsError("arguments stand alone where one tool must be called, and no other may be", "#/tool_choice")
    options = {key: request[key] for key in TAG_OPTIONS if request.get(key) is not None}
    content = {"type": "json_schema", "json_schema": allowed[0].schema, **options}
    return {"type": "structural_tag", "format": {"type": "tag", "begin": "", "content": content, "end": ""}}


def _placed(reason: str, base: str, value: object) -> tuple[str, str]:
    """The engine's message without its place, and the place as a pointer into the text."""
    match = re.match(r"(tools|tool_choice)([\w.\[\]]*): (.*)", reason, re.S)
    if match is None:
        about_model = reason.startswith("there is no template") and isinstance(value, Mapping) and "model" in value
        return reason, "#/model" if about_model else "#"
    top = base if match.group(1) == "tools" else child("#", "tool_choice")
    return match.group(3), child(top, *re.findall(r"\w+", match.group(2)))


def _written(base: str, tools: list[Any], index: int) -> str:
    """Where the schema of a tool stands in the text; the tool itself where it has none."""
    tool = tools[index]
    place = child(base, index, *(("function",) if "function" in tool else ()))
    for key in ("parameters", "input_schema"):
        if key in _body(tool):
            return child(place, key)
    return place


def _body(tool: object) -> Mapping[str, Any]:
    body = tool.get("function", tool) if isinstance(tool, Mapping) else None
    return body if isinstance(body, Mapping) else {}


def _check_keys(tool: object, place: str) -> None:
    """`ToolsError` for a member that nobody knows: a schema under a name that is not read would be lost."""
    if not isinstance(tool, Mapping):
        return
    body, at = _body(tool), place
    if "function" in tool:
        at = child(place, "function")
        _check_level("tool", tool, ("type", "function"), place)
    _check_level("function", body, _KEYS, at)
    if body.get("parameters") is not None and "input_schema" in body:
        raise ToolsError("parameters and input_schema say the same: send one of them", child(at, "input_schema"))


def _check_level(what: str, found: Mapping[str, Any], keys: tuple[str, ...], place: str) -> None:
    for key in found:
        if key not in keys and key not in _NOTES and not key.startswith("x-"):
            close = get_close_matches(key, keys, 1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(keys)}"
            raise ToolsError(f"a {what} has no such member; {hint}", child(place, key))


def as_function(tool: Any) -> Any:
    """A tool as OpenAI's chats have it, where it is one: its name stands in `function`, its schema in `parameters`."""
    if not _body(tool):
        return tool
    body = {key: value for key, value in _body(tool).items() if key != "type"}
    if "input_schema" in body:
        body["parameters"] = body.pop("input_schema")  # as Anthropic's API has it
    around = tool if "function" in tool else {name: tool[name] for name in ("type",) if name in tool}
    return {"type": "function", **around, "function": body}


def _with_parameters(tool: Any) -> Any:
    """A copy of the tool whose schema is an object of its own, since two tools may share one or have none.

    Arguments are an object, an empty one where a tool names no parameters.  A tool that is not `strict` keeps its
    schema, and is obeyed better than it asks for.  (The templates take any arguments in both cases, as XGrammar does.)
    """
    if not _body(tool):
        return tool
    tool = as_function(tool)
    body = dict(_body(tool))
    body.pop("strict", None)
    parameters = body.get("parameters")
    if parameters is None:
        body["parameters"] = {"type": "object", "properties": {}, "additionalProperties": False}
    elif parameters is True:
        body["parameters"] = {"type": "object"}
    elif isinstance(parameters, Mapping):
        body["parameters"] = {**parameters} if "type" in parameters else {"type": "object", **parameters}
    return {**tool, "function": body}


def _walk(value: object, pointer: str) -> Iterator[tuple[str, Any]]:
    """Every object and array with its pointer, outer ones first, without recursion."""
    waiting = [(pointer, value)]
    while waiting:
        at, found = waiting.pop()
        if isinstance(found, Mapping):
            yield at, found
            waiting += [(child(at, key), item) for key, item in found.items()]
        elif isinstance(found, list | tuple):
            yield at, found
            waiting += [(child(at, i), item) for i, item in enumerate(found)]
