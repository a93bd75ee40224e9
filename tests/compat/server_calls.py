"""The calls that vLLM and SGLang make of a grammar, as scenarios over any backend: what comes out is plain JSON.

A backend here is what the servers see of it: `PeerServer` is XGrammar (or its stand-in) as those servers wrap it,
`tests.compat.test_servers` brings ours.  `python -m tests.compat.server_calls` records what XGrammar gives.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import torch

RECORDED = Path(__file__).parent / "recorded_servers.json"
"""What the scenarios gave over XGrammar 0.2.8."""

TOKENS = ["{", "}", '"a"', '"b"', ": ", ", ", "1", "12", "true", "x", "</s>", " ", "\n", '{"a": ', "<", "q", '{"', 'a"']
SIZE = 70  # the model scores more ids than there are tokens; three words, the last of them in part
STOP = 10
SCHEMA = json.dumps(
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}, "required": ["a", "b"]}
)
REQUESTS = [
    ("json", SCHEMA),
    ("json_object", ""),
    ("grammar", 'root ::= "x" ("q" | "<")* "x"'),
    ("regex", "x(q|<){2}"),
    (
        "structural_tag",
        json.dumps({"structures": [{"begin": "<", "schema": {"type": "integer"}, "end": "x"}], "triggers": ["<"]}),
    ),
    ("grammar", 'start: "x" ("q" | "<")+'),
]
DRAFTS = [[13, 6, 5, 3, 4], [0, 2, 4, 6, 1], [9, 14, 9, 10], [9, 15, 14, 10], [9, 14, 6, 9, 15], [9, 15, 14, 15, 10]]


class Grammar(Protocol):
    """One request's grammar, by the methods of vLLM."""

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool: ...
    def validate_tokens(self, tokens: list[int]) -> list[int]: ...
    def rollback(self, num_tokens: int) -> None: ...
    def fill_bitmask(self, bitmask: torch.Tensor, idx: int) -> None: ...
    def is_terminated(self) -> bool: ...
    def reset(self) -> None: ...


class Server(Protocol):
    """A backend, as far as the scenarios need one.  `forced`: the text that a grammar forces.  `apply`: a mask's rows
    on logits."""

    def compile(self, kind: str, text: str) -> Grammar: ...
    def forced(self, grammar: Any) -> str: ...
    def jump(self, grammar: Any, old: list[int], new: list[int]) -> None: ...
    def apply(self, logits: torch.Tensor, bitmask: torch.Tensor) -> None: ...


