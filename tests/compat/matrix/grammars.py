"""Rows about EBNF, regular expressions, Lark, and what is done to grammars."""

from __future__ import annotations

from typing import Any

from .row import Row, grammar_row, taken, value_row

__all__ = ["ROWS"]


def _ebnf(feature: str, text: str, texts: list[str]) -> Row:
    return grammar_row("EBNF", feature, lambda xgr: xgr.Grammar.from_ebnf(text), text, texts)


def _macro(feature: str, text: str, texts: list[str]) -> Row:
    return grammar_row("EBNF: macros", feature, lambda xgr: xgr.Grammar.from_ebnf(text), text, texts)


def _rule(feature: str, text: str, texts: list[str]) -> Row:
    return grammar_row("EBNF: attributes", feature, lambda xgr: xgr.Grammar.from_ebnf(text), text, texts)


def _regex(feature: str, text: str, texts: list[str]) -> Row:
    return grammar_row("Regular expressions", feature, lambda xgr: xgr.Grammar.from_regex(text), text, texts)


def _lark(feature: str, text: str, texts: list[str], **options: Any) -> Row:
    return grammar_row("Lark", feature, lambda xgr: xgr.Grammar.from_lark(text, **options), text, texts)


def _captured(feature: str, text: str, output: str) -> Row:
    def call(xgr: Any) -> str:
        compiled = xgr.GrammarCompiler(xgr.TokenizerInfo([])).compile_grammar(xgr.Grammar.from_lark(text))
        matcher = xgr.GrammarMatcher(compiled, terminate_without_stop_token=True)
        matcher.accept_string(output)
        return ", ".join(f"{name}={value.decode()}" for name, value in sorted(matcher.get_captures()))

    return value_row("Lark: captures", feature, f"{text} reads {output}", call)


EBNF = (
    _ebnf("sequence and choice", 'root ::= "a" "b" | "c"', ["ab", "c", "a", "abc"]),
    _ebnf("groups and repeats", 'root ::= ("a" | "b")* "c"+ "d"?', ["c", "abcd", "ab", "ccd"]),
    _ebnf("counts", 'root ::= "a"{2,3} "b"{2} "c"{1,}', ["aabbc", "abbc", "aaabbcc"]),
    _ebnf("count without a bound", 'root ::= "a"{1,-1}', ["", "a", "aaa"]),
    _ebnf("count without a lower bound", 'root ::= "a"{,2}', ["", "aa", "aaa"]),
    _ebnf("counts beyond 32 bits", 'root ::= "a"{0,3000000000}', ["a"]),
    _ebnf("empty alternative", 'root ::= "a" |', ["a", ""]),
    _ebnf("empty string", 'root ::= "" | "a"', ["", "a"]),
    _ebnf("empty group", 'root ::= () "a"', ["a"]),
    _ebnf("classes", "root ::= [a-c] [^x] [0-9_-]", ["aa0", "ax0", "cz-", "dz-"]),
    _ebnf("class beyond ASCII", "root ::= [à-ï]", ["é", "e"]),
    _ebnf("any character", "root ::= [^]", ["a", "\n", "é", ""]),
    _ebnf("empty class", 'root ::= [] | "a"', ["a", ""]),
    _ebnf("class with \\d", "root ::= [\\d]", ["1", "d"]),
    _ebnf("escapes", 'root ::= "\\n\\t\\x41\\u00e9\\""', ['\n\tAé"']),
    _ebnf("\\x of three digits", 'root ::= "\\x414"', ["Д", "A4"]),
    _ebnf("unknown escape", 'root ::= "\\q"', ["q"]),
    _ebnf("single quotes", "root ::= 'a'", ["a"]),
    _ebnf("comments", 'root ::= "a" # b\n  "c"', ["ac", "a"]),
    _ebnf("body over several lines", 'root ::= "a"\n  | "b"', ["a", "b"]),
    _ebnf("left recursion", 'root ::= root "a" | "b"', ["b", "baa", "ab"]),
    _ebnf("mutual recursion", 'root ::= "a" x | ""\nx ::= "b" root', ["", "ab", "abab", "aba"]),
    _ebnf("ambiguity", 'root ::= "a" root root | "a" | ""', ["", "a", "aaaa"]),
    _ebnf("look-ahead at the end of a rule", 'root ::= x "c"\nx ::= [ab]* (= "c")', ["abc", "c"]),
    _ebnf("look-ahead that is wrong", 'root ::= x "d"\nx ::= [ab]* (= "c")', ["abd", "abc"]),
    _ebnf("look-ahead with a choice", 'root ::= "a" (= "b" | "c")', ["a"]),
    _ebnf("undefined rule", "root ::= x", [""]),
    _ebnf("rule that is defined twice", 'root ::= "a"\nroot ::= "b"', ["a"]),
    _ebnf("no rule called root", 'x ::= "a"', ["a"]),
    _ebnf("two quantifiers in a row", 'root ::= "a"*?', ["a"]),
    _ebnf("names with - and .", 'root ::= a-b.c\na-b.c ::= "x"', ["x"]),
    _ebnf("rule without any text", "root ::= root", [""]),
    _ebnf("tokens by text, as in GBNF", 'root ::= <[1]> "a"', ["a"]),
)

