"""Rules whose items differ (`distinct`, `item`): masks, steps and all that follows from them.

They are compared with stacks that are written out one by one (`tests/reference/judged.py`).
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import (
    BudgetExceededError,
    Grammar,
    GrammarCompiler,
    GrammarError,
    GrammarMatcher,
    Options,
    TimeLimit,
    UnsupportedFeatureError,
)
from kernels_core.grammar.ir import GrammarIR
from tests.engine.driver import VARIANTS, compiled, follow_stacks, mask, same_masks_together, tokenizer
from tests.reference.judged import JudgedStacks, comparable
from tests.reference.token_limits import TooManyStacks

# What items are made of, in spellings that are equal: 1, 1.0 and 10e-1, "a" and "\\u0061".
SCALARS = {
    "number": '[1-2] [0-1]{0,2} ("." [0]+)? ("e" "-"? [0-1])?',
    "string": '"\\"" ([ab] | "é" | "\\\\u0061" | "\\\\\\"")* "\\""',
    "short": '"\\"" [ab]{0,2} "\\""',
    "word": '"true" | "null"',
    "nested": '"[" (number ("," number)*)? "]"',
    "inner": '"[" (inner_item ("," " "? inner_item)*)? "]"',
    "object": '"{" (string ":" value ("," string ":" value)?)? "}"',
    "value": "number | short | nested",
}
PIECES = [
    *(bytes((byte,)) for byte in b'[]{},:"ab12.e0-\\u6 x'),
    *(b"1,", b"1]", b",1", b"1,1", b"[1,1]", b"[1,2", b"10", b".0", b".0,", b'","', b'"a"', b'a"', b'a",', b'"a","a"'),
    *(
        b'["a"',
        b'b"]',
        b"\\u0061",
        b'\\u0061"',
        b"\\u00",
        b'\\"',
        b'[""',
        b'"",""',
        b"true",
        b"true,true",
        b"],[",
        b"[]",
    ),
    *(
        "é".encode(),
        b"\xc3",
        b"\xa9",
        b'\xa9"',
        'é",'.encode(),
        b'{"a":1}',
        b'":1',
        b"},{",
        b'{"a":1,"b":2}',
        b"[[1],[1]]",
    ),
    *(b'{"b":2,"a":1}', b"[1, 1", b"e0", b"e-1", b"[[1,1", b"x[1", b"[2,1,2"),
]


@st.composite
def grammars(draw: st.DrawFn) -> GrammarIR:
    """Arrays whose items differ, some beside others that are read alike or inside of each other."""
    kinds = draw(st.lists(st.sampled_from([*SCALARS]), min_size=1, max_size=3, unique=True))
    gap = draw(st.sampled_from(["", ' " "?', ' " "*']))
    most = draw(st.sampled_from(["*", "*", "{0,2}", "{1,3}"]))
    item = " | ".join(kinds)
    root = draw(
        st.sampled_from(
            [
                "array",
                '"x" array | array "x"',
                "array | plain",
                "array | other",
                '"[" array "," array "]"',
                "array array?",
                '(array | "x")*',
                'array | "x" string | number',
            ]
        )
    )
    others = draw(st.sampled_from([item, "number", "number | short", "array"]))
    rules = [
        f"root ::= {root}",
        f'array[distinct] ::= "["{gap} (item ({gap} ","{gap} item){most})?{gap} "]"',
        f"item[item] ::= {item}",
        f'plain ::= "["{gap} (({item}) ("," ({item})){{0,2}})? "]"',
        'other[distinct] ::= "[" (other_item ("," other_item)*)? "]"',
        f"other_item[item] ::= {others}",
        "inner_item[item] ::= number | short",
        *(f"{name}{'[distinct]' * (name == 'inner')} ::= {body}" for name, body in SCALARS.items()),
    ]
    return Grammar.from_ebnf("\n".join(rules)).ir


@given(grammars(), st.sampled_from(list(VARIANTS)), st.randoms(use_true_random=False))
def test_masks_are_those_of_the_stacks(ir: GrammarIR, variant: str, random: Random) -> None:
    matcher = GrammarMatcher(compiled(ir, PIECES, VARIANTS[variant]))
    with suppress(TooManyStacks):
        follow_stacks(matcher, JudgedStacks(ir), PIECES, random)


@given(grammars())
def test_printed_and_read_again(ir: GrammarIR) -> None:
    again = Grammar.from_ebnf(str(Grammar(ir)))
    assert again == Grammar(ir)
    assert again.ir.rules["array"].notes == (("distinct", None),)


def follows(grammar: str, vocabulary: list[bytes] | None = None) -> GrammarMatcher:
    return GrammarMatcher(compiled(Grammar.from_ebnf(grammar).ir, vocabulary or PIECES))


STRINGS = """
root ::= array | "<" array ">"
array[distinct] ::= "[" (item ("," item)*)? "]"
item[item] ::= "\\"" [a-z]* "\\"" | [0-9]+
"""


def test_forks_share_what_they_read_and_part_behind_it() -> None:
    matcher = follows(STRINGS)
    assert matcher.accept_string('["a","b"')
    forks = [matcher.fork() for _ in range(3)]
    for fork, text in zip(forks, (',"c"', ',"d"', ',"e"'), strict=True):
        assert fork.accept_string(text)
    for fork, own in zip(forks, "cde", strict=True):
        for letter in "abcde":
            assert fork.fork().accept_string(f',"{letter}"') == (letter not in "ab" + own)
        fork.rollback(1)
        assert fork.accept_string(',"f"')
    assert matcher.accept_string(',"c"')


def test_batches_rows_and_drafts_have_the_same_masks() -> None:
    vocabulary = [*(bytes((byte,)) for byte in b'[],"ab12'), b'"a"', b'a"', b'","a"', b'a",', b"1,1", b'"]']
    texts = ["", "[", '["a', '["a","', '["a","b","', '["a",1', '["a",1,', '["b","', "[12,1"]
    same_masks_together(compiled(Grammar.from_ebnf(STRINGS).ir, vocabulary), vocabulary, texts)


def test_a_token_may_hold_the_whole_array() -> None:
    matcher = follows(STRINGS, [*(bytes((byte,)) for byte in b"<[]>,1"), b"<[1,1", b"<[1,11]>", b'<["","",', b"[1,1]"])
    assert mask(matcher) == {0, 1, 6, 7}
    assert matcher.accept_token(0)
    assert mask(matcher) == {1}


def test_states_inside_of_arrays_are_interned() -> None:
    """Values are no part of parser states: texts that differ in values alone lead to one set."""
    made = compiled(Grammar.from_ebnf(STRINGS).ir, PIECES)
    one, other = GrammarMatcher(made), GrammarMatcher(made)
    assert one.accept_string('["aa","b",')
    assert other.accept_string('["xx","yy",')
    assert one.set_number == other.set_number
    assert mask(one) == mask(other)
    assert one.accept_string('"a')
    assert other.accept_string('"a')
    assert one.set_number == other.set_number
    assert mask(other) - mask(one) == {PIECES.index(b'a"'), PIECES.index(b'a",')}


def test_numbers_go_on_where_they_may_not_end() -> None:
    matcher = follows(STRINGS)
    assert matcher.accept_string("[1,1")
    assert not matcher.fork().accept_string(",")
    assert not matcher.fork().accept_string("]")
    assert matcher.refusing_rule(ord("1")) is None
    assert matcher.accept_string("1]")
    quoted = follows(STRINGS)
    assert quoted.accept_string('["a","a')
    assert quoted.refusing_rule(ord('"')) == "item"
    assert "equal to one before it" in str(quoted.explain('"'))


def test_a_matcher_goes_on_in_new_parser_states() -> None:
    grammar = Grammar.from_ebnf(
        'root[distinct] ::= "[" item ("," item)* "]"\nitem[item] ::= "\\"" [a-z]{0,9000} "\\"" | [0-9]+'
    )
    made = GrammarCompiler(tokenizer(PIECES), options=Options(max_bytes=500_000)).compile_grammar(grammar)
    matcher, other = GrammarMatcher(made), GrammarMatcher(made)
    assert matcher.accept_string("[0,1,2")
    with pytest.raises(BudgetExceededError):
        other.accept_string('["' + 9_000 * "a")
    assert matcher.accept_string(',"a"')
    assert made.renewals
    assert not matcher.accept_string(",1,")
    assert not matcher.accept_string(',"a"')
    assert matcher.accept_string(",12,")
    matcher.rollback(1)
    assert matcher.accept_string(",12,")
    assert pickle.loads(pickle.dumps(grammar)) == grammar


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ("root[distinct] ::= item*\nitem[item] ::= [a-z]", "begins with"),
        ('root[distinct, lazy] ::= "[" item*\nitem[item] ::= [a-z]', "lazy and max_chars"),
        ('root[distinct] ::= "[" item "]"\nitem[item=3] ::= [a-z]', "takes no value"),
        ('root[lazy] ::= "<" a\na[distinct] ::= "[" item "]"\nitem[item] ::= [a-z]', "differ"),
    ],
)
def test_what_is_refused(grammar: str, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        Grammar.from_ebnf(grammar)


@pytest.mark.parametrize("parser", ["pushdown", "fsm"])
def test_parsers_without_frames_refuse_it(parser: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="differ"):
        compiled(Grammar.from_ebnf(STRINGS).ir, PIECES, Options(parser=parser))


@pytest.mark.parametrize(
    "grammar",
    [
        'root[distinct] ::= "[" item+ "]"\nitem[item] ::= [0-9]+',
        'root[distinct] ::= "[" item [0-9]* "," item "]"\nitem[item] ::= [0-9]+',
        'root ::= [^x]* array\narray[distinct] ::= "[" (item ",")* "]"\nitem[item] ::= [0-9]+ | "[" [0-9]+',
    ],
)
def test_what_is_ambiguous_is_no_silent_guess(grammar: str) -> None:
    matcher = follows(grammar)
    with pytest.raises(UnsupportedFeatureError, match="ambiguous"):
        matcher.accept_string("[[1[1[1,11,") if "array" in grammar else matcher.accept_string("[11,")


def test_limits_in_tokens_around_it_are_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match="max_tokens"):
        follows('root ::= a\na[max_tokens=3] ::= b\nb[distinct] ::= "[" item "]"\nitem[item] ::= [0-9]').accept_string(
            "[1"
        )


def test_limits_in_tokens_beside_it_are_kept() -> None:
    """A limit on a rule that is not around: frames that count and frames with a mark lie in one set."""
    grammar = """
