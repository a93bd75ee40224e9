"""Rows about tokens in EBNF, Lark with named grammars and captures, and what is done to grammars."""

from __future__ import annotations

from typing import Any

from .row import Row, grammar_row, taken, value_row

__all__ = ["ROWS"]


def _captured(feature: str, text: str, output: str) -> Row:
    def call(xgr: Any) -> str:
        compiled = xgr.GrammarCompiler(xgr.TokenizerInfo([])).compile_grammar(xgr.Grammar.from_lark(text))
        matcher = xgr.GrammarMatcher(compiled, terminate_without_stop_token=True)
        matcher.accept_string(output)
        return ", ".join(f"{name}={value.decode()}" for name, value in sorted(matcher.get_captures()))

    return value_row("Lark: captures", feature, f"{text} reads {output}", call)


TOKENS = (
    value_row("EBNF: macros", "Token", "Token(1, 2)", lambda xgr: _tokens(xgr, "Token(1, 2)")),
    value_row("EBNF: macros", "ExcludeToken", "ExcludeToken(1)", lambda xgr: _tokens(xgr, "ExcludeToken(1)")),
    value_row("EBNF: macros", "Token of the stop token", "Token(0)", lambda xgr: _tokens(xgr, 'Token(0) "a"')),
    value_row("EBNF: macros", "Token out of range", "Token(9)", lambda xgr: _tokens(xgr, "Token(9)")),
    value_row("EBNF: macros", "Token without ids", "Token()", lambda xgr: _tokens(xgr, "Token()")),
    value_row(
        "EBNF: macros",
        "TokenTagDispatch",
        'TokenTagDispatch((2, x), excludes=(3)) with x ::= "a"',
        lambda xgr: _tokens(xgr, 'TokenTagDispatch((2, x), excludes=(3))\nx ::= "a"'),
    ),
)


def _tokens(xgr: Any, body: str) -> list[int]:
    """The ids that may come first."""
    info = xgr.TokenizerInfo(["</s>", "a", "b", "c"])
    compiled = xgr.GrammarCompiler(info).compile_grammar(f"root ::= {body}")
    bitmask = xgr.allocate_token_bitmask(1, info.vocab_size)
    xgr.GrammarMatcher(compiled).fill_next_token_bitmask(bitmask)
    return [token for token in range(info.vocab_size) if int(bitmask[0, 0]) >> token & 1]


ANY = "\nTEXT: /(\\n|.)*/"


def _named(feature: str, text: str, named: str, written: str) -> Row:
    return grammar_row(
        "Lark", feature, lambda xgr: xgr.Grammar.from_lark(text, named_grammars={"n": named}), text, [written]
    )


NAMED = (
    _named("named grammars", 'start: @n "b"', 'start: "a"', "ab"),
    _named("named grammars in a circle", "start: @n", "start: @n", "a"),
)

CAPTURES = (
    _captured("of a rule", 'start: "<" x ">"\nx[capture]: /[a-z]+/', "<ab>"),
    _captured("by another name", 'start: "<" x ">"\nx[capture="n"]: /[a-z]+/', "<ab>"),
    _captured("inside each other", 'start: x\nx[capture]: "a" y\ny[capture]: "b"', "ab"),
    _captured("several times", "start: x x\nx[capture]: /[a-z]/", "ab"),
    _captured("without a suffix", 'start: x "z"\nx[suffix="!", capture]: TEXT' + ANY, "ab!z"),
    _captured("of what stops", 'start: x "z"\nx[stop="!", capture, stop_capture="s"]: TEXT' + ANY, "ab!z"),
    _captured("around a suffix", 'start[capture="o"]: x "z"\nx[suffix="!"]: TEXT' + ANY, "ab!z"),
    _captured("around a stop", 'start[capture="o"]: x "z"\nx[stop="!"]: TEXT' + ANY, "ab!z"),
    _captured("before a pattern that stops", 'start: x "z"\nx[suffix=/[0-9]/, capture]: TEXT' + ANY, "ab1z"),
)


def _pairs(name: str, texts: list[str]) -> Any:
    def call(xgr: Any) -> taken:
        made = getattr(xgr.Grammar, name)(xgr.Grammar.from_regex("a+"), xgr.Grammar.from_ebnf('root ::= "b"'))
        return taken(text for text in texts if xgr.testing._is_grammar_accept_string(made, text))

    return call


def _again(xgr: Any) -> taken:
    grammar = xgr.Grammar.from_ebnf(str(xgr.Grammar.from_ebnf('start ::= "a" x\nx ::= "b"?', root_rule_name="start")))
    return taken(text for text in ("a", "ab", "b") if xgr.testing._is_grammar_accept_string(grammar, text))


def _stored(xgr: Any) -> taken:
    grammar = xgr.Grammar.deserialize_json(xgr.Grammar.from_regex("a+").serialize_json())
    return taken(text for text in ("a", "aa", "b") if xgr.testing._is_grammar_accept_string(grammar, text))


OPERATIONS = (
    value_row("Grammars", "concat", "concat(a+, b): ab aab b", _pairs("concat", ["ab", "aab", "b"])),
    value_row("Grammars", "union", "union(a+, b): a b ab", _pairs("union", ["a", "b", "ab"])),
    value_row(
        "Grammars",
        "concat of nothing",
        "concat()",
        lambda xgr: xgr.testing._is_grammar_accept_string(xgr.Grammar.concat(), ""),
    ),
    value_row("Grammars", "text, read again", "from_ebnf(str(grammar)): a ab b", _again),
    value_row("Grammars", "stored", "deserialize_json(serialize_json()): a aa b", _stored),
    value_row(
        "Grammars",
        "what is stored, across libraries",
        'deserialize_json(\'{"__VERSION__": "v16"}\')',
        lambda xgr: xgr.Grammar.deserialize_json('{"__VERSION__": "v16"}'),
    ),
    value_row(
        "Grammars",
        "what is stored that is no JSON",
        "deserialize_json('x')",
        lambda xgr: xgr.Grammar.deserialize_json("x"),
    ),
    grammar_row(
        "Grammars",
        "builtin JSON",
        lambda xgr: xgr.Grammar.builtin_json_grammar(),
        "builtin_json_grammar()",
        ["{}", '[1, "a"]', "1", "[1,]"],
    ),
)

ROWS = (*TOKENS, *NAMED, *CAPTURES, *OPERATIONS)
