"""Regular expressions: against Python's `re` where the dialects agree, and construct by construct where they do not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.errors import GrammarError, GrammarSyntaxError, UnsupportedFeatureError
from kernels_core.grammar import Grammar
from kernels_core.grammar.ir import GrammarIR, RuleRef, Span, walk
from kernels_core.grammar.regex import parse_regex
from tests.reference import Recogniser
from tests.strategies import examples


def accepts(pattern: str, text: str, flags: str = "") -> bool:
    return Recogniser(Grammar.from_regex(pattern, flags=flags).ir).accepts(text.encode())


ATOMS = ["a", "b", "é", "ab", ".", "-", "1", r"\d", r"[ab]", r"[^a]", r"[a-c\d]", r"[^\D]", r"\.", r"\x61", r"\u00e9"]
QUANTIFIERS = ["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,}", "{0,2}", "{2,3}?", "{0}"]


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.sampled_from(["(", "(?:", "(?P<n>"])
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(group, inner, st.just(")"), st.sampled_from(QUANTIFIERS)).map("".join),
        st.tuples(st.sampled_from(["^", ""]), inner, st.sampled_from(["", "$"])).map("".join),
    )


PATTERNS = st.recursive(
    st.tuples(st.sampled_from(ATOMS), st.sampled_from(QUANTIFIERS)).map("".join),
    compound,
    max_leaves=6,
)
TEXTS = st.text(alphabet="aabbcé1.-\nk", max_size=6)


# Quick, and operators have to meet.
@examples(5)
@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=6))
def test_agrees_with_re(pattern: str, texts: list[str]) -> None:
    once = pattern.replace("?P<n>", "?:")  # `re` wants group names to differ; we only group
    python = re.compile(once)
    try:
        recogniser = Recogniser(Grammar.from_regex(pattern).ir)
    except GrammarError as error:
        # An anchor in the middle, which no text can pass.
        assert "matches no text" in str(error)  # noqa: PT017
        assert not any(python.fullmatch(text) for text in texts)
        return
    for text in texts:
        if "$" in pattern and "\n" in text:
            continue  # Python's $ also matches before a last line end
        assert recogniser.accepts(text.encode()) == (python.fullmatch(text) is not None), text


CASED = "aAkK\u212asS\u017fßẞéÉ1"


@given(
    st.lists(st.sampled_from([*CASED, "[a-k]", "[^s]", "[^é]", "(?:aß)", "[É1]"]), min_size=1, max_size=3).map("".join),
    st.text(alphabet=CASED, max_size=3),
)
def test_ignoring_case_agrees_with_re(pattern: str, text: str) -> None:
    expected = re.fullmatch(pattern, text, re.IGNORECASE) is not None
    assert accepts(pattern, text, "i") == expected
    assert accepts(f"(?i){pattern}", text) == expected
    assert accepts(f"(?i:{pattern})", text) == expected


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("", [""], ["a"]),
        ("a||b", ["a", "", "b"], ["ab"]),
        ("()", [""], ["a"]),
        (".", ["a", "é", "😀", "\x00", "\x85"], ["\n", "\r", "\u2028", "\u2029", "", "ab"]),
        (r"\s", [" ", "\t", "\n", "\u00a0", "\ufeff", "\u2003", "\u3000"], ["a", "\u200b", "\u180e"]),
        (r"\S", ["a", "\u200b"], [" ", "\ufeff"]),
        (r"\w\W", ["a-", "_é"], ["é-", "aa"]),
        (r"\d", ["0", "9"], ["\u0660", "a"]),
        (r"\t\n\v\f\r\0\cJ\cj\x41\u0042\u{43}\u{1F600}", ["\t\n\v\f\r\0\n\nABC😀"], []),
        (r"\uD83D\uDE00", ["😀"], []),
        (r"[\uD83D\uDE00-\uD83D\uDE02]", ["😀", "😁", "😂"], ["😃"]),
        (r"[\u{1F600}]", ["😀"], []),
        (r"[\b]", ["\b"], ["b"]),
        ("[^]", ["\n", "a", "😀"], [""]),
        ("a|[]", ["a"], ["", "]"]),
        (r"[\d-z]", ["0", "-", "z"], ["a", "y"]),
        (r"[\d-a-z]", ["0", "-", "a", "z"], ["b", "y"]),
        (r"[\w-.-9]", ["w", "-", ".", "9"], ["/"]),
        (r"[a-\d]", ["0", "-", "a"], ["b"]),
        ("[-a]", ["-", "a"], []),
        ("[a-]", ["-", "a"], []),
        ("[[:a]", ["[", ":", "a"], ["x"]),
        (r"\/\.\-\_\ ", ["/.-_ "], []),
        ('{"a": [0-9]+}', ['{"a": 12}'], ['{"a": }']),
        ("{}]", ["{}]"], []),
        ("a{b}", ["a{b}"], ["ab"]),
        ("x{2,}?y", ["xxy", "xxxy"], ["xy"]),
        ("a{2147483647}|b", ["b"], ["a"]),
        (r"\p{Lu}\p{Nd}\P{L}", ["Ä٣!"], ["a1!", "A1a"]),
        (r"[\p{Letter}_]+", ["añ_ß"], ["1"]),
        (r"\p{gc=Lu}|\p{General_Category=Nd}", ["A", "1"], ["a"]),
        (r"\p{ASCII}", ["\x7f"], ["\x80"]),
        ("(?<year>[0-9]{4})-(?P<m>[0-9]{2})", ["2024-05"], ["2024-5"]),
        ("^abc$", ["abc"], ["^abc$"]),
        ("^a$|^b$", ["a", "b"], ["ab"]),
        ("(^a|^(?:b))c", ["ac", "bc"], ["c"]),
        ("a(b$|(?:c|d$))", ["ab", "ac", "ad"], ["a"]),
        ("^^(?:)$$", [""], ["a"]),
        ("(^a)?(b$)?", ["", "a", "b", "ab"], ["ba"]),
        ("(?i:a)b", ["Ab", "ab"], ["aB"]),
        ("(?i)a(?-i:b)C", ["AbC", "abc"], ["aBc"]),
        ("a(b(?i)c|d)e", ["abCe", "aDe"], ["aBce", "abcE"]),
        (r"\pL\PC[\pN]", ["é-٣", "aa1"], ["1a1", "a\x001"]),
        ("(?s:.)", ["\n", "a"], []),
        ("(?si:.A)", ["\na"], []),
        ("(?-s:.)", ["a"], ["\n"]),
        ("(?i)[^k]", ["a"], ["k", "K", "\u212a"]),
        (r"(?i)\W", ["é"], ["k", "\u212a", "\u017f"]),
        (r"(?i)\w", ["\u212a"], ["é"]),
        (r"(?i)\p{Lu}", ["a", "A"], ["1"]),
    ],
)
def test_dialect(pattern: str, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not accepts(pattern, text)] == []
    assert [text for text in bad if accepts(pattern, text)] == []


def test_flags() -> None:
    assert accepts(".", "\n", "s")
    assert accepts("aB", "Ab", "i")
    assert accepts(".B", "\nb", "is")
    assert accepts(r"\u{41}\/", "A/", "u")
    for flag in "gyvx":
        with pytest.raises(UnsupportedFeatureError, match=f"flag '{flag}'"):
            Grammar.from_regex("a", flags=flag)


MARK = "»"


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("a»(b", "never closed"),
        ("»(?:a", "never closed"),
        ("a»)", r'"\)" without'),
        ("»*a", "nothing to repeat"),
        ("a|»+", "nothing to repeat"),
        ("»(?)", "unknown kind of group"),
        ("a»(?)", "unknown kind of group"),
        ("^»*", "nothing to repeat"),
        ("a$»*", "nothing to repeat"),
        ("(?<=a)»*b", "nothing to repeat"),
        ("»{2}", "nothing to repeat"),
        ("a*»*", "two quantifiers"),
        ("a{2}»{3}", "two quantifiers"),
        ("a*?»?", "two quantifiers"),
        ("a»{,5}", "a count is written .* {0,m} for {,m}"),
        ("a»{ 2 }", "a count is written"),
        ("a»{1,2,3}", "a count is written"),
        ("a{»3,2}", "backwards"),
        ("a{»2147483648}", "at most 2,147,483,647"),
        ("a{1,»99999999999}", "at most"),
        ("»[a", "never closed"),
        ("»[", "never closed"),
        ("»[^", "never closed"),
        ("»[a-", "never closed"),
        (r"»[a\]", "never closed"),
        ("[»z-a]", "backwards"),
        ("ab»\\", "lone backslash"),
        (r"a»\G", r"unknown escape \\G"),
        (r"»\h", "unknown escape"),
        (r"»\x4", "needs 2 hex"),
        (r"»\u00g0", "needs 4 hex"),
        (r"»\u{}", "hex digits and a closing brace"),
        (r"»\u{110000}", r"above U\+10FFFF"),
        (r"»\u{" + "f" * 9000 + "}", r"above U\+10FFFF"),
        (r"a»\uD83D", r"surrogate U\+D83D"),
        ("a»\ud83d", r"surrogate U\+D83D"),
        (r"»\c1", "needs a letter"),
        (r"»\01", "octal"),
        (r"»\px", "a property is written"),
        ("a»(?#b)", "leave .* out"),
        ("»(?<1>a)", "group's name"),
        ("(?»ii)a", "set twice"),
    ],
)
def test_malformed(marked: str, message: str) -> None:
    located(marked, GrammarSyntaxError, message)


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("»(?<=ab)b", "look-behind is supported for one character"),
        ("a»(?<!a|bc)b", "look-behind is supported for one character"),
        ("a»(?<!)b", "look-behind is supported for one character"),
        ("a»(?<!(?=a))b", "look-behind is supported for one character"),
        ("(" * 30 + "»^" + ")" * 30, "inside more than 25 groups"),
        (r"\b" * 100 + "»$a", "more than 100 assertions"),
        ("»(?>a)", r"atomic .*; write \(\?:\.\.\.\)"),
        ("a*»+", r"possessive .*; leave out this \+"),
        (r"(a)»\1", "back-references"),
        (r"(?<n>a)»\k<n>", "back-references"),
        ("[»[:alpha:]]", r"for \[:alpha:\] write A-Za-z"),
        ("[a-z»&&[^b]]", "intersections of classes"),
        ("[a»[:^cntrl:]]", r"for \[:\^cntrl:\] write its characters"),
        ("(?P<a>x)»(?P=a)", "references to groups"),
        (r"»\p{Block=Greek}", "Block=Greek"),
        (r"[a»\p{RGI_Emoji}]", "RGI_Emoji"),
        ("(?»b)", "flag 'b'"),
        (r"(?i»x:a)", "flag 'x'"),
    ],
)
def test_known_and_not_built(marked: str, message: str) -> None:
    located(marked, UnsupportedFeatureError, message)


@pytest.mark.parametrize(
    "marked", ["a»{", "»}", "»]", r"»\-", r"»\_", r"[»\d-z]", "(?=a)»*a", "x»{y}", r"»\Ax", r"x»\z"]
)
def test_the_flag_u_is_strict(marked: str) -> None:
    located(marked, GrammarSyntaxError, "under the flag u|unknown escape|not a range|nothing to repeat", "u")
    Grammar.from_regex(marked.replace(MARK, ""))


def located(marked: str, kind: type[GrammarError], message: str, flags: str = "") -> None:
    offset = marked.index(MARK)
    source = marked.replace(MARK, "")
    with pytest.raises(GrammarError, match=message) as caught:
        Grammar.from_regex(source, flags=flags)
    assert type(caught.value) is kind
    assert caught.value.offset == offset
    assert caught.value.language == "regex"


def test_an_empty_language_is_an_error() -> None:
    with pytest.raises(GrammarError, match="matches no text"):
        Grammar.from_regex("a[]")
    with pytest.raises(GrammarError, match=r"matches no text.* the / around a pattern are text"):
        Grammar.from_regex("/^[a-z]+$/i")


def test_spans_point_at_the_pattern() -> None:
    pattern = "ab*(?:[x-z]{2}|é)$"
    ir: GrammarIR = parse_regex(pattern)
    spans = [node.span for node in walk(ir.rules["root"].body)]
    assert all(isinstance(span, Span) for span in spans)
    written = [pattern[span.start : span.end] for span in spans if span]
    assert written[1:] == ["a", "b*", "b", "(?:[x-z]{2}|é)", "[x-z]{2}", "[x-z]", "é"]
    assert not any(isinstance(node, RuleRef) for node in walk(ir.rules["root"].body))


SOUP = [*"ab()[]{}|*+?^$.\\-,12:<>=!iuxdDwWsSbBpPkc\n é\ud800"]
SOUP += ["(?:", "[^", "{2}", "{1,2}", r"\u{", r"\x41", r"\p{L}", "(?i"]


# Most of it is wrong at its first characters: it takes many to be wrong further on, and little time.
@examples(5)
@given(st.lists(st.sampled_from(SOUP), max_size=12).map("".join), st.sampled_from(["", "i", "u", "s", "isu"]))
def test_anything_is_a_grammar_or_a_located_error(soup: str, flags: str) -> None:
    try:
        grammar = Grammar.from_regex(soup, flags=flags)
    except GrammarError as caught:
        error: GrammarError | None = caught
    else:
        error = None
        assert Grammar.from_ebnf(str(grammar)) == grammar
    if error is not None:
        assert error.offset is not None
        assert 0 <= error.offset <= len(soup)
