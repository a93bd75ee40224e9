"""Requests made to hurt, under the limits that everybody has: each is answered, or refused by name, and soon.

Every case runs in a process of its own, with little processor time and memory, so that a loop that is not under a
limit, or one that eats memory, is a failure and no stuck run.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 40  # of processor time: some times the sum of all limits that one case may use up
BYTES = 3 << 30  # of address space

CHILD = """
import sys
from kernels_core import *

words = [bytes((byte,)) for byte in range(256)] + [b"ab", b"aab", b"((", b"a" * 30, b'{"', b'":', b"true", b"1234"]
info = TokenizerInfo([*words, b"<stop>"], stop_token_ids=[len(words)])
compiler = GrammarCompiler(info, options=Options(max_compile_ms=500))
NESTED = r"((c|ab|\\bd){3,30}){3,30}"


def follow(compiled, text):
    matcher = GrammarMatcher(compiled)
    rows = allocate_token_bitmask(1, info.vocab_size)
    for byte in text.encode():
        matcher.fill_next_token_bitmask(rows)
        assert matcher.accept_string(bytes((byte,))), matcher.position
    return matcher


def rules(count, body, last):
    lines = [f"r{i} ::= " + body(i) for i in range(count)]
    return "\\n".join(["root ::= r0", *lines, f"r{count} ::= {last}"])


def tag(element):
    return {"type": "structural_tag", "format": element}


def triggers(content):
    begins = [f"<f{i}>" for i in range(10_000)]
    return tag({"type": "triggered_tags", "triggers": begins, "tags": [
        {"begin": begin, "content": content, "end": "</" + begin[1:]} for begin in begins]})


def text(value):
    return {"type": "const_string", "value": value}


def case():
    CASE


try:
    case()
    print("done")
except MaskscopeError as error:
    print(type(error).__name__, " ".join(str(error).split()))
