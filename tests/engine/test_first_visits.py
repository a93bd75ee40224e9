"""Shortcuts of first visits on a vocabulary with much below its nodes: they change what is walked, and no mask.

Small random vocabularies (`test_against_reference.py`) have no subtree worth sweeping and no state whose bytes are
many, so here are all short strings over a few bytes, parts of characters among them, and grammars like those of JSON.
"""

from __future__ import annotations

import gc
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options
from kernels_core.earley.arena import reserve, spare_bytes
from kernels_core.laboratory import without
from kernels_core.warm_start import FROM_TOKENS
from tests.engine.driver import follow, mask, tokenizer
from tests.strategies import examples

PIECES = [
    b"a",
    b"b",
    b"7",
    b'"',
    b"\\",
    b" ",
    "é".encode(),
    "€".encode(),
    b"\xe2",
    b"\x82",
    b"\xf0\x9f\x98\x80",
    b"\xed",
    b"c",
    b"0",
    b"Z",
    "\u00a0".encode(),
    "\u3000".encode(),
]
VOCAB = [b"".join(parts) for length in (1, 2, 3) for parts in product(PIECES, repeat=length)]
VOCAB += ["".join(parts).encode() for length in (4, 5) for parts in product("abé€", repeat=length)]
VOCAB += [b"a" * n for n in range(4, 12)] + [bytes([byte]) for byte in range(256)]
INFO = tokenizer(list(dict.fromkeys(VOCAB)))

GRAMMARS = {
    "string": r'root ::= "\"" ([^"\\\x00-\x1f] | "\\" ["\\a])* "\"" " "?',
    "no character but letters": 'root ::= "\\"" [ab7 ]* "\\""',
    "characters of two bytes": 'root ::= [aé]* ("\\"" | "7")',
    "counted characters": 'root ::= "\\"" [^"\\\\]{2,9} "\\"" "a"',
    "spelt out": 'root ::= [ab]? [ab]? [ab]? [ab]? [ab]? [ab]? [ab]? [ab7]? "\\""',
    "keys": r"""root ::= "\"" (("aa" | "ab7" | "b") "\" 7" | key "\" a")
        key ::= [^ab"\\] rest | "a" [^ab"\\] rest
        rest ::= [^"\\]*""",
    "all but a word": 'root ::= "\\"" ([^a"] | "a" [^b"] | "ab" [^7"]) [^"]* "\\" "',
    "text with a tag": 'root ::= ([^"] | "\\"" [^a])* "\\"a" "7"',
    "any byte": "root ::= [\\x00-\\U0010ffff]*",
    "a name": 'root ::= "\\"" [a-zA-Z] [a-zA-Z0-9]* "\\""',
    "letters told apart": 'root ::= "\\"" ([ac-z] | "b" [a-z7])* "b7"? "\\" 7"',
    "no white space": r'root ::= "\"" [^ "\u00a0\u3000]* "\"" | "\" " [^\u3000]*',
    "a search": 'root ::= [^"]* [0-9] [a-z] [^"]* "\\""',
    "counted names": 'root ::= "\\"" [a-zA-Z0-9]{2,7} "\\"" "a"',
    "counted, told apart": 'root ::= ("\\"" [ac7é]{2,9} | "7" [^a"]{3,}) ("\\"" | " b")',
}
SWITCHES = {
    "all": Options(),
    "walks without stretches": Options.laboratory(walk_shortcuts=False),
    "short walks": Options.laboratory(direct_limit=8, differential_from=0),
    "token sets": Options.laboratory(direct_limit=0, differential_from=0),
    "token sets, nothing inlined": Options.laboratory(
        direct_limit=0, differential_from=0, inline_limit=0, unroll_limit=0
    ),
    "without walk shortcuts": Options.laboratory(direct_limit=0, differential_from=0, walk_shortcuts=False),
    "without differences": Options.laboratory(direct_limit=0, differential_masks=False),
    "neither": Options.laboratory(direct_limit=0, differential_masks=False, walk_shortcuts=False),
    "nothing remembered": Options.laboratory(direct_limit=0, memoize_sets=False),
    "lookahead": Options.laboratory(direct_limit=0, lookahead=True),
}
COMPILERS = {name: GrammarCompiler(INFO, options=options) for name, options in SWITCHES.items()}
NAIVE = GrammarCompiler(INFO, options=Options(parser="naive"))


