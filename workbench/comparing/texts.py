r"""Texts worth trying: what a schema's bounds make interesting, spelt in unusual ways, mutations of texts, and
their shrinking.

`schema_text` writes a JSON text beside the schema: most parts as it wants them, some at or just past a bound, some in
another spelling (`1.0`, `1e0`, `"\u0061"`), members left out, added, repeated or in another order.  Nothing says that
the text is valid; engines and the referee do.

`shrink` makes a text on which engines disagree as short and plain as it can be while they still do (delta debugging).
It knows nothing of engines: `holds(text, token)` says whether a disagreement is still there.  It takes runs of lexemes
away, then runs of characters, makes what is left plain (`a`, `0`), and shortens the token.  The order is fixed and the
number of questions bounded, so a seed leads to the same text again.

Read on: `workbench/comparing/hunting.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final

from workbench.json_values import Json, JsonObject
from workbench.languages.positions import value_at
from workbench.provenance.schema import list_of, object_of

DEPTH: Final = 6
LONGEST: Final = 200
"""Characters of a string and items of an array: a bound beyond is not tried."""
CHARACTERS: Final = ("a", "b", "Z", "0", " ", "é", "日", "😀", r"\n", r"\"", r"\\", r"\/", r"\u0061", "\x7f", "-", "'")
NUMBERS: Final = ("0", "-0", "1", "-1", "0.0", "1.0", "1e2", "1E+2", "1e-2", "0.1", "2.5", "9007199254740993", "1e400")
FORMATS: Final[Mapping[str, tuple[str, ...]]] = {
    "date": ("2024-02-29", "2023-02-29", "2024-02-31", "2024-13-01", "0000-01-01"),
    "time": ("23:59:60Z", "12:00:00+01:00", "24:00:00Z", "12:00:00", "12:00:00.5z"),
    "date-time": ("2024-02-29T12:00:00Z", "2024-02-31T12:00:00Z", "2024-01-01 12:00:00Z", "2024-01-01t12:00:00z"),
    "duration": ("P1D", "PT1H", "P1W", "P", "P1Y2M3DT4H5M6S", "PT", "P1D2W"),
    "email": ("a@b.co", "a@b", "a@b.c", '"a b"@c.de', "a@[1.2.3.4]", "a..b@c.de"),
    "ipv4": ("1.2.3.4", "255.255.255.255", "256.1.1.1", "01.2.3.4", "1.2.3"),
    "ipv6": ("::", "::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::2::3", "fe80::1%eth0"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000", "123e4567"),
    "uri": ("http://a.b", "a:b", "//a.b", "http://a b", "urn:x:y", "http://[::1]/"),
    "hostname": ("a.b", "-a.b", "a", "a_b", "xn--a", "a."),
    "json-pointer": ("", "/a~0", "/a~2", "a"),
    "regex": ("a*", "(", "[a-z]", r"\\d"),
}


def schema_text(schema: Json, random: Random) -> str:
    """A JSON text that `schema` makes interesting."""
    return _Writer(schema, random).value(schema, 0)


class _Writer:
    def __init__(self, root: Json, random: Random) -> None:
        self.root = root
        self.random = random
        # One way to leave blanks for a whole text, mostly.
        self.comma, self.colon = random.choice(
            ((",", ":"), (", ", ": "), (", ", ": "), (" , ", " : "), (",\n\t", ":\n"))
        )

    def odd(self, chance: float = 0.12) -> bool:
        """Whether to do the unusual thing now."""
        return self.random.random() < chance

    def value(self, schema: Json, depth: int) -> str:
        schema = self.settled(schema)
        if not isinstance(schema, dict) or depth > DEPTH or self.odd(0.04):
            return self.anything(depth)
        if "const" in schema:
            return self.constant([schema["const"]])
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return self.constant(schema["enum"])
        kind = self.kind(schema)
        if kind == "object":
            return self.object(schema, depth)
        if kind == "array":
            return self.array(schema, depth)
        if kind == "string":
            return self.string(schema)
        if kind in ("integer", "number"):
            return self.number(schema, kind)
        return {"boolean": self.random.choice(("true", "false")), "null": "null"}.get(kind) or self.anything(depth)

    def settled(self, schema: Json) -> Json:
        """References followed, one branch of each choice taken, all of `allOf` put together."""
        for _ in range(20):
            if not isinstance(schema, dict):
                return schema
            rest = dict(schema)
            if isinstance(reference := rest.get("$ref"), str):
                del rest["$ref"]
                schema = _merged([self.resolve(reference), rest])
            elif branches := list_of(rest.pop("anyOf", None)) or list_of(rest.pop("oneOf", None)):
                schema = _merged([rest, self.random.choice(branches)])
            elif "allOf" in rest:
                schema = _merged([*list_of(rest.pop("allOf")), rest])
            elif "if" in rest:
                chosen = self.random.choice(("then", "else"))
                condition = rest.pop("if")
                ways = {word: rest.pop(word, True) for word in ("then", "else")}
                schema = _merged([rest, ways[chosen], condition if chosen == "then" else True])
            else:
                return schema
        return True

    def resolve(self, reference: str) -> Json:
        """A reference within the document; anything else is any value."""
        try:
            return value_at(self.root, reference) if reference.startswith("#") else True
        except (LookupError, ValueError):
            return True

    def kind(self, schema: JsonObject) -> str:
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return str(self.random.choice(kinds)) if kinds else ""
        if isinstance(kinds, str):
            return kinds
        words: dict[str, tuple[str, ...]] = {
            "object": ("properties", "required", "additionalProperties", "patternProperties", "minProperties"),
            "array": ("items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems"),
            "string": ("pattern", "minLength", "maxLength", "format"),
            "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        }
        fitting = [name for name, known in words.items() if any(word in schema for word in known)]
        return self.random.choice(fitting) if fitting else ""

    # -- kinds of values ----------------------------------------------------------------------------------------------

    def anything(self, depth: int) -> str:
        simple = ["null", "true", '""', '"a"', *NUMBERS[:6]]
        return self.random.choice(simple if depth > DEPTH else [*simple, "{}", "[]", '{"a":1}', "[1,[2]]"])

    def constant(self, values: Sequence[Json]) -> str:
        value = self.random.choice(list(values))
        if isinstance(value, str):
            return self.quoted(value + ("x" if self.odd(0.05) else ""))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self.random.choice((json.dumps(value), f"{value}.0", f"{value}e0", json.dumps(value + 1)))
        return json.dumps(value)

    def quoted(self, text: str) -> str:
        """A JSON string, now and then with a character escaped that needs it not."""
        written = json.dumps(text, ensure_ascii=self.odd())
        if text and self.odd():
            at = self.random.randrange(len(text))
            code = f"\\u{ord(text[at]):04x}" if ord(text[at]) < 0x10000 else text[at]
            written = f"{json.dumps(text[:at])[:-1]}{code}{json.dumps(text[at + 1 :])[1:]}"
        return written

    def number(self, schema: JsonObject, kind: str) -> str:
        found = list(NUMBERS)
        for word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
            bound = schema.get(word)
            if isinstance(bound, int | float) and not isinstance(bound, bool):
                near = [bound, bound - 1, bound + 1]
                if kind == "number":
                    near += [bound + 0.5, bound - 0.001]
                if word == "multipleOf":
                    near += [bound * 2, bound * 3, bound * 7]
                # The bounds themselves count more than what is always tried.
                found += [json.dumps(value) for value in near] * 3
                found += [f"{json.dumps(bound)}.0", f"{json.dumps(bound)}e0"]
        return self.random.choice(found)

    def string(self, schema: JsonObject) -> str:
        if (known := FORMATS.get(str(schema.get("format")))) and not self.odd():
            return f'"{self.random.choice(known)}"'
        lengths = [0, 1, 2, 5]
        for word in ("minLength", "maxLength"):
            bound = schema.get(word)
            if isinstance(bound, int) and bound <= LONGEST:
                lengths = [*lengths, *[max(0, bound + change) for change in (-1, 0, 1)] * 3]
        plain = self.odd(0.5)
        letters = CHARACTERS[:2] if plain else CHARACTERS
        return f'"{"".join(self.random.choice(letters) for _ in range(self.random.choice(lengths)))}"'

    def array(self, schema: JsonObject, depth: int) -> str:
        items = schema.get("items", True)
        first = list_of(schema.get("prefixItems")) or list_of(items)
        lengths = [len(first), 0, 1, 2]
        for word in ("minItems", "maxItems"):
            bound = schema.get(word)
            if isinstance(bound, int) and bound <= LONGEST:
                lengths += [max(0, bound + change) for change in (-1, 0, 0, 0, 1)]
        made: list[str] = []
        for number in range(self.random.choice(lengths)):
            if made and self.odd(0.15):
                made.append(made[-1])
            else:
                wanted = first[number] if number < len(first) else True if isinstance(items, list) else items
                made.append(self.value(wanted, depth + 1))
        return f"[{self.comma.join(made)}]"

    def object(self, schema: JsonObject, depth: int) -> str:
        properties = object_of(schema.get("properties"))
        required = [name for name in list_of(schema.get("required")) if isinstance(name, str)]
        names = [name for name in properties if (name in required and not self.odd(0.05)) or self.odd(0.4)]
        names += [name for name in required if name not in properties and not self.odd(0.05)]
        if self.odd(0.25):
            patterns = object_of(schema.get("patternProperties"))
            others = [re.sub(r"[\^$\\.*+?()\[\]{}|]", "", pattern) or "a" for pattern in patterns]
            names.append(self.random.choice(["zz", "", "a", *others]))
        if names and self.odd(0.08):
            names.append(self.random.choice(names))
        if self.odd(0.15):
            self.random.shuffle(names)
        rest = schema.get("additionalProperties", True)
        members = [
            f"{self.quoted(name)}{self.colon}{self.value(properties.get(name, rest), depth + 1)}" for name in names
        ]
        return f"{{{self.comma.join(members)}}}"


def _merged(schemas: Sequence[Json]) -> Json:
    """Schemas that hold together, as one, roughly: later keywords win, members are united."""
    made: dict[str, Json] = {}
    for schema in schemas:
        if not isinstance(schema, dict):
            continue
        for word, value in schema.items():
            if word in ("properties", "patternProperties"):
                made[word] = {**object_of(made.get(word)), **object_of(value)}
            elif word == "required":
                made[word] = [*list_of(made.get(word)), *list_of(value)]
            else:
                made[word] = value
    return made or True


# -- mutations --------------------------------------------------------------------------------------------------------

_LEXEME: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?|-?[0-9][0-9.eE+-]*|\w+|\s+|.', re.DOTALL)
_SPLICES: Final = (
    *(b'"', b"{", b"}", b"[", b"]", b",", b":", b" ", b"\n", b"0", b"-", b".", b"e5", b"\\", b"\\u0061", b"\\n"),
    *(b"null", b"true", b"1.0", b'"a":1,', b"\xc3\xa9", b"\xff", b"\x00", b"\x7f", b"  "),
)


def mutate(text: bytes, random: Random) -> bytes:
    """`text` with one to three parts left out, doubled, swapped, replaced or added."""
    parts = _LEXEME.findall(text)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(parts) + 1)
        what = random.randrange(5)
        if what == 0 or not parts:
            parts.insert(at, random.choice(_SPLICES))
        elif what == 1:
            del parts[at : at + random.randint(1, 3)]
        elif what == 2:
            parts[at:at] = parts[at : at + random.randint(1, 4)]
        elif what == 3:
            other = random.randrange(len(parts))
            at = min(at, len(parts) - 1)
            parts[at], parts[other] = parts[other], parts[at]
        else:
            parts[min(at, len(parts) - 1)] = random.choice(_SPLICES)
    return b"".join(parts)


# -- making a text small ----------------------------------------------------------------------------------------------

QUESTIONS: Final = 3000
_CHARACTER: Final = re.compile(rb"[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*|.", re.DOTALL)
Holds = Callable[[bytes, bytes], bool]


def shrink(text: bytes, token: bytes, holds: Holds, questions: int = QUESTIONS) -> tuple[bytes, bytes]:
    """The smallest text and token found for which `holds`, which must hold for those given.

    At most so many `questions` are asked, each once.
    """
    known: dict[tuple[bytes, bytes], bool] = {}

    def ask(text: bytes, token: bytes) -> bool:
        if (text, token) not in known and len(known) < questions:
            known[text, token] = holds(text, token)
        return known.get((text, token), False)

    before = None
    while before != (text, token):
        before = (text, token)
        text, token = _shorter_token(text, token, ask)
        for pattern in (_LEXEME, _CHARACTER):
            text = _without_runs(pattern.findall(text), token, ask)
        text = _plainer(_CHARACTER.findall(text), token, ask)
    return text, token


def _shorter_token(text: bytes, token: bytes, ask: Holds) -> tuple[bytes, bytes]:
    """The beginning of the token, or the part behind a beginning that is read as text."""
    tries = [(text, token[:end]) for end in range(1, len(token))]
    for start in range(len(token) - 1, 0, -1):
        tries += [(text + token[:start], token[start:end]) for end in range(start + 1, len(token) + 1)]
    return next((tried for tried in tries if ask(*tried)), (text, token))


def _without_runs(parts: list[bytes], token: bytes, ask: Holds) -> bytes:
    """Take away runs of parts, long ones first, from the end to the beginning; of many parts by halves first."""
    size = len(parts)
    while size > 0:
        for start in range(len(parts) - size, -1, -size if size > 64 else -1):
            rest = parts[:start] + parts[start + size :]
            if ask(b"".join(rest), token):
                parts = rest
        size = min(size // 2 if size > 64 else size - 1, len(parts))
    return b"".join(parts)


def _plainer(parts: list[bytes], token: bytes, ask: Holds) -> bytes:
    """Characters one by one as `a` or `0` where that makes no difference."""
    for number, part in enumerate(parts):
        plain: tuple[bytes, ...] = ()
        if part.isalpha() and part != b"a":
            plain = (b"a",)
        elif part.isdigit() and part not in (b"0", b"1"):
            plain = (b"0", b"1")
        elif len(part) > 1 or part < b" ":
            plain = (b"a", b" ")
        tries = ([*parts[:number], one, *parts[number + 1 :]] for one in plain)
        parts = next((tried for tried in tries if ask(b"".join(tried), token)), parts)
    return b"".join(parts)
