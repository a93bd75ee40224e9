"""What the calls of the page mean: names that stand in them beside the module's own, and grammars by what is shown.

A call without texts is Python, and its value is told.  Behind a grammar, which is shown by itself or as Python, stand
texts, and those are told that it takes as a whole.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from .row import Call, taken

VOCABULARY: Final = ["</s>", "a", "b", "ab", "c"]
SCHEMA: Final = {
    "type": "object",
    "properties": {"s": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["s"],
}
TOOLS: Final = [
    {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    }
]
CAPTURES: Final = " reads "


def call_of(group: str, shown: str, texts: Sequence[str]) -> Call:
    """What a row calls, by its group and what the page shows."""
    if group == "Structural tags: tokens":
        return lambda xgr: _taken_ids(xgr, shown, texts)
    if group == "Lark: captures":
        return lambda xgr: _captured(xgr, *shown.rsplit(CAPTURES, 1))
    if not texts and group not in MADE and group.partition(":")[0] not in GRAMMARS:
        return lambda xgr: _value(xgr, shown)
    make = MADE.get(group) or GRAMMARS.get(group.partition(":")[0], _value)

    def call(xgr: Any) -> taken:
        grammar, takes = make(xgr, shown), xgr.testing._is_grammar_accept_string
        return taken(text for text in texts if takes(grammar, text))

    return call


# -- grammars, by what is shown ---------------------------------------------------------------------------------------


def _options(text: str) -> dict[str, Any]:
    """Of a call, `name=value` behind commas."""
    call = ast.parse(f"options({text.strip().removeprefix(',')})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {one.arg or "": ast.literal_eval(one.value) for one in call.keywords}


def _of_schema(xgr: Any, shown: str) -> Any:
    schema, end = json.JSONDecoder().raw_decode(shown)
    return xgr.Grammar.from_json_schema(schema, **_options(shown[end:]))


def _of_format(xgr: Any, form: object) -> Any:
    return xgr.Grammar.from_structural_tag({"type": "structural_tag", "format": form})


def _of_template(xgr: Any, shown: str) -> Any:
    model, _, options = shown.partition(",")
    return xgr.Grammar.from_structural_tag(
        xgr.get_model_structural_tag(model, **{"tools": TOOLS, "reasoning": "disabled", **_options(options)})
    )


GRAMMARS: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "JSON Schema": _of_schema,
    "EBNF": lambda xgr, shown: xgr.Grammar.from_ebnf(shown),
    "Regular expressions": lambda xgr, shown: xgr.Grammar.from_regex(shown),
    "Lark": lambda xgr, shown: xgr.Grammar.from_lark(shown),
    "Structural tags": lambda xgr, shown: _of_format(xgr, json.loads(shown)),
}
"""By the group's name up to a colon."""
MADE: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "Templates": _of_template,
    "Styles of arguments": lambda xgr, shown: _of_format(
        xgr, {"type": "json_schema", "json_schema": SCHEMA, "style": shown}
    ),
}
"""By the whole name of the group."""


def _taken_ids(xgr: Any, shown: str, texts: Sequence[str]) -> taken:
    """Of texts that are token ids, those that a format takes to their end."""
    info = xgr.TokenizerInfo(["</s>", "a", "b", "<t>", "</t>", "x"])
    compiled = xgr.GrammarCompiler(info).compile_structural_tag({"format": json.loads(shown)})

    def takes(text: str) -> bool:
        matcher = xgr.GrammarMatcher(compiled)
        return all(matcher.accept_token(int(token)) for token in text.split()) and matcher.is_completed()

    return taken(filter(takes, texts))


def _captured(xgr: Any, text: str, output: str) -> str:
    compiled = xgr.GrammarCompiler(xgr.TokenizerInfo([])).compile_grammar(xgr.Grammar.from_lark(text))
    matcher = xgr.GrammarMatcher(compiled, terminate_without_stop_token=True)
    matcher.accept_string(output)
    return ", ".join(f"{name}={value.decode()}" for name, value in sorted(matcher.get_captures()))


# -- names of calls ---------------------------------------------------------------------------------------------------


def _value(xgr: Any, shown: str) -> Any:
    """Of a call as Python: its names are those below, then the module's."""
    names = {node.id for node in ast.walk(ast.parse(shown, mode="eval")) if isinstance(node, ast.Name)}
    known: dict[str, Any] = {name: partial(NAMES[name], xgr) for name in names & NAMES.keys()}
    known |= {name: getattr(xgr, name) for name in names - NAMES.keys() if hasattr(xgr, name)}
    return eval(shown, {"VOCABULARY": VOCABULARY, "TOOLS": TOOLS, **known})


def info(xgr: Any, **options: Any) -> Any:
    return xgr.TokenizerInfo(VOCABULARY, **options)


def compiler(xgr: Any, **options: Any) -> Any:
    return xgr.GrammarCompiler(info(xgr), **options)


def matcher(xgr: Any, ebnf: str = 'root ::= "a" "b"*', taken: Sequence[int] = (), **options: Any) -> Any:
    made = xgr.GrammarMatcher(compiler(xgr).compile_grammar(ebnf), **options)
    for token in taken:
        made.accept_token(token)
    return made


