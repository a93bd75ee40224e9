"""Structural tags of models' call formats, by XGrammar's names; the layouts are `kernels_core.grammar.templates`.

A template registered here takes the arguments that XGrammar passes; one registered with the engine takes a `Request`.
`get_<model>_structural_tag` is there for each model, and takes what a registered template takes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from pydantic import BaseModel, TypeAdapter, ValidationError

from kernels_core.grammar import templates

from .exception import InvalidArgumentError, runtime_errors
from .openai_tool_call_schema import (
    AllowedToolChoiceParam,
    AllowedToolRef,
    BuiltinToolChoiceParam,
    BuiltinToolParam,
    FunctionToolParam,
    NamedToolChoiceParam,
    ToolChoiceOptionParam,
    ToolParam,
)
from .structural_tag import StructuralTag

Mode = Literal["auto", "required", "forced"]
Reasoning = Literal["enabled", "disabled", "auto"]


class Options(TypedDict):
    """What templates are given beside tools and modes."""

    any_order: bool
    max_whitespace_cnt: int | None
    parallel_tool_calls: bool
    exclude_special_tokens: bool


Template = TypeVar("Template", bound=Callable[..., StructuralTag])
Choice = tuple[list[FunctionToolParam], list[BuiltinToolParam], Mode]

_REGISTERED: dict[str, Callable[..., StructuralTag]] = {}


def register_model_structural_tag(name: str) -> Callable[[Template], Template]:
    """A decorator for a template of one's own; a name that is taken is replaced.

    The function is called as `f(function_tools, builtin_tools, tool_choice, reasoning, any_order=...,
    exclude_special_tokens=..., max_whitespace_cnt=..., parallel_tool_calls=...)` and returns a `StructuralTag`.
    """

    def register(template: Template) -> Template:
        _REGISTERED[name] = template
        return template

    return register


def normalize_tool_choice(
    tools: Sequence[ToolParam | dict[str, object]] | None = None,
    tool_choice: ToolChoiceOptionParam | dict[str, object] | None = "auto",
) -> Choice:
    """`(function_tools, builtin_tools, mode)`: the tools that may be called, and how many calls there must be.

    tool_choice: "auto" or None, "none", "required", `{"type": "function", "function": {"name": ...}}`, `{"type": ...}`
        of a tool of the model's own, or `{"type": "allowed_tools", "allowed_tools": {"mode": ..., "tools": [...]}}`.

    Raises `ValueError` for anything else, unknown names, and where a call is required and there is no tool.
    """
    if not isinstance(tools, Sequence | None) or isinstance(tools, str | bytes):
        raise InvalidArgumentError(f"tools must be a list of tools, not a {type(tools).__name__}")
    read = [_read_tool(index, tool) for index, tool in enumerate(tools or ())]
    functions = [tool for tool in read if isinstance(tool, FunctionToolParam)]
    builtins = [tool for tool in read if isinstance(tool, BuiltinToolParam)]
    mode: Mode = "auto"
    match _read_choice(tool_choice):
        case None | "auto":
            return functions, builtins, "auto"
        case "none":
            return [], [], "auto"
        case "required":
            mode = "required"
        case NamedToolChoiceParam() as choice:
            return [_function(functions, choice.function.name)], [], "forced"
        case AllowedToolChoiceParam(allowed_tools=allowed):
            mode = allowed.mode
            functions, builtins = _allowed(functions, builtins, allowed.tools)
        case BuiltinToolChoiceParam() as choice:
            return [], [_builtin(builtins, choice.type)], "forced"
    if mode == "required" and not (functions or builtins):
        raise InvalidArgumentError("tool_choice: a call is required, but there are no tools")
    return functions, builtins, mode


def get_model_structural_tag(
    model: str,
    tools: Sequence[ToolParam | dict[str, object]] | None = None,
    tool_choice: ToolChoiceOptionParam | dict[str, object] | None = "auto",
    reasoning: bool | Reasoning = "enabled",
    force_reasoning: bool = False,
    any_order: bool = False,
    exclude_special_tokens: bool = True,
    max_whitespace_cnt: int | None = None,
    parallel_tool_calls: bool = True,
) -> StructuralTag:
    """The structural tag of what `model` may write.

    tools, tool_choice: see `normalize_tool_choice`.
    reasoning: "enabled", the prompt has opened the reasoning block; "auto", the model may open one; "disabled".  True
        and False are the older spelling of the first and the last.
    force_reasoning: without effect.
    parallel_tool_calls: False allows one call at most.
    any_order, max_whitespace_cnt: for the arguments; see `Grammar.from_json_schema`.

    exclude_special_tokens: False lets free text hold the format's markers.

    Tools of a model's own are called by the format of `harmony`; elsewhere nothing stands for them, with a warning.
    Raises `ValueError` for unknown models, choices and tools.
    """
    reasoning = _read_reasoning(reasoning)
    known = sorted({*_REGISTERED, *templates.model_templates()})
    if model not in known:
        raise InvalidArgumentError(f"Unknown format type {model!r}: there are templates for {', '.join(known)}")
    functions, builtins, mode = normalize_tool_choice(tools, tool_choice)
    options: Options = {
        "any_order": any_order,
        "max_whitespace_cnt": max_whitespace_cnt,
        "parallel_tool_calls": parallel_tool_calls,
        "exclude_special_tokens": exclude_special_tokens,
    }
    if model in _REGISTERED:
        return _REGISTERED[model](functions, builtins, mode, reasoning, **options)
    return _of_engine(model, functions, builtins, mode, reasoning, **options)


def _of_engine(
    model: str,
    functions: Sequence[FunctionToolParam],
    builtins: Sequence[BuiltinToolParam],
    mode: Mode,
    reasoning: Reasoning,
    **options: Unpack[Options],
) -> StructuralTag:
    """The engine's template, for tools and a mode as `normalize_tool_choice` gives them."""
    own: list[dict[str, object]] = []
    if builtins and templates.has_own_tools(model):
        own = [{"name": tool.name or tool.type, "parameters": tool.parameters} for tool in builtins]
    elif builtins:
        names = ", ".join(repr(tool.name or tool.type) for tool in builtins)
        warnings.warn(f"{model}: this format cannot call tools of the model's own: {names}", UserWarning, stacklevel=3)
    definitions = [tool.model_dump(exclude_none=True) for tool in functions]
    choice: str | dict[str, object] = "required" if mode == "forced" else mode
    if mode == "forced" and not functions:
        options["parallel_tool_calls"] = False  # exactly one call, of a tool of the model's own
    elif mode == "forced":
        choice = {"type": "function", "function": {"name": functions[0].function.name}}
    with runtime_errors():
        tag = templates.get_model_structural_tag(
            model,
            definitions,
            choice,
            reasoning,
            order="loose" if options["any_order"] else "any",
            own_tools=own,
            free_markers=not options["exclude_special_tokens"],
            max_whitespace_cnt=options["max_whitespace_cnt"],
            parallel_tool_calls=options["parallel_tool_calls"],
        )
    return StructuralTag.model_validate(_with_their_key(tag))


