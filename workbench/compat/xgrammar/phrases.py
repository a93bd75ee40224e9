"""What programs look for in XGrammar's messages about EBNF, regular expressions and schemas, by the engine's reason.

Both stand in a message here: XGrammar's phrase behind the location, then the reason and the cure.  Messages about
Lark have the phrases in their reasons.

Read on: `exception.py` (who asks), `tag_phrases.py` (structural tags).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_Table = Sequence[tuple[re.Pattern[str], str]]

_ELEMENT = "Expect element"
_BACKWARDS: _Table = [
    (re.compile(r"the range .* runs backwards"), "Invalid character class: lower bound is larger than upper bound"),
    (
        re.compile(r"the count runs backwards: (\d+) is more than (\d+)"),
        r"Lower bound is larger than upper bound: \1 > \2",
    ),
]
_LEXER: _Table = [
    (re.compile(r"unknown escape|\\[uUx]\S* (needs|is above)"), "Invalid escape sequence"),
    (re.compile(r"the string is never closed"), 'Expect " in string literal'),
    (re.compile(r"the character class is never closed"), "Unterminated character class"),
    (re.compile(r"expected a rule, as in: name ::= body; found ':'"), "Assign should not be the first token"),
    (re.compile(r'"::=" without a rule name'), "Assign should be preceded by an identifier"),
    (re.compile(r"unexpected character '(.)'"), r"Unexpected character: \1"),
]
"""What XGrammar's lexer says."""
_PARSER: _Table = [
    (re.compile(r"there is no rule called '([^']*)'"), r'Rule "\1" is not defined'),
    (re.compile(r"the rule '([^']*)' is already defined"), r'Rule "\1" is defined multiple times'),
    (re.compile(r"there is no root rule called '([^']*)'"), r'The root rule with name "\1" is not found'),
    (re.compile(r"a grammar needs at least one rule"), 'The root rule with name "root" is not found'),
    *_BACKWARDS,
    (re.compile(r"two quantifiers in a row|nothing to repeat|the rule '[^']*' has no body"), _ELEMENT),
    (re.compile(r'"\(" is never closed'), "Expect )"),
    (re.compile(r'"\)" without its|a lookahead .* is the last thing'), "Expect rule name"),
    (re.compile(r'expected \("tag", content\)'), "Each tag dispatch element must be a tuple"),
    (re.compile(r"a tag is empty"), "Tag must be a non-empty string literal"),
    (re.compile(r"""a "," and the tag's content"""), "Expect , or ) in tuple"),
    (re.compile(r"(\w+) has no argument '([^']*)'"), r"Unknown named argument for \1: \2"),
    (re.compile(r"(loop_after_dispatch) must be a boolean"), r"\1 must be a boolean literal"),
    (re.compile(r"(\w+) is a list in parentheses"), r"\1 must be a tuple"),
    (re.compile(r"a trigger of TokenTagDispatch is"), "Token trigger ID must be a non-negative integer"),
    (re.compile(r"an argument of (\w+) is a token's id"), r"\1() arguments must be non-negative integers"),
    (re.compile(r"an argument of (Substring) is a string"), r"\1() arguments must be strings"),
    (re.compile(r"(Substring) does not support the named"), r"\1() does not accept named arguments"),
    (re.compile(r"an empty string in excludes"), "Exclude must be a non-empty string literal"),
    (re.compile(r"(\w+) needs at least one id"), r"\1() requires at least one integer argument"),
]
_PATTERN: _Table = [
    (re.compile(r"back-references"), "Backreference is not supported"),
    (re.compile(r"\\u needs"), r"Escape sequence is not finished: \\u must be followed by four hexadecimal digits"),
    (re.compile(r"\\x needs"), r"Escape sequence is not finished: \\x must be followed by two hexadecimal digits"),
    (re.compile(r"\\c needs"), "Invalid control character escape sequence"),
    (re.compile(r"the pattern ends in a lone backslash"), "Escape sequence is not finished"),
    (re.compile(r"the code point is above"), "The code point is beyond the Unicode range"),
    (re.compile(r"two quantifiers in a row|possessive"), "Two consecutive repetition modifiers are not allowed"),
    (re.compile(r'"\)" without its'), "Unmatched ')'"),
    (re.compile(r'"\(" is never closed'), "The parenthesis is not closed"),
    (re.compile(r"the character class is never closed"), "Unclosed '['"),
    (re.compile(r"a group's name"), "Invalid named capturing group"),
    (re.compile(r"the flag '.' is not|unknown kind of group"), "Group modifier flag is not supported"),
    *_BACKWARDS,
]
"""What is said of a regular expression, also of one in a grammar."""
_SCHEMA: _Table = [
    (re.compile(r'type: ("[^"]*") is no type'), r"Unsupported type \1"),
    (re.compile(r"type: \S+ is no type"), "Type should be a string"),
    (re.compile(r"prefixItems: a schema must be an object"), "prefixItems must be an array of objects or booleans"),
    (re.compile(r"(items|unevaluatedItems): a schema must be an object"), r"\1 must be a boolean or an object"),
    (re.compile(r"propertyNames: a schema must be an object"), "propertyNames must be an object"),
    (re.compile(r"\S+: a schema must be an object"), "Schema should be an object or bool"),
    (re.compile(r"\S+: (\w+) must be an integer of at least 0, not -"), r"\1 must be a non-negative integer"),
    (re.compile(r"\S+: (\w+) must be an integer of at least 0"), r"\1 must be an integer"),
    (re.compile(r"\S+: (\w+) must be a list"), r"\1 must be an array"),
    (re.compile(r"(minimum|maximum|exclusive\w+|multipleOf): \w+ must be a number"), "Value must be a number"),
    (re.compile(r"enum: it allows no value"), "enum array must not be empty"),
]
"""By keyword and reason."""
_IN_LARK = "failed to compile regular expression: "
_IN_EBNF = re.compile(r"\(column \d+ of the pattern\)")


