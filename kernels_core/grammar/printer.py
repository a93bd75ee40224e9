"""IR back to EBNF text, in one canonical spelling: equal grammars print alike, and the text parses to the same IR.

Code points that do not print are written `\\uXXXX` or `\\UXXXXXXXX`, never `\\x` (which takes as many digits as
follow); bytes that are no UTF-8 are written `b"\\xHH"`.

Read on: `ebnf.py` (the dialect, and the way there).
"""

from __future__ import annotations

from functools import lru_cache

from . import charset
from .ir import (
    ByteSet,
    CharSet,
    Choice,
    Empty,
    GrammarIR,
    Literal,
    Never,
    Node,
    Repeat,
    Rule,
    RuleRef,
    Seq,
    TagDispatch,
    TokenSet,
    Unordered,
)
from .nodes import fold
from .tree import children

# A rule longer than this is broken before each alternative.
_WIDTH = 100

_CONTROL = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}
_STRING = _CONTROL | {0x22: '\\"', 0x5C: "\\\\"}
_CLASS = _CONTROL | {ord(character): "\\" + character for character in "\\]^-["}

# How tightly a printed node binds: an atom takes a quantifier as it is, the others need parentheses.
_ATOM, _SUFFIXED, _SEQUENCE, _CHOICE = range(4)
_Printed = tuple[str, int]


def print_grammar(ir: GrammarIR) -> str:
    """All rules, one per line (or per alternative, where long), root first if the IR has it first."""
    return "\n".join(print_rule(name + _notes(rule), rule.body) for name, rule in ir.rules.items()) + "\n"


def _notes(rule: Rule) -> str:
    notes = [
        name if value is None else f"{name}={_note_text(value) if isinstance(value, str) else repr(value)}"
        for name, value in rule.notes
        if name not in ("scope", "judged", "watched")  # their predicates are no text
    ]
    return f"[{', '.join(notes)}]" if notes else ""


def _note_text(value: str) -> str:
    return _literal(value.encode()).replace("]", "\\]")  # a bare "]" would end the attributes


def print_rule(name: str, body: Node) -> str:
    """`name ::= body`, without a newline at the end."""
    alternatives = _alternatives(body)
    line = f"{name} ::= {' | '.join(alternatives)}"
    if len(line) <= _WIDTH or len(alternatives) == 1:
        return line
    return f"{name} ::=\n    " + "\n  | ".join(alternatives)


def _alternatives(body: Node) -> list[str]:
    match body:
        case Choice(items):
            return [print_node(item) for item in items]
        case Repeat(Choice() | Seq() | Repeat() as item, 0, 1):
            # A whole body that is optional reads better as an alternative, and needs no group.
            return [*_alternatives(item), '""']
        case _:
            return [print_node(body)]


def print_node(node: Node) -> str:
    """One node as EBNF."""
    return fold(node, _combine)[0]


def _combine(node: Node, below: list[_Printed]) -> _Printed:
    match node:
        case Empty():
            return '""', _ATOM
        case Never():
            return "[]", _ATOM
        case Literal(value):
            return _literal(value), _ATOM
        case CharSet(ranges):
            return _code_points(ranges), _ATOM
        case ByteSet(ranges):
            return "b" + _bytes(ranges), _ATOM
        case RuleRef(name):
            return name, _ATOM
        case Seq():
            return " ".join(_grouped(item, _SUFFIXED) for item in below), _SEQUENCE
        case Choice():
            return " | ".join(_grouped(item, _SEQUENCE) for item in below), _CHOICE
        case Repeat(_, minimum, maximum):
            return _grouped(below[0], _ATOM) + _quantifier(minimum, maximum), _SUFFIXED
        case TokenSet(ids, negated):
            return f"{'ExcludeToken' if negated else 'Token'}({', '.join(map(str, ids))})", _ATOM
        case TagDispatch(tags, _, loop, excludes, stops):
            arguments = [f"({_literal(tag)}, {item})" for tag, (item, _) in zip(tags, below, strict=True)]
            if not loop:
                arguments.append("loop_after_dispatch=false")
            for name, strings in (("excludes", excludes), ("stops", stops)):
                if strings:
                    spelt = ", ".join(map(_literal, strings))
                    arguments.append(f"{name}=({spelt}{',' if len(strings) == 1 else ''})")
            return f"TagDispatch({', '.join(arguments)})", _ATOM
        case Unordered():
            return _unordered(node, [text for text, _ in below]), _ATOM
    raise TypeError(f"not an IR node: {node!r}")


def _unordered(node: Unordered, below: list[str]) -> str:
    """`Unordered((key, value, 3, required), ..., others=((key, value, 1),), separator=..., closing=...)`.

    A number, where there are needs, has a bit for each that the member meets.
    """
    texts = dict(zip(map(id, children(node)), below, strict=True))
    members, others = (
        [
            f"({texts[id(key)]}, {texts[id(value)]}{f', {meets}' * bool(node.needs)}{', required' * required})"
            for key, value, required, meets in entries
        ]
        for entries in node.entries()
    )
    arguments = members
    if others:
        arguments.append(f"others=({', '.join(others)}{',' if len(others) == 1 else ''})")
    arguments += [f"separator=({below[-2]})", f"closing=({below[-1]})"]
    for name in ("least", "most", "needs"):
        if getattr(node, name):
            arguments.append(f"{name}={getattr(node, name)}")
    return f"Unordered({', '.join(arguments)})"


def _grouped(printed: _Printed, loosest: int) -> str:
    text, binding = printed
    return text if binding <= loosest else f"({text})"


def _quantifier(minimum: int, maximum: int | None) -> str:
    match minimum, maximum:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
        case low, None:
            return f"{{{low},}}"
        case low, high if low == high:
            return f"{{{low}}}"
        case low, high:
            return f"{{{low},{high}}}"


def _literal(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return 'b"' + "".join(_byte(byte, _STRING) for byte in value) + '"'
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_character(ord(character), _STRING) for character in text) + '"'


def _character(code_point: int, short: dict[int, str]) -> str:
    if code_point in short:
        return short[code_point]
    if chr(code_point).isprintable():
        return chr(code_point)
    return f"\\u{code_point:04x}" if code_point <= 0xFFFF else f"\\U{code_point:08x}"


def _byte(value: int, short: dict[int, str]) -> str:
    if value in short:
        return short[value]
    return chr(value) if 0x20 <= value < 0x7F else f"\\x{value:02x}"


@lru_cache(maxsize=1024)
def _code_points(ranges: charset.Ranges) -> str:
    inverse = charset.canonical(charset.complement(ranges))
    # The shorter of [...] and [^...]; of equals the positive one.
    if _spelling_cost(inverse) < _spelling_cost(ranges):
        return "[^" + _members(inverse) + "]"
    return "[" + _members(ranges) + "]"


def _spelling_cost(ranges: charset.Ranges) -> int:
    return sum(1 if low == high else 2 for low, high in ranges)


def _members(ranges: charset.Ranges) -> str:
    return "".join(_range(_character(low, _CLASS), _character(high, _CLASS), high - low) for low, high in ranges)


def _bytes(ranges: charset.Ranges) -> str:
    return "[" + "".join(_range(_byte(low, _CLASS), _byte(high, _CLASS), high - low) for low, high in ranges) + "]"


def _range(first: str, last: str, distance: int) -> str:
    if distance == 0:
        return first
    return first + last if distance == 1 else f"{first}-{last}"
