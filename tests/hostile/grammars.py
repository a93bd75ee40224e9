"""The hostile requests in EBNF, Lark and regular expressions.  `cases.py` says what a row is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["EBNF", "LARK", "NESTED", "REGEX", "WORK"]

NESTED: Final = r"((c|ab|\bd){3,30}){3,30}"
WORK: Final = "this pattern needs too much work"


def _rules(count: int, body: Callable[[int], str], last: str) -> str:
    lines = [f"r{i} ::= " + body(i) for i in range(count)]
    return "\n".join(["root ::= r0", *lines, f"r{count} ::= {last}"])


EBNF: Final = [
    (
        "all trees over a thousand letters",
        lambda: 'root ::= root root | "a"',
        "a" * 1000,
        "done|BudgetExceededError chart",
    ),
    (
        "rules that are all empty, and call each other",
        lambda: _rules(60, lambda i: " | ".join(f"r{j} r{(i + j) % 60}" for j in range(60)) + ' | "a" | ""', '"b"'),
        "aaaa",
        "done|BudgetExceededError",
    ),
    (
        "a chain to the left",
        lambda: _rules(4000, lambda i: f'r{i + 1} | r{i} "a"', '"b"'),
        "baaaa",
        "done|BudgetExceededError",
    ),
    ("optional letters", lambda: "root ::= " + '"a"? ' * 100_000, "aa", "done"),
    ("optional calls", lambda: "root ::= " + "r? " * 100_000 + '\nr ::= "a" | "b" r', "aa", "done"),
    (
        "a regex in EBNF",
        lambda: 'root ::= Regex("' + NESTED.replace("\\", "\\\\") + '")',
        "c",
        f"UnsupportedFeatureError EBNF, line 1, column 16: {WORK}",
    ),
    (
        "limits in characters, one in the other",
        lambda: (
            "root ::= r0\n"
            + "".join(f"r{i}[max_chars=4] ::= (r{i + 1} | [a-c])+\n" for i in range(9))
            + 'r9[max_chars=4] ::= ("a" | "ab")*'
        ),
        "ab",
        "done|BudgetExceededError|GrammarError|UnsupportedFeatureError|GrammarSyntaxError",
    ),
    (
        "brackets, a hundred thousand deep",
        lambda: "root ::= " + "(" * 100_000 + '"a"' + ")" * 100_000,
        "a",
        "GrammarSyntaxError EBNF, line 1, column 1010: groups are nested deeper than 1,000",
    ),
    (
        "ten megabytes of EBNF",
        lambda: (
            "root ::= r0\n"
            + "".join(f'r{i} ::= "abc{i}" [a-z0-9]* (r{i + 1} | "x")?\n' for i in range(230_000))
            + 'r230000 ::= "x"'
        ),
        "abc0",
        "done|BudgetExceededError",
    ),
    ("a literal of ten megabytes", lambda: 'root ::= "' + "a" * 10_000_000 + '"', "aaa", "done|BudgetExceededError"),
    (
        "a name of a megabyte",
        lambda: f"root ::= {'n' * 1_000_000}\n{'n' * 1_000_000} ::= 'a' | {'m' * 1_000_000}",
        "a",
        "GrammarError EBNF, line 2, column 1000012: there is no rule called",
    ),
    ("NUL in a text", lambda: 'root ::= "\\x00" [\\x00-\\x01]* "\x00" "a"', "\0\0\0a", "done|GrammarSyntaxError"),
    ("half a surrogate pair", lambda: 'root ::= "\ud800" "a"', "", "GrammarSyntaxError"),
    (
        "a limit of a googol tokens",
        lambda: f"root[max_tokens={10**100}] ::= [a-z]+",
        "abc",
        "GrammarSyntaxError|GrammarError|done",
    ),
    (
        "a limit of two billion tokens, sixty times",
        lambda: (
            "".join(f"r{i}[max_tokens=2000000000] ::= ([a-z] | r{i + 1})+\n" for i in range(60)).replace(
                "r0[", "root[", 1
            )
            + 'r60 ::= "b"+'
        ),
        "abcabc",
        "done|BudgetExceededError|UnsupportedFeatureError|GrammarError",
    ),
    (
        "counts of two billion, in each other",
        lambda: "root ::= " + "(" * 300 + '"a"' + "{0,2000000000})" * 300,
        "aaa",
        "done|BudgetExceededError|GrammarSyntaxError",
    ),
    (
        "a count of a googol",
        lambda: 'root ::= "a"{' + "9" * 100 + "}",
        "a",
        "GrammarSyntaxError EBNF, line 1, column",
    ),
    (
        "members in any order, two hundred of which a hundred are required",
        lambda: (
            "root ::= Unordered("
            + ", ".join(f'("k{i}", "=v"{"" if i % 2 else ", required=true"})' for i in range(200))
            + ', separator=(","))'
        ),
        "",
        "done|GrammarSyntaxError",
    ),
]
REGEX: Final = [
    ("a regex", lambda: NESTED, "c", f"UnsupportedFeatureError regex, line 1, column 8: {WORK}"),
    ("letters of many scripts, often", lambda: r"(\p{L}|\p{N}[^\p{Lu}]){0,50000}", "abcé1x", "done"),
    ("a megabyte of one letter", lambda: "a" * 1_000_000, "aaa", "done"),
    (
        "a megabyte of alternatives with a common end",
        lambda: "(" + "|".join(f"x{i * 7919}y" for i in range(100_000)) + ")*z",
        "x7919y",
        "done|BudgetExceededError",
    ),
    ("stars on stars", lambda: "(" * 900 + "a" + ")*" * 900, "aaaa", "done"),
    (
        "the letter far before the end decides",
        lambda: "(a|b)*a(a|b){4000}",
        "ab" * 30,
        "done|BudgetExceededError",
    ),
    (
        "look-ahead upon look-ahead",
        lambda: "".join(f"(?=.*{letter}.{{{i},{i + 9}}}z)" for i, letter in enumerate("abcdefghij")) + ".*",
        "abc",
        "done|BudgetExceededError|UnsupportedFeatureError",
    ),
    (
        "every letter but one, in four hundred ways",
        lambda: "|".join(f"[^{chr(0x4E00 + i)}]{{{i},}}" for i in range(400)),
        "abc",
        "done|BudgetExceededError",
    ),
    ("letters beyond Unicode", lambda: r"\u{110000}", "", "GrammarSyntaxError"),
    ("a class upside down, folded", lambda: r"(?i)[ſ-K]{2,90}ß{3}ŉ*", "ſſ", "done|GrammarSyntaxError"),
]
LARK: Final = [
    (
        "a Lark terminal",
        lambda: "start: A\nA: /" + NESTED + "/",
        "c",
        "UnsupportedFeatureError Lark, line 2, column 4: this terminal needs too much work",
    ),
    (
        "five thousand terminals with blanks between them",
        lambda: (
            "start: "
            + " | ".join(f"T{i}" for i in range(5000))
            + "\n"
            + "\n".join(f"T{i}: /x{i}[a-z]*/" for i in range(5000))
            + "\n%ignore /[ \\t]+/\n"
        ),
        "x12ab",
        "done|BudgetExceededError",
    ),
    (
        "rules that begin with each other, three thousand deep",
        lambda: (
            "start: r0\n" + "\n".join(f'r{i}: r{i + 1} | "(" r{i + 1} ")" r{i}' for i in range(3000)) + '\nr3000: "a"\n'
        ),
        "((a",
        "done|BudgetExceededError",
    ),
    (
        "a template that calls itself with more",
        lambda: 'start: t{"a"}\nt{x}: x | t{pair{x}}\npair{y}: y y\n',
        "a",
        "GrammarSyntaxError|UnsupportedFeatureError|BudgetExceededError|GrammarError",
    ),
    (
        "templates that double forty times",
        lambda: (
            'start: t0{"a"}\n' + "".join(f"t{i}{{x}}: t{i + 1}{{x}} t{i + 1}{{x}}\n" for i in range(40)) + "t40{x}: x\n"
        ),
        "a",
        "GrammarSyntaxError|UnsupportedFeatureError|BudgetExceededError|GrammarError|done",
    ),
    (
        "terminals that double forty times",
        lambda: "start: T0\n" + "".join(f"T{i}: T{i + 1} T{i + 1}\n" for i in range(40)) + 'T40: "a"\n',
        "aaa",
        "GrammarSyntaxError|UnsupportedFeatureError|BudgetExceededError|GrammarError|done",
    ),
    (
        "a terminal that holds itself",
        lambda: "start: A\nA: B\nB: A | /x/\n",
        "x",
        "GrammarSyntaxError|GrammarError",
    ),
    (
        "an import of another file",
        lambda: "%import .../../../etc.passwd (A)\nstart: A\n",
        "",
        "GrammarSyntaxError|UnsupportedFeatureError|GrammarError",
    ),
    (
        "every common terminal, ignored",
        lambda: (
            "%import common (WORD, NUMBER, WS, ESCAPED_STRING, SIGNED_NUMBER)\nstart: (WORD | NUMBER | ESCAPED_STRING"
            " | SIGNED_NUMBER)+\n%ignore WS\n%ignore /#[^\\n]*/\n%ignore WORD\n"
        ),
        "ab 12",
        "done|GrammarSyntaxError|UnsupportedFeatureError",
    ),
    (
        "a count of two billion over a count of two billion",
        lambda: 'start: ("a" ~ 0..2000000000) ~ 0..2000000000\n',
        "aa",
        "done|GrammarSyntaxError|BudgetExceededError",
    ),
]