def head_of(language: str, line: int, column: int, offset: int, reason: str) -> str:
    """How a message about a location begins; "" for languages that XGrammar does not have.

    `line` and `column` count from 1, `offset`, in characters of the whole text, from 0.
    """
    match language:
        case "EBNF":
            lexed = not _IN_EBNF.search(reason) and any(words.match(reason) for words, _ in _LEXER)
            return f"EBNF {'lexer' if lexed else 'parser'} error at line {line}, column {column}"
        case "Lark":
            return f"Lark error at line {line}, column {column}"
        case "regex":
            return f"Regex parsing error at position {offset + 1}"
    return ""


def phrase_of(language: str, reason: str, found_there: str = "") -> str:
    """XGrammar's words for what the engine says; "" where none are known, or they stand there already.

    found_there: the character at the place, which is named where something else was expected.
    """
    tables: Sequence[_Table] = ()
    if language == "regex" or (language == "EBNF" and _IN_EBNF.search(reason)):
        tables = (_PATTERN,)
    elif language == "EBNF":
        tables = (_LEXER, _PARSER)
    elif reason.startswith(_IN_LARK):
        tables, reason = (_PATTERN,), reason.removeprefix(_IN_LARK)
    phrase = _first(tables, reason)
    return f"{phrase}, but got {found_there}" if found_there.strip() and phrase == _ELEMENT else phrase


def schema_phrase_of(keyword: str, reason: str) -> str:
    """XGrammar's words for what is wrong with a keyword of a schema; "" where none are known."""
    return _first((_SCHEMA,), f"{keyword}: {reason}").replace("'", '"')


def _first(tables: Sequence[_Table], reason: str) -> str:
    for words, phrase in (entry for table in tables for entry in table):
        if (found := words.match(reason)) is not None:
            return found.expand(phrase)
    return ""