def _with_their_key(form: object) -> object:
    """A format of the engine that says how members are ordered as XGrammar has it; a default is left out, and so is
    that objects are closed, as they are in all of XGrammar's tags."""
    if isinstance(form, list):
        return [_with_their_key(item) for item in form]
    if not isinstance(form, dict):
        return form
    if form.get("type") == "json_schema":
        kept = {key: value for key, value in form.items() if key not in ("order", "strict_mode")}
        return kept | ({"any_order": True} if "order" in form else {})
    return {key: _with_their_key(item) for key, item in form.items()}


def _of_model(model: str) -> Callable[..., StructuralTag]:
    """`get_<model>_structural_tag`: a template as a function."""

    def template(
        tools: Sequence[FunctionToolParam | dict[str, object]] | None = None,
        builtin_tools: Sequence[BuiltinToolParam | dict[str, object]] | None = None,
        tool_choice: Mode = "auto",
        reasoning: bool | Reasoning = "enabled",
        any_order: bool = False,
        exclude_special_tokens: bool = True,
        max_whitespace_cnt: int | None = None,
        parallel_tool_calls: bool = True,
        **kwargs: object,
    ) -> StructuralTag:
        read = [_read_tool(index, tool) for index, tool in enumerate((*(tools or ()), *(builtin_tools or ())))]
        return _of_engine(
            model,
            [tool for tool in read if isinstance(tool, FunctionToolParam)],
            [tool for tool in read if isinstance(tool, BuiltinToolParam)],
            tool_choice,
            _read_reasoning(reasoning),
            any_order=any_order,
            exclude_special_tokens=exclude_special_tokens,
            max_whitespace_cnt=max_whitespace_cnt,
            parallel_tool_calls=parallel_tool_calls,
        )

    template.__name__ = f"get_{model}_structural_tag"
    template.__doc__ = f"The structural tag of what `{model}` may write; see `get_model_structural_tag`."
    return template