root ::= (think | array) array
think[max_tokens=2] ::= ("a" | "b" | "[" think "]")+
array[distinct] ::= "[" item ("," item)* "]"
item[item] ::= [ab] | [0-9]+
"""
    vocabulary = [*(bytes((byte,)) for byte in b"ab[],12"), b"1,", b"1]", b"[1", b",1]"]
    matcher = follows(grammar, vocabulary)
    for token in (b"[", b"1", b",", b"2", b"]", b"[", b"1", b","):
        assert matcher.accept_token(vocabulary.index(token))
    assert mask(matcher) == {vocabulary.index(token) for token in (b"a", b"b", b"1", b"2")}
    assert matcher.accept_token(vocabulary.index(b"1"))
    assert mask(matcher) == {vocabulary.index(token) for token in (b"1", b"2", b"1,", b"1]")}
    limited = follows(grammar, vocabulary)
    for token in (b"a", b"b"):
        assert limited.accept_token(vocabulary.index(token))
    assert mask(limited) == {vocabulary.index(token) for token in (b"[", b"[1")}
    for token in (b"[1", b",1]"):
        assert limited.fork().accept_token(vocabulary.index(token)) == (token == b"[1")
    assert limited.accept_token(vocabulary.index(b"[1"))
    assert vocabulary.index(b",1]") not in mask(limited)


@pytest.mark.parametrize("behind", ["[ ]*", '"!"', '[ ]* ("!" | [ ])?', '[\\t "]*'])
@pytest.mark.parametrize("begun", ['["a"@,', '["a"@,"', '["ba"@,"b', '["a"@,"b"@,"'])
def test_items_that_go_on_behind_a_string(behind: str, begun: str) -> None:
    """A token that ends a string and goes on behind it is in the mask if it is taken, and only then."""
    grammar = f"""
