"""A grammar backend for SGLang, registered under the name "maskscope".

    from workbench.compat.servers import sglang

    sglang.register()               # in every process of the server; then --grammar-backend maskscope

An installed Maskscope registers itself as a plugin of SGLang, where that loads plugins.

SGLang compiles in threads of its own and keeps a grammar for each request text; each request gets a `copy`.  A grammar
that cannot be compiled becomes SGLang's own object for that, with the engine's reason, and fails that request alone.
Read on: `requests.py`; docs/concepts/servers.md.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from kernels_core import BatchGrammarMatcher, CompiledGrammar, GrammarCompiler
from workbench.compat.servers.requests import (
    LOGGER,
    Follower,
    Kind,
    ServerInterfaceError,
    bits_of,
    compile_request,
    import_server,
    read_vocabulary,
)

if TYPE_CHECKING:
    import torch

NAME: Final = "maskscope"
BASE: Final = "sglang.srt.constrained.base_grammar_backend"
ARGUMENTS: Final = "sglang.srt.server_args"
REASONER: Final = "sglang.srt.constrained.reasoner_grammar_backend"
PARSERS: Final = "sglang.srt.parser.reasoning_parser"
ANY_JSON: Final = "$$ANY$$"  # what SGLang writes for "some JSON"

_BATCH = BatchGrammarMatcher()


class Entry(Protocol):
    """A request of a batch: its row, and SGLang's object for its grammar."""

    row: int
    grammar: RequestGrammar


