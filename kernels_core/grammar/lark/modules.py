"""Texts that a Lark grammar imports from: `%import .path.name`, and what `%extend` and `%override` do to all of it.

A module is found in the caller's mapping of names to texts, or as the file `path.lark` under the caller's folder.  No
file is read unless the caller names a folder, and a path consists of names, so nothing outside of it is reached.  What
is imported brings along what it calls.  It keeps its name, or gets the alias; what it calls is named `path__name`, as
Lark does it, and `_path__name` behind an underscore.  What a module ignores is not imported.

All texts are put behind each other, so an offset says which text is meant; `moved` and `standing` undo that.

Read on: `parser.py` (one text to a scope), `templates.py` (what comes behind).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from ...errors import GrammarError
from ..ir import Span
from ..length import check_length
from ..names import undefined
from .lexer import LANGUAGE, refuse, reject
from .parametric import write_out_parametric
from .parser import parse
from .syntax import (
    Alternatives,
    Definition,
    Expression,
    External,
    Given,
    Import,
    Name,
    Nested,
    Scope,
    Sequence,
    Use,
    With,
    is_terminal_name,
    parts,
)
from .templates import write_out

_MOST_MODULES: Final = 200


@dataclass(slots=True)
class _Module:
    name: str
    begin: int
    text: str
    span: Span  # of the statement in the first text that brought it in
    scope: Scope | None = None  # None while it is being read
    renamed: dict[str, str] = field(default_factory=dict)


class Library:
    """A text and all that it imports.  `given` are texts by path, `folder` is where other files are looked for."""

    def __init__(self, source: str, given: Mapping[str, str] | None = None, folder: Path | None = None) -> None:
        self.main = self.text = source
        self.used: dict[str, str] = {}
        self._given = given
        self._folder = folder
        self._modules: dict[str, _Module] = {}
        self._within: Span | None = None

    def read(self, supplied: Mapping[str, object], start: str) -> Scope:
        """The statements of the text, with all imports, changes and templates written out.

        supplied: names for which the caller has grammars, which declared names may be.
        """
        scope = parse(self.text)
        self._finish(scope, supplied, start)
        return scope

    def moved(self, error: GrammarError) -> GrammarError:
        """An error at its place in the text that it is about."""
        module = self._around(error.offset)
        if module is None:
            error.source = self.main
            return error
        reason, offset = f"in {module.name}: {error.reason}", (error.offset or 0) - module.begin
        return type(error)(reason, module.text, offset, language=LANGUAGE, needs_vocabulary=error.needs_vocabulary)

    def standing(self, span: Span) -> Span:
        """Where in the first text a span stands: what is imported stands at its import."""
        module = self._around(span.start)
        return span if module is None else module.span

    def _around(self, offset: int | None) -> _Module | None:
        found = None
        for module in self._modules.values():
            if offset is not None and module.begin <= offset:
                found = module
        return found

    # -- one scope ------------------------------------------------------------------------------------------------

    def _finish(self, scope: Scope, supplied: Mapping[str, object], start: str) -> None:
        self._resolve(scope)
        kinds = {type(part) for expression in scope.expressions() for part in parts(expression)}
        if scope.templates or Use in kinds:
            write_out(scope, self.text)
            scope.templates.clear()
        if any(one.is_parametric for one in scope.definitions.values()) or not kinds.isdisjoint((With, Given)):
            write_out_parametric(scope, self.text, start)
        self._declare(scope, supplied, start)
        for definition in scope.definitions.values() if Nested in kinds else ():
            for part in parts(definition.body):
                if isinstance(part, Nested):
                    self._finish(part.scope, supplied, "start")

    def _resolve(self, scope: Scope) -> None:
        """Bring in what is imported, and do what `%extend` and `%override` say."""
        by_path: dict[str, list[Import]] = {}
        for statement in scope.modules:
            by_path.setdefault(statement.path, []).append(statement)
        for path, statements in by_path.items():
            module = self._module(path, statements[0].span)
            self._bring(scope, module, statements)
        for kind, changed in scope.changes:
            self._change(scope, kind, changed)
        for name, span in scope.declared.items():
            if name in scope.definitions or name in scope.templates:
                reject(f"{name!r} is declared, and defined, too", self.text, span)
        scope.modules.clear()
        scope.changes.clear()

    def _change(self, scope: Scope, kind: str, changed: Definition) -> None:
        name = changed.name
        known = scope.templates if changed.parameters else scope.definitions
        before = known.get(name)
        if before is None:
            role = "template" if changed.parameters else "rule or terminal"
            reject(f"{kind}: {undefined(name, known, role=role)}", self.text, changed.span)
        if kind == "%override":
            known[name] = changed
            return
        if before.parameters != changed.parameters:
            reject(f"%extend: the parameters of {name!r} are {', '.join(before.parameters)}", self.text, changed.span)
        if changed.attributes:
            reject(
                f"%extend: {name!r} keeps its attributes; they are written where it is defined", self.text, changed.span
            )
        known[name] = replace(before, body=Alternatives((before.body, changed.body), before.body.span))

    # -- imports --------------------------------------------------------------------------------------------------

    def _module(self, path: str, span: Span) -> Scope:
        """The scope of a module, read once; its own imports and changes are done."""
        known = self._modules.get(path)
        if known is not None:
            if known.scope is None:
                reject(f"{path!r} imports itself", self.text, span)
            return known.scope
        if len(self._modules) == _MOST_MODULES:
            refuse(f"more than {_MOST_MODULES} modules are imported", self.text, span)
        text = self._text_of(path, span)
        self.used[path] = text
        outermost, self._within = self._within, self._within or span
        begin = len(self.text) + 1
        module = _Module(path, begin, text, self._within)
        self.text = f"{self.text}\n{text}"
        check_length(self.text)
        self._modules[path] = module
        scope = parse(self.text, begin)
        self._resolve(scope)
        module.scope = scope
        self._within = outermost
        return scope

    def _text_of(self, path: str, span: Span) -> str:
        if self._given is not None and path in self._given:
            return self._given[path]
        if self._folder is not None:
            file = self._folder.joinpath(*path.split(".")).with_suffix(".lark")
            try:
                return file.read_text(encoding="utf-8")
            except FileNotFoundError:
                reject(f"there is no file {file.name} for {path!r} under the folder of imports", self.text, span)
            except (OSError, UnicodeDecodeError) as error:
                reject(f"the file of {path!r} cannot be read: {error}", self.text, span)
        if self._given is None:
            reason = f"pass imports={{{path!r}: text}}, or base_path, the folder of {path.replace('.', '/')}.lark"
            refuse(f"{path!r} is another text than common: {reason}", self.text, span)
        reject(undefined(path, self._given, role="text among imports"), self.text, span)

    def _bring(self, scope: Scope, module: Scope, statements: list[Import]) -> None:
        """Add what `statements` import from `module` to `scope`, with all that it calls."""
        path = statements[0].path
        aliases: dict[str, str] = {}
        more: list[tuple[str, str, Span]] = []
        for statement in statements:
            for name, alias in statement.names:
                if not any(name in names for names in (module.definitions, module.templates, module.declared)):
                    known = (*module.definitions, *module.templates, *module.declared)
                    reject(f"{path!r} has no {name!r}: {undefined(name, known)}", self.text, statement.span)
                if aliases.setdefault(name, alias or name) != (alias or name):
                    more.append((alias or name, aliases[name], statement.span))
        renamed = partial(_renamed, aliases=aliases, path=path, declared=module.declared)
        waiting, seen = list(aliases), set(aliases)
        while waiting:
            name = waiting.pop()
            span = next((one.span for one in statements if name in dict(one.names)), statements[0].span)
            new = renamed(name)
            if name in module.declared:
                scope.declared.setdefault(new, module.declared[name])
                continue
            if new in scope.definitions or new in scope.templates:
                reject(f"duplicate rule or terminal {new!r}: it is already defined", self.text, span)
            definition = module.definitions.get(name) or module.templates.get(name)
            if definition is None:
                continue  # an unknown name, which is told where it is used
            own = frozenset(definition.parameters)
            for expression in definition.expressions():
                for part in parts(expression):
                    if isinstance(part, Name | Use | With) and part.name not in own | seen:
                        seen.add(part.name)
                        waiting.append(part.name)
            made = definition.rebuilt(partial(_moved, own, renamed))
            (scope.templates if made.parameters else scope.definitions)[new] = replace(made, name=new)
        for alias, name, span in more:
            scope.definitions[alias] = Definition(alias, Name(name, span), {}, span, is_terminal_name(alias))

    # -- declared names -------------------------------------------------------------------------------------------

    def _declare(self, scope: Scope, supplied: Mapping[str, object], start: str) -> None:
        """Let declared names be grammars of the caller's."""
        if not scope.declared:
            return
        missing = {name for name in scope.declared if name not in supplied}
        used = _reached(scope, start) if missing else set()
        for name, definition in scope.definitions.items():
            asked = {
                part.name
                for expression in definition.expressions()
                for part in parts(expression)
                if isinstance(part, Name) and part.name in scope.declared
            }
            if name not in used and asked & missing:
                # No text uses it: that nobody supplies what it calls does not matter.
                scope.definitions[name] = replace(definition, body=Sequence((), definition.span), attributes={})
            elif asked:
                scope.definitions[name] = definition.rebuilt(partial(self._external, scope, missing))

    def _external(self, scope: Scope, missing: set[str], expression: Expression) -> Expression:
        if not isinstance(expression, Name) or expression.name not in scope.declared:
            return expression
        if expression.name in missing:
            reason = (
                f"{expression.name!r} is declared and not supplied: its texts are made outside of the grammar, as "
                f"indentation is; pass grammars={{{expression.name!r}: ...}}, or another start rule"
            )
            refuse(reason, self.text, expression.span)
        return External(expression.name, expression.span)


def _renamed(name: str, *, aliases: Mapping[str, str], path: str, declared: Collection[str]) -> str:
    if name in aliases or name in declared:
        return aliases.get(name, name)
    prefix = path.replace(".", "__")
    return f"_{prefix}__{name[1:]}" if name.startswith("_") else f"{prefix}__{name}"


def _moved(own: frozenset[str], renamed: partial[str], expression: Expression) -> Expression:
    """A name of a module, as it is called where it is imported."""
    if isinstance(expression, Name | Use | With) and expression.name not in own:
        return replace(expression, name=renamed(expression.name))
    return replace(expression)


def _reached(scope: Scope, start: str) -> set[str]:
    """The definitions that texts of `start` use, and what is ignored."""
    waiting = [start, *(part.name for item in scope.ignored for part in parts(item) if isinstance(part, Name))]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in found or name not in scope.definitions:
            continue
        found.add(name)
        for expression in scope.definitions[name].expressions():
            waiting += [part.name for part in parts(expression) if isinstance(part, Name)]
    return found