@pytest.mark.parametrize("name", GRAMMARS)
# For each of the grammars.
@examples(0.4)
@given(data=st.data())
def test_shortcuts_change_no_mask(name: str, data: st.DataObject) -> None:
    grammar = Grammar.from_ebnf(GRAMMARS[name])
    plain = GrammarMatcher(NAIVE.compile_grammar(grammar))
    others = {switch: GrammarMatcher(compiler.compile_grammar(grammar)) for switch, compiler in COMPILERS.items()}
    follow(plain, others, data, steps=6)


# What several parts of the vocabulary begin with is walked in each.
@pytest.mark.parametrize(("source", "share"), [(r'root ::= [^"]* "\""', 0.7), ("root ::= [a-zA-Z0-9]{,8}", 0.4)])
def test_walk_shortcuts_leave_most_unvisited(source: str, share: float) -> None:
    """Most of a string, and kinds of bytes that are walked as one."""
    steps = {}
    for shortcuts in (False, True):
        options = Options.laboratory(direct_limit=0, walk_shortcuts=shortcuts, cross_grammar_cache=False)
        compiled = GrammarCompiler(INFO, options=options).compile_grammar(source)
        mask(GrammarMatcher(compiled))
        steps[shortcuts] = compiled.masks.counters()["nodes_walked"]
    assert steps[True] < share * steps[False]


@pytest.mark.parametrize("name", ["letters told apart", "a search", "counted, told apart", "string", "no white space"])
def test_equal_masks_are_found_to_be_equal(name: str) -> None:
    """What is accepted is counted once, though plain tokens and others are walked apart."""
    options = Options.laboratory(direct_limit=0, differential_masks=False, cross_grammar_cache=False)
    compiled = GrammarCompiler(INFO, options=options).compile_grammar(Grammar.from_ebnf(GRAMMARS[name]))
    stop = len(INFO.decoded_vocab) - 1
    found = set()
    for text in product([b"", b'"', b"a", b"b", b"7", "é".encode(), b"\xe2"], repeat=3):
        matcher = GrammarMatcher(compiled)
        if matcher.accept_string(b"".join(text)):
            found.add(frozenset(mask(matcher) - {stop}))
    assert compiled.masks.counters()["distinct_masks"] == len(found)


DIGITS = tokenizer(
    [b"".join(parts) for length in (1, 2, 3) for parts in product([b"%d" % n for n in range(10)], repeat=length)]
    + [
        b'"' + b"".join(parts)
        for length in (0, 1, 2, 3)
        for parts in product([b"a", b"b", b"c", b'"', b"1"], repeat=length)
    ]
    + [b" " * n for n in range(1, 80)]
    + [b" ", b".", b"-", b"a", b"b", b"-1", b".5", b"1.", b"a1", b" 12", b'," ', b" -"]
)
VALUES = r"""root ::= "{" ws pair (ws "," ws pair)* ws "}"
    pair ::= "a" ws ":" ws (number | text) | "b:" ws [0-9]{2,4} | "c:" ws "12" [0-9]* "1"
    number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)?
    text ::= "\"" [a-c1]* "\""
    ws ::= [ \n]{0,99}"""


@pytest.mark.parametrize("pool_bytes", [1 << 28, 1])
def test_self_loops_and_unions_are_shared_and_change_no_mask(pool_bytes: int) -> None:
    texts = [b'{ a : -120.55 , a:"ab1" }', b'{b:1234,c:1211111,a: "" }']
    naive = GrammarCompiler(DIGITS, options=Options(parser="naive"))
    compiler = GrammarCompiler(DIGITS, options=Options(pool_bytes=pool_bytes))
    sizes = []
    for source in (VALUES, VALUES.replace("pair", "member")):
        grammar = Grammar.from_ebnf(source)
        for text in texts:
            plain, quick = (GrammarMatcher(which.compile_grammar(grammar)) for which in (naive, compiler))
            for byte in text:
                assert mask(quick) == mask(plain), plain.text
                assert plain.accept_string(bytes([byte]))
                assert quick.accept_string(bytes([byte]))
        sizes.append((len(compiler.pool.trie.self_loops), len(compiler.pool.unions)))
    assert sizes[0] == sizes[1]
    assert min(sizes[0]) > 0


