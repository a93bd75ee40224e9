"""Captures and temperatures of rules, along texts."""

import torch
import xgrammar as xgr

compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(["a", "b", "</s>", "1", "2", "12", "x", "y", ","]))
CAPTURES = [
    ('root ::= "x" n "y"\nn[capture="num"] ::= [0-9]+', ["x", "1", "2", "y"]),
    ('root ::= n ("," n)*\nn[capture="num"] ::= [0-9]+', ["1", "2", ",", "12"]),
    ('root ::= "x" a "y"\na[capture="A"] ::= "1" b\nb[capture] ::= "2"+', ["x12", "2", "y"]),
    ('root ::= a | b\na[capture="A"] ::= "12"\nb[capture="B"] ::= "1" "2"+', ["1", "2", "2"]),
    ('root ::= a "x" | "1" "y"\na[capture="A"] ::= "1"', ["1", "y"]),
    ('root[capture="R"] ::= [a-z]+', ["a", "b"]),
    ('root ::= "x" e "y"\ne[capture="E"] ::= "a"*', ["x", "y"]),
    ('root ::= x "y"\nx[capture="X"] ::= "1" (z "1")*\nz[capture="Z"] ::= "2"', ["1", "2", "1", "y"]),
    ('root ::= n\nn[capture="N"] ::= "a" Token(4) "b"', [0, 4, 1]),
    ('root ::= n "," n\nn[capture="N"] ::= m\nm[capture="M"] ::= [0-9]', ["1", ",", "2"]),
    ('root ::= TagDispatch(("x", n))\nn[capture] ::= "1"{2,300} "y"', ["ax", "111", "1y", "x11y"]),
]
TEMPERATURES = [
    ('root ::= "x" n "y"\nn[temperature=0.5] ::= "1" "2" "1"', ["x", "1", "2", "1", "y"]),
    (
        'root[temperature=1.5] ::= "x" n "y"\nn[temperature=0.5] ::= "1" m "1"\nm ::= "22"',
        ["x", "1", "2", "2", "1", "y"],
    ),
    ('root ::= "x" n* "y"\nn[temperature=0.5] ::= "1"', ["x", "1", "1", "y"]),
    ('root ::= a | b\na[temperature=0.5] ::= "12"\nb[temperature=0.75] ::= "11"', ["1", "2"]),
    ('root ::= n ("," n)*\nn[temperature=0.5] ::= m | "x"\nm[temperature=0.75] ::= "1" "2"', ["1", "2", ",", "x"]),
    ('root ::= l\nl[temperature=0.5] ::= l "1" | "1"', ["1", "1"]),
]

RESULT = []
for grammar, steps in CAPTURES:
    matcher = xgr.GrammarMatcher(compiler.compile_grammar(grammar))
    for step in steps:
        assert matcher.accept_token(step) if isinstance(step, int) else matcher.accept_string(step)
        for found in (matcher.get_captures(), matcher.get_captures(deduplicate=False)):
            RESULT.append([(name, text.decode()) for name, text in found])
    matcher.rollback(1)
    RESULT.append([name for name, _ in matcher.fork().get_captures()])
    matcher.reset()
    RESULT.append(matcher.get_captures())
for grammar, steps in TEMPERATURES:
    matcher = xgr.GrammarMatcher(compiler.compile_grammar(grammar), default_temperature=0.25)
    RESULT.append(matcher.temperature)
    for step in steps:
        assert matcher.accept_string(step)
        RESULT.append((matcher.temperature, matcher.fork().temperature))

grammar = 'root ::= "a" ("b" | n) "x"\nn[temperature=0.5] ::= "1" "2"'
plain, noted = (xgr.GrammarMatcher(compiler.compile_grammar(text)) for text in ('root ::= "a" "b"', grammar))
assert plain.accept_token(0)
assert noted.accept_token(0)
temperatures = torch.zeros(3)
xgr.BatchGrammarMatcher.batch_fill_temperature([plain, noted], temperatures, [2, 0])
RESULT.append(temperatures.tolist())
child, sibling = torch.tensor([1, 3, -1, 4, -1, -1]), torch.tensor([-1, 2, -1, -1, -1, -1])
rows, temperatures = torch.zeros(6, 1, dtype=torch.int32), torch.zeros(6)
RESULT.append(noted.traverse_draft_tree(child, sibling, torch.tensor([0, 3, 1, 4, 6, 0]), rows, -1.0, temperatures))
RESULT.append(temperatures.tolist())
