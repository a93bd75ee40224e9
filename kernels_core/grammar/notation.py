"""In which notation is a text that the reader of another one refused?  The message then says so, and what to do.

Nothing is decided here: a text that its reader takes is never looked at, but for a pattern that nobody called one.  A
notation is known by marks that nobody writes in the others, so what is said is a guess, as good as the marks.

Read on: `grammar.py` (who asks), `workbench/languages/warnings.py` (of patterns).
"""

from __future__ import annotations

import re
from typing import Final

from ..errors import GrammarError, GrammarSyntaxError, UnsupportedFeatureError

_NAME = r"[A-Za-z_][\w-]*"
_TYPES = "object|array|string|number|integer|boolean|null|function"
_TYPESCRIPT = "type|interface|enum|const"
_ZOD = "object|strictObject|enum|union|array|tuple|record|literal|string|number|boolean"
# A rule of ISO's EBNF, whose name is not what a line of TypeScript begins with; braces in it are closed in it.
_ISO_NAME = rf"(?!(?:export|{_TYPESCRIPT}|let)[ \t]+\w){_NAME}(?:[ \t]+[\w-]+)*"
_ISO_RULE = rf"^[ \t]*{_ISO_NAME}[ \t]*=(?:[^;{{}}]|\{{[^{{}}]*\}}){{0,500}};"
_ABNF = r"%[xdb][0-9]|\b(?:ALPHA|DIGIT|DQUOTE|CRLF|SP|HEXDIG|OCTET)\b|\*[A-Za-z(]|[ \t]/[ \t]"
# Name, mark and cure; the first whose mark is found in a text is its notation.
_NOTATIONS: Final = tuple(
    (name, re.compile(mark, re.MULTILINE), cure)
    for name, mark, cure in (
        ("the name of a file", r"\A[\w.~ /\\:-]+\.[A-Za-z]\w{0,9}\Z", "pass the text that is in it"),
        ("a text with a byte order mark", r"\A\ufeff", 'read its file with encoding="utf-8-sig"'),
        ("Markdown", r"^[ \t]*```", "take what stands between its lines of ```"),
        (
            "XML or Protocol Buffers",
            r"\A\s*<(?:\?xml|!DOCTYPE)\b|^syntax[ \t]*=[ \t]*[\"']proto",
            "write EBNF, Lark or a JSON schema",
        ),
        (
            "Python",
            r"^(?:class[ \t]+\w+[ \t]*[(:]|from[ \t]+[\w.]+[ \t]+import[ \t])",
            "pass the class itself, or the JSON of its model_json_schema()",
        ),
        ("a command of curl", r"\A\s*(?:\$[ \t]*)?curl[ \t]", "take the JSON that it sends"),
        (
            "TypeScript or GraphQL",
            rf"\A(?![\s\S]*?{_ISO_RULE})[\s\S]*?"
            rf"^[ \t]*(?:(?:export[ \t]+)?(?:{_TYPESCRIPT})[ \t]+\w+[^\n:=]*[{{=](?![=\d])|z\.(?:{_ZOD})\()",
            "write a JSON schema, as z.toJSONSchema() gives for zod's",
        ),
        ("JSON", r"\A\s*[{\[]\s*[\"{}\]]", "read it as a JSON schema, a structural tag or tools"),
        (
            "a grammar of ANTLR",
            rf"^[ \t]*(?:(?:lexer|parser)[ \t]+)?grammar[ \t]+{_NAME}[ \t]*;",
            "bring it to Lark: leave out the line of `grammar` and the `;` behind rules, write strings in double "
            "quotes, [a-z] as /[a-z]/, and %ignore for `-> skip`",
        ),
        (
            "a grammar of tree-sitter",
            r"^[ \t]*(?:module\.exports[ \t]*=|export[ \t]+default)[ \t]*grammar\(",
            "it is a program: write its rules in EBNF or Lark",
        ),
        (
            "a grammar of yacc",
            r"^%(?:token|left|right|nonassoc|type|union|start|\{|%)(?!\w)",
            "bring it to Lark: write tokens as terminals in upper case, and leave out actions and the `;` behind rules",
        ),
        (
            "YAML",
            rf"^[ \t]*(?:- )?type:[ \t]+[\"']?(?:{_TYPES})[\"']?[ \t]*$",
            "write it as JSON, or pass in Python what yaml.safe_load makes of it",
        ),
        ("BNF with <name>", rf"^[ \t]*<{_NAME}(?:[ \t]+[\w-]+)*>[ \t]*::=", "for EBNF write names without < and >"),
        (
            "W3C's EBNF",
            rf"^[ \t]*\[[0-9]+[a-z]?\][ \t]*{_NAME}[ \t]*::=|(?<![&\"'\w])#x[0-9A-Fa-f]{{1,6}}\b(?!;)",
            "leave out the numbers of rules, write \\x9 in quotes or brackets for #x9, and # for comments",
        ),
        ("Lark", rf"^%(?:import|ignore|declare)\b|^[ \t]*[?!]?{_NAME}(?:\.[0-9]+)?[ \t]*:(?![:=])", "read it as such"),
        ("EBNF", rf"^[ \t]*{_NAME}[ \t]*::=", "read it as such"),
        (
            "a parsing expression grammar",
            rf"^[ \t]*{_NAME}[ \t]*(?:<-|←)",
            "for EBNF write ::= for <- and | for /; what the order of choices, & and ! decide has no equal there",
        ),
        (
            "ABNF",
            rf"^[ \t]*{_NAME}[ \t]*=/?[ \t](?=[^;\n]*(?:{_ABNF}))",
            "for EBNF write ::= for =, | for /, (a)* for *a, a{2} for 2a, [\\x30-\\x39] for %x30-39, # for comments, "
            "and letters in both cases",
        ),
        (
            "ISO's EBNF",
            rf"\A\s*\(\*|^[ \t]*{_NAME}(?:[ \t]+[\w-]+)*[ \t]*=[^;]{{0,500}};",
            "write ::= for =, blanks for commas, (a)* for {a}, (a)? for [a], # for comments, and no `;`",
        ),
    )
)
_LOOKED_AT: Final = 20_000  # characters
_PROGRAMS: Final = ("a command of curl", "Python", "TypeScript or GraphQL")


def unlike_a_pattern(text: str) -> tuple[str, str] | None:
    """The notation in which `text` hardly is a regular expression, and what to do; None where it may be one."""
    found = _notation_of(text)
    return found if found is not None and found[0] in _PROGRAMS else None


def _notation_of(text: str) -> tuple[str, str] | None:
    return next(((name, cure) for name, mark, cure in _NOTATIONS if mark.search(text, 0, _LOOKED_AT)), None)


def explained(error: GrammarError) -> GrammarError:
    """`error`, and what its text is, if that is written in another notation than it was read in."""
    text = error.source
    if type(error) not in (GrammarError, GrammarSyntaxError, UnsupportedFeatureError) or not text:
        return error
    if error.language not in ("EBNF", "Lark", "JSON"):
        return error
    found = _notation_of(text)
    if found is None or found[0] == error.language:
        return error
    reason = f"{error.reason}; the text looks like {found[0]}: {found[1]}"
    return type(error)(reason, text, error.offset, language=error.language, needs_vocabulary=error.needs_vocabulary)
