"""A lazy rule ends what may begin where it may: enforced, or refused where it cannot be."""

from __future__ import annotations

import re
from itertools import product

import pytest

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.errors import UnsupportedFeatureError

ANY = "\nTEXT: /(\\n|.)*/"
INFO = TokenizerInfo([b"<call>", b"</s>"], stop_token_ids=[1])


def matcher(text: str) -> GrammarMatcher:
    grammar = Grammar.from_lark(text, tokenizer_info=INFO)
    return GrammarMatcher(GrammarCompiler(INFO).compile_grammar(grammar))


def takes(text: str, word: str) -> bool:
    found = matcher(text)
    return bool(found.accept_string(word) and found.is_completed())


DISPATCHES = [
    ('start: tool* tail\ntail: TEXT\nhead[lazy]: TEXT "<a"\ntool: head /b+/ ">"', r"(?:{0}<ab+>)*{0}", ["<a"]),
    ('start: tool* tail\ntail: TEXT\nhead[suffix="<a"]: TEXT\ntool: head /b+/ ">"', r"(?:{0}<ab+>)*{0}", ["<a"]),
    (
        'start: (head "b" | other ">")* TEXT\nhead[lazy]: TEXT "<a"\nother[lazy]: TEXT "<b"',
        r"(?:{0}<ab|{0}<b>)*{0}",
        ["<a", "<b"],
    ),
    ('start: (head "b")* "a>"\nhead[lazy]: TEXT "<a"', r"(?:{0}<ab)*a>", ["<a"]),
    # Both begin behind what both begin with.
    ('start: "a" head "b" | "a" TEXT\nhead[lazy]: TEXT "<a"', r"a(?:{0}<ab|{0})", ["<a"]),
    # Not side by side: nothing is taken away.
    ('start: head TEXT\nhead[lazy]: TEXT "<a"', r"{0}<a.*", ["<a"]),
]


@pytest.mark.parametrize(("grammar", "pattern", "triggers"), DISPATCHES)
def test_every_short_text_against_a_plain_search(grammar: str, pattern: str, triggers: list[str]) -> None:
    free = f"(?:(?!{'|'.join(triggers)}).)*"
    expected = re.compile(pattern.format(free), re.DOTALL)
    found = matcher(grammar + ANY)
    verdicts = {True: 0, False: 0}
    for size in range(6):
        for letters in product("<ab>", repeat=size):
            word = "".join(letters)
            taken = bool(found.accept_string(word) and found.is_completed())
            found.reset()
            verdicts[taken] += 1
            assert taken is (expected.fullmatch(word) is not None), word
    assert min(verdicts.values()) > 1


def test_skips_stand_between() -> None:
    text = 'start: tool* tail\ntail: TEXT\nhead[lazy]: TEXT "<a"\ntool: head "b"\n%ignore " "' + ANY
    assert [takes(text, word) for word in ("x<a  by", "<a", "x < a")] == [True, False, True]


def test_a_token_is_no_text() -> None:
    text = 'start: (head "b" | <call> TEXT "!")\nhead[lazy]: TEXT "<a"' + ANY
    found = matcher(text)
    assert found.accept_token(0)
    assert found.accept_string("<a!")
    assert found.is_completed()


def test_notes_go_with_what_is_left() -> None:
    text = 'start: head "b" | tail\ntail[capture, max_chars=9]: TEXT\nhead[lazy]: TEXT "<a"' + ANY
    rules = Grammar.from_lark(text).ir.rules.values()
    assert ("capture", "tail") in [note for rule in rules for note in rule.notes]
    assert [takes(text, word) for word in ("<a", "<ab", "<", "1234567890")] == [False, True, True, False]


@pytest.mark.parametrize(
    ("grammar", "reason"),
    [
        ('start: (tool | TEXT)*\nhead[lazy]: TEXT "<a"\ntool: head "b"', "put together"),
        ('start: tool* tail\ntail: TEXT TEXT\nhead[lazy]: TEXT "<a"\ntool: head "b"', "put together"),
        ('start: head "b" | %json {}\nhead[lazy]: TEXT "<a"', "not a terminal"),
        ('start: head "b" | "<a>"\nhead[lazy]: TEXT "<a"', "never be read"),
    ],
)
def test_what_cannot_be_enforced_is_refused_at_the_rule(grammar: str, reason: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=reason) as caught:
        Grammar.from_lark(grammar + ANY)
    line = grammar.split("\n").index(next(line for line in grammar.split("\n") if line.startswith("head"))) + 1
    assert (caught.value.line, caught.value.column) == (line, 1)