"""

WAYS = "this pattern needs too many ways through its repetitions"
# A name, what is asked, and how the answer begins.  "BudgetExceededError" names the limit that was met.
CASES = [
    (
        "a regex",
        "GrammarCompiler(info).compile_regex(NESTED)",
        f"UnsupportedFeatureError regex, line 1, column 8: {WAYS}",
    ),
    (
        "a schema's pattern",
        r"""follow(compiler.compile_json_schema({"type": "string", "pattern": "^" + NESTED + "$"}), '"')""",
        "BudgetExceededError|UnsupportedSchemaError .* #, pattern: its conditions on strings take too many ways",
    ),
    (
        "a Lark terminal",
        r"""compiler.compile_lark("start: A\nA: /" + NESTED + "/")""",
        f"UnsupportedFeatureError Lark, line 2, column 12: failed to compile regular expression: {WAYS}",
    ),
    (
        "a tag",
        """compiler.compile_structural_tag(tag({"type": "regex", "pattern": NESTED}))""",
        f"UnsupportedFeatureError #/format/pattern: regex, line 1, column 8: {WAYS}",
    ),
    (
        "a regex without a compiler",
        "Grammar.from_regex(NESTED)",
        f"UnsupportedFeatureError regex, line 1, column 8: {WAYS}",
    ),
    (
        "a regex in EBNF",
        r"""compiler.compile_grammar('root ::= Regex("' + NESTED.replace("\\", "\\\\") + '")')""",
        f"UnsupportedFeatureError EBNF, line 1, column 16: {WAYS}",
    ),
    (
        "pattern properties that meet",
        """follow(compiler.compile_json_schema({"patternProperties": {
            f"^.*{letter}.{{2}}$": {"type": kind} for letter, kind in zip("abcdefgh", ["string", "number", "boolean",
            "null", "array", "object", "integer", "string"])}}), '{"a')""",
        "done|BudgetExceededError",
    ),
    (
        "all trees over a thousand letters",
        """follow(compiler.compile_grammar('root ::= root root | "a"'), "a" * 1000)""",
        "done",
    ),
    (
        "rules that are all empty, and call each other",
        """follow(compiler.compile_grammar(rules(60, lambda i: " | ".join(
            f"r{j} r{(i + j) % 60}" for j in range(60)) + ' | "a" | ""', '"b"')), "aaaa")""",
        "done|BudgetExceededError",
    ),
    (
        "a chain to the left",
        """follow(compiler.compile_grammar(rules(4000, lambda i: f'r{i + 1} | r{i} "a"', '"b"')), "baaaa")""",
        "done|BudgetExceededError",
    ),
    ("optional letters", """follow(compiler.compile_grammar("root ::= " + '"a"? ' * 100_000), "aa")""", "done"),
    (
        "optional calls",
        r"""follow(compiler.compile_grammar("root ::= " + "r? " * 100_000 + '\nr ::= "a" | "b" r'), "aa")""",
        "done",
    ),
    (
        "optional elements of a tag",
        """follow(compiler.compile_structural_tag(tag({"type": "sequence", "elements": [
            {"type": "optional", "content": text("a")}] * 100_000})), "aa")""",
        "done",
    ),
    (
        "not one of many strings",
        """follow(compiler.compile_json_schema({"not": {"enum": [f"x{i * 7919}" for i in range(700)]}}), '"x')""",
        "done",
    ),
    (
        "one of two hundred names",
        """follow(compiler.compile_json_schema({"oneOf": [{"required": [f"p{i}"]} for i in range(200)]}),
            '{"p1": 1')""",
        "done",
    ),
    (
        "one of two hundred pairs of names",
        """compiler.compile_json_schema({"oneOf": [{"required": [f"p{i}", f"q{i}"]} for i in range(200)]})""",
        "BudgetExceededError|UnsupportedSchemaError .* #, oneOf: its normal form has more than 256 alternatives",
    ),
    (
        "a hundred thousand items by position",
        """compiler.compile_json_schema({"properties": {"a": {"prefixItems": [{"type": "integer"}] * 100_000}}})""",
        "UnsupportedSchemaError .* #/properties/a, prefixItems: its conditions on items take more than 6,000 states"
        "|BudgetExceededError compiling a JSON schema: more than 500 milliseconds",  # whichever is met first
    ),
    (
        "more items than a text can hold",
        """follow(compiler.compile_json_schema({"properties": {"a": {"type": "array", "minItems": 3_000_000_000}},
            "required": ["a"]}), '{"a": [1')""",
        "UnsupportedSchemaError .* #/properties/a, minItems: minItems must be at most 2,147,483,646",
    ),
    (
        "a bound that nothing reaches",
        """follow(compiler.compile_json_schema({"maxItems": 3_000_000_000, "maxProperties": 1 << 40}), "[1,")""",
        "done",
    ),
    (
        "more members than there are numbers",
        """compiler.compile_json_schema('{"properties": {"a": {"minProperties": 1e400}}, "required": ["a"]}')""",
        "UnsupportedSchemaError .* #/properties/a, minProperties: ",
    ),
    (
        "a number of five million digits",
        """compiler.compile_json_schema('{"items": {"const": 1e-5000000}}')""",
        "UnsupportedSchemaError .* #/items, const: a number has more than 2,000 digits",
    ),
    (
        "a bound of five million digits",
        """compiler.compile_json_schema('{"items": {"minimum": 1e-5000000}}')""",
        "UnsupportedSchemaError .* #/items, minimum: a number has more than 2,000 digits",
    ),
    (
        "a tag that holds itself twice, thirty times",
        """e = text("a")
for _ in range(30):
    e = {"type": "or", "elements": [e, e]}
compiler.compile_structural_tag(tag(e))""",
        "BudgetExceededError a schema or a tag.* more than 16,777,216 bytes of JSON text",
    ),
    (
        "a schema that holds itself twice, thirty times",
        """e = {"const": 1}
for _ in range(30):
    e = {"anyOf": [e, {"items": e}]}
compiler.compile_json_schema(e)""",
        "BudgetExceededError a schema or a tag.* more than 16,777,216 bytes of JSON text",
    ),
    (
        "a schema that holds itself thrice, twelve times",
        """e = {"type": "integer"}
for _ in range(12):
    e = {"not": {"anyOf": [{"items": e}, {"prefixItems": [e, e]}]}}