def __getattr__(name: str) -> Callable[..., StructuralTag]:
    model = name.removeprefix("get_").removesuffix("_structural_tag")
    if name != f"get_{model}_structural_tag" or model not in templates.model_templates():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = _of_model(model)
    return found


@wraps(get_model_structural_tag, assigned=())
def get_builtin_structural_tag(*args: Any, **kwargs: Any) -> StructuralTag:
    """The older name of `get_model_structural_tag`."""
    warnings.warn("use get_model_structural_tag", DeprecationWarning, stacklevel=2)
    return get_model_structural_tag(*args, **kwargs)


_CHOICES: TypeAdapter[object] = TypeAdapter(ToolChoiceOptionParam)


def _read_reasoning(reasoning: object) -> Reasoning:
    """The mode that is meant; True and False are the older spelling of two."""
    if isinstance(reasoning, bool):
        reasoning = "enabled" if reasoning else "disabled"
    if reasoning not in ("enabled", "disabled", "auto"):
        raise InvalidArgumentError(f"reasoning is enabled, disabled or auto, not {reasoning!r}")
    mode: Reasoning = reasoning
    return mode


def _read_tool(index: int, tool: object) -> ToolParam:
    if isinstance(tool, FunctionToolParam | BuiltinToolParam):
        return tool
    try:
        if isinstance(tool, dict) and tool.get("type", "function") == "function":
            return FunctionToolParam.model_validate(tool)
        return BuiltinToolParam.model_validate(tool)
    except ValidationError as error:
        raise InvalidArgumentError(f"tools[{index}]: {error}") from None


def _read_choice(choice: object) -> object:
    if choice is None:
        return None
    kinds: dict[str, type[BaseModel]] = {"function": NamedToolChoiceParam, "allowed_tools": AllowedToolChoiceParam}
    try:
        if isinstance(choice, dict):
            kind = choice.get("type", "allowed_tools" if "allowed_tools" in choice else "function")
            return kinds.get(str(kind), BuiltinToolChoiceParam).model_validate(choice)
        return _CHOICES.validate_python(choice)
    except ValidationError as error:
        raise InvalidArgumentError(f"tool_choice: {error}") from None


def _function(functions: Sequence[FunctionToolParam], name: str) -> FunctionToolParam:
    for tool in functions:
        if tool.function.name == name:
            return tool
    names = ", ".join(tool.function.name for tool in functions) or "none"
    raise InvalidArgumentError(f"tool_choice: there is no function {name!r}; there are {names}")


def _builtin(builtins: Sequence[BuiltinToolParam], kind: str) -> BuiltinToolParam:
    found = [tool for tool in builtins if tool.type == kind]
    if len(found) != 1:
        raise InvalidArgumentError(
            f"tool_choice: exactly one tool of type {kind!r} is expected; there are {len(found)}"
        )
    return found[0]


def _allowed(
    functions: Sequence[FunctionToolParam], builtins: Sequence[BuiltinToolParam], chosen: Sequence[AllowedToolRef]
) -> tuple[list[FunctionToolParam], list[BuiltinToolParam]]:
    """Those of the tools that `chosen` names, in the order of the tools."""
    names, kinds = set(), set()
    for ref in chosen:
        if ref.type != "function":
            kinds.add(_builtin(builtins, ref.type).type)
        elif ref.function is None:
            raise InvalidArgumentError("tool_choice: an allowed function is named as {'function': {'name': ...}}")
        else:
            names.add(_function(functions, ref.function.name).function.name)
    return [tool for tool in functions if tool.function.name in names], [
        tool for tool in builtins if tool.type in kinds
    ]