root[distinct] ::= "[" item ("," item)* "]"
item[item] ::= string {behind}
string ::= "\\"" [^"\\\\]* "\\""
"""
    ends = [b'"', b'" ', b'"  ', b'"!', b'"\t', b'""', b'" !']
    vocabulary = [bytes((byte,)) for byte in b'ab", !]\t']
    vocabulary += [
        start + end + last for start in (b"", b"a", b"b", b'"a') for end in ends for last in (b"", b",", b"]")
    ]
    matcher = follows(grammar, list(dict.fromkeys(vocabulary)))
    assert matcher.accept_string(begun.replace("@", "!" if behind == '"!"' else ""))
    allowed = mask(matcher)
    for token, word in enumerate(dict.fromkeys(vocabulary)):
        assert (token in allowed) == matcher.fork().accept_token(token), word


PARTS = ["[", "]", "{", "}", ",", ":", '"a"', '"b"', "1", "1.0", "10e-1", "null", " ", "\t", "\f", "[1,2]", '{"a":1}']


@given(*[st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map("".join)] * 2)
def test_what_is_no_json_equals_nothing(one: str, other: str) -> None:
    matcher = follows('root[distinct] ::= "[" item ";" item "!"\nitem[item] ::= [^;!]*', [b"!"])
    assert matcher.accept_string(f"[{one};{other}")
    value = comparable(other)
    assert mask(matcher) == ({0} if value is None or value != comparable(one) else set())
    assert matcher.accept_string("!") == (value is None or value != comparable(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *[("[1,2]", other) for other in ("[1 2]", "[1,,2]", "[1:2]", "[1,2,]", "[,1,2]", "[1,\f2]")],
        *[('{"a":1}', other) for other in ('{"a",1}', '{"a" 1}', '{"a":1,}', '{,"a":1}')],
    ],
)
def test_separators_belong_to_json(one: str, other: str) -> None:
    matcher = follows('root[distinct] ::= "[" item ";" item "!"\nitem[item] ::= [^;!]*', [b"!"])
    assert matcher.accept_string(f"[{one};{other}!")


NUMBERS = """
root[distinct] ::= "[" item ("," item)* "]"
item[item] ::= number | "[" number? ("," number)* "]"
number ::= "-"? [0-9]+ ("e" "-"? [0-9]+)?
"""
LARGE = 5_000


def test_reading_items_looks_at_the_clock() -> None:
    matcher = follows(NUMBERS)
    assert matcher.accept_string("[[1],[" + "1," * LARGE)
    with pytest.raises(BudgetExceededError), TimeLimit(0, looks=LARGE):
        mask(matcher)
    assert mask(matcher) == {token for token in range(len(PIECES)) if matcher.fork().accept_token(token)}


def test_what_is_read_of_an_item_is_not_read_again() -> None:
    matcher = follows(NUMBERS)
    assert matcher.accept_string("[[1],[" + "1," * LARGE)
    mask(matcher)
    fork = matcher.fork()
    for text in ("1,", "10,", "2"):
        assert matcher.accept_string(text)
        with TimeLimit(0, looks=LARGE):
            mask(matcher)
    assert fork.accept_string("1")
    assert mask(fork) == mask(matcher)
    with TimeLimit(0, looks=40 * LARGE):  # a number may end behind each digit
        assert follows(NUMBERS).accept_string("[" + "9" * LARGE)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1e0", "1", True),
        ("10e-1", "1", True),
        ("100e1", "1e3", True),
        ("-1e-0", "-1", True),
        ("0e9", "-0e-5", True),
        ("1e" + "9" * LARGE, "10e" + "9" * (LARGE - 1) + "8", True),
        ("1e-1" + "0" * LARGE, "10e-1" + "0" * (LARGE - 1) + "1", True),
        ("1e" + "9" * LARGE, "1e" + "9" * (LARGE - 1), False),
        ("1e5", "1e-5", False),
    ],
)
def test_numbers_are_what_they_are_worth(one: str, other: str, same: bool) -> None:
    assert follows(NUMBERS).accept_string(f"[{one},{other}]") != same