compiler.compile_json_schema(e)""",
        "BudgetExceededError a schema or a tag.* more than 16,777,216 bytes of JSON text",
    ),
    (
        "ten thousand triggers of free text",
        """follow(compiler.compile_structural_tag(triggers({"type": "any_text"})), "well <f12>x</f12> <f")""",
        "done|BudgetExceededError",
    ),
    (
        "ten thousand triggers of calls",
        """follow(compiler.compile_structural_tag(triggers({"type": "json_schema", "json_schema": {"type": "object"}})),
            "well <f12>{}</f12> <f")""",
        "done",
    ),
    (
        "five thousand terminals with blanks between them",
        r"""follow(compiler.compile_lark("start: " + " | ".join(f"T{i}" for i in range(5000)) + "\n" + "\n".join(
            f"T{i}: /x{i}[a-z]*/" for i in range(5000)) + "\n%ignore /[ \\t]+/\n"), "x12ab")""",
        "done|BudgetExceededError",
    ),
    (
        "rules that begin with each other, three thousand deep",
        r"""follow(compiler.compile_lark("start: r0\n" + "\n".join(f'r{i}: r{i + 1} | "(" r{i + 1} ")" r{i}'
            for i in range(3000)) + '\nr3000: "a"\n'), "((a")""",
        "done|BudgetExceededError",
    ),
    (
        "letters of many scripts, often",
        r"""follow(compiler.compile_regex(r"(\p{L}|\p{N}[^\p{Lu}]){0,50000}"), "abcé1x")""",
        "done",
    ),
    (
        "letters of many scripts, often and often",
        r"""follow(compiler.compile_json_schema({"type": "string",
            "pattern": r"^(\p{L}{1,300}\p{Nd}{1,300}){1,300}$"}), '"ab1')""",
        "done",
    ),
    (
        "a chain of twenty thousand references",
        """compiler.compile_json_schema({"$ref": "#/$defs/d0", "$defs": {"d20000": {"type": "integer"}} | {
            f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(20_000)}})""",
        "UnsupportedSchemaError .*: schemas are nested too deeply",
    ),
    (
        "references in five thousand circles",
        """compiler.compile_json_schema({"$ref": "#/$defs/d0", "$defs": {f"d{i}": {"anyOf": [
            {"$ref": f"#/$defs/d{(i + 1) % 5000}"}, {"$ref": f"#/$defs/d{i * 7 % 5000}"}, {"const": i}]}
            for i in range(5000)}})""",
        "UnsupportedSchemaError .*: schemas are nested too deeply",
    ),
    (
        "references that double at each of forty steps",
        """follow(compiler.compile_json_schema({"$ref": "#/$defs/d0", "$defs": {"d40": {"type": "integer"}} | {
            f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)}}), "12")""",
        "done",
    ),
    (
        "three hundred thousand strings",
        """follow(compiler.compile_json_schema({"enum": [f"x{i * 7919}" for i in range(300_000)]}), '"x7919')""",
        "done",
    ),
    (
        "two to the sixteenth objects",
        """compiler.compile_json_schema({"allOf": [{"anyOf": [{"properties": {f"p{i}": {"const": value}},
            "required": [f"p{i}"]} for value in (0, 1)]} for i in range(16)]})""",
        "UnsupportedSchemaError .* #, allOf: its normal form has more than 256 alternatives",
    ),
    (
        "members that ask for schemas in a circle",
        """compiler.compile_json_schema({"dependentSchemas": {f"p{i}": {"required": [f"p{(i * 7 + 1) % 40}"],
            "properties": {f"p{i * 3 % 40}": {"type": "integer"}}} for i in range(40)}})""",
        "UnsupportedSchemaError .* #, dependentSchemas: its normal form has more than 256 alternatives",
    ),
    (
        "forty pattern properties that meet",
        """compiler.compile_json_schema({"patternProperties": {f"a{{{i},{i + 9}}}.*b": {"minimum": i}
            for i in range(40)}})""",
        "BudgetExceededError compiling a JSON schema: more than 500 milliseconds",
    ),
    (
        "exactly one of two hundred patterns",
        """compiler.compile_json_schema({"oneOf": [{"type": "string", "pattern": f"a{i}.*b"} for i in range(200)]})""",
        "BudgetExceededError compiling a JSON schema: more than 500 milliseconds",
    ),
    (
        "a hundred million ids",
        """TokenizerInfo([b"a"], vocab_size=100_000_000)""",
        "TokenizerError vocab_size is 100,000,000",
    ),
]


def run(script: str, seconds: int = SECONDS) -> str:
    """What a process prints that has `seconds` of processor time and `BYTES` of memory."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))

    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=ROOT,
        check=False,
        preexec_fn=limited,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


@pytest.mark.parametrize(("asked", "answer"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_hostile_requests_are_answered_or_refused_by_name(asked: str, answer: str) -> None:
    found = run(CHILD.replace("CASE", "\n    ".join(asked.splitlines())))
    assert re.match(answer, found), found