def allowed(bitmask: torch.Tensor, row: int) -> list[int]:
    return [token for token in range(SIZE) if bitmask[row, token // 32].item() >> (token % 32) & 1]


def rows(count: int) -> torch.Tensor:
    return torch.full((count, (SIZE + 31) // 32), -1, dtype=torch.int32)


# -- vLLM ------------------------------------------------------------------------------------------------------------


def manager_rows(grammar: Grammar, bitmask: torch.Tensor, first: int, draft: list[int]) -> int:
    """One request's rows with draft tokens: a mask before each and one behind, then everything is undone; the number of
    rows.  Behind padding (-1), and behind the end of the text, rows allow everything."""
    advanced, constrained = 0, True
    for row, token in enumerate([*draft, -1], start=first):
        if constrained and not grammar.is_terminated():
            grammar.fill_bitmask(bitmask, row)
        else:
            bitmask[row].fill_(-1)
        if token == -1:
            constrained = False
        if constrained and not grammar.is_terminated():
            assert grammar.accept_tokens("request", [token])
            advanced += 1
    if advanced:
        grammar.rollback(advanced)
    return len(draft) + 1


def plain_steps(server: Server) -> list[Any]:
    """One token a step for every request, with a mask before each, up to the end."""
    found: list[Any] = []
    bitmask = rows(len(REQUESTS))
    grammars = [server.compile(kind, text) for kind, text in REQUESTS]
    for step in range(4):
        for row, grammar in enumerate(grammars):
            if grammar.is_terminated():
                found.append("terminated")
                continue
            grammar.fill_bitmask(bitmask, row)
            found.append(allowed(bitmask, row))
            if step < len(DRAFTS[row]):
                found.append(grammar.accept_tokens("request", [DRAFTS[row][step]]))
    return found


def speculation(server: Server) -> list[Any]:
    """Drafts are cut to what fits, masks are made along them and undone, some are taken; padding ends a draft."""
    found: list[Any] = []
    bitmask = rows(16)
    for (kind, text), draft in zip(REQUESTS, DRAFTS, strict=True):
        grammar = server.compile(kind, text)
        for accepted in (1, 2):
            fitting = grammar.validate_tokens(draft)
            again = grammar.validate_tokens(draft)
            count = manager_rows(grammar, bitmask, 0, [*fitting, -1])
            found.append([fitting, fitting == again, [allowed(bitmask, row) for row in range(count)]])
            found.append(grammar.accept_tokens("request", fitting[:accepted]))
            draft = draft[accepted:]
        found.append(grammar.is_terminated())
    return found


def across_the_stop_token(server: Server) -> list[Any]:
    """A draft that ends the text: the rows behind are free, and the text goes on elsewhere afterwards."""
    grammar = server.compile("grammar", 'root ::= "x" ("q" | "<")* "x"')
    bitmask = rows(8)
    count = manager_rows(grammar, bitmask, 0, [9, 15, 9, 10])
    found: list[Any] = [[allowed(bitmask, row) for row in range(count)], grammar.is_terminated()]
    found += [grammar.accept_tokens("request", [9, 9, 10]), grammar.is_terminated()]
    found += [grammar.accept_tokens("request", [15])]  # behind the end nothing is looked at
    grammar.rollback(2)
    found += [grammar.is_terminated(), grammar.validate_tokens([15, 14, 9, 10, 3])]
    found += [grammar.accept_tokens("request", [15, 9, 10]), grammar.is_terminated(), grammar.validate_tokens([9])]
    grammar.reset()
    grammar.fill_bitmask(bitmask, 0)
    found += [grammar.is_terminated(), allowed(bitmask, 0)]
    return found


def refused_tokens(server: Server) -> list[Any]:
    """A token that does not fit is an answer, and the mask stays."""
    found: list[Any] = []
    bitmask = rows(2)
    for kind, text in REQUESTS:
        grammar = server.compile(kind, text)
        grammar.fill_bitmask(bitmask, 0)
        found.append(grammar.accept_tokens("request", [8]))
        if not found[-1]:
            grammar.fill_bitmask(bitmask, 1)
            found.append(allowed(bitmask, 0) == allowed(bitmask, 1))
    return found


# -- SGLang ----------------------------------------------------------------------------------------------------------


def jump_forward(server: Server) -> list[Any]:
    """Forced text is cut anew together with what stands before it."""
    closed = {"additionalProperties": False}
    text = json.dumps({"type": "object", "properties": {"a": {"enum": [1, 12]}}, "required": ["a"], **closed})
    grammar = server.compile("json", text)
    bitmask = rows(1)
    found: list[Any] = [server.forced(grammar)]
    assert grammar.accept_tokens("request", [16])  # {"
    found.append(server.forced(grammar))
    server.jump(grammar, [16], [0, 2, 4])  # { "a" :
    found.append(server.forced(grammar))
    grammar.fill_bitmask(bitmask, 0)
    found.append(allowed(bitmask, 0))
    server.jump(grammar, [0, 2, 4], [13])  # {"a":
    grammar.fill_bitmask(bitmask, 0)
    found += [allowed(bitmask, 0), grammar.accept_tokens("request", [7, 1, 10]), grammar.is_terminated()]
    return found


def many_at_once(server: Server) -> list[Any]:
    """256 matchers over four grammars, filled by a pool of threads, on logits wider than the vocabulary."""
    kinds = [REQUESTS[0], REQUESTS[2], REQUESTS[3], REQUESTS[4]]
    texts = [[13, 6, 5], [9, 15, 14], [9, 14, 15], [9, 14, 6]]
    grammars = [server.compile(*kinds[number % 4]) for number in range(256)]
    bitmask = rows(256)

    def fill(number: int) -> None:
        assert grammars[number].accept_tokens("request", texts[number % 4][: number % 3])
        grammars[number].fill_bitmask(bitmask, number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(fill, range(256)))
    found = [allowed(bitmask, number) for number in range(256)]
    logits = torch.zeros(256, SIZE)
    server.apply(logits, bitmask)
    applied = [torch.isfinite(row).nonzero().flatten().tolist() for row in logits]
    return [found[:12], all(found[number] == found[number % 12] for number in range(256)), applied == found]


SCENARIOS = (plain_steps, speculation, across_the_stop_token, refused_tokens, jump_forward, many_at_once)


# -- XGrammar, as the servers wrap it ----------------------------------------------------------------------------------


class PeerServer:
    """XGrammar's objects (`xgr`: its module, or one with its interface) behind the methods above."""

    def __init__(self, xgr: Any) -> None:
        self.xgr = xgr
        info = xgr.TokenizerInfo(TOKENS, xgr.VocabType.RAW, vocab_size=SIZE, stop_token_ids=[STOP])
        self.compiler = xgr.GrammarCompiler(info, max_threads=8)

    def compile(self, kind: str, text: str) -> PeerGrammar:
        if kind.startswith("json"):
            compiled = self.compiler.compile_json_schema(text or '{"type": "object"}', any_whitespace=False)
        elif kind == "regex":
            compiled = self.compiler.compile_regex(text)
        elif kind == "structural_tag":
            tag = json.loads(text)
            items = [
                self.xgr.StructuralTagItem(begin=one["begin"], schema=json.dumps(one["schema"]), end=one["end"])
                for one in tag["structures"]
            ]
            compiled = self.compiler.compile_structural_tag(items, tag["triggers"])
        else:
            compile_text = self.compiler.compile_grammar if "::=" in text else self.compiler.compile_lark
            compiled = compile_text(text)
        return PeerGrammar(self.xgr.GrammarMatcher(compiled))

    def forced(self, grammar: PeerGrammar) -> str:
        return str(grammar.matcher.find_jump_forward_string())

    def jump(self, grammar: PeerGrammar, old: list[int], new: list[int]) -> None:
        grammar.matcher.rollback(len(old))
        assert all(grammar.matcher.accept_token(token) for token in new)

    def apply(self, logits: torch.Tensor, bitmask: torch.Tensor) -> None:
        self.xgr.apply_token_bitmask_inplace(logits, bitmask)


class PeerGrammar:
    """A matcher of XGrammar's with the methods of vLLM."""

    def __init__(self, matcher: Any) -> None:
        self.matcher = matcher

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        return all(self.is_terminated() or self.matcher.accept_token(token) for token in tokens)

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        taken = 0
        while taken < len(tokens) and not self.is_terminated() and self.matcher.accept_token(tokens[taken]):
            taken += 1
        if taken:
            self.matcher.rollback(taken)
        return tokens[:taken]

    def rollback(self, num_tokens: int) -> None:
        self.matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, idx: int) -> None:
        self.matcher.fill_next_token_bitmask(bitmask, idx)

    def is_terminated(self) -> bool:
        return bool(self.matcher.is_terminated())

    def reset(self) -> None:
        self.matcher.reset()


def main() -> None:
    """Record what XGrammar gives."""
    import xgrammar

    lines = [f"{json.dumps(scenario.__name__)}: {json.dumps(scenario(PeerServer(xgrammar)))}" for scenario in SCENARIOS]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
