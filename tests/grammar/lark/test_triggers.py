"""A token in a rule is not in the free text around it, also where the vocabulary has it as an ordinary token."""

from __future__ import annotations

import re
from itertools import product

import pytest

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.errors import UnsupportedFeatureError

ANY = "\nTEXT: /(\\n|.)*/"
VOCAB = [b"<", b"a", b">", b"<a>", b"x", b"<end>", b"</s>"]
INFO = TokenizerInfo(VOCAB, stop_token_ids=[6], special_token_ids=[5, 6])
CALL, END = 3, 5


def compiled(text: str) -> GrammarMatcher:
    return GrammarMatcher(GrammarCompiler(INFO).compile_lark(text + ANY))


DISPATCHES = [
    ('start: tool* tail\ntail: TEXT\ntool: TEXT <a> "x"', r"(?:{0}Cx)*{0}"),
    ('start: tool* tail\ntail: TEXT\ntool: TEXT <[3]> "x"', r"(?:{0}Cx)*{0}"),
    ('start: (TEXT tool)* TEXT\ntool: <a> "x"', r"(?:{0}Cx)*{0}"),
    ('start: TEXT? tool*\ntool: <a> "x"', r"{0}(?:Cx)*"),
    ('start: TEXT <a> "x"', r"{0}Cx"),
    ('start: tool TEXT | TEXT\ntool: <a> "x"', r"Cx.*|{0}"),
    ('start: TEXT "x" <a>', r"{0}xC"),
    # Written out: the author says that this text may be read.
    ('start: "<a>" | <a> "x"', r"<a>|Cx|C"),
]


@pytest.mark.parametrize(("grammar", "pattern"), DISPATCHES)
def test_every_short_row_of_tokens_against_a_plain_search(grammar: str, pattern: str) -> None:
    """C is the token, which the bytes `<a>` do not stand for; what text may hold is said by its bytes."""
    expected = re.compile(pattern.format("(?:(?!<a>|C).)*"), re.DOTALL)
    matcher = compiled(grammar)
    spelt = {0: "<", 1: "a", 2: ">", CALL: "C", 4: "x"}
    verdicts = {True: 0, False: 0}
    for size in range(6):
        for row in product(spelt, repeat=size):
            taken = all(matcher.accept_token(token) for token in row) and matcher.is_completed()
            matcher.reset()
            verdicts[taken] += 1
            assert taken is (expected.fullmatch("".join(spelt[token] for token in row)) is not None), row
    assert min(verdicts.values()) > 1


def test_control_tokens_are_no_text_anyway() -> None:
    rules = Grammar.from_lark("start: (TEXT | <end>)*" + ANY, tokenizer_info=INFO).ir.rules
    assert [rule.body for rule in rules.values()] == [
        rule.body
        for rule in Grammar.from_lark(f"start: (TEXT | <[{END}]>)*" + ANY, tokenizer_info=INFO).ir.rules.values()
    ]
    assert GrammarMatcher(GrammarCompiler(INFO).compile_lark("start: (TEXT | <end>)*" + ANY)).accept_string("<end>")


@pytest.mark.parametrize(
    ("grammar", "reason"),
    [
        ('start: (TEXT | tool)*\ntool: »<a> "x"', "put together"),
        ('start: tool* tail\ntail: TEXT "a>"\ntool: TEXT »<a> "x"', "put together"),
        ('start: tool* | tail\ntail: %lark { start: /.*/ }\ntool: TEXT »<a> "x"', "another grammar"),
        ('start: HOLDS »<a>\nHOLDS: TEXT "<a>"', "never be read"),
    ],
)
def test_what_cannot_be_enforced_is_refused_at_the_token(grammar: str, reason: str) -> None:
    before, after = (grammar + ANY).split("»")
    with pytest.raises(UnsupportedFeatureError, match=reason) as caught:
        Grammar.from_lark(before + after, tokenizer_info=INFO)
    assert caught.value.offset == len(before)


def test_without_a_vocabulary_nobody_knows() -> None:
    with pytest.raises(UnsupportedFeatureError, match="takes a vocabulary") as caught:
        Grammar.from_lark("start: TEXT <[3]>" + ANY)
    assert caught.value.offset == len("start: TEXT ")
    assert Grammar.from_lark('start: "a" <[3]> "b"')
    assert Grammar.from_lark("start: TEXT <[^3]>" + ANY)


def test_too_many_tokens_are_no_trigger() -> None:
    info = TokenizerInfo([f"t{i}".encode() for i in range(100)] + [b"</s>"], stop_token_ids=[100])
    with pytest.raises(UnsupportedFeatureError, match="100 tokens"):
        Grammar.from_lark("start: TEXT <[0-99]>" + ANY, tokenizer_info=info)
    assert Grammar.from_lark("start: TEXT <[0-63]>" + ANY, tokenizer_info=info)
