"""Priorities, `name.2: ...`: read, and held against what they would do to the set of texts.

Where every text counts that the rules derive, a priority chooses between readings of a text and says nothing about
which texts there are.  So that of a rule is remarked on and left out.  That of a terminal may reserve texts in a lexer
(`IF.2: "if"` beside names): where another terminal of another priority matches some of the same texts the grammar is
refused, with the way to write what is meant.

Read on: `lower.py` (who asks).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..regular.dfa import is_empty
from ..regular.languages import TooManyStates, intersection
from .lexer import refuse
from .syntax import Definition, Expression, Name, Pattern, Range, Scope, Text, parts
from .terminals import Terminals


def check_priorities(scope: Scope, terminals: Terminals) -> list[str]:
    """Remarks on the priorities of `scope`.  Raises `UnsupportedFeatureError`, at the terminal."""
    found = [replace(one, name=name) for name, one in scope.definitions.items() if one.priority]
    others = list(_lexed(scope, terminals)) if any(one.name in terminals for one in found) else []
    for definition in found:
        if definition.name in terminals and any(
            isinstance(one, Name) and one.name == definition.name for one, _ in others
        ):
            _check(definition, others, terminals)
    return [
        f"the priority of {definition.name!r} chooses between readings of a text; the set of texts is the same without"
        for definition in found
    ]


def _lexed(scope: Scope, terminals: Terminals) -> Iterator[tuple[Expression, int]]:
    """What a lexer would tell apart: terminals as rules name or write them, and what is ignored; with priorities."""
    seen: set[str] = set()
    bodies = [definition.body for name, definition in scope.definitions.items() if name not in terminals]
    for body in (*bodies, *scope.ignored):
        for part in parts(body):
            if isinstance(part, Name) and part.name in terminals and part.name not in seen:
                seen.add(part.name)
                yield part, scope.definitions[part.name].priority
            elif isinstance(part, Pattern | Range) or (isinstance(part, Text) and part.value):
                yield part, 0


def _check(definition: Definition, others: list[tuple[Expression, int]], terminals: Terminals) -> None:
    try:
        texts = terminals.named_language(definition.name)
        for other, priority in others:
            if priority != definition.priority and not is_empty(intersection(texts, terminals.language(other))):
                name = _shown(other)
                first, last = (definition.name, name) if definition.priority > priority else (name, definition.name)
                reason = (
                    f"this priority would keep texts of {first} out of {last}, and no terminal wins over another here; "
                    f"write {last} & ~{first} for {last}, and no priority; or leave out the priority alone, and such "
                    "a text may be either"
                )
                refuse(reason, terminals.source, definition.span)
    except TooManyStates as error:
        reason = f"to tell whether this priority keeps texts out of other terminals takes {error}"
        refuse(reason, terminals.source, definition.span)


def _shown(terminal: Expression) -> str:
    match terminal:
        case Name(name):
            return name
        case Text(value):
            return f'"{value}"'
        case Pattern(source):
            return f"/{source}/"
    return "the range of characters"
