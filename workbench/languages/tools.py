"""Tools, as chat APIs describe them, to the structural tag of a model family; and which tool each part came from.

A source is a tool, a list of tools, or an object with `tools` and, beside them, `model`, `tool_choice`, `reasoning` and
`parallel_tool_calls`: what stands in the text wins over the options of the `Source`.  Tools are written as in OpenAI's
chats and responses, or as Anthropic, MCP (what a server answers to `tools/list`, too), Bedrock and Gemini have them; of
a whole request the tools and the choice among them are read, which Mistral, Anthropic, Bedrock and Gemini write in
other words.  With `arguments_alone` the text is the JSON of the arguments of the one tool that must be called, with
nothing around it.

The templates put the very schema objects of the request into the tag they make, so the way back from a pointer in
the tag to one in the tools is found by identity, whatever a template does around them.

Read on: `kernels_core/grammar/templates` (the templates), `workbench/languages/source.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeVar, cast

from kernels_core.errors import GrammarError
from kernels_core.grammar.json_schema import TAG_OPTIONS
from kernels_core.grammar.json_schema.closing import can_close
from kernels_core.grammar.json_schema.misspelt import TYPES
from kernels_core.grammar.json_schema.values import kind_of
from kernels_core.grammar.templates import get_model_structural_tag, normalize_tool_choice
from workbench.json_values import Json, JsonObject
from workbench.languages.positions import child

T = TypeVar("T")
DEFAULT_MODEL: Final = "qwen_3"
# A text that one types begins with the answer: not inside a reasoning block that the prompt has opened, as the
# templates have it by default.
DEFAULT_REASONING: Final = "disabled"
REQUEST_KEYS: Final = (
    *("model", "tool_choice", "reasoning", "parallel_tool_calls"),
    *TAG_OPTIONS,
    "arguments_alone",
)
# Of OpenAI, Anthropic, MCP and Gemini (in JSON and in Python).
SCHEMA_KEYS: Final = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
_KEYS: Final = ("name", "description", *SCHEMA_KEYS, "strict")  # of a function
_BODIES: Final = ("function", "toolSpec")  # around it, in OpenAI's chats and in Bedrock
_CHATS: Final = ("messages", "input", "contents")  # in a request, whose model and reasoning are none of a template's
_HOLDERS: Final = (Mapping, list, tuple)
_OTHER_TYPES: Final = ("null", "boolean", "integer", "number", "string", "array")  # than that of arguments
_CHOICE: Final = ("tool_choice", "parallel_tool_calls")
_CONFIGS: Final = ("toolConfig", "tool_config")  # Gemini's
_MODES: Final = {"AUTO": "auto", "VALIDATED": "auto", "ANY": "required", "NONE": "none"}
_CACHED: Final = "cachePoint"  # stands among Bedrock's tools and is none
DECLARATIONS: Final = ("functionDeclarations", "function_declarations")
_COUNTS: Final = frozenset(("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"))
_OF_SCHEMAS: Final = frozenset(("items", "additionalProperties", "anyOf", "prefixItems"))
_IN_PYTHON: Final = {re.sub("[A-Z]", lambda found: "_" + found[0].lower(), key): key for key in _COUNTS | _OF_SCHEMAS}
# What other APIs and libraries write beside these, and what a call does not depend on.
_NOTES: Final = frozenset(
    ("type", "title", "annotations", "return", "returns", "response", "responses", "examples", "input_examples")
    + ("output_schema", "outputSchema", "cache_control", "defer_loading", "metadata", "meta", "_meta", "icons")
    + ("execution", "behavior", "responseJsonSchema", "allowed_callers", "eager_input_streaming")
)


_TEMPLATE: Final[Callable[..., dict[str, Json]]] = get_model_structural_tag
"""Which refuses what it is not to be given: a request may say anything."""


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

    tag: dict[str, Json]
    moved: dict[str, str]
    names: dict[str, str]


def tag_of_tools(value: Json, options: Mapping[str, object]) -> ToolTag:
    """The tag of `value`, a loaded source; raises `ToolsError`."""
    tools, base, said = _tools_of(value)
    request: dict[str, object] = {"reasoning": DEFAULT_REASONING, **options, **said}
    if one_by_one(choice := request.get("tool_choice")):
        request["parallel_tool_calls"] = False
    request["tool_choice"] = plain_choice(choice)
    found = [_found(tool, place) for tool, place in _listed(tools, base)]
    copies = [_with_parameters(one.tool) for one in found]
    alone = request.pop("arguments_alone", False)
    try:
        tag = _arguments_alone(copies, request) if alone else None
        tag = tag or _TEMPLATE(request.pop("model", DEFAULT_MODEL), copies, **request)
    except GrammarError as error:
        raise ToolsError(*_placed(error.reason, found, base, value)) from error
    except TypeError as error:
        raise ToolsError(str(error), "#") from error
    owners = {id(body_of(tool)["parameters"]): index for index, tool in enumerate(copies)}
    moved, names = {}, {}
    below: dict[str, set[int]] = {}  # the tools whose schemas stand below a tag
    for pointer, part, tags in _parts(tag, owners):
        if (owner := owners.get(id(part))) is not None:
            moved[pointer] = found[owner].schema_place
            for around in tags:
                below.setdefault(around, set()).add(owner)
    for pointer, called in below.items():
        if len(called) == 1:
            (index,) = called
            moved[pointer] = found[index].place
            names[pointer] = str(body_of(copies[index])["name"])
    return ToolTag(tag, moved, names)


@dataclass(frozen=True)
class _Found:
    """A tool of a source, and the pointers of it, of what holds its name, and of its schema (itself without one)."""

    tool: Json
    place: str
    body_place: str
    schema_place: str


def _tools_of(value: Json) -> tuple[Json, str, dict[str, Json]]:
    """The tools of a source, where they stand, and what else it says about them."""
    inner = value.get("toolConfig") if isinstance(value, Mapping) else None
    if isinstance(inner, Mapping) and "tools" in inner:  # Bedrock's
        return inner["tools"], "#/toolConfig/tools", {"tool_choice": inner.get("toolChoice")}
    if not isinstance(value, Mapping) or "tools" not in value:
        answer = mcp_tools(value)
        return (value, "#", {}) if answer is None else (answer, "#/result/tools", {})
    if any(key in value for key in _CHATS):
        said = {key: value[key] for key in _CHOICE if key in value}
        return value["tools"], "#/tools", said | _choice_of_gemini(value)
    for key in value:
        if key not in ("tools", "nextCursor", "_meta", *_CONFIGS, *REQUEST_KEYS):
            raise ToolsError(f"unknown key {key!r}; there are tools, {', '.join(REQUEST_KEYS)}", child("#", key))
    said = {key: value[key] for key in REQUEST_KEYS if key in value}
    return value["tools"], "#/tools", said | _choice_of_gemini(value)


def tools_in(value: Json) -> tuple[list[JsonObject], dict[str, Json]]:
    """The functions of `value`, a loaded source whose tag could be made, as OpenAI has them: name, description,
    parameters.  And what else the source says about its tools."""
    tools, base, said = _tools_of(value)
    return [dict(body_of(tool)) for tool, _ in _listed(tools, base)], said


def schemas_in_tools(value: Json, *, unclosed: bool = False) -> Iterator[tuple[str, Json]]:
    """The schemas of the same, as JSON Schema has them, each with its pointer; raises `ToolsError`.

    unclosed: those alone of functions that are not `strict`; none where the request says itself whether it closes
    objects.
    """
    tools, base, said = _tools_of(value)
    if unclosed and said.get("strict_mode") is not None:
        return
    for tool, place in _listed(tools, base):
        if isinstance(tool, Mapping) and body_of(tool):
            body = body_of(as_function(tool))
            if not unclosed or body.get("strict") is not True:
                yield _found(tool, place).schema_place, body.get("parameters")


def plain_choice(choice: T) -> T | str | dict[str, object]:
    """A choice in the words of Mistral, Anthropic, Bedrock or OpenAI's responses, in those of its chats; another one as
    it is."""
    match choice:
        case "any" | {"any": {}} | {"type": "any"}:
            return "required"
        case {"auto": {}} | {"type": "auto"}:
            return "auto"
        case {"type": "none"}:
            return "none"
        case {"type": "allowed_tools"} if isinstance(choice, Mapping) and "allowed_tools" not in choice:
            return {"type": "allowed_tools", "allowed_tools": {name: choice.get(name) for name in ("mode", "tools")}}
        case {"tool": {"name": name}} | {"type": "tool", "name": name}:
            return {"type": "function", "name": name}
    return choice


def one_by_one(choice: object) -> bool:
    """Whether a choice says, as Anthropic's may, that there is one call at most."""
    return isinstance(choice, Mapping) and choice.get("disable_parallel_tool_use") is True


