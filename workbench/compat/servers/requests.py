"""What servers have in common: a request becomes a compiled grammar, and a text follows it token by token.

A server runs many requests in one process, so what goes wrong with one must stay with it.  `Follower` answers a refused
token with False, and where a mask cannot be had (no token can go on, a budget is spent) it allows the stop tokens alone
and keeps the reason in `error`: logits stay a distribution, and the server ends that request by its own means.
Read on: `vllm.py`, `sglang.py`.
"""

from __future__ import annotations

import importlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from kernels_core import CompiledGrammar, Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.errors import BudgetExceededError, DeadEndError, GrammarError, MaskscopeError, TokenizerError
from kernels_core.grammar.structural_tag import load_structural_tag
from workbench.compat.tag_formats import Change, with_schemas
from workbench.languages.guess import is_ebnf

if TYPE_CHECKING:
    import torch

Kind = Literal["json", "json_object", "regex", "grammar", "choice", "structural_tag"]
KINDS: Final[tuple[Kind, ...]] = ("json", "json_object", "regex", "grammar", "choice", "structural_tag")
LOGGER: Final = logging.getLogger("maskscope.servers")


class ServerInterfaceError(RuntimeError):
    """The server is not installed, or has not the interface that was read."""


def import_server(name: str, *names: str) -> ModuleType:
    """The server's module `name`; `ServerInterfaceError` where it cannot be imported or lacks one of `names`."""
    server = name.partition(".")[0]
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != server:
            raise
        what = f"{server} is not installed" if error.name == server else f"{server} has no module {error.name}"
        raise ServerInterfaceError(f"{what}: its backend can only be registered where {server} runs") from None
    missing = [one for one in names if not hasattr(module, one)]
    if missing:
        raise ServerInterfaceError(
            f"{name} has no {', '.join(missing)}: this version's interface is not one that was read; "
            "docs/concepts/servers.md names those, and workbench.compat.stand_in serves others"
        )
    return module


# -- requests --------------------------------------------------------------------------------------------------------


def read_vocabulary(
    tokenizer: object, vocab_size: int | None = None, stop_token_ids: Iterable[int] | None = None
) -> TokenizerInfo:
    """The vocabulary of what a server calls its tokenizer: a `TokenizerInfo` is taken as it is.

    `vocab_size`: ids that the model scores.  `stop_token_ids`: what ends a text for this model (None: the tokenizer's).
    `TokenizerError` where its tokens cannot be read as bytes, or nothing would end a text.
    """
    if isinstance(tokenizer, TokenizerInfo):
        info = tokenizer
    else:
        stops = None if stop_token_ids is None else sorted(stop_token_ids)
        info = TokenizerInfo.from_huggingface(tokenizer, vocab_size=vocab_size, stop_token_ids=stops or None)
    if not info.stop_token_ids:
        raise TokenizerError("the vocabulary has no stop token, so a constrained request could never end")
    return info


def compile_request(
    compiler: GrammarCompiler, kind: Kind, text: str, schemas: Change | None = None, **layout: Any
) -> CompiledGrammar:
    """Compile what a request asks for; `ValueError` or `BudgetExceededError` say why it cannot be, with the location.

    kind, text: "json": a schema as JSON text; "json_object": any object; "regex": matched as a whole; "grammar": EBNF,
        or Lark where no line begins a rule with `::=`; "choice": a JSON list of texts; "structural_tag": JSON text, of
        the older form with `structures` and `triggers` as well.
    schemas: what becomes of a format `json_schema` in a structural tag, given with the engine's keys.
    layout: where blanks stand in JSON, by the arguments of `Grammar.from_json_schema`: `any_whitespace`,
        `max_whitespace_cnt`, `separators`.
    """
    name, arguments, options = _asked(kind, text, layout, schemas)
    compile_it: Callable[..., CompiledGrammar] = getattr(compiler, f"compile_{'grammar' if name == 'ebnf' else name}")
    return compile_it(*arguments, **options)


def read_request(kind: Kind, text: str) -> None:
    """Read what a request asks for as far as that goes without a vocabulary; raises as `compile_request` does."""
    name, arguments, options = _asked(kind, text, {})
    try:
        getattr(Grammar, f"from_{name}")(*arguments, **options)
    except GrammarError as error:
        if not error.needs_vocabulary:  # what compiles the request has one
            raise