MACROS = (
    _macro("TagDispatch", 'root ::= TagDispatch(("<a>", x))\nx ::= "1"', ["", "t<a>1u", "<a>2", "<a>1<a>1", "<a"]),
    _macro(
        "TagDispatch once",
        'root ::= TagDispatch(("<a>", x), loop_after_dispatch=false)\nx ::= "1"',
        ["t", "<a>1", "<a>1u"],
    ),
    _macro(
        "TagDispatch with excludes",
        'root ::= TagDispatch(("<a>", x), excludes=("no"))\nx ::= "1"',
        ["n", "no", "<a>1no"],
    ),
    _macro(
        "TagDispatch with tags inside each other",
        'root ::= TagDispatch(("abcd", x), ("bc", x))\nx ::= "1"',
        ["abc1", "abcz", "abcd1"],
    ),
    _macro(
        "TagDispatch with an exclude that begins a tag",
        'root ::= TagDispatch(("<a>", x), excludes=("<a"))\nx ::= "1"',
        ["t", "<a>1"],
    ),
    _macro(
        "TagDispatch with an exclude inside a tag",
        'root ::= TagDispatch(("xay", x), excludes=("a"))\nx ::= "1"',
        ["t", "a", "xay1"],
    ),
    _macro("TagDispatch without tags", "root ::= TagDispatch()", ["", "anything"]),
    _macro("TagDispatch with an empty tag", 'root ::= TagDispatch(("", x))\nx ::= "1"', ["1"]),
    _macro("TagDispatch with stop_str", 'root ::= TagDispatch(("a", x), stop_str=("b"))\nx ::= "1"', ["b"]),
    _macro("Regex", 'root ::= Regex("[0-9]+(a|b)?")', ["1", "12a", "a"]),
    _macro("Regex and the dot", 'root ::= Regex("a.b")', ["acb", "a\nb"]),
    _macro("Regex, the dot and flags", 'root ::= Regex("a.b", flags="")', ["acb", "a\nb"]),
    _macro("Regex with flag s", 'root ::= Regex("a.b", flags="s")', ["acb", "a\nb"]),
    _macro("Regex with flag i", 'root ::= Regex("abé", flags="i")', ["ABé", "abÉ", "ab"]),
    _macro("Regex with (?i)", 'root ::= Regex("(?i)ab")', ["AB", "ac"]),
    _macro("Regex inside a JSON string", 'root ::= Regex("\\\\S+", json_string=true)', ["a", 'a"', "a\\"]),
    _macro("Regex with look-ahead", 'root ::= Regex("a(?=b)[bc]")', ["ab", "ac"]),
    _macro("Regex with a word boundary", 'root ::= Regex("a\\\\b.c")', ["a c", "abc"]),
    _macro("Regex with a large count", 'root ::= Regex("(ab){2,50000}")', ["ab", "abab"]),
    _macro("Substring", 'root ::= Substring("a ", "b ", "c")', ["", "a b ", "b c", "a c"]),
    _macro("unknown argument", 'root ::= Regex("a", foo=true)', ["a"]),
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


ATTRIBUTES = (
    _rule("lazy", 'root ::= x "c"\nx[lazy] ::= [abc]* "b"', ["abc", "abbc", "bc"]),
    _rule("max_chars", "root[max_chars=2] ::= [a-c]*", ["", "ab", "abc"]),
    _rule("max_chars of 0", 'root ::= x "b"\nx[max_chars=0] ::= "a"*', ["b", "ab"]),
    _rule("max_chars of a rule that calls itself", 'root[max_chars=2] ::= "(" root ")" | ""', ["", "()", "(())"]),
    _rule("max_chars of free text with tags", 'root[max_chars=3] ::= TagDispatch(("x", y))\ny ::= "1"', ["ab", "abcd"]),
    _rule("capture", 'root[capture="n"] ::= "a"', ["a"]),
    _rule("capture without a name", 'root[capture=""] ::= "a"', ["a"]),
    _rule("temperature", 'root[temperature=0.5] ::= "a"', ["a"]),
    _rule("temperature below 0", 'root[temperature=-1] ::= "a"', ["a"]),
    _rule("max_tokens", 'root[max_tokens=5] ::= "a"', ["a"]),
    _rule("an attribute that is given twice", 'root[lazy, lazy] ::= "a"', ["a"]),
    _rule("unknown attribute", 'root[thing] ::= "a"', ["a"]),
)

REGEX = (
    _regex("whole match", "ab*", ["a", "abb", "xab", "abx"]),
    _regex("alternatives and groups", "(a|bc)+d?", ["a", "bcad", "b"]),
    _regex("non-capturing and named groups", "(?:a)(?<n>b)", ["ab"]),
    _regex("named groups of Python", "(?P<n>b)", ["b"]),
    _regex("classes", "[a-c][^x][\\w-]", ["aa-", "ax-", "cz_"]),
    _regex("the dot", "a.b", ["acb", "a\nb", "a\rb"]),
    _regex("\\d \\w \\s", "\\d\\w\\s", ["1a ", "1a\u00a0", "١a "]),
    _regex("counts", "a{2}b{1,2}c{1,}", ["aabc", "abc", "aabbcc"]),
    _regex("count without a lower bound", "a{,2}", ["", "aa"]),
    _regex("lazy quantifiers", "a+?b*?", ["a", "aab"]),
    _regex("possessive quantifiers", "a++", ["a"]),
    _regex("two quantifiers", "a**", ["a"]),
    _regex("anchors at the ends", "^ab$", ["ab"]),
    _regex("anchors in the middle", "a^b", ["ab"]),
    _regex("look-ahead", "a(?=b)b", ["ab"]),
    _regex("negative look-ahead", "(?!ab)a.", ["ac", "ab"]),
    _regex("look-behind", "a(?<=a)b", ["ab"]),
    _regex("word boundary", "a\\b", ["a"]),
    _regex("back-reference", "(a)\\1", ["aa"]),
    _regex("\\p{L}", "\\p{L}", ["é"]),
    _regex("\\x41 \\u0042 \\u{43}", "\\x41\\u0042\\u{43}", ["ABC"]),
    _regex("\\a and \\e", "\\a\\e", ["\x07\x1b"]),
    _regex("\\A and \\Z", "\\Aa\\Z", ["a", "AaZ"]),
    _regex("flags in front", "(?i)ab", ["AB"]),
    _regex("flags of a group", "(?i:a)b", ["Ab"]),
    _regex("empty class", "[]", [""]),
    _regex("any character", "[^]", ["a", "\n"]),
    _regex("lone ]", "a]", ["a]"]),
    _regex("lone {", "a{", ["a{"]),
    _regex("class that runs backwards", "[z-a]", ["b"]),
    _regex("empty pattern", "", ["", "a"]),
    _regex("empty alternative", "a|", ["a", ""]),
    _regex("group that is not closed", "(a", ["a"]),
    _regex("large count", "a{1000}", ["a"]),
    _regex("beyond ASCII", "é+", ["éé"]),
)

ANY = "\nTEXT: /(\\n|.)*/"
LARK = (
    _lark("rules and terminals", 'start: word+\nword: WORD "."\nWORD: /[a-z]+/', ["a.", "ab.c.", "."]),
    _lark("strings and ranges", 'start: "a" "b".."d"', ["ac", "ae"]),
    _lark("strings that ignore case", 'start: "ab"i', ["AB", "aB"]),
    _lark("optional parts and counts", 'start: ["a"] "b"~2 "c"~1..2', ["bbc", "abbcc", "bc"]),
    _lark("recursion", 'start: "(" start ")" | "x"', ["x", "((x))", "(x"]),
    _lark("aliases", 'start: "a" -> one | "b" -> two', ["a", "b"]),
    _lark("%import common", "start: INT\n%import common.INT", ["12", "a"]),
    _lark("%import of something else", "start: X\n%import other.X", ["a"]),
    _lark("%ignore between terminals", 'start: "a" "b"\n%ignore " "', ["ab", "a b", " ab"]),
    _lark("%ignore behind the last terminal", 'start: "a" "b"\n%ignore " "', ["ab "]),
    _lark("%declare", "start: X\n%declare X", ["a"]),
    _lark("%json", 'start: %json {"type": "integer"}', ["1", "1.0"]),
    _lark("%lark", 'start: "<" %lark { start: "a"+ } ">"', ["<aa>", "<>"]),
    _lark("%regex with characters", 'start: %regex {"substring_chars": "abc"}', ["ab", "ac"]),
    _lark("%regex with words", 'start: %regex {"substring_words": "a b c"}', ["a b", "a c"]),
    _lark("regular expressions and flags", "start: /ab/i /c.d/s", ["ABc\nd", "abcd"]),
    _lark("flag i beyond ASCII", "start: /é/i", ["é", "É"]),
    _lark("the dot", "start: /a.b/", ["acb", "a\nb"]),
    _lark("complement and intersection", 'start: T\nT: /[a-z]+/ & ~"no"', ["yes", "no"]),
    _lark("priorities", "start: A.2\nA: /a/", ["a"]),
    _lark("templates", 'start: x{"a"}\nx{t}: t', ["a"]),
    _lark("lazy", 'start: head "z"\nhead[lazy]: /.*;/', ["a;z", "a;b;z"]),
    _lark(
        "dispatch by a lazy rule",
        'start: tool* tail\ntail: TEXT\nhead[lazy]: TEXT "<t>"\ntool: head /[0-9]/' + ANY,
        ["a", "a<t>1b", "<t>x"],
    ),
    _lark("suffix", 'start: head "z"\nhead[suffix="!"]: TEXT' + ANY, ["a!z", "a!b!z", "az"]),
    _lark("stop", 'start: head "z"\nhead[stop="!"]: TEXT' + ANY, ["a!z", "a!b!z"]),
    _lark("max_chars", "start[max_chars=2]: /[a-z]*/", ["ab", "abc"]),
    _lark("max_tokens", "start[max_tokens=2]: /[a-z]*/", ["ab"]),
    _lark("attributes on terminals", "start: T\nT[lazy]: /a+/", ["a"]),
    _lark("notes on terminals", "start: T\nT[capture]: /a+/", ["a"]),
    _lark("option allow_initial_skip", '%llguidance {"allow_initial_skip": true}\nstart: "a"\n%ignore " "', [" a"]),
    _lark("undefined name", "start: x", ["x"]),
    _lark("no start", 'x: "a"', ["a"]),
    _lark("named grammars", 'start: @n "b"', ["ab"], named_grammars={"n": 'start: "a"'}),
    _lark("named grammars in a circle", "start: @n", ["a"], named_grammars={"n": "start: @n"}),
    _lark("token by its text, without a tokenizer", "start: <|x|>", ["a"]),
    _lark("tokens by id", 'start: <[1]> "a"', ["a"]),
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

ROWS = (*EBNF, *MACROS, *ATTRIBUTES, *REGEX, *LARK, *CAPTURES, *OPERATIONS)