class Statistics(Protocol):
    """SGLang's dataclass of what a grammar cost."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[object]]]


class RequestGrammar(Follower):
    """One request's grammar, with the methods of SGLang's `BaseGrammarObject`."""

    def __init__(self, compiled: CompiledGrammar, key: str, stats: Statistics | None = None) -> None:
        super().__init__(compiled)
        self.key = key
        self.grammar_stats = stats
        self.current_token: int | None = None

    def accept_token(self, token: int) -> None:
        """Take `token`; nothing happens behind the end.  `ValueError` where it is refused, which ends the request."""
        if self.is_terminated():
            return
        if not self.accept(token):
            why = self.error or "the grammar refuses it"
            raise ValueError(f"token {token} is not taken behind {self.matcher.text[-40:]!r}: {why}")
        self.current_token = token

    def copy(self) -> RequestGrammar:
        """The same grammar for another request, at its beginning."""
        stats = self.grammar_stats
        if stats is not None:
            stats = dataclasses.replace(stats, is_cache_hit=True, tree_traversal_time=[])
        return type(self)(self.matcher.compiled, self.key, stats)

    def cache_memory_bytes(self) -> int:
        """Bytes that the compiled grammar holds."""
        return int(self.matcher.compiled.memory_size_bytes)

    # -- masks ------------------------------------------------------------------------------------------------------

    @staticmethod
    def allocate_vocab_mask(vocab_size: int, batch_size: int, device: torch.device | str) -> torch.Tensor:
        """Rows that allow everything, in CPU memory, pinned where there is a GPU: int32 (batch_size, words)."""
        import torch

        pinned = torch.cuda.is_available()
        return torch.full((batch_size, (vocab_size + 31) // 32), -1, dtype=torch.int32, pin_memory=pinned)

    fill_vocab_mask = Follower.fill

    @staticmethod
    def fill_vocab_mask_batched(entries: Sequence[Entry], vocab_mask: torch.Tensor) -> None:
        """Write the rows of all `entries` (each with `row` and `grammar`); masks that are not known are computed in
        threads first."""
        ours = [entry.grammar for entry in entries if isinstance(entry.grammar, RequestGrammar)]
        _BATCH.read_masks([grammar.matcher for grammar in ours])
        for entry in entries:
            entry.grammar.fill_vocab_mask(vocab_mask, entry.row)

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        """Allow everything again."""
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: torch.device | str) -> torch.Tensor:
        """The rows on `device`; the copy to a GPU is not waited for."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """Minus infinity where the rows forbid an id, in place: natively in CPU memory, on a GPU by the kernel of
        `workbench.generation.device_masks`."""
        from kernels_core import apply_token_bitmask_inplace
        from workbench.generation.device_masks import apply_rows

        if logits.device.type == "cpu":
            apply_token_bitmask_inplace(logits, vocab_mask)
        else:
            apply_rows(logits, vocab_mask)

    # -- jump-forward -----------------------------------------------------------------------------------------------

    def try_jump_forward(self, tokenizer: object) -> tuple[list[int], str] | None:
        """The text that is forced here, for `jump_forward_str_state`; None for none."""
        text = self.forced()
        return ([], text) if text else None

    def jump_forward_str_state(self, helper: tuple[list[int], str]) -> tuple[str, int]:
        """The text of `helper`, and -1, since a place in the text needs no number here."""
        return helper[1], -1

    def jump_and_retokenize(self, old_output_ids: list[int], new_output_ids: list[int], next_state: int) -> None:
        """The text was cut anew; `ValueError`, and nothing has changed, where the new tokens do not fit."""
        self.jump(old_output_ids, new_output_ids)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.key[:60]!r} behind {self.matcher.text[-40:]!r}>"


class GrammarBackend:
    """The engine for all requests of one SGLang scheduler, with the methods of its `BaseGrammarBackend`.

    `tokenizer`: SGLang's, or a `TokenizerInfo`.  `vocab_size`: ids that the model scores.  `stop_token_ids`: those of
    the model.  `any_whitespace`, `max_whitespace_cnt`: of JSON, see `Grammar.from_json_schema`.
    """

    _base: ModuleType  # SGLang's module, set by `make_classes`
    _grammar_class: type[RequestGrammar] = RequestGrammar

    def __init__(
        self,
        tokenizer: object,
        vocab_size: int,
        stop_token_ids: Iterable[int] | None = None,
        *,
        any_whitespace: bool = True,
        max_whitespace_cnt: int | None = None,
    ) -> None:
        super().__init__()
        self.info = read_vocabulary(tokenizer, vocab_size, stop_token_ids)
        self.vocab_size = vocab_size
        self.layout: dict[str, Any] = {"any_whitespace": any_whitespace, "max_whitespace_cnt": max_whitespace_cnt}
        self.compiler = GrammarCompiler(self.info)

    def dispatch_json(self, key_string: str) -> object:
        """A JSON schema."""
        if key_string == ANY_JSON:
            return self._compiled("json", key_string, self.compiler.compile_builtin_json_grammar)
        return self._compiled("json", key_string)

    def dispatch_regex(self, key_string: str) -> object:
        """A regular expression, matched as a whole."""
        return self._compiled("regex", key_string)

    def dispatch_ebnf(self, key_string: str) -> object:
        """EBNF text, or Lark."""
        return self._compiled("grammar", key_string)

    def dispatch_structural_tag(self, key_string: str) -> object:
        """A structural tag, of the older form as well."""
        return self._compiled("structural_tag", key_string)

    def reset(self) -> None:
        """Forget what was compiled; requests that run go on."""
        super().reset()  # type: ignore[misc]
        self.compiler.clear_cache()

    # -- masks that belong to no request ----------------------------------------------------------------------------

    allocate_vocab_mask = staticmethod(RequestGrammar.allocate_vocab_mask)
    move_vocab_mask = staticmethod(RequestGrammar.move_vocab_mask)
    apply_vocab_mask = staticmethod(RequestGrammar.apply_vocab_mask)

    @property
    def is_support_token_filter(self) -> bool:
        """Single tokens can be forbidden beside the grammar."""
        return True

    @staticmethod
    def set_token_filter(
        vocab_mask: torch.Tensor,
        token_ids: Sequence[int],
        batch_idx: int,
        is_allowed: bool = True,
        reset_vocab_mask: bool = True,
    ) -> None:
        """Allow or forbid `token_ids` in row `batch_idx`; with `reset_vocab_mask` all others get the opposite first."""
        import torch

        row = vocab_mask[batch_idx]
        if reset_vocab_mask:
            row.fill_(0 if is_allowed else -1)
        bits = torch.from_numpy(bits_of(token_ids, len(row))).to(row.device)
        row.copy_(row | bits if is_allowed else row & ~bits)

    # -- within -----------------------------------------------------------------------------------------------------

    def _compiled(self, kind: Kind, text: str, make: Callable[[], CompiledGrammar] | None = None) -> object:
        """SGLang's object for a request, or its object for one that cannot be compiled."""
        try:
            compiled = make() if make else compile_request(self.compiler, kind, text, **self.layout)
        except (ValueError, RuntimeError) as error:
            LOGGER.warning("a request's %s cannot be used: %s", kind, error)
            return self._invalid(str(error))
        named = "ebnf" if kind == "grammar" else kind
        stats = self._base.GrammarStats(dispatch_type=named) if hasattr(self._base, "GrammarStats") else None
        return self._grammar_class(compiled, text, stats)

    def _invalid(self, reason: str) -> object:
        if hasattr(self._base, "InvalidGrammarObject"):
            return self._base.InvalidGrammarObject(reason)
        return self._base.INVALID_GRAMMAR_OBJ


