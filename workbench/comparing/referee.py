r"""A second opinion on JSON texts: the `jsonschema` library, taught what it leaves to Python.

The library reads numbers as floats and patterns as Python's `re`.  Here numbers are exact decimals, and patterns are
rewritten so that Python reads them as ECMA-262 does (`$` is the end of the text, `\d` an ASCII digit, `.` no line end)
and searched by the library `regex`, which has a clock.  What still cannot be judged raises `Unjudged`: an object with a
repeated name (JSON leaves open which one counts), a number whose exact value is astronomically long, a subschema of
another draft, a reference that the library refuses, a pattern that Python does not have or searches too long (or would
search without a clock: `unevaluatedProperties` beside `patternProperties`), a string of a format that is not checked.

The library is imported where a text is judged: it compiles dozens of grammars when it is imported, which is most of
the time in which a first screen opens.

Read on: `hunting.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import ValidationError

# Digits of an exact value.
_MAX_DIGITS = 2_000
# Each class of ECMA-262, and its complement, as ranges.
_CLASSES = {
    "d": "0-9",
    "D": r"\x00-/:-\U0010ffff",
    "w": "A-Za-z0-9_",
    "W": r"\x00-/:-@\[-\^`{-\U0010ffff",
    "s": r"\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
    "S": r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    r"\u3001-\ufefe\uff00-\U0010ffff",
}
# What stands for a character, or a class, between brackets.
_PAIR = r"u[dD][89ABab][0-9A-Fa-f]{2}\\u[dD][C-Fc-f][0-9A-Fa-f]{2}"
_ATOM = re.compile(rf"\\(?:{_PAIR}|x[0-9A-Fa-f]{{2}}|u[0-9A-Fa-f]{{4}}|.)|[^\\\]]", re.DOTALL)
_REPEAT = re.compile(r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??")
# What may follow the bracket of a group.
_GROUP = re.compile(r"(?!\?)|\?(?::|<?[=!]|<[A-Za-z_]\w*>)")
_MAX_SECONDS = 0.5
"""Of one search."""
# Of an address the library asks for an `@` alone, and a pattern it reads as Python's: of such texts it is right.
_WORD = r"[\w!#$%&'*+/=?^`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = re.compile(rf"[^@]*|(?=.{{,200}}\Z)(?=[^@]{{,64}}@){_WORD}(?:\.{_WORD})*@{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_CLEAR = {"email": _EMAIL, "idn-email": _EMAIL, "regex": re.compile("[A-Za-z0-9_]*")}
# Keywords whose values are a map of schemas, and those whose values are no schemas.
_MAPS = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"),
)
_VALUES = frozenset(("enum", "const", "default", "examples", "required", "dependentRequired"))


class Unjudged(Exception):
    """The library cannot say whether a text is valid; the message says why."""


@contextmanager
def _shallow(what: str) -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise Unjudged(f"{what} is nested too deeply") from None


class Referee:
    """Judges texts by one schema.  Raises `Unjudged` where the library takes no such schema.

    resources: the documents that its references name by URI, as values or as JSON text.  Others are never fetched.
    """

    @_shallow("a schema")
    def __init__(self, schema: object, resources: Mapping[str, object] | None = None) -> None:
        import jsonschema
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
        from referencing import Resource
        from referencing.jsonschema import specification_with

        chosen = _draft(schema)
        checker = chosen.TYPE_CHECKER
        if chosen is not jsonschema.Draft4Validator:
            checker = checker.redefine("integer", lambda _, value: _is_integer(value))
        documents = {
            uri: json.loads(document) if isinstance(document, str | bytes) else document
            for uri, document in (resources or {}).items()
        }
        keywords = {
            "multipleOf": _multiple_of,
            "format": _format,
            "pattern": _pattern,
            "patternProperties": _pattern_properties,
            "additionalProperties": partial(_additional_properties, chosen.VALIDATORS["additionalProperties"]),
        }
        of_rest = chosen.VALIDATORS.get("unevaluatedProperties")
        if of_rest and '"patternProperties"' in json.dumps([schema, documents]):
            keywords["unevaluatedProperties"] = partial(_unevaluated_properties, of_rest)
        kind = jsonschema.validators.extend(chosen, keywords, type_checker=checker)
        draft = specification_with(chosen.META_SCHEMA["$schema"])
        named: list[tuple[str, Resource[Any]]] = []
        for uri, document in documents.items():
            with suppress(Unjudged):  # who refers to it is not judged either
                named.append((uri, Resource.from_contents(_rewritten(_exact(document), chosen), draft)))
        # A registry of one's own: the library's default one asks the network.
        registry = REGISTRY.with_resources(named)
        self._validator = kind(
            _rewritten(_exact(schema), chosen),
            format_checker=chosen.FORMAT_CHECKER,
            registry=registry,
        )

    def complaint(self, text: str) -> str | None:
        """None for a valid text, else what is wrong with it."""
        try:
            value = read_text(text)
        except json.JSONDecodeError as error:
            return f"not JSON: {error}"
        from jsonschema.exceptions import best_match

        try:
            worst = best_match(self._validator.iter_errors(value))
        except Unjudged:
            raise
        except Exception as error:  # the library's own troubles: references, patterns, recursion
            raise Unjudged(f"{type(error).__name__}: {error}") from None
        if worst is None:
            return None
        if worst.validator == "format" and isinstance(worst.instance, str) and worst.instance.startswith("0000-"):
            raise Unjudged("Python's calendar has no year 0")
        return f"{worst.json_path}: {worst.message}"


@_shallow("a text")
def read_text(text: str) -> object:
    """The value of a JSON text, numbers exactly; `Unjudged` for a repeated name or a number too long to tell."""
    return json.loads(
        text,
        object_pairs_hook=_no_repeats,
        parse_float=_decimal,
        parse_int=_integer,
        parse_constant=_constant,
    )


def _constant(name: str) -> object:
    raise json.JSONDecodeError(f"{name} is no value", name, 0)


def _no_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unjudged("a name is repeated")
    return found


def _decimal(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:  # an exponent beyond the library's own bounds
        raise Unjudged("a number is too long") from None
    if not value.is_finite() or abs(value.adjusted()) > _MAX_DIGITS or len(text) > _MAX_DIGITS:
        raise Unjudged("a number is too long")
    return value


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise Unjudged("a number is too long")
    return int(text)


def _is_integer(value: object) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


def _multiple_of(_: object, step: int | Decimal, value: object, __: object) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    if isinstance(value, int | Decimal) and not isinstance(value, bool) and Fraction(value) % Fraction(step):
        yield ValidationError(f"{value} is no multiple of {step}")


def _format(validator: Any, name: str, value: object, _: object) -> Iterator[ValidationError]:
    from jsonschema import ValidationError
    from jsonschema.exceptions import FormatError

    if not isinstance(value, str):
        return
    checker = validator.format_checker
    clear = _CLEAR.get(name)
    if name not in checker.checkers or (clear is not None and not clear.fullmatch(value)):
        raise Unjudged(f"nobody checks the format {name!r}")
    try:
        checker.check(value, name)
    except FormatError as error:
        yield ValidationError(error.message)


def _finds(pattern: str, text: str) -> bool:
    import regex  # type: ignore[import-untyped]

    try:
        return regex.search(pattern, text, regex.ASCII, timeout=_MAX_SECONDS) is not None
    except TimeoutError:
        raise Unjudged(f"Python searches too long for {pattern!r}") from None


def _pattern(validator: Any, pattern: str, value: object, _: object) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    if isinstance(value, str) and not _finds(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, object], value: object, _: object
) -> Iterator[ValidationError]:
    for name, member in value.items() if isinstance(value, dict) else ():
        for pattern, part in patterns.items():
            if _finds(pattern, name):
                yield from validator.descend(member, part, path=name, schema_path=pattern)


def _additional_properties(
    of_others: Any, validator: Any, part: object, value: object, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    patterns = schema.get("patternProperties", ())
    if isinstance(value, dict):
        value = {name: one for name, one in value.items() if not any(_finds(pattern, name) for pattern in patterns)}
    yield from of_others(validator, part, value, {"properties": schema.get("properties", {})})


def _unevaluated_properties(
    of_rest: Any, validator: Any, part: object, value: object, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if value and isinstance(value, dict) and part is not True:
        raise Unjudged("patterns of names beside `unevaluatedProperties`, which the library searches without a clock")
    yield from of_rest(validator, part, value, schema)


def _exact(document: object) -> object:
    """The same JSON value with decimals for floats."""
    return json.loads(json.dumps(document), parse_float=Decimal)


def _draft(schema: object) -> Any:
    """The validator of the draft that a schema names; without a name, of the newest draft that it is valid under."""
    from jsonschema import Draft4Validator, Draft7Validator, Draft202012Validator, FormatChecker, SchemaError
    from jsonschema.validators import validator_for

    named = validator_for(schema, default=None)
    if named is not None:
        return named
    for kind in (Draft202012Validator, Draft7Validator, Draft4Validator):
        try:
            kind.check_schema(schema, format_checker=FormatChecker(formats=()))  # its `regex` is what Python reads
        except SchemaError:
            continue
        return kind
    raise Unjudged("the schema is valid under no draft")


def _rewritten(schema: object, chosen: Any) -> object:
    """A schema with patterns as Python reads them.

    It names no draft: where a reference leads to such a name, the library takes its own validator.
    """
    from jsonschema.validators import validator_for

    if isinstance(schema, list):
        return [_rewritten(part, chosen) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, object] = {}
    for word, value in schema.items():
        if word == "$schema" and isinstance(value, str):
            if validator_for({word: value}, default=chosen) is not chosen:
                raise Unjudged("a subschema of another draft")
            continue
        if word == "pattern" and isinstance(value, str):
            made[word] = python_pattern(value)
        elif word in _MAPS and isinstance(value, dict):
            parts: dict[str, object] = {}
            for key, one in value.items():
                name = python_pattern(key) if word == "patternProperties" else key
                while name in parts:  # two patterns that Python spells alike
                    name += "(?:)"
                parts[name] = _rewritten(one, chosen)
            made[word] = parts
        else:
            made[word] = value if word in _VALUES else _rewritten(value, chosen)
    return made


def python_pattern(pattern: str) -> str:
    """An ECMA-262 pattern for `regex.search`, with the flag ASCII; `Unjudged` where that has no such thing."""
    import regex  # type: ignore[import-untyped]

    made: list[str] = []
    at = 0
    while at < len(pattern):
        if repeat := _REPEAT.match(pattern, at):
            made.append(repeat[0])
            at = repeat.end()
            if _REPEAT.match(pattern, at):
                raise Unjudged(f"ECMA-262 has nothing to repeat in {pattern!r}")
            continue
        atom = _ATOM.match(pattern, at)
        piece = atom[0] if atom else pattern[at]
        at += len(piece)
        if len(piece) > 1:
            made.append(_escape(piece))
        elif piece == "[":
            read, at = _class(pattern, at)
            made.append(read)
        elif piece == "(" and not _GROUP.match(pattern, at):
            raise Unjudged(f"ECMA-262 has no such group in {pattern!r}")
        else:
            made.append({"$": r"\Z", ".": r"[^\n\r\u2028\u2029]", "{": r"\{"}.get(piece, piece))
    found = "".join(made)
    try:
        regex.compile(found, regex.ASCII)
    except (regex.error, OverflowError) as error:
        raise Unjudged(f"Python has no pattern {pattern!r}: {error}") from None
    return found


def _class(pattern: str, at: int) -> tuple[str, int]:
    """The class whose bracket stands in front of `at`, and the place behind it."""
    negated = pattern.startswith("^", at)
    at += negated
    made: list[str] = []
    while low := _ATOM.match(pattern, at):
        at = low.end()
        made.append(_member(low[0]))
        if pattern.startswith("-", at) and (high := _ATOM.match(pattern, at + 1)):
            at = high.end()
            # Beside a class a hyphen is a hyphen.
            is_range = low[0][1:] not in _CLASSES and high[0][1:] not in _CLASSES
            made += ["-" if is_range else r"\-", _member(high[0])]
    if at == len(pattern):
        raise Unjudged(f"a class has no end in {pattern!r}")
    if not made:
        return "(?s:.)" if negated else "(?!)", at + 1
    return f"[{'^' if negated else ''}{''.join(made)}]", at + 1


def _member(atom: str) -> str:
    """A character or a class between brackets."""
    if len(atom) > 1:
        return _CLASSES.get(atom[1:]) or _escape(atom)
    return f"\\{atom}" if atom in "[^-&|~" else atom


def _escape(piece: str) -> str:
    letter = piece[1:]
    if letter in _CLASSES:
        return f"[{_CLASSES[letter]}]"
    if len(letter) > 5:  # a pair of surrogates
        character: str = json.loads(f'"{piece}"')
        return f"\\U{ord(character):08x}"
    if letter.isalnum() and len(letter) == 1 and letter not in "bBfnrtv0":
        raise Unjudged(f"Python has no escape {piece}")
    return piece
