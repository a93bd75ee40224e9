"""Templates, written out: each use with other arguments becomes a definition of its own.

`list{item, mark}: item (mark item)*` and `list{word, ","}` give the rule `list.1: word ("," word)*`, under a name that
nobody can write.  Equal arguments share one.  A template may use templates, itself included: a use with arguments that
were met before is the same definition, and arguments that grow for ever run into a limit.

Read on: `modules.py` (what comes before), `lower.py` (what comes behind).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from ...clock import look
from ..ir import Span
from ..names import undefined
from .lexer import refuse, reject
from .syntax import Definition, Expression, Name, Scope, Use, rebuilt

_MOST: Final = 5_000
_NOWHERE: Final = Span(0, 0)


def write_out(scope: Scope, source: str) -> None:
    """Replace all uses of templates in `scope`, by calls of definitions that are added to it."""
    _Writer(scope, source).write()


class _Writer:
    def __init__(self, scope: Scope, source: str) -> None:
        self._scope = scope
        self._source = source
        self._names: dict[tuple[str, tuple[Expression, ...]], str] = {}
        self._waiting: list[tuple[str, Definition, Mapping[str, Expression]]] = []

    def write(self) -> None:
        scope = self._scope
        for name, definition in scope.definitions.items():
            scope.definitions[name] = definition.rebuilt(partial(self._leaf, {}))
        scope.ignored[:] = [rebuilt(expression, partial(self._leaf, {})) for expression in scope.ignored]
        while self._waiting:
            look(10)
            name, template, arguments = self._waiting.pop()
            made = template.rebuilt(partial(self._leaf, arguments))
            scope.definitions[name] = replace(made, parameters=())

    def _leaf(self, arguments: Mapping[str, Expression], expression: Expression) -> Expression:
        # Always a copy: terminals are told apart by identity (`places.py`).
        match expression:
            case Name(name) if name in arguments:
                return replace(arguments[name])
            case Name(name, span) if name in self._scope.templates and name not in self._scope.definitions:
                reject(f"{name!r} is a template: it takes {self._shown(name)}", self._source, span)
            case Use():
                return self._called(expression)
        return replace(expression)

    def _called(self, use: Use) -> Name:
        template = self._scope.templates.get(use.name)
        if template is None:
            reject(undefined(use.name, self._scope.templates, role="template"), self._source, use.span)
        if len(template.parameters) != len(use.arguments):
            reject(
                f"{use.name!r} takes {self._shown(use.name)}, and not {len(use.arguments)} arguments",
                self._source,
                use.span,
            )
        key = use.name, tuple(replace(argument, span=_NOWHERE) for argument in use.arguments)
        if key not in self._names:
            if len(self._names) == _MOST:
                reason = (
                    f"templates are written out at most {_MOST:,} times: does one call itself with longer arguments?"
                )
                refuse(reason, self._source, use.span)
            self._names[key] = f"{use.name}.{len(self._names) + 1}"
            given = dict(zip(template.parameters, use.arguments, strict=True))
            self._waiting.append((self._names[key], template, given))
        return Name(self._names[key], use.span)

    def _shown(self, name: str) -> str:
        return f"{name}{{{', '.join(self._scope.templates[name].parameters)}}}"
