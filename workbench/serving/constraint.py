"""From `response_format` and `tools` to the grammar of the answer, and to the reader of the calls in it.

Whatever is wrong with a schema, a grammar or a tool answers 400 with its locations.  Tools become the structural tag of
the model family's own call format (`kernels_core/grammar/templates`), from which calls are read back (`calls.py`).
Read on: `body.py` (places), `service.py` (who asks, on a thread).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from kernels_core import CancelToken, CompiledGrammar, GrammarCompiler
from kernels_core.compiler import told_elsewhere
from kernels_core.errors import BudgetExceededError, GrammarError, MaskscopeError, UnsupportedSchemaError
from kernels_core.grammar.json_schema.closing import can_close
from kernels_core.grammar.templates import model_templates, normalize_tool_choice
from workbench.languages import CAPS, WRITTEN, Source
from workbench.languages.mistakes import Mistake, mistake_in
from workbench.languages.positions import child
from workbench.languages.tools import ToolsError
from workbench.languages.warnings import doubts, misspelt
from workbench.serving.body import Body
from workbench.serving.calls import NOT_READ, CallFormat
from workbench.serving.errors import RequestError, sentence_of
from workbench.serving.fields import Asked
from workbench.serving.limits import Limits
from workbench.serving.thoughts import Block

if TYPE_CHECKING:
    from kernels_core.grammar.json_schema import SchemaArguments

# Of functions, at OpenAI; the formats of calls here take more.
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Constraint:
    """What an answer must be.  `compiled` is None for free text, `calls` where there are no tools; `kind` is for
    displays.  `pointer`: where in the request what its grammar is made of stands.  `calls_first`: it is a call from its
    first character on, or not at all.  `warnings`: what the request says that its author hardly means.  `block`: of
    reasoning, which may stand in front of it."""

    compiled: CompiledGrammar | None
    kind: str
    pointer: str
    calls: CallFormat | None = None
    calls_first: bool = False
    warnings: tuple[str, ...] = ()
    block: Block | None = None


@dataclass(frozen=True, slots=True)
class Tools:
    """The calls that may come, and the source that they were read from."""

    calls: CallFormat
    source: Source


def check_tool_format(name: str) -> None:
    """`ValueError` for a format that is not there, or whose calls cannot be read back."""
    if name in NOT_READ:
        raise ValueError(f"calls in the format {name} are written, but not read back yet: {NOT_READ[name]}")
    if name not in model_templates():
        known = ", ".join(one for one in model_templates() if one not in NOT_READ)
        raise ValueError(f"there is no tool format {name!r}; there are {known}")


@dataclass
class Maker:
    """Makes the constraint of a request; `RequestError` with the locations of what is wrong.

    alone: where one tool must be called and no other may be, the model was told to write its arguments and nothing
    around them.  (A model that was trained on calls writes a whole call into them.)
    block: of reasoning that the model may write first, where it is open or reasoning is asked for.
    """

    request: Asked
    body: Body
    compiler: GrammarCompiler
    tool_format: str | None
    limits: Limits
    cancel: CancelToken
    alone: bool = False
    block: Block | None = None

    def __post_init__(self) -> None:
        self._form, block = self.request.form, self.block
        self._block = block if block is not None and (block.opened or self.request.reasons) else None
        self._warnings: list[str] = []
        self._written: SchemaArguments = {**WRITTEN, "max_whitespace_cnt": self.limits.max_blanks}
        if self.limits.caps:
            self._written["caps"] = CAPS
        self._of_form: SchemaArguments = {**self._written}
        if self._form.strict and can_close(self._form.schema):
            self._of_form["strict_mode"] = True
        self.forced_tool = forced_tool(self.request) if self.alone else None

    def constraint(self) -> Constraint:
        """The grammar of the answer, with what there is to warn of in it, each once."""
        with told_elsewhere():  # an answer has them with it
            made = self._constraint()
        return replace(made, block=self.block, warnings=tuple(dict.fromkeys(self._warnings)))

    def _constraint(self) -> Constraint:
        tools, kind = self.tools(), self._form.kind
        if tools is not None and self.forced_tool is not None:
            tools = self._tools_with(self.request.tool_choice, arguments_alone=True)
        if tools is None and self.request.tools and kind == "text":
            silent = self._tools_with("none")  # text in which no call begins
            return Constraint(self._compiled_tools(silent), kind, "#/tools", silent.calls)
        if tools is None:
            return Constraint(self.format(), kind, self._form.pointer)
        required = _required(self.request.tool_choice)
        if kind == "text" or self.request.tool_choice == required:
            return Constraint(self._compiled_tools(tools), "tools", "#/tools", tools.calls)
        _ = self.format()  # by itself first, so that mistakes have their locations
        either = {"type": "or", "elements": [self._tools_with(required).calls.format, self.element()]}
        made = self.tag(either, self._form.field)
        return Constraint(made, f"tools or {kind}", self._form.pointer, tools.calls, calls_first=True)

    def _warn(self, pointer: str, source: Source, found: Sequence[Mistake]) -> None:
        self._warnings += [sentence_of(self.body.moved(pointer, source, one)) for one in found]

    # -- tools ------------------------------------------------------------------------------------------------------

    def tools(self) -> Tools | None:
        """Those that may be called; None where none can be."""
        request, body = self.request, self.body
        if not request.tools:
            if request.tool_choice not in (None, "auto", "none"):
                raise body.wrong("#/tool_choice", "there are no tools to choose from")
            if request.parallel_tool_calls is not None:
                raise body.wrong("#/parallel_tool_calls", "only with tools")
            return None
        if self.tool_format is None:
            raise body.wrong(
                "#/tools",
                "how this model writes calls is not known; the server has to be started with --tool-format",
                code="unsupported_value",
            )
        match request.tool_choice:
            case "none" | {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}:
                return None
        return self._tools_with("auto" if request.tool_choice is None else request.tool_choice)

    def _tools_with(self, choice: object, *, arguments_alone: bool = False) -> Tools:
        """The tools under a choice; arguments_alone: the text is the arguments of the one that must be called, with
        nothing around them."""
        parallel = self.request.parallel_tool_calls
        options = {
            "model": self.tool_format,
            "tool_choice": choice,
            "parallel_tool_calls": True if parallel is None else parallel,
            "arguments_alone": arguments_alone,
            **self._written,
        }
        source = Source("tools", self.body.part("#/tools"), options)
        try:
            made = Tools(CallFormat(source.tool_tag), source)
        except MaskscopeError as error:
            if isinstance(error, ToolsError) and error.path.startswith("#/tool_choice"):
                raise self.body.wrong(error.path, error.reason) from None
            raise self.body.mistaken("#/tools", source, error, "invalid_tools") from None
        for index, tool in enumerate(self.request.tools or ()):
            if not _NAME.fullmatch(name := tool["function"].get("name", "")):
                inner = child("#", index, "function")
                pointer = child(inner if inner in source.json.entries else child("#", index), "name")
                said = f"other servers refuse the name {json.dumps(name)}"
                cure = "they take up to 64 letters, digits, _ and -"
                self._warn("#/tools", source, [mistake_in(source.text, source.json, pointer, said, cure)])
        return made

    def _compiled_tools(self, tools: Tools) -> CompiledGrammar:
        """The grammar of the calls that may come, and of what stands around them."""
        compile_it = partial(self._compile_tag, tools.calls.format)
        return self._compiled("#/tools", tools.source, "invalid_tools", compile_it)

    # -- the format -------------------------------------------------------------------------------------------------

    def format(self) -> CompiledGrammar | None:
        """The grammar of the format, behind the block of reasoning where there is one."""
        made = self._format()
        if self._block is None or made is None:
            return made
        return self.tag(self.element(), self._form.field)

    def _format(self) -> CompiledGrammar | None:
        """The grammar of the format alone."""
        form = self._form
        match form.kind:
            case "text":
                return None
            case "json_object":
                return Source("json_schema", '{"type": "object"}', dict(self._written)).compile(
                    self.compiler, cancel=self.cancel
                )
            case "json_schema":
                source, wrong = Source("json_schema", form.source(self.body), dict(self._of_form)), "invalid_schema"
            case "regex":
                source, wrong = Source("regex", form.text), "invalid_regex"
            case "grammar":
                root = "start" if form.language == "lark" else "root_rule_name"
                source, wrong = Source(form.language, form.text, {root: form.root}), "invalid_grammar"
            case _:
                given = form.kind == "structural_tag"
                text = form.source(self.body) if given else json.dumps({"format": self.element()})
                source, wrong = Source("structural_tag", text), "invalid_structural_tag"
        return self._compiled(form.pointer, source, wrong)

    def element(self) -> dict[str, object]:
        """The format as one of a structural tag."""
        form = self._form
        match form.kind:
            case "json_object":
                return {"type": "json_schema", "json_schema": form.schema, **self._of_form}
            case "json_schema":
                return {"type": "json_schema", "json_schema": form.exact(self.body), **self._of_form}
            case "regex":
                return {"type": "regex", "pattern": form.text}
            case "choice":
                return {"type": "or", "elements": [{"type": "const_string", "value": one} for one in form.choices]}
            case "grammar" if (form.language, form.root) == ("ebnf", "root"):
                return {"type": "grammar", "grammar": form.text}
            case "structural_tag":
                match form.exact(self.body):
                    case {"format": {} as inner}:
                        return dict(inner)
        beside = "reasoning" if self.request.tools is None else "tools"
        cure = "" if self.request.tools is None else "; send tool_choice none or required"
        raise self.body.wrong(
            form.field, f"this {form.kind} cannot stand beside {beside}{cure}", code="unsupported_value"
        )

    # -- compiling --------------------------------------------------------------------------------------------------

    def tag(self, answer: Mapping[str, object], pointer: str) -> CompiledGrammar:
        """The structural tag of an answer's format, which was made here of what stands at `pointer`, and whose parts
        were compiled by themselves before."""
        try:
            return self._compile_tag(answer, lenient=False)
        except BudgetExceededError as error:
            raise too_much(self.body, pointer, error) from None
        except UnsupportedSchemaError as error:
            if self.request.tools:
                self._compiled_tools(self._tools_with(_required(self.request.tool_choice)))  # what is not enforced
            try:
                return self._compile_tag(answer, lenient=True)
            except MaskscopeError:
                raise self.body.wrong(pointer, error.strictly, code="invalid_tools") from None
        except MaskscopeError as error:
            raise self.body.wrong(pointer, str(error), code="invalid_tools") from None

    def _compile_tag(self, answer: Mapping[str, object], lenient: bool) -> CompiledGrammar:
        """An answer of this format, behind the block of reasoning where there is one."""
        tag = {"type": "structural_tag", "format": answer if self._block is None else self._block.before(answer)}
        return self.compiler.compile_structural_tag(tag, lenient=lenient, cancel=self.cancel)

    def _compiled(
        self, pointer: str, source: Source, code: str, compile_it: Callable[[bool], CompiledGrammar] | None = None
    ) -> CompiledGrammar:
        """The source that stands at `pointer`, compiled; or what `compile_it(False)` makes in its place.

        Where well-formed schemas cannot be exact: what reading them leniently makes, and warnings of the rest, unless
        the request asks for `strict` there.
        """

        def from_source(lenient: bool) -> CompiledGrammar:
            read = Source.of(source, lenient=True) if lenient else source
            return read.compile(self.compiler, cancel=self.cancel)

        compile_it = compile_it or from_source
        doubted = misspelt(source)
        # The rest is a note by the standard, and may be meant as one.
        places = [self.body.moved(pointer, source, one) for one in (misspelt(source, sure=True) if doubted else ())]
        if strictly := [place for place in places if self._is_strict([place])]:
            raise self.body.refused(pointer, strictly, code)
        try:
            made = compile_it(False)
        except BudgetExceededError as error:
            raise too_much(self.body, pointer, error) from None
        except MaskscopeError as error:
            refused = self.body.mistaken(pointer, source, error, code)
            told = isinstance(error, UnsupportedSchemaError) and not any(one.is_malformed for one in error.problems)
            if not told or self._is_strict(refused.places):
                raise refused from None
            try:
                made = compile_it(True)
            except MaskscopeError:
                raise refused from None
            self._warnings += [sentence_of(replace(one, cure="this is not enforced")) for one in refused.places]
            self._warn(pointer, source, doubted)
            return made
        self._warn(pointer, source, doubts(source, made.grammar, doubted))
        return made

    def _is_strict(self, places: Sequence[Mistake]) -> bool:
        """Whether something that is to be exact is at one of `places`."""
        strict = [self._form.field] if self._form.strict else []
        for index, tool in enumerate(self.request.tools or ()):
            if isinstance(function := tool.get("function"), dict) and function.get("strict") is True:
                strict.append(f"#/tools/{index}")
        return any(f"{place.pointer}/".startswith(f"{one}/") for place in places for one in strict)


def too_much(body: Body, pointer: str, error: BudgetExceededError, *, partial: str | None = None) -> RequestError:
    """What stands at `pointer` takes more than this server gives: before the answer is written (400), or, where there
    is a `partial` one, while it was (422)."""
    message = f"{error.where}: this server gives a grammar no more than {error.limit:,} {error.what}"
    cure = "ask for less: fewer alternatives, smaller counts, simpler patterns"
    status = 400 if partial is None else 422
    return body.wrong(pointer, message, cure=cure, code="budget_exceeded", status=status, partial=partial)


def forced_tool(request: Asked) -> Mapping[str, object] | None:
    """The one tool that must be called, where no other may be; None where there is a choice."""
    try:
        allowed, mode = normalize_tool_choice(request.tools, request.tool_choice)
    except GrammarError:  # which is told with its location where the grammar is made
        return None
    if mode == "auto" or len(allowed) != 1:
        return None
    return next(one for one in request.tools or () if one.get("function", one).get("name") == allowed[0].name)


def _required(choice: object) -> object:
    """The choice by which one of the same tools must be called."""
    match choice:
        case {"type": "function"}:
            return choice
        case {"type": "allowed_tools", "allowed_tools": {} as allowed}:
            return {"type": "allowed_tools", "allowed_tools": {**allowed, "mode": "required"}}
    return "required"