def _asked(
    kind: Kind, text: str, layout: Mapping[str, Any], schemas: Change | None = None
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """What reads such a request: the name behind `Grammar.from_`, and what it is given."""
    if kind in ("json", "json_object"):
        schema = text if kind == "json" else '{"type": "object"}'
        # Integers are digits: a model goes on with zeros behind a point for ever.
        return "json_schema", (schema,), {"order": "declared", "plain_integers": True, **layout}
    if kind == "regex":
        return "regex", (text,), {}
    if kind == "grammar":
        return "ebnf" if is_ebnf(text) else "lark", (text,), {}
    if kind == "choice":
        return "structural_tag", (_choice(text),), {}
    if kind == "structural_tag":
        return "structural_tag", (_tag(text, schemas),), {}
    raise ValueError(f"a request of kind {kind!r} is not known: {', '.join(KINDS)}")


def _choice(text: str) -> dict[str, Any]:
    """One of several texts, as a structural tag: nothing in them has to be escaped."""
    try:
        texts = json.loads(text)
    except json.JSONDecodeError as error:
        raise GrammarError(f"choices must be a JSON list of texts: {error}") from None
    if not isinstance(texts, list) or not texts or not all(isinstance(one, str) for one in texts):
        raise GrammarError("choices must be a JSON list of texts, at least one")
    return {"format": {"type": "or", "elements": [{"type": "const_string", "value": one} for one in texts]}}


def _tag(text: str, schemas: Change | None) -> Any:
    """The argument of `compile_structural_tag`; a tag without a schema takes any JSON, as in the servers.

    Those write their tools' tags by XGrammar's classes, which leave no key out.
    """
    try:
        tag = json.loads(text)
    except json.JSONDecodeError:
        return text  # the engine says where
    if isinstance(tag, dict) and "structures" in tag:
        older, structures = {key: tag[key] for key in ("structures", "triggers") if key in tag}, tag["structures"]
        if isinstance(structures, list):
            older["structures"] = [
                one | {"schema": {}} if isinstance(one, dict) and one.get("schema") is None else one
                for one in structures
            ]
        found = dict(load_structural_tag(older))
        if "at_least_one" in tag:  # SGLang's, where a tool must be called
            found["format"] |= {"at_least_one": tag["at_least_one"]}
        tag = found

    def read(form: dict[str, Any]) -> dict[str, Any]:
        if form.get("json_schema") is None:
            form["json_schema"] = {}
        form.setdefault("plain_integers", True)
        return schemas(form) if schemas else form

    return with_schemas(tag, read) if isinstance(tag, dict) and "format" in tag else tag


# -- a text ----------------------------------------------------------------------------------------------------------


class Follower:
    """A text under a grammar, as servers follow it.  For one thread at a time.

    matcher: the engine's.  error: why the last mask allows stop tokens alone; None for a mask of the grammar.
    """

    def __init__(self, compiled: CompiledGrammar, stop_token_ids: Iterable[int] | None = None) -> None:
        super().__init__()  # a server's own attributes
        stops = None if stop_token_ids is None else sorted(stop_token_ids)
        self.matcher = GrammarMatcher(compiled, override_stop_tokens=stops or None)
        self.error: str | None = None

    def accept(self, token: int) -> bool:
        """Take `token`; False, and nothing has changed, where the grammar refuses it or it is no id at all."""
        if not 0 <= token < self.matcher.compiled.tokenizer_info.vocab_size:
            return False
        try:
            return bool(self.matcher.accept_token(token))
        except BudgetExceededError as error:
            self._note(error)
            return False

    def is_terminated(self) -> bool:
        """Whether a stop token has ended the text."""
        return bool(self.matcher.is_terminated())

    def fitting(self, tokens: Sequence[int]) -> list[int]:
        """The first of `tokens` that fit, up to the end of the text; the place in it stays."""
        taken: list[int] = []
        for token in tokens:
            if self.is_terminated() or not self.accept(token):
                break
            taken.append(token)
        self.matcher.rollback(len(taken))
        return taken

    def rollback(self, count: int) -> None:
        """Undo the last `count` tokens, over the end of the text too; `ValueError` if there are fewer."""
        self.matcher.rollback(count)
        self.error = None

    def fill(self, bitmask: torch.Tensor, row: int) -> None:
        """Write the mask here into `row` of `bitmask`, an int32 tensor in CPU memory; stop tokens alone where there is
        none, and behind the end."""
        self.error = None
        if not self.is_terminated():
            try:
                self.matcher.fill_next_token_bitmask(bitmask, row)
                return
            except (BudgetExceededError, DeadEndError) as error:
                self._note(error)
        np.asarray(bitmask)[row] = bits_of(self.matcher.stop_token_ids, bitmask.shape[1])

    def jump(self, old: Sequence[int], new: Sequence[int]) -> None:
        """The text was cut anew: its last tokens `old` are `new` now.  `ValueError`, and nothing has changed, where the
        grammar refuses one of them."""
        pairs = enumerate(zip(old, new, strict=False))
        same = next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))
        self.matcher.rollback(len(old) - same)
        for number, token in enumerate(new[same:]):
            if not self.accept(token):
                self.matcher.rollback(number)
                for undone in old[same:]:
                    self.matcher.accept_token(undone)
                raise ValueError(f"token {token}, number {same + number} of the text cut anew, is refused")
        self.error = None

    def forced(self) -> str:
        """The text that the grammar forces here; "" where there is a choice, or the text has ended."""
        return "" if self.is_terminated() else str(self.matcher.find_jump_forward_string())

    def _note(self, error: MaskscopeError) -> None:
        self.error = str(error)
        LOGGER.warning("a request cannot go on behind %r: %s", self.matcher.text[-40:], error)


def bits_of(tokens: Sequence[int], words: int) -> npt.NDArray[np.int32]:
    """The row of a bitmask, so many words wide, that allows these tokens alone."""
    allowed = np.zeros(32 * words, dtype=np.bool_)
    allowed[list(tokens)] = True
    return np.packbits(allowed, bitorder="little").view(np.int32)