def make_classes(base: ModuleType) -> tuple[type[GrammarBackend], type[RequestGrammar]]:
    """Both classes over SGLang's own (`base`: its module `base_grammar_backend`), whose defaults they take over."""
    grammar = type("MaskscopeGrammar", (RequestGrammar, base.BaseGrammarObject), {})
    names = {"_base": base, "_grammar_class": grammar}
    return type("MaskscopeBackend", (GrammarBackend, base.BaseGrammarBackend), names), grammar


def plugin() -> None:
    """What SGLang calls in each of its processes: registers, and leaves a server alone whose interface is another."""
    try:
        register()
    except ServerInterfaceError as error:
        LOGGER.warning("--grammar-backend %s is not there: %s", NAME, error)


def register(name: str = NAME) -> type[GrammarBackend]:
    """Make `--grammar-backend NAME` this backend; returns its class.

    Raises `ServerInterfaceError`, and changes nothing, where SGLang is missing or not as it was when it was read.
    """
    base = import_server(BASE, "BaseGrammarBackend", "BaseGrammarObject", "register_grammar_backend")
    if not (hasattr(base, "InvalidGrammarObject") or hasattr(base, "INVALID_GRAMMAR_OBJ")):
        raise ServerInterfaceError(f"{BASE} has no InvalidGrammarObject: this version's interface was not read")
    arguments = import_server(ARGUMENTS, "add_grammar_backend_choices")
    backend, _ = make_classes(base)

    def create(
        server_args: object, tokenizer: object, vocab_size: int, eos_token_ids: Iterable[int] | None = None
    ) -> object:
        compact = getattr(server_args, "constrained_json_disable_any_whitespace", False)
        most = getattr(server_args, "constrained_json_max_whitespace_cnt", None)
        ours = backend(tokenizer, vocab_size, eos_token_ids, any_whitespace=not compact, max_whitespace_cnt=most)
        return _behind_reasoning(ours, server_args, tokenizer, eos_token_ids)

    base.register_grammar_backend(name, create)
    arguments.add_grammar_backend_choices([name])
    return backend


def _behind_reasoning(
    backend: GrammarBackend, server_args: object, tokenizer: object, eos_token_ids: Iterable[int] | None
) -> object:
    """`backend`; with --reasoning-parser in SGLang's own wrapper, by which a grammar begins where reasoning ends.

    SGLang itself puts it around its own backends alone.
    """
    name = getattr(server_args, "reasoning_parser", None)
    if not name:
        return backend
    wrapper = import_server(REASONER, "ReasonerGrammarBackend").ReasonerGrammarBackend
    if "reasoning_parser" not in inspect.signature(wrapper).parameters:
        raise ServerInterfaceError(
            "this version's wrapper for reasoning is not one that was read: with --reasoning-parser let "
            "workbench.compat.stand_in serve XGrammar, and take --grammar-backend xgrammar"
        )
    make_parser = import_server(PARSERS, "ReasoningParser").ReasoningParser
    return _called(
        wrapper,
        grammar_backend=backend,
        reasoning_parser=_called(make_parser, model_type=name, stream_reasoning=False, tokenizer=tokenizer),
        tokenizer=tokenizer,
        enable_strict_thinking=getattr(server_args, "enable_strict_thinking", False),
        model_eos_token_ids=sorted(eos_token_ids) if eos_token_ids else None,
    )


def _called(make: Callable[..., object], **arguments: Any) -> object:
    """`make` with those of `arguments` that it takes: versions differ in the last ones."""
    takes = inspect.signature(make).parameters
    return make(**{key: value for key, value in arguments.items() if key in takes})
