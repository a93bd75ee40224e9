"""Inputs worth changing: texts of each input language, made by a seeded generator, mostly right."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

from experiments.synthetic_schemas import make_tool
from tests.fuzz.strangers import make_request

__all__ = ["SEEDS", "WORDS", "changed", "make_seed"]

_LETTERS: Final = "abc12é日\U0001f600 "

WORDS: Final[dict[str, tuple[str, ...]]] = {
    "ebnf": (
        "::=",
        "root",
        "|",
        "*",
        "+",
        "?",
        "{2,3}",
        "{0,4000000}",
        "(",
        ")",
        "[^",
        "]",
        "\\n",
        '"',
        "Token(3)",
        'Regex("',
        'TagDispatch(("<a>", a))',
        "ExcludeToken(1)",
        "[lazy]",
        "[max_chars=4]",
        "[capture]",
        "#",
        "(=",
        "\\u{110000}",
    ),
    "regex": (
        "{3,30}",
        "{0,}",
        "{65535}",
        "(?:",
        "(?=",
        "(?!",
        "(?<=",
        "(?<!",
        "\\b",
        "\\B",
        "^",
        "$",
        "\\p{L}",
        "\\P{Lu}",
        "[^",
        "]",
        "\\1",
        "(?<n>",
        "\\k<n>",
        "*?",
        "++",
        "|",
        ")",
        "\\u{1f600}",
        "\\ud83d",
        ".*",
        "\\x00",
        "(?i)",
    ),
    "lark": (
        "start:",
        "%ignore",
        "%json {",
        "%lark {\n",
        "%regex {",
        "%import common.INT",
        "%declare",
        "@n",
        "<a>",
        "<[1-5]>",
        "<[^3]>",
        "<[*]>",
        "[lazy]",
        '[suffix="a"]',
        "[stop=A]",
        "[max_tokens=2]",
        "&",
        "~",
        "~2..3",
        "->",
        "?",
        "|",
        "\n",
        "/(?=a)/",
        '"a"i',
        "..",
        "!rule",
    ),
    "schema": (
        '"$ref": "#"',
        '"not": {',
        '"uniqueItems": true',
        '"multipleOf": 0.01',
        '"pattern": "^(a+)+$"',
        "1e400",
        "-0",
        "[]",
        "{}",
        "null",
        '"minItems": 3000000000',
        '"unevaluatedProperties": false',
        '"dependentSchemas"',
        '"contains"',
        '"\\ud800"',
        "true",
    ),
    "tag": (
        '"type": "or"',
        '"type": "sequence"',
        '"type": "triggered_tags"',
        '"type": "tag"',
        '"any_text"',
        '"json_schema"',
        '"end": ""',
        '"excludes": ["a"]',
        '"triggers"',
        '"tool_choice"',
        '"parameters"',
        "[]",
        "null",
        '"token"',
        '"min": 3',
        '"stop_after_first"',
    ),
    "tokenizer": (
        '"rank"',
        '"vocab"',
        '"merges"',
        "PHVuaz4=",
        "-1",
        "1e9",
        "null",
        '"<unk>"',
        "ĠĊ",
        '"added_tokens"',
        "====",
    ),
    "session": (
        '"steps"',
        '"token"',
        '"options"',
        '"place"',
        '"index"',
        "99999999999",
        "null",
        '"bytes"',
        "[]",
        '"version"',
        "-1",
    ),
    "pool": ("\0\0\0\0", "\xff\xff\xff\xff", "{", "}", "1e9"),
    "calls": (),
    "threads": (),
}
"""What is put into inputs beside what stands there."""


def make_seed(target: str, random: Random) -> bytes:
    """An input of a target, most of the time one that is accepted."""
    return SEEDS[target](random)


def changed(target: str, data: bytes, random: Random) -> bytes:
    """`data` after some changes: spans cut, doubled, moved, bytes flipped, words put in."""
    body = bytearray(data)
    for _ in range(1 + int(random.expovariate(0.5))):
        at = random.randrange(len(body) + 1)
        past = min(len(body), at + 1 + int(random.expovariate(0.15)))
        match random.randrange(6):
            case 0:
                del body[at:past]
            case 1:
                body[at:at] = body[at:past] * random.choice((1, 1, 2, 30))
            case 2:
                span = body[at:past]
                del body[at:past]
                to = random.randrange(len(body) + 1)
                body[to:to] = span
            case 3 if body and at < len(body):
                body[at] ^= 1 << random.randrange(8)
            case 4 if WORDS[target]:
                body[at:past] = random.choice(WORDS[target]).encode()
            case _:
                body[at:at] = (random.choice(WORDS[target]) if WORDS[target] else random.choice(_LETTERS)).encode()
    return bytes(body[: 1 << 14])


def _texts(random: Random, most: int = 4) -> str:
    return "".join(random.choices(_LETTERS, k=random.randrange(most)))


# -- EBNF -----------------------------------------------------------------------------------------------------------


def _ebnf(random: Random) -> bytes:
    names = ["root", *(f"r{number}" for number in range(random.randrange(5)))]
    lines = [f"{name} ::= {_ebnf_body(random, names, 3)}" for name in names]
    return "\n".join(lines).encode()


def _ebnf_body(random: Random, names: list[str], depth: int) -> str:
    kind = random.randrange(8 if depth else 3)
    inner = lambda: _ebnf_body(random, names, depth - 1)  # noqa: E731
    match kind:
        case 0:
            return json.dumps(_texts(random), ensure_ascii=False)
        case 1:
            return random.choice(("[a-c]", "[^a-c]", "[é-日]", '[^"\\\\]', "[0-9a]", "[^\\n]"))
        case 2:
            return random.choice(names)
        case 3:
            return " ".join(inner() for _ in range(random.randrange(1, 4)))
        case 4:
            return "(" + " | ".join(inner() for _ in range(random.randrange(1, 4))) + ")"
        case 5:
            low = random.randrange(4)
            return f"({inner()})" + random.choice(
                ("*", "+", "?", f"{{{low},{low + random.randrange(4)}}}", f"{{{low},}}")
            )
        case 6:
            return f"Regex({json.dumps(_regex_text(random, 2))})"
    return random.choice(("Token(3)", f'TagDispatch(("<a>", {random.choice(names)}))', '"" | "a"'))


# -- regular expressions --------------------------------------------------------------------------------------------


def _regex(random: Random) -> bytes:
    return _regex_text(random, 4).encode()


def _regex_text(random: Random, depth: int) -> str:
    inner = lambda: _regex_text(random, depth - 1)  # noqa: E731
    match random.randrange(9 if depth else 3):
        case 0:
            return random.choice(("a", "b", "é", "\\d", "\\w", "\\s", ".", "\\.", "\\u00e9"))
        case 1:
            return random.choice(("[a-c]", "[^a]", "[\\d_]", "\\p{Lu}", "[^\\s\\S]"))
        case 2:
            return random.choice(("\\b", "^", "$", "\\B", ""))
        case 3 | 4:
            return "".join(inner() for _ in range(random.randrange(1, 4)))
        case 5:
            return "(" + "|".join(inner() for _ in range(random.randrange(1, 4))) + ")"
        case 6:
            low = random.randrange(4)
            return f"(?:{inner()})" + random.choice(("*", "+", "?", "*?", f"{{{low},{low + random.randrange(9)}}}"))
        case 7:
            return f"{random.choice(('(?=', '(?!', '(?<=', '(?<!'))}{inner()})"
    return f"(?<n>{inner()})"


# -- Lark -----------------------------------------------------------------------------------------------------------


def _lark(random: Random) -> bytes:
    rules = ["start", *(f"r{number}" for number in range(random.randrange(4)))]
    terminals = [f"T{number}" for number in range(random.randrange(1, 4))]
    lines = []
    for name in rules:
        note = random.choice(("", "", "", "", "[capture]", "[temperature=0.5]"))
        lines.append(f"{name}{note}: {_lark_body(random, rules + terminals, 3)}")
    for name in terminals:
        note = random.choice(("", "", "", "[lazy]", '[suffix="a"]', "[max_chars=3]"))
        body = random.choice(
            (f"/{_regex_text(random, 2)}/", f'"{random.choice("abc")}"', '"a".."c"', "/(\\n|.)*/", '~"a"')
        )
        lines.append(f"{name}{note}: {body}")
    if random.random() < 0.2:
        lines.append('%ignore " "')
    return "\n".join(lines).encode()


def _lark_body(random: Random, names: list[str], depth: int) -> str:
    inner = lambda: _lark_body(random, names, depth - 1)  # noqa: E731
    match random.randrange(7 if depth else 3):
        case 0:
            return f'"{random.choice(("a", "b", "ab", "<", ">"))}"'
        case 1:
            return random.choice(names)
        case 2:
            return random.choice(("<a>", "<|c|>", "<[1-3]>", "/[ab]*/", '%json {"type": "integer"}', "<call>"))
        case 3 | 4:
            return " ".join(inner() for _ in range(random.randrange(1, 4)))
        case 5:
            return "(" + " | ".join(inner() for _ in range(random.randrange(1, 4))) + ")"
    return f"({inner()})" + random.choice(("*", "+", "?", "~1..3"))


# -- schemas, tags and tools ----------------------------------------------------------------------------------------


def _schema(random: Random) -> bytes:
    return make_request(random.randrange(1 << 30), random.randrange(1 << 30)).text.encode()


def _tag(random: Random) -> bytes:
    if random.random() < 0.4:
        tools = [make_tool(random.randrange(1 << 30), number) for number in range(random.randrange(4))]
        request = {
            "model": random.choice(
                ("llama", "qwen_3", "deepseek_v3_1", "kimi", "harmony", "minimax", "glm_4_7", "none")
            ),
            "tools": [
                {"type": "function", "function": {key: tool[key] for key in ("name", "parameters")}} for tool in tools
            ],
            "tool_choice": random.choice(
                ("auto", "required", "none", None, {"type": "function", "function": {"name": "f"}})
            ),
            "reasoning": random.choice(("enabled", "disabled", "auto", "no")),
        }
        return json.dumps(request).encode()
    return json.dumps({"type": "structural_tag", "format": _format(random, 3)}).encode()


def _format(random: Random, depth: int) -> Any:
    inner = lambda: _format(random, depth - 1)  # noqa: E731
    tag = lambda: {  # noqa: E731
        "type": "tag",
        "begin": random.choice(("<a>", "<b>", "<call>")),
        "content": inner(),
        "end": random.choice(("</a>", "<|c|>", "\n", ["</a>", "</b>"])),
    }
    match random.randrange(10 if depth else 4):
        case 0:
            return {"type": "const_string", "value": _texts(random)}
        case 1:
            return {"type": "any_text", **random.choice(({}, {"excludes": ["<b>"]}))}
        case 2:
            return {"type": "regex", "pattern": _regex_text(random, 2)}
        case 3:
            return {"type": "json_schema", "json_schema": {"type": random.choice(("integer", "boolean", "null"))}}
        case 4 | 5:
            return {
                "type": random.choice(("sequence", "or")),
                "elements": [inner() for _ in range(random.randrange(1, 4))],
            }
        case 6:
            return tag()
        case 7:
            return {"type": random.choice(("optional", "star", "plus")), "content": inner()}
        case 8:
            return {
                "type": "triggered_tags",
                "triggers": ["<a>", "<call>"],
                "tags": [tag() for _ in range(random.randrange(1, 3))],
                "at_least_one": random.random() < 0.5,
                "stop_after_first": random.random() < 0.5,
            }
    return {"type": "tags_with_separator", "tags": [tag()], "separator": random.choice((",", "")), "at_least_one": True}


# -- files ----------------------------------------------------------------------------------------------------------


def _tokenizer(random: Random) -> bytes:
    words = [bytes((value,)) for value in range(256)] + [_texts(random, 3).encode() for _ in range(random.randrange(9))]
    match random.randrange(3):
        case 0:
            lines = (base64.b64encode(word) + b" %d" % rank for rank, word in enumerate(dict.fromkeys(words)) if word)
            return b"r" + b"\n".join(lines)
        case 1:
            vocab = [
                {"rank": rank, "token_bytes": base64.b64encode(word).decode(), "token_str": None}
                for rank, word in enumerate(dict.fromkeys(filter(None, words)))
            ]
            config = {
                "pattern": "[a-z]+|.",
                "default_vocab_size": len(vocab) + 3,
                "default_num_special_tokens": 3,
                "version": "v3",
            }
            special = [
                {"rank": rank, "token_str": name, "is_control": True}
                for rank, name in enumerate(("<unk>", "<s>", "</s>"))
            ]
            return b"t" + json.dumps({"config": config, "vocab": vocab, "special_tokens": special}).encode()
    vocabulary = {chr(0x21 + number): number for number in range(94)} | {"ab": 94, "é": 95}
    model = {"type": "BPE", "vocab": vocabulary, "merges": random.choice((["a b"], [["a", "b"]], []))}
    added = [
        {
            "id": 96,
            "content": "</s>",
            "special": True,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
        }
    ]
    decoder = random.choice(
        ({"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}, None)
    )
    document = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": decoder,
        "decoder": decoder,
        "model": model,
    }
    return b"j" + json.dumps(document).encode()


def _session(random: Random) -> bytes:
    """The changes to make to a session that was kept: see `files.py`."""
    return json.dumps(
        {
            "grammar": random.choice(('root ::= "a"* "b"', 'root ::= [^x]* "x"', "start: A\nA: /a+/")),
            "language": random.choice(("ebnf", "lark", "regex", "json_schema")),
            "steps": [random.choice((97, 98, 120, "YQ==", "Yg==", 3000, "?")) for _ in range(random.randrange(4))],
            "place": {"index": random.randrange(4), "offset": random.randrange(3)},
            "options": random.choice(
                ({}, {"max_fill_ms": 100}, {"parser": "naive"}, {"parser": "no"}, {"max_states": 0})
            ),
        }
    ).encode()


def _pool(random: Random) -> bytes:
    """Where a good pool file is changed, and to what: pairs of three bytes and one."""
    return bytes(random.randrange(256) for _ in range(4 * random.randrange(1, 6)))


def _calls(random: Random) -> bytes:
    return bytes(random.randrange(256) for _ in range(random.randrange(20, 200)))


SEEDS: Final[dict[str, Callable[[Random], bytes]]] = {
    "ebnf": _ebnf,
    "regex": _regex,
    "lark": _lark,
    "schema": _schema,
    "tag": _tag,
    "tokenizer": _tokenizer,
    "session": _session,
    "pool": _pool,
    "calls": _calls,
    "threads": _calls,
}