def mask(xgr: Any, matcher: Any) -> list[int]:
    """The ids that are allowed."""
    bitmask = xgr.allocate_token_bitmask(1, len(VOCABULARY))
    matcher.fill_next_token_bitmask(bitmask)
    return _allowed(bitmask[0])


def _allowed(row: Any) -> list[int]:
    return [token for token in range(len(VOCABULARY)) if int(row[0]) >> token & 1]


def sizes(xgr: Any) -> list[bool]:
    """Whether a compiler keeps anything: a new one, when it has compiled, when it was cleared."""
    made = compiler(xgr)
    found = [made.get_cache_size_bytes() > 0]
    made.compile_grammar('root ::= "a"')
    found.append(made.get_cache_size_bytes() > 0)
    made.clear_cache()
    return [*found, made.get_cache_size_bytes() > 0]


def loaded(xgr: Any, vocabulary: list[str]) -> bool:
    """Whether a grammar that was compiled for the usual vocabulary, and loaded with another, takes its token 1."""
    stored = compiler(xgr).compile_grammar('root ::= "a"').serialize_json()
    again = xgr.CompiledGrammar.deserialize_json(stored, xgr.TokenizerInfo(vocabulary))
    return bool(xgr.GrammarMatcher(again).accept_token(1))


def by_ids(xgr: Any, *tokens: int) -> list[list[int]]:
    """Masks of grammars that differ in the id of a token, by one compiler."""
    made = compiler(xgr)
    return [mask(xgr, xgr.GrammarMatcher(made.compile_grammar(f'root ::= Token({token}) "a"'))) for token in tokens]


def stopped(xgr: Any, **options: Any) -> list[object]:
    """Behind token 1: completed, terminated, whether a stop token is taken, terminated."""
    made = matcher(xgr, taken=(1,), **options)
    return [made.is_completed(), made.is_terminated(), made.accept_token(0), made.is_terminated()]


def rolled_back(xgr: Any, count: int) -> list[int]:
    """The mask when of the tokens 1, 2 and 0 so many were taken back."""
    made = matcher(xgr, taken=(1, 2, 0))
    made.rollback(count)
    return mask(xgr, made)


def reset(xgr: Any, matcher: Any) -> Any:
    matcher.reset()
    return matcher


def forked(xgr: Any) -> list[object]:
    """Whether a matcher has ended, and its fork, which has taken a stop token."""
    made = matcher(xgr, taken=(1,))
    fork = made.fork()
    fork.accept_token(0)
    return [made.is_terminated(), fork.is_terminated()]


def tree(xgr: Any, tokens: list[int]) -> list[int]:
    """The rows of a draft tree, three tokens one behind the other."""
    import torch

    bitmask = xgr.allocate_token_bitmask(3, len(VOCABULARY))
    child, sibling = torch.tensor([1, 2, -1]), torch.tensor([-1, -1, -1])
    matcher(xgr).traverse_draft_tree(child, sibling, torch.tensor(tokens), bitmask)
    return [int(row[0]) & 31 for row in bitmask]


def first(xgr: Any, ebnf: str, vocabulary: list[str]) -> list[int]:
    """The ids that may come first."""
    compiled = xgr.GrammarCompiler(xgr.TokenizerInfo(vocabulary)).compile_grammar(ebnf)
    return mask(xgr, xgr.GrammarMatcher(compiled))


def applied(xgr: Any, width: int = 5, **options: Any) -> list[int]:
    """The places of logits that a mask leaves as they are."""
    import torch

    bitmask = xgr.allocate_token_bitmask(1, 5)
    matcher(xgr).fill_next_token_bitmask(bitmask)
    logits = torch.zeros(1, width)
    xgr.apply_token_bitmask_inplace(logits, bitmask, **options)
    return [index for index, value in enumerate(logits[0].tolist()) if value == 0]


def batch(xgr: Any, indices: list[int]) -> list[list[int]]:
    """Masks at the beginning and behind token 1, in rows that are chosen."""
    bitmask = xgr.allocate_token_bitmask(2, 5)
    matchers = [matcher(xgr), matcher(xgr, taken=(1,))]
    xgr.BatchGrammarMatcher(max_threads=2).batch_fill_next_token_bitmask(matchers, bitmask, indices)
    return [_allowed(row) for row in bitmask]


def mode(xgr: Any, choice: Any) -> str:
    """What a choice of tools becomes."""
    functions, own, mode = xgr.normalize_tool_choice(TOOLS, choice)
    return f"{len(functions)} functions, {len(own)} others, {mode}"


def version(xgr: Any) -> str:
    return str(getattr(xgr, "__version__", "0.2.8"))


NAMES: Final[Mapping[str, Callable[..., Any]]] = {
    one.__name__: one
    for one in (
        *(info, compiler, matcher, mask, sizes, loaded, by_ids, stopped, rolled_back, reset, forked, tree, first),
        *(applied, batch, mode, version),
    )
}