def _choice_of_gemini(value: JsonObject) -> dict[str, Json]:
    """The choice in Gemini's `toolConfig`, in OpenAI's words."""
    config = next((value[key] for key in _CONFIGS if key in value), None)
    if config is None:
        return {}
    match config:
        case {"functionCallingConfig": {} as calling} | {"function_calling_config": {} as calling}:
            mode = str(calling.get("mode", "AUTO")).upper()
            names = calling.get("allowedFunctionNames", calling.get("allowed_function_names"))
            if mode in ("ANY", "VALIDATED", "AUTO") and isinstance(names, list) and names:
                allowed = [{"type": "function", "name": name} for name in names]
                mode = "required" if mode == "ANY" else "auto"
                return {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": allowed}}}
            if mode in _MODES:
                return {"tool_choice": _MODES[mode]}
    raise ToolsError(f"a mode of functionCallingConfig is one of {', '.join(_MODES)}", child("#", "toolConfig"))


def mcp_tools(value: Json) -> list[Json] | None:
    """The tools of what an MCP server answers to `tools/list`; None of another JSON value."""
    inner = value.get("result") if isinstance(value, Mapping) and "jsonrpc" in value else None
    tools = inner.get("tools") if isinstance(inner, Mapping) else None
    return tools if isinstance(tools, list) else None


def _listed(tools: Json, base: str) -> Iterator[tuple[Json, str]]:
    """Each tool with its location; Gemini's stand in lists of their own."""
    if isinstance(tools, Mapping) and base == "#":
        tools, places = [tools], [base]
    elif isinstance(tools, list):
        places = [child(base, index) for index in range(len(tools))]
    else:
        raise ToolsError("tools are a list of functions", base)
    for tool, place in zip(tools, places, strict=True):
        key = next((key for key in DECLARATIONS if isinstance(tool, Mapping) and isinstance(tool.get(key), list)), None)
        if key is not None:
            _check_level("tool", tool, (key,), place)
            for index, one in enumerate(tool[key]):
                yield _of_gemini(one), child(place, key, index)
        elif not (isinstance(tool, Mapping) and set(tool) == {_CACHED}):
            yield tool, place


def _of_gemini(declaration: Json) -> Json:
    """A declaration with JSON Schema in place of what Gemini's `parameters` have."""
    if not isinstance(declaration, Mapping) or not isinstance(declaration.get("parameters"), Mapping):
        return declaration
    return {**declaration, "parameters": in_json_schema(declaration["parameters"])}


def in_json_schema(schema: Json) -> Json:
    """A schema of Gemini's: types in upper case, counts as texts, `nullable`, and Python's names of keywords."""
    if isinstance(schema, list):
        return [in_json_schema(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    made: dict[str, Json] = {}
    for name, value in schema.items():
        key = _IN_PYTHON.get(name, name)
        if key in _OF_SCHEMAS:
            made[key] = in_json_schema(value)
        elif key in ("properties", "$defs", "defs") and isinstance(value, Mapping):
            made[key] = {inner: in_json_schema(one) for inner, one in value.items()}
        elif key in _COUNTS and isinstance(value, str) and value.isdecimal():
            made[key] = int(value)
        else:
            made[key] = value.lower() if key == "type" and isinstance(value, str) and value.isupper() else value
    kind = made.get("type")
    if made.pop("nullable", False) is True:
        if isinstance(kind, str) and kind != "null":
            made["type"] = [kind, "null"]
        elif isinstance(options := made.get("anyOf"), list):
            made["anyOf"] = [*options, {"type": "null"}]
    return made


def _found(tool: Json, place: str) -> _Found:
    """Where a tool's parts stand.  `ToolsError` for a member that nobody knows: a schema under a name that is not read
    would be lost."""
    if not isinstance(tool, Mapping):
        return _Found(tool, place, place, place)
    kind = tool.get("type", "function")
    has_schema = any(isinstance(body_of(tool).get(key), Mapping) for key in SCHEMA_KEYS)
    if isinstance(kind, str) and kind in TYPES and not has_schema:
        cure = 'beside its name; for one of several write {"anyOf": [...]}'
        raise ToolsError(f"this is a schema, and no tool: the schema of a function stands in parameters, {cure}", place)
    if (isinstance(kind, str) and kind not in ("function", "custom") and not has_schema) or _is_provided(tool):
        named = f"of type {kind!r}" if "type" in tool else repr(next(iter(tool)))
        cure = "leave it out, or write it as a function"
        raise ToolsError(f"the tool {named} is one of its provider's own, with no schema here: {cure}", place)
    if kind == "custom" and not has_schema:
        cure = "take the text in its format.definition, which is Lark or a regular expression, or leave the tool out"
        raise ToolsError(f"a custom tool is called with a text, and no function: {cure}", place)
    around = next((key for key in _BODIES if key in tool), None)
    body, at = body_of(tool), place if around is None else child(place, around)
    if around is not None:
        _check_level("tool", tool, ("type", around), place)
    _check_level("function", body, _KEYS, at)
    schemas = [key for key in SCHEMA_KEYS if body.get(key) is not None]
    if len(schemas) > 1:
        raise ToolsError(f"{schemas[0]} and {schemas[1]} say the same: send one of them", child(at, schemas[1]))
    if not schemas:
        return _Found(tool, place, at, place)
    schema, where = body[schemas[0]], child(at, schemas[0])
    if around == "toolSpec" and isinstance(schema, Mapping) and _is_wrapped(schema):
        schema, where = schema["json"], child(where, "json")
    if not isinstance(schema, Mapping | bool):
        cure = "; parse that text, and give the object" if isinstance(schema, str) and "{" in schema else ""
        raise ToolsError(f"{schemas[0]} is a JSON schema, an object, and not {kind_of(schema)}{cure}", where)
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if isinstance(kind, str) and kind in _OTHER_TYPES:
        raise ToolsError(
            f"arguments are an object with a member for each, and no {kind}; the type of one argument stands in "
            "properties",
            child(where, "type"),
        )
    return _Found(tool, place, at, where)


def _is_provided(tool: JsonObject) -> bool:
    """Whether it is one of Gemini's, such as `{"googleSearch": {}}`, and no function that lacks its name."""
    if len(tool) != 1 or set(tool) & {*_BODIES} or get_close_matches(next(iter(tool)), _KEYS):
        return False
    return all(isinstance(one, Mapping) for one in tool.values())


def _arguments_alone(tools: Sequence[object], request: Mapping[str, object]) -> dict[str, Json]:
    """The arguments of the one tool that must be called."""
    choice = cast("str | JsonObject | None", request.get("tool_choice"))
    allowed, mode = normalize_tool_choice(cast(list[JsonObject], tools), choice)
    if mode == "auto" or len(allowed) != 1:
        raise ToolsError("arguments stand alone where one tool must be called, and no other may be", "#/tool_choice")
    options = {key: request[key] for key in TAG_OPTIONS if request.get(key) is not None}
    if allowed[0].strict and can_close(allowed[0].schema):
        options["strict_mode"] = True
    content = {"type": "json_schema", "json_schema": allowed[0].schema, **options}
    return {"type": "structural_tag", "format": {"type": "tag", "begin": "", "content": content, "end": ""}}


def _placed(reason: str, found: Sequence[_Found], base: str, value: Json) -> tuple[str, str]:
    """The engine's message without its location, and that as a pointer into the text."""
    match = re.match(r"(tools|tool_choice)([\w.\[\]]*): (.*)", reason, re.S)
    if match is None:
        about_model = reason.startswith("there is no template") and isinstance(value, Mapping) and "model" in value
        return reason, "#/model" if about_model else "#"
    keys = re.findall(r"\w+", match.group(2))
    if match.group(1) == "tool_choice":
        return match.group(3), child("#", "tool_choice", *keys)
    if not keys:
        return match.group(3), base
    one, keys = found[int(keys[0])], keys[1:]
    if keys[:1] == ["function"]:  # as the templates see it
        keys = keys[1:]
        if keys[:1] == ["parameters"]:
            return match.group(3), child(one.schema_place, *keys[1:])
        return match.group(3), child(one.body_place, *keys)
    return match.group(3), child(one.place, *keys)


def body_of(tool: object) -> JsonObject:
    """What holds a tool's name and schema."""
    body = next((tool[key] for key in _BODIES if key in tool), tool) if isinstance(tool, Mapping) else None
    return body if isinstance(body, Mapping) else {}


def _is_wrapped(schema: Json) -> bool:
    """Whether it is Bedrock's `{"json": schema}`."""
    return isinstance(schema, Mapping) and list(schema) == ["json"]


def _check_level(what: str, found: JsonObject, keys: tuple[str, ...], place: str) -> None:
    for key in found:
        if found[key] is not None and key not in keys and key not in _NOTES and not key.startswith("x-"):
            close = get_close_matches(key, keys, 1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(keys)}"
            raise ToolsError(f"a {what} has no such member; {hint}", child(place, key))


def as_function(tool: Mapping[str, object]) -> dict[str, object]:
    """A tool as OpenAI's chats have it, where it is one: its name stands in `function`, its schema in `parameters`."""
    if not body_of(tool):
        return {**tool}
    body = {key: value for key, value in body_of(tool).items() if key != "type"}
    for key in SCHEMA_KEYS[1:]:
        if (schema := body.pop(key, None)) is not None:
            if "toolSpec" in tool and isinstance(schema, Mapping) and _is_wrapped(schema):
                schema = schema["json"]
            body["parameters"] = schema
    around = tool if "function" in tool else {name: tool[name] for name in ("type",) if name in tool}
    if tool.get("type") == "custom" and "parameters" in body:  # Anthropic's word for a tool of the caller's
        around = {}
    return {"type": "function", **around, "function": body}


def _with_parameters(tool: Json) -> object:
    """A copy of the tool whose schema is an object of its own, since two tools may share one or have none.

    Arguments are an object, an empty one where a tool names no parameters.  A tool that says it is not `strict` keeps
    its schema, and is obeyed better than it asks for.  (The templates take any arguments in both cases, as XGrammar
    does.)
    """
    if not isinstance(tool, Mapping) or not body_of(tool):
        return tool
    made = as_function(tool)
    body = dict(body_of(made))
    if body.get("strict") is not True:
        body.pop("strict", None)
    parameters = body.get("parameters")
    if parameters is None:
        body["parameters"] = {"type": "object", "properties": {}, "additionalProperties": False}
    elif parameters is True:
        body["parameters"] = {"type": "object"}
    elif isinstance(parameters, Mapping):
        body["parameters"] = {**parameters} if "type" in parameters else {"type": "object", **parameters}
    return {**made, "function": body}


def _parts(value: Json, schemas: Container[int]) -> Iterator[tuple[str, Json, tuple[str, ...]]]:
    """Every object and array of a structural tag, with its pointer and those of the tags around it, without recursion;
    nothing inside of the objects whose ids `schemas` holds."""
    waiting: list[tuple[str, Json, tuple[str, ...]]] = [("#", value, ())]
    while waiting:
        at, found, tags = waiting.pop()
        yield at, found, tags
        if id(found) in schemas:
            continue
        if isinstance(found, Mapping):
            tags = (*tags, at) if found.get("type") == "tag" else tags
            waiting += [(child(at, key), one, tags) for key, one in found.items() if isinstance(one, _HOLDERS)]
        elif isinstance(found, list | tuple):
            waiting += [(child(at, i), one, tags) for i, one in enumerate(found) if isinstance(one, _HOLDERS)]