def test_unions_hold_no_token_sets() -> None:
    """What a grammar holds alone is counted in full, and a set that two hold, in halves."""

    def held() -> tuple[int, int]:
        compiler = GrammarCompiler(
            DIGITS, options=Options.laboratory(pool_bytes=1, direct_limit=0)
        )  # the pool keeps nothing
        made = compiler.compile_grammar(VALUES)
        matcher = GrammarMatcher(made)
        for byte in b'{ a : -120.55 , a:"ab1" }':
            mask(matcher)
            assert matcher.accept_string(bytes([byte]))
        return int(made.masks.counters()["token_set_bytes"]), len(compiler.pool.unions)

    united, count = held()
    with without("row unions"):
        apart, none = held()
    assert (count > 0, none) == (True, 0)
    assert united == apart


# Rows of nearly everything lack the few tokens that hold what their class leaves out.
LETTERS = "abcdefghijklmnopqrstuvw0123456789+-*/"
NEARLY_ALL = tokenizer(
    [*(f"{one}{two}".encode() for one in LETTERS for two in ["", *LETTERS]), *b"x y z ax xb xy yx zy".split()]
)


@pytest.mark.parametrize(("one", "other"), list(combinations(["x", "y", "xy", "yz", "xyz"], 2)))
def test_what_one_row_lacks_and_another_has_is_in_their_union(one: str, other: str) -> None:
    grammar = Grammar.from_ebnf(f'root ::= l "!" | r "!"\nl ::= [^{one}]*\nr ::= [^{other}]*')
    naive = GrammarMatcher(GrammarCompiler(NEARLY_ALL, options=Options(parser="naive")).compile_grammar(grammar))
    compiler = GrammarCompiler(NEARLY_ALL, options=Options.laboratory(direct_limit=0, inline_limit=0))
    matcher = GrammarMatcher(compiler.compile_grammar(grammar))
    for byte in b"a0":
        assert mask(matcher) == mask(naive)
        assert naive.accept_string(bytes([byte]))
        assert matcher.accept_string(bytes([byte]))
    assert len(compiler.pool.unions) > 0


WIDE_INFO = tokenizer([bytes([byte]) for byte in range(256)] + [b"%05d" % n for n in range(FROM_TOKENS)] + VOCAB[:600])
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "number"},
        "d": {"type": "string", "pattern": "^[a-m][^q]*$"},
    },
    "required": ["a"],
}
TEXT = b'{"a": "00017 bb", "b": 12, "d": "az", "c": [ "x"]}'


def masks_along(compiler: GrammarCompiler, text: bytes) -> list[set[int]]:
    matcher = GrammarMatcher(compiler.compile_json_schema(SCHEMA))
    found = [mask(matcher)]
    for byte in text:
        assert matcher.accept_string(bytes([byte]))
        found.append(mask(matcher))
    return found


@pytest.mark.parametrize("limits", [{}, {"minLength": 1}, {"maxLength": 40}, {"pattern": "^[a-z]+[0-9]*$"}])
def test_a_string_is_one_string_whatever_else_its_schema_says(limits: dict[str, object]) -> None:
    compiler = GrammarCompiler(WIDE_INFO, options=Options.laboratory(warm_start=False, direct_limit=0))
    misses = []
    for name, string in (("a", {"type": "string"} | limits), ("bb", {"title": "t"} | limits | {"type": "string"})):
        schema = {"type": "object", "title": name, "properties": {name: string}, "required": [name]}
        matcher = GrammarMatcher(compiler.compile_json_schema(schema))
        assert matcher.accept_string(f'{{"{name}": "'.encode())
        mask(matcher)
        misses.append(matcher.compiled.cache_stats().token_set_misses)
    assert misses[0] > 0 == misses[1]


def test_a_warm_start_changes_no_mask_and_spares_walks() -> None:
    plain = GrammarCompiler(WIDE_INFO, options=Options(warm_start=False))
    warm = GrammarCompiler(WIDE_INFO)
    assert len(plain.pool) == 0 < len(warm.pool)
    assert masks_along(warm, TEXT) == masks_along(plain, TEXT)
    assert warm.pool.hits > plain.pool.hits
    assert warm.pool.misses < plain.pool.misses


