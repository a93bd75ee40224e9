"""The `Grammar` object: normal form, identity, printing and combination; the language is never touched."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core.errors import GrammarError
from kernels_core.grammar import Grammar, analysis
from kernels_core.grammar.ir import CharSet, GrammarIR, Literal, Node, Repeat, Rule, RuleRef, Seq
from tests.reference import Recogniser
from tests.strategies import grammars, texts


def made(ir: GrammarIR) -> Grammar | None:
    """The grammar of an IR, or None (after a check that this is right) where the language is empty."""
    if ir.root in analysis.productive_rules(ir):
        return Grammar(ir)
    with pytest.raises(GrammarError, match="matches no text"):
        Grammar(ir)
    return None


@given(grammars())
def test_printing_and_parsing_is_the_identity(ir: GrammarIR) -> None:
    grammar = made(ir)
    if grammar is not None:
        again = Grammar.from_ebnf(str(grammar), root_rule_name=ir.root)
        assert again.ir.rules == grammar.ir.rules
        assert list(again.ir.rules) == list(grammar.ir.rules)
        assert str(again) == str(grammar)
        assert again == grammar
        assert hash(again) == hash(grammar)
        assert pickle.loads(pickle.dumps(grammar)) == grammar


@given(grammars(), st.data())
def test_normal_form_keeps_the_language_and_its_beginnings(ir: GrammarIR, data: st.DataObject) -> None:
    grammar = made(ir)
    if grammar is not None:
        before, after = Recogniser(ir), Recogniser(grammar.ir)
        for _ in range(3):
            text = data.draw(texts(before))
            assert before.accepts(text) == after.accepts(text)
            assert before.prefix_ok(text) == after.prefix_ok(text)


@given(grammars())
def test_normal_form_has_no_dead_or_idle_rules(ir: GrammarIR) -> None:
    grammar = made(ir)
    if grammar is not None:
        names = list(grammar.ir.rules)
        assert names == list(analysis.reachable_rules(grammar.ir))
        assert analysis.productive_rules(grammar.ir) == set(names)
        assert Grammar(grammar.ir).ir.rules == grammar.ir.rules
        assert analysis.normal_form(grammar.ir, trusted=True).rules == grammar.ir.rules


@given(grammars(max_rules=2), grammars(max_rules=2), st.data())
def test_concat_and_union(left_ir: GrammarIR, right_ir: GrammarIR, data: st.DataObject) -> None:
    left, right = made(left_ir), made(right_ir)
    if left is None or right is None:
        return
    one, two = Recogniser(left.ir), Recogniser(right.ir)
    either, both = Recogniser(Grammar.union(left, right).ir), Recogniser(Grammar.concat(left, right).ir)
    text = data.draw(texts(one, max_size=4)) + data.draw(texts(two, max_size=4))
    assert either.accepts(text) == (one.accepts(text) or two.accepts(text))
    assert both.accepts(text) == any(
        one.accepts(text[:cut]) and two.accepts(text[cut:]) for cut in range(len(text) + 1)
    )


def test_combining_renames_and_shares() -> None:
    digits, word = Grammar.from_ebnf("root ::= d+\nd ::= [0-9]"), Grammar.from_ebnf('root ::= d\nd ::= "x"')
    twice = Grammar.concat(digits, word, digits)
    assert str(twice) == ('root ::= root_1 root_2 root_1\nroot_1 ::= d+\nd ::= [0-9]\nroot_2 ::= d_1\nd_1 ::= "x"\n')
    assert twice.source[twice.ir.rules["d_1"].span.start :].startswith("d_1 ::=")  # type: ignore[union-attr]
    assert Grammar.union(digits) is digits
    assert Grammar.union(digits, digits) == Grammar.from_ebnf("root ::= root_1\nroot_1 ::= d+\nd ::= [0-9]")
    with pytest.raises(GrammarError, match="at least one"):
        Grammar.concat()
    with pytest.raises(TypeError, match="not str"):
        Grammar.union(digits, "root ::= 'a'")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rules", "other", "taken"),
    [
        ('root ::= TagDispatch\nTagDispatch ::= "x"', "root ::= TagDispatch()", b"hello"),
        ('root ::= Substring\nSubstring ::= "x"', 'root ::= Substring("yes")', b"yes"),
        ('root ::= b\nb ::= "x"', 'root ::= b"\\xff"', b"\xff"),
    ],
)
def test_rules_that_are_called_as_macros_are_renamed_beside_others(rules: str, other: str, taken: bytes) -> None:
    one, two = Grammar.from_ebnf(rules), Grammar.from_ebnf(other)
    assert Recogniser(Grammar.union(one, two).ir).accepts(b"x")
    assert Recogniser(Grammar.union(one, two).ir).accepts(taken)
    assert Recogniser(Grammar.concat(one, two).ir).accepts(b"x" + taken)


def test_schemas_and_tags_print_names_of_macros_otherwise() -> None:
    members = {"type": "object", "properties": {"x": {}, "y": {}}}
    schema = Grammar.from_json_schema(
        {"$defs": {"Unordered": members}, "type": "array", "items": {"$ref": "#/$defs/Unordered"}}
    )
    raw = {"type": "grammar", "grammar": 'root ::= b"\\xff" Token(5)'}
    rules = [["b", raw], ["Token", {"type": "const_string", "value": "x"}]]
    tag = Grammar.from_structural_tag({"type": "structural_tag", "format": {"type": "dispatch", "rules": rules}})
    for grammar in (schema, tag):
        assert Grammar.from_ebnf(str(grammar)) == grammar


def test_equality_is_by_content() -> None:
    one = Grammar.from_ebnf("root ::= 'a' 'b' | item\nitem ::= [c-d]  # comment\nunused ::= root")
    two = Grammar.from_ebnf('item ::= [dc]\nroot ::= ("ab") | item')
    assert one == two
    assert hash(one) == hash(two)
    assert one.source != two.source
    assert one != Grammar.from_ebnf('root ::= item | "ab"\nitem ::= [c-d]')
    assert one != "root"
    assert len({one, two, Grammar.from_regex("ab|[cd]")}) == 2


def test_pickle_keeps_source_and_spans() -> None:
    for grammar in [
        Grammar.from_ebnf("start ::= 'a' start | ''", root_rule_name="start"),
        Grammar.from_regex("(?<x>a|B)+", flags="i"),
        Grammar.builtin_json_grammar(),
        Grammar.concat(Grammar.from_regex("a"), Grammar.builtin_json_grammar()),
    ]:
        for twin in (pickle.loads(pickle.dumps(grammar)), copy.deepcopy(grammar)):
            assert twin == grammar
            assert twin.source == grammar.source
            assert [rule.span for rule in twin.ir.rules.values()] == [rule.span for rule in grammar.ir.rules.values()]


def test_repr_is_one_line() -> None:
    grammar = Grammar.from_ebnf("root ::= " + " | ".join(f'"alternative {i}"' for i in range(50)))
    assert "\n" not in repr(grammar)
    assert len(repr(grammar)) < 120
    assert repr(Grammar.from_ebnf("root ::= 'a' x\nx ::= 'b'")) == '<Grammar root (2 rules): "a" x>'


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("root ::= ('a' | 'b')?", 'root ::= "a" | "b" | ""'),
        ("root ::= ('a' | 'b')? 'c'", 'root ::= ("a" | "b")? "c"'),
        ("root ::= ('a'{2})* ('b'+)?", 'root ::= ("a"{2})* "b"*'),
        ("root ::= 'a'{3,} 'b'{2,4} 'c'{5}", 'root ::= "a"{3,} "b"{2,4} "c"{5}'),
        (r'root ::= "\"\\\n\u0001é\U000e0001\u0085"', r'root ::= "\"\\\n\u0001é\U000e0001\u0085"'),
        (r"root ::= b'\xc3' 'a\"'", r'root ::= b"\xc3a\""'),
        (r"root ::= [\]\[^\-\\ab\n]", r"root ::= [\n\-\[-\^ab]"),
        ("root ::= [^a-z]", "root ::= [^a-z]"),
        (r"root ::= [^\ud800-\udfff]", "root ::= [^]"),
        (r"root ::= b[^\x80-\x8f\"]", r"root ::= b[\x00-!#-\x7f\x90-\xff]"),
    ],
)
def test_printed_form(text: str, printed: str) -> None:
    assert str(Grammar.from_ebnf(text)) == printed + "\n"


def test_long_rules_are_broken_before_their_alternatives() -> None:
    grammar = Grammar.from_ebnf("root ::= " + " | ".join(f"'word number {i}'" for i in range(9)) + " | ''")
    lines = str(grammar).splitlines()
    assert lines[:2] == ["root ::=", '    "word number 0"']
    assert lines[-1] == '  | ""'
    assert Grammar.from_ebnf(str(grammar)) == grammar


@pytest.mark.parametrize(
    ("root", "rules", "message"),
    [
        ("root", {"a": Literal(b"x")}, "no root rule called 'root'"),
        ("root", {"root": RuleRef("rot")}, "did you mean|no rule called 'rot'"),
        ("1", {"1": Literal(b"x")}, "cannot be a rule name"),
        ("a b", {"a b": Literal(b"x")}, "cannot be a rule name"),
        ("root", {"root": CharSet(((5, 4),))}, "not within"),
        ("root", {"root": CharSet(((0, 0x110000),))}, "not within"),
        ("root", {"root": Repeat(Literal(b"x"), 3, 2)}, "repeat bounds"),
        ("root", {"root": Literal(b"")}, "an empty Literal"),
        ("root", {"root": Repeat(Seq(()), 0, 1)}, "an empty Seq"),
    ],
)
def test_an_ir_built_by_hand_is_checked(root: str, rules: dict[str, Node], message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        Grammar(GrammarIR({name: Rule(name, body) for name, body in rules.items()}, root))


def test_a_misfiled_rule_is_an_error() -> None:
    with pytest.raises(GrammarError, match="filed under"):
        Grammar(GrammarIR({"root": Rule("other", Literal(b"x"))}, "root"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
ANY_JSON = Recogniser(Grammar.builtin_json_grammar().ir)


@given(JSON, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_json_grammar_takes_what_json_writes(value: object, ascii_only: bool, indent: int | str | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    try:
        spelt = text.encode()
    except UnicodeEncodeError:
        return
    assert ANY_JSON.accepts(spelt)
    assert ANY_JSON.prefix_ok(spelt[: len(spelt) // 2])


def strictly_json(text: str) -> bool:
    def refuse(_: str) -> None:
        raise ValueError

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return text == text.strip(" \t\n\r")


PIECES = [*'{}[],:"10-.e \n\\', '"a"', "E+", "true", "nul", "null", "\\n", "\\u00e9"]


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
def test_json_grammar_takes_nothing_else(text: str) -> None:
    assert ANY_JSON.accepts(text.encode()) == strictly_json(text)
