"""Size and depth: nothing recurses, nothing is quadratic, and what is too deep is said at the parenthesis."""

import pickle
from collections.abc import Callable
from functools import partial

import pytest

from kernels_core import TimeLimit
from kernels_core.errors import BudgetExceededError, GrammarError, GrammarSyntaxError
from kernels_core.grammar import Grammar, analysis
from kernels_core.grammar.ir import Choice, GrammarIR, Literal, Node, Repeat, Rule, RuleRef, Seq
from tests.work import calls


def nested(depth: int) -> str:
    """An alternating group that no normal form can flatten."""
    return "root ::= " + '("a" | "b" (' * (depth // 2) + '"c"' + ')? "d")+' * (depth // 2)


def test_the_deepest_nesting_works_throughout() -> None:
    grammar = Grammar.from_ebnf(nested(1000))
    again = Grammar.from_ebnf(str(grammar))
    assert again == grammar
    assert hash(again) == hash(grammar)
    assert pickle.loads(pickle.dumps(grammar)) == grammar
    assert len(repr(grammar)) < 200


@pytest.mark.parametrize("text", [nested(1002), nested(10_000), "root ::= " + "(" * 10_000 + '"a"' + ")" * 10_000])
def test_deeper_is_an_error_at_the_parenthesis(text: str) -> None:
    with pytest.raises(GrammarSyntaxError, match="deeper than 1,000") as caught:
        Grammar.from_ebnf(text)
    assert caught.value.offset == [i for i, character in enumerate(text) if character == "("][1000]


def test_deeper_regex_groups_too() -> None:
    assert Grammar.from_regex("(" * 1000 + "a" + ")" * 1000) == Grammar.from_regex("a")
    for pattern in ("(" * 10_000 + "a" + ")" * 10_000, "(?:a|b" * 10_000 + ")*" * 10_000):
        with pytest.raises(GrammarSyntaxError, match="deeper than 1,000") as caught:
            Grammar.from_regex(pattern)
        assert caught.value.offset == [i for i, character in enumerate(pattern) if character == "("][1000]


def test_the_deepest_regex_prints_and_returns() -> None:
    grammar = Grammar.from_regex("(?:b{2}|" * 999 + "a" + ")*x" * 999 + "|")
    assert Grammar.from_ebnf(str(grammar)) == grammar


def test_trees_built_by_hand_have_the_same_limits() -> None:
    def tree(depth: int) -> Node:
        node: Node = Literal(b"a")
        for _ in range(depth):
            node = Repeat(Seq((node, RuleRef("root"))), 0, 1)
        return node

    def grammar(body: Node) -> Grammar:
        return Grammar(GrammarIR({"root": Rule("root", body)}, "root"))

    deepest = grammar(tree(1000))
    assert Grammar.from_ebnf(str(deepest)) == deepest
    with pytest.raises(GrammarError, match="deeper than 1,000 groups"):
        grammar(tree(1002))
    flat: Node = Literal(b"a")
    for _ in range(20_000):
        flat = Seq((flat, Literal(b"b")))
    with pytest.raises(GrammarError, match="deeper than 4,000 nodes"):
        grammar(flat)


def test_a_small_graph_of_shared_nodes_is_a_large_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(times: int) -> GrammarIR:
        node: Node = Literal(b"a")
        for _ in range(times):
            node = Seq((node, node))
        return GrammarIR({"root": Rule("root", node)}, "root")

    monkeypatch.setattr(analysis, "MAX_NODES", 1000)
    assert str(Grammar(doubled(8))) == f'root ::= "{"a" * 256}"\n'
    with pytest.raises(GrammarError, match="more than 1,000 nodes"):
        Grammar(doubled(9))


def test_a_hundred_thousand_alternatives() -> None:
    words = [f'"w{i}"' for i in range(100_000)]
    body = Grammar.from_ebnf(f"root ::= {' | '.join(words)}").ir.rules["root"].body
    assert isinstance(body, Choice)
    assert len(body.items) == 100_000
    body = Grammar.from_regex("|".join(f"w{i}x?" for i in range(100_000))).ir.rules["root"].body
    assert isinstance(body, Choice)
    assert len(body.items) == 100_000


def test_many_alternatives_print_and_return() -> None:
    grammar = Grammar.from_ebnf("root ::= " + " | ".join(f'"w{i}" x' for i in range(10_000)) + '\nx ::= "y"')
    assert Grammar.from_ebnf(str(grammar)) == grammar


def test_a_long_chain_of_rules() -> None:
    count = 5_000
    links = "\n".join(f'r{i} ::= r{i + 1} | "a" r{i + 1}' for i in range(count))
    chain = f'root ::= r0\n{links}\nr{count} ::= "b"'
    ir = Grammar.from_ebnf(chain).ir
    assert len(ir.rules) == count + 2
    assert analysis.nullable_rules(ir) == frozenset()
    assert len(analysis.components(ir)) == count + 2
    ring = chain.replace(f'r{count} ::= "b"', f'r{count} ::= root | ""')
    ir = Grammar.from_ebnf(ring).ir
    assert analysis.recursive_rules(ir) == analysis.nullable_rules(ir) == frozenset(ir.rules)
    dead = "root ::= r0 | 'a'\n" + "\n".join(f'r{i} ::= "x" r{i + 1}' for i in range(count)) + f"\nr{count} ::= r0"
    assert list(Grammar.from_ebnf(dead).ir.rules) == ["root"]


def assert_linear(read: Callable[[str], object], begin: str, unit: str) -> None:
    """Twice as much text takes twice as many calls."""
    small, large = (calls(partial(read, begin + unit * (size // len(unit))), GrammarError) for size in (10_000, 20_000))
    assert large <= 2.2 * small
    assert large <= 20 * 20_000


EBNF_UNITS = ["[", '"', "(", "a[", "{", "b'", "\\", "'\\", "[a", '"a" |', "(=", "x y", "::=", "{1", "[\\", "#"]


@pytest.mark.parametrize("unit", EBNF_UNITS)
def test_hostile_text_costs_linear_time(unit: str) -> None:
    assert_linear(Grammar.from_ebnf, "root ::= ", unit)


REGEX_UNITS = [*"{[(\\^$|", "(?", "{1", "a{,", "[a-", "a|", "(?i", "\\u{", "\\p{", "{ ", "[:a"]


@pytest.mark.parametrize("unit", REGEX_UNITS)
def test_hostile_patterns_cost_linear_time(unit: str) -> None:
    assert_linear(Grammar.from_regex, "", unit)


def test_ordinary_rules_take_few_calls_per_character() -> None:
    def text(rules: int) -> str:
        lines = [f'rule-{i} ::= "abc{i}" [a-z0-9]* (rule-{i + 1} | "x" "y"{{2,3}})?  # a comment' for i in range(rules)]
        return "root ::= rule-0\n" + "\n".join(lines) + f'\nrule-{rules} ::= "x"'

    small, large = (calls(partial(Grammar.from_ebnf, text(rules))) for rules in (400, 800))
    assert large <= 2.2 * small
    assert large <= 10 * len(text(800))


LONG = {
    "EBNF": lambda: Grammar.from_ebnf("root ::= " + '"b" ' * 500_000),
    "one class of EBNF": lambda: Grammar.from_ebnf("root ::= [" + "abcdefgh" * 250_000 + "]"),
    "escapes of EBNF": lambda: Grammar.from_ebnf('root ::= "' + "\\n" * 500_000 + '"'),
    "bytes of EBNF": lambda: Grammar.from_ebnf('root ::= b"' + "\\x61" * 300_000 + '"'),
    "Lark": lambda: Grammar.from_lark("start: " + '"b" ' * 300_000 + "\n"),
    "comments of Lark": lambda: Grammar.from_lark('start: "b"\n' + "// b\n" * 500_000),
    "a regex": lambda: Grammar.from_regex("a|b" * 500_000),
    "one class of a regex": lambda: Grammar.from_regex("[" + "a-z" * 700_000 + "]"),
    "numbers of a schema": lambda: str(Grammar.from_json_schema('{"enum": [' + "1," * 1_000_000 + "2]}")),
}


@pytest.mark.parametrize("read", LONG.values(), ids=LONG)
def test_reading_ends_at_its_limit(read: Callable[[], object]) -> None:
    """All that is done before the first node is made looks at the clock, too."""

    def limited(looks: int) -> None:
        with TimeLimit(0, looks=looks, where="this test"):
            read()

    with pytest.raises(BudgetExceededError, match="this test"):
        limited(1000)
    assert calls(partial(limited, 0), BudgetExceededError) < 20_000  # Lark compiles its patterns once
    assert calls(partial(limited, 1000), BudgetExceededError) < 20_000 + 20 * 1000
