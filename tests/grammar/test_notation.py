"""A text in another notation than its reader's: the message says which, and how to bring it over."""

from collections.abc import Callable

import pytest

from kernels_core.errors import GrammarError
from kernels_core.grammar import Grammar
from kernels_core.grammar.notation import explained

EBNF, LARK, SCHEMA, TAG = Grammar.from_ebnf, Grammar.from_lark, Grammar.from_json_schema, Grammar.from_structural_tag


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (EBNF, "grammars/answer.gbnf", "the name of a file: pass the text that is in it"),
        (LARK, "answer.lark", "the name of a file"),
        (SCHEMA, "schema.json", "the name of a file"),
        (TAG, "tag.json", "the name of a file"),
        (SCHEMA, '\ufeff{"type": "string"}', "byte order mark: read its file with"),
        (EBNF, '```gbnf\nroot ::= "a"\n```', "Markdown: take what stands between its lines"),
        (LARK, '```\nstart: "a"\n```', "Markdown"),
        (SCHEMA, '```json\n{"type": "string"}\n```', "Markdown"),
        (EBNF, '<?xml version="1.0"?>\n<schema/>', "XML or Protocol Buffers"),
        (EBNF, 'syntax = "proto3";\nmessage Answer { string text = 1; }', "XML or Protocol Buffers"),
        (LARK, "class City(BaseModel):\n    name: str\n", "Python: pass the class itself"),
        (LARK, "from pydantic import BaseModel\n\nclass City(BaseModel):\n    name: str\n", "Python"),
        (LARK, "export type City = {\n  name: string;\n}", "TypeScript or GraphQL: write a JSON schema"),
        (EBNF, "const City = z.object({\n  name: z.string(),\n})", "TypeScript"),
        (LARK, "type City {\n  name: String!\n}", "TypeScript or GraphQL"),
        (EBNF, 'type Unit = "C" | "F";\nenum Sky {\n  Rain = 1,\n  Sun = 2\n};', "TypeScript or GraphQL"),
        (EBNF, "z.object({\n  name: z.string(),\n})", "TypeScript or GraphQL"),
        (EBNF, "curl http://localhost:8000/v1/chat/completions \\\n  -d '{}'", "a command of curl: take the JSON"),
        (EBNF, '{"type": "string"}', "JSON: read it as a JSON schema"),
        (LARK, '[{"begin": "<a>"}]', "JSON"),
        (
            LARK,
            "grammar Sums;\nsum : INT ('+' INT)* ;\nINT : [0-9]+ ;\nWS : [ \\t]+ -> skip ;",
            "ANTLR: bring it to Lark",
        ),
        (EBNF, "lexer grammar Words;\nWORD : [a-z]+ ;", "ANTLR"),
        (EBNF, 'module.exports = grammar({\n  name: "sums",\n});', "tree-sitter"),
        (LARK, "%token INT\n%%\nsum: INT '+' INT { $$ = $1 + $3; } ;", "yacc: bring it to Lark"),
        (LARK, "type: object\nproperties:\n  city:\n    type: string\n", "YAML: write it as JSON, or pass in Python"),
        (SCHEMA, "type: object\nrequired: [city]\n", "YAML"),
        (EBNF, '<sum> ::= <digit> "+" <digit>\n<digit> ::= "0" | "1"', "BNF with <name>: for EBNF write names without"),
        (EBNF, "start: NUMBER\nNUMBER: /[0-9]+/", "Lark: read it as such"),
        (SCHEMA, "%import common.INT\nstart: INT", "Lark"),
        (LARK, 'root ::= "a" | "b"', "EBNF: read it as such"),
        (SCHEMA, 'root ::= "a" | "b"', "EBNF"),
        (EBNF, "Sum <- Term (('+' / '-') Term)*\nTerm <- [0-9]+", "a parsing expression grammar"),
        (EBNF, 'date = 4DIGIT "-" 2DIGIT\nDIGIT = %x30-39', "ABNF: for EBNF write ::= for ="),
        (EBNF, 'list = item *("," item)\nitem = 1*ALPHA ; letters', "ABNF"),
        (EBNF, '(* sums *)\nsum = digit , { "+" , digit } ;\ndigit = "0" | "1" ;', "ISO's EBNF: write ::= for ="),
        (EBNF, 'date part = digit , digit ;\ndigit = "0" | "1" ;', "ISO's EBNF"),
        (EBNF, 'type x = name , { "," , name } ;\nname = "a" | "b" ;', "ISO's EBNF"),
        (EBNF, 'enum = "a" | { "b" } ;\ntype of it = enum ;\nconst x = "c" ;', "ISO's EBNF"),
    ],
)
def test_a_text_in_another_notation_is_told(read: Callable[[str], Grammar], text: str, said: str) -> None:
    with pytest.raises(GrammarError, match=f"; the text looks like .*{said}") as caught:
        read(text)
    error = caught.value
    assert error.source == text
    assert error.offset is not None


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (EBNF, 'root ::= "a" | "b'),
        (EBNF, 'root ::= "type: object" x'),
        (EBNF, "just some words"),
        (EBNF, 'type ::= "class" x\nclass ::= type {'),
        (LARK, 'type: "a"\nclass: type "const" {'),
        (LARK, 'start: "a" | "b'),
        (LARK, 'start: %json {\n  "properties": {"a": {\n    "type": "string"\n  }}\n}\n x'),
        (LARK, "a: b\nb: /c/"),
        (SCHEMA, '{"type": "string"'),
        (SCHEMA, "[1, 2"),
        (TAG, "hello"),
    ],
)
def test_a_text_in_its_own_notation_is_not(read: Callable[[str], Grammar], text: str) -> None:
    with pytest.raises(GrammarError) as caught:
        read(text)
    assert "looks like" not in str(caught.value)


def test_errors_that_have_no_text_stay_as_they_are() -> None:
    for error in (GrammarError("no text"), GrammarError("a pattern", "root ::= x", 0, language="regex")):
        assert explained(error) is error
