"""Which language is this?  A guess with its reason, so that a person can see why and say otherwise.

Nothing is parsed as a grammar here: a text is looked at for marks that only one language has (`::=`, `%import`, a
bracket of JSON), a value by its keys.

Read on: `workbench/languages/source.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from workbench.json_values import JsonObject
from workbench.languages.positions import without_comments
from workbench.languages.tools import DECLARATIONS, SCHEMA_KEYS, body_of, mcp_tools

Language = Literal["ebnf", "lark", "regex", "json_schema", "structural_tag", "tools"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
TITLES: Final[dict[Language, str]] = {
    "ebnf": "EBNF",
    "lark": "Lark",
    "regex": "regex",
    "json_schema": "JSON Schema",
    "structural_tag": "structural tag",
    "tools": "tools",
}

_SUFFIXES: Final[dict[str, Language | None]] = {
    ".ebnf": "ebnf",
    ".gbnf": "ebnf",
    ".lark": "lark",
    ".regex": "regex",
    ".json": None,  # its keys tell
    ".jsonc": None,
    ".json5": None,
}
COMMENTED: Final = (".jsonc", ".json5")
_FOREIGN: Final = (".yaml", ".yml", ".toml")
_LARK = re.compile(
    r"^(?:%(?:import|ignore|llguidance|json|lark|declare)\b"
    r"|[ \t]*[?!]?[A-Za-z_]\w*(?:\{[^}\n]*\}|\[[^\]\n]*\]|\.-?\d+)?[ \t]*:(?![:=]))",
    re.M,
)
_EBNF_RULE = re.compile(r"^\s*[\w.-]+\s*(\[[^\]\n]*\])?\s*::=", re.M)
_YAML = re.compile(r"^(?:openapi|swagger): *['\"]?\d[\d.]*['\"]? *$|^ *properties: *\n +['\"]?[\w$-]+['\"]? *:", re.M)
_ASSIGNED = re.compile(r"^[ \t]*[A-Za-z_][\w-]*[ \t]*(?::=|=|->|→)", re.M)
_PATH = re.compile(r"[\w.~ /\\:-]+\.(?:ebnf|gbnf|lark|regex|json[c5]?)")
# A word or dots, or words with "/" between them or an ending behind: as a file is named, and no pattern needs to be.
_NAME = re.compile(r"\.\.?|[\w-]+|~?[\w.-]*(?:/[\w.-]*)+|[\w-]+(?:\.[A-Za-z_]\w*)+|[A-Za-z]:\\[\w.\\-]+")
_FORMATS = frozenset(
    ("triggered_tags", "tags_with_separator", "tag", "sequence", "any_text", "const_string", "dispatch")
)


class Guess(NamedTuple):
    """A language and the reason for it, in words that follow "because"."""

    language: Language
    why: str


def path_of(text: str) -> Path | None:
    """The file that a text names, or None where it is no file name.  One with an ending of ours need not exist."""
    if len(text) > 1_000 or "\n" in text:
        return None
    try:
        path = Path(text).expanduser()
        return path if _PATH.fullmatch(text) is not None or (is_name(text) and path.exists()) else None
    except (OSError, ValueError, RuntimeError):  # too long for a name, a NUL in it, or nobody's home
        return None


def is_name(text: str) -> bool:
    """Whether a text without a language is more likely the name of a file than a regular expression."""
    return _NAME.fullmatch(text.strip()) is not None


def is_ebnf(grammar: str) -> bool:
    """Whether what is a grammar is EBNF: a line begins a rule with `::=`.  Otherwise it is Lark."""
    return _EBNF_RULE.search(grammar) is not None


def guess_text(text: str, suffix: str = "") -> Guess:
    """The language of a text; `suffix` is that of its file (".lark").  `ValueError` for YAML."""
    named = _SUFFIXES.get(suffix.lower())
    if named is not None:
        return Guess(named, f"the file's name ends in {suffix}")
    start = text.lstrip(" \t\r\n\ufeff")
    if suffix.lower() in _FOREIGN and not _looks_like_json(start):
        raise ValueError(f"a file whose name ends in {suffix} is not read: a schema is written in JSON")
    if suffix.lower() in _SUFFIXES or _looks_like_json(start):
        return _json_text(text)
    if suffix.lower() not in _SUFFIXES and _YAML.search(text):
        raise ValueError("this looks like YAML, which is not read: a schema is written in JSON")
    if "::=" in text:
        return Guess("ebnf", 'rules are written with "::="')
    if _LARK.search(text) and not start.startswith("("):
        return Guess("lark", 'rules are written with ":"')
    if _ASSIGNED.match(start) or "\n" in start.strip():
        return Guess("ebnf", 'it looks like rules, though none has a "::="')
    return Guess("regex", "one line without rules is a regular expression")


def _looks_like_json(start: str) -> bool:
    if start.startswith(("//", "/*")):  # Lark's comments, too
        start = without_comments(start).lstrip()
    if start[:1] == "{":
        # `{3}` or `{a}` begins no pattern either: a quantifier needs something before it.
        return start[1:].lstrip()[:1] in ('"', "}", "'", "/", "") or bool(re.match(r"\{\s*[\w$]+\s*:", start))
    if start[:1] == '"':
        return re.match(r'"\s*(?:\\n\s*)*\{\s*(?:\\n\s*)*\\"', start) is not None  # JSON as a text of JSON
    if start[:1] == "[":
        return start[1:].lstrip()[:1] == "{"
    return start.strip() in ("true", "false")


def _json_text(text: str) -> Guess:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # Malformed: the words in it tell what it wants to be.
        if re.search(r'"(?:structural_tag|triggered_tags|structures)"', text):
            return Guess("structural_tag", "it looks like JSON and names a structural tag")
        if re.search(r'"function"\s*:\s*\{', text) or re.search(r'"tools"\s*:\s*\[', text):
            return Guess("tools", "it looks like JSON and lists functions")
        return Guess("json_schema", "it looks like JSON")
    return guess_value(value)


def guess_value(value: object) -> Guess:
    """The language of a JSON value."""
    if isinstance(value, Mapping):
        if value.get("type") == "structural_tag" or "structures" in value:
            return Guess("structural_tag", "it says so" if "structures" not in value else 'it has "structures"')
        config = value.get("toolConfig")  # Bedrock's
        tools = value.get("tools")
        if (isinstance(tools, list | tuple) and (tools or "response_format" not in value)) or (
            isinstance(config, Mapping) and "tools" in config
        ):
            return Guess("tools", 'it has a list of "tools"')
        if isinstance(value.get("type"), str) and value["type"] in _FORMATS:
            return Guess("structural_tag", f"{value['type']!r} is a format of structural tags")
        if value.get("type") == "function" or _is_tool(value):
            return Guess("tools", "it describes a function")
        if mcp_tools(value) is not None:
            return Guess("tools", "an MCP server's answer lists tools")
        return Guess("json_schema", "an object that is neither a structural tag nor tools is a schema")
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, Mapping) and "begin" in item for item in value):
            return Guess("structural_tag", "a list of tags, each with a begin")
        return Guess("tools", "a list describes tools")
    said = "true and false are schemas" if isinstance(value, bool) else "it is JSON"
    return Guess("json_schema", said)


def _is_tool(value: JsonObject) -> bool:
    body = body_of(value)
    schemas = (body.get(key) for key in SCHEMA_KEYS)
    named = isinstance(body.get("name"), str) and any(isinstance(schema, Mapping) for schema in schemas)
    return named or any(isinstance(value.get(key), list) for key in DECLARATIONS)