def test_later_compilers_take_the_same_warm_start(tmp_path: Path) -> None:
    first = GrammarCompiler(WIDE_INFO)
    held = len(first.pool)
    masks_along(first, TEXT)
    assert len(first.pool) > held
    later = GrammarCompiler(WIDE_INFO)
    assert len(later.pool) == held  # not what the first one found since
    assert len(GrammarCompiler(WIDE_INFO, options=Options(pool_bytes=1)).pool) == 0  # no entry above its budget
    assert later.pool is not first.pool
    # A file of another key replaces what was adopted.
    other = GrammarCompiler(WIDE_INFO, options=Options(warm_start=False))
    masks_along(other, TEXT)
    saved = other.save_pool(tmp_path / "pool")
    later.load_pool(tmp_path / "pool")
    assert len(later.pool) == saved
    assert masks_along(later, TEXT) == masks_along(other, TEXT)
    assert later.pool.misses == 0


def test_a_vocabulary_without_json_starts_all_the_same() -> None:
    letters = [bytes(word) for word in product(b"abcdefghijklmnopqrstu", repeat=3)][:FROM_TOKENS]
    info = tokenizer(letters)
    matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar(Grammar.from_regex("(abc|aba)+")))
    assert mask(matcher) == {letters.index(b"abc"), letters.index(b"aba")}


def test_small_vocabularies_start_cold() -> None:
    assert len(GrammarCompiler(INFO).pool) == 0


def test_memory_of_parser_states_is_used_again() -> None:
    compiler = GrammarCompiler(INFO, cache_enabled=False)
    reserve(1 << 20)
    before = spare_bytes()
    assert before >= 1 << 20
    compiled = compiler.compile_grammar('root ::= "a" root "b" | ""')
    assert compiled.cache_stats().arena_bytes == 1 << 12  # few states take few bytes
    assert spare_bytes() == before
    matcher = GrammarMatcher(compiled)
    assert matcher.accept_string("a" * 2000)
    assert compiled.cache_stats().arena_bytes > 1 << 17
    assert spare_bytes() < before
    del compiled, matcher
    gc.collect()
    assert spare_bytes() >= before


def test_the_mask_of_free_text_lowers_no_call() -> None:
    content = {"type": "json_schema", "json_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    tags = [{"type": "tag", "begin": f"<7{name}", "content": content, "end": "</7>"} for name in "abZ"]
    dispatch = {"type": "triggered_tags", "triggers": ["<7"], "tags": tags}
    compiled = GrammarCompiler(INFO).compile_structural_tag({"type": "structural_tag", "format": dispatch})
    matcher = GrammarMatcher(compiled)
    lowering = compiled.machine.tables.lowering

    def lowered() -> int:
        return sum(rule.nfa is not None for rule in lowering.rules)

    assert len(mask(matcher)) > 2_000
    assert compiled.masks.strategies(matcher.set_number) == ("vocabulary walk",)
    assert lowered() == 1
    assert matcher.accept_string("a<7")
    assert lowered() > 1
    assert mask(matcher) == {list(dict.fromkeys(VOCAB)).index(name) for name in (b"a", b"b", b"Z")}


@pytest.mark.parametrize(
    ("trigger", "share"), [('"ab7', 0.8), ('\\"a', 0.75), ('b"a', 0.75), ('é"b', 0.77), ('b7"aa"bbb', 0.75), ("ab7", 1)]
)
def test_tags_in_free_text_are_looked_for_where_their_delimiters_are(trigger: str, share: float) -> None:
    """In each part of the vocabulary by itself: most hold no quote."""
    inside = {"type": "tag", "begin": trigger, "content": {"type": "regex", "pattern": "[ab]+7"}, "end": "c"}
    form = {"type": "triggered_tags", "triggers": [trigger], "tags": [inside]}
    compiled = {
        options: GrammarCompiler(INFO, options=options).compile_structural_tag(
            {"type": "structural_tag", "format": form}
        )
        for options in (Options(), Options.laboratory(walk_shortcuts=False), NAIVE.options)
    }
    matchers = [GrammarMatcher(one) for one in compiled.values()]
    first, *others = [mask(matcher) for matcher in matchers]
    assert others == [first, first]
    quick, plain, _ = (one.masks.counters()["nodes_walked"] for one in compiled.values())
    assert quick <= share * plain
    for letter in ("7", *trigger):
        assert all(matcher.accept_string(letter) for matcher in matchers)
        first, *others = [mask(matcher) for matcher in matchers]
        assert others == [first, first]
