"""What a grammar says that its author hardly means: rules that nothing calls, a rule's name in brackets, a character as
W3C writes it, and the name of a control token as text.

Nothing of that is an error, so each is a `GrammarNote` in `Grammar.warnings`, and compiling warns of it.

Read on: `grammar.py` (who keeps notes), `../compiler.py` (who warns).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from ..errors import GrammarNote
from .analysis import reachable_rules
from .ir import CharSet, DeferredRule, GrammarIR, Literal, Node, TagDispatch, walk

if TYPE_CHECKING:
    from .structural_tag.tokens import Vocabulary

_MOST = 20
_BRACKETS = re.compile(r"\[([A-Za-z_][\w.-]*)\]")
_HEX = re.compile(r"(?<![&\"'\w])#x([0-9A-Fa-f]{1,6})\b(?!;)")


def notes_on_rules(ir: GrammarIR, kept: Collection[str]) -> tuple[GrammarNote, ...]:
    """Of rules as they were written; `kept` are those of the normal form."""
    found: list[GrammarNote] = []
    names = {match.group(1) for match in _BRACKETS.finditer(ir.source)} & ir.rules.keys()
    if names:
        for span in (node.span for node in _nodes(ir) if isinstance(node, CharSet)):
            match = None if span is None else _BRACKETS.fullmatch(ir.source, span.start, span.end)
            if span is not None and match is not None and match.group(1) in names:
                name = match.group(1)
                reason = (
                    f"[{name}] is one of these characters, and there is a rule {name}; without brackets it is called"
                )
                found.append(_note(reason, ir.source, span.start))
    for match in _HEX.finditer(ir.source) if "#x" in ir.source else ():
        reason = (
            f"{match.group()} is letters in brackets, and elsewhere a comment; the character is \\x{match.group(1)}"
        )
        found.append(_note(reason, ir.source, match.start()))
    if any(name not in kept for name in ir.rules):
        used = set(reachable_rules(ir))
        for name, rule in ir.rules.items():
            if name not in used and rule.span is not None:
                found.append(_note(f"nothing calls the rule {name}", ir.source, rule.span.start))
    return tuple(found[:_MOST])


def control_texts(ir: GrammarIR, vocabulary: Vocabulary, language: str, pointer: str = "") -> tuple[GrammarNote, ...]:
    """Of texts that spell a control token: as text they are written in other tokens, which no model does."""
    from .structural_tag.tokens import control_names

    names = control_names(vocabulary)
    if not any(True for _ in names.found(ir.source.encode("utf-8", "replace"))):
        return ()
    found: dict[bytes, GrammarNote] = {}
    for node in _nodes(ir):
        texts = (node.value,) if isinstance(node, Literal) else node.tags if isinstance(node, TagDispatch) else ()
        for match in (match for text in texts for match in names.found(text)):
            name, ids = match.group(), names.ids[match.group()]
            text = name.decode("utf-8", "replace")
            reason = (
                f'"{text}" is text here, which is written without the control token {ids[0]} of that name; '
                f"{_way(language, text, ids[0])}"
            )
            start = None if node.span is None or pointer else node.span.start
            found.setdefault(name, _note(reason, ir.source, start, pointer))
    return tuple(found.values())[:_MOST]


def _way(language: str, text: str, number: int) -> str:
    match language:
        case "lark":
            named = re.fullmatch(r"<[^<>\s\[\]]+>", text) is not None
            return f"to mean the token write {text if named else f'<[{number}]>'} without quotes"
        case "structural_tag":
            return "to mean the token put it into a format of its own, of type const_string or token"
        case "regex":
            return f"a regular expression cannot name tokens; EBNF has Token({number}) beside Regex(...)"
    return f"to mean the token write Token({number})"


def _note(reason: str, source: str, offset: int | None, pointer: str = "") -> GrammarNote:
    if offset is None:
        return GrammarNote(reason, pointer=pointer)
    line, start = source.count("\n", 0, offset) + 1, source.rfind("\n", 0, offset) + 1
    return GrammarNote(reason, offset, line, offset - start + 1)


def _nodes(ir: GrammarIR) -> Iterator[Node]:
    for rule in list(ir.rules.values()):
        if not isinstance(rule, DeferredRule):
            yield from walk(rule.body)
