"""`GrammarMatcher` and `BatchGrammarMatcher` with XGrammar's arguments; the bitmask functions are here too.

One thing is arranged differently from the engine: with `terminate_without_stop_token` a matcher whose text may end is
terminated and still takes what the grammar allows, so a number can be read digit by digit.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from kernels_core import BatchGrammarMatcher as EngineBatch
from kernels_core import GrammarMatcher as EngineMatcher
from kernels_core.errors import MatcherTerminatedError

from ...lazy import lazy_names
from .base import XGRObject
from .bitmask import (
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    as_array,
    get_bitmask_shape,
    reset_token_bitmask,
)
from .compiler import CompiledGrammar
from .exception import InvalidArgumentError, as_runtime_error, runtime_errors
from .notes import NotedText, Notes

if TYPE_CHECKING:
    import torch

    from workbench.compat.xgrammar.bitmask import bitmask_dtype

__all__ = [
    "BatchGrammarMatcher",
    "GrammarMatcher",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "get_bitmask_shape",
    "reset_token_bitmask",
]

_NO_TEMPERATURE = -1.0


__getattr__, __dir__ = lazy_names(__name__, cure="pip install 'maskscope[generate]'")


class GrammarMatcher(XGRObject[EngineMatcher]):
    """Follows one text under a compiled grammar.

    override_stop_tokens: ids that end the text, instead of the tokenizer's; at least one.
    terminate_without_stop_token: the matcher counts as terminated whenever the text may end; stop tokens are refused.
    max_rollback_tokens: taken and not needed: everything can be rolled back.
    default_temperature: what `temperature` says, for a sampler that asks; at least 0.
    """

    def __init__(
        self,
        compiled_grammar: CompiledGrammar,
        *,
        override_stop_tokens: list[int] | int | None = None,
        terminate_without_stop_token: bool = False,
        max_rollback_tokens: int = -1,
        default_temperature: float | None = None,
    ) -> None:
        if not isinstance(compiled_grammar, CompiledGrammar):
            raise InvalidArgumentError(
                f"GrammarMatcher takes a CompiledGrammar, not {type(compiled_grammar).__name__}: compile it first"
            )
        if max_rollback_tokens != -1:
            warnings.warn("max_rollback_tokens is not needed: rollback is unlimited", DeprecationWarning, stacklevel=2)
        if default_temperature is not None and not (math.isfinite(default_temperature) and default_temperature >= 0):
            raise InvalidArgumentError(
                f"default_temperature must be a finite non-negative number, not {default_temperature!r}"
            )
        if override_stop_tokens is None:
            stops = compiled_grammar.tokenizer_info.stop_token_ids
        else:
            stops = [override_stop_tokens] if isinstance(override_stop_tokens, int) else list(override_stop_tokens)
            if not stops:
                raise InvalidArgumentError("override_stop_tokens is empty: None takes the tokenizer's stop tokens")
        self._vocab_size = compiled_grammar.tokenizer_info.vocab_size
        self._stop_token_ids = stops
        self._ends_by_itself = terminate_without_stop_token
        self._default_temperature = default_temperature
        with runtime_errors():
            self._engine = EngineMatcher(
                compiled_grammar.engine,
                override_stop_tokens=[] if terminate_without_stop_token else stops,
                on_dead_end="empty",
            )

    def accept_token(self, token_id: int, *, debug_print: bool = False) -> bool:
        """Take a token; False, and nothing changed, if it is not allowed here.

        An id outside the vocabulary, and any id after the end, is False with a warning.
        """
        if debug_print:
            self.say(f"token {token_id}")
        if not 0 <= token_id < self._vocab_size:
            _warn(f"token id {token_id} is outside the vocabulary of {self._vocab_size:,} ids: refused")
            return False
        if self._engine.is_terminated():
            _warn(f"the text has ended: token id {token_id} is refused")
            return False
        return self._engine.accept_token(token_id)

    def accept_string(self, input_str: str | bytes, *, debug_print: bool = False) -> bool:
        """Take a text as one step; False, and nothing changed, if it is not allowed here."""
        if debug_print:
            self.say(f"text {input_str!r}")
        if not isinstance(input_str, str | bytes):
            raise TypeError(f"accept_string takes str or bytes, not {type(input_str).__name__}")
        if self.engine.is_terminated():
            _warn(f"the text has ended: {input_str!r} is refused")
            return False
        return self.engine.accept_string(input_str)

    def fill_next_token_bitmask(self, bitmask: object, index: int = 0, *, debug_print: bool = False) -> bool:
        """Write the mask of the next token into row `index`; False if every bit of the row is set.

        bitmask: int32 torch tensor in CPU memory or numpy array, shape (batch, words) or (words,).
        Where no token can go on no bit is set: that is for whoever drives the generation to see, and takes no server
        down.  Raises `RuntimeError`s after the end, and when the shape does not fit.
        """
        if debug_print:
            self.say("mask")
        try:  # once a token: a context manager would take longer than a mask that is known
            return self._engine.fill_next_token_bitmask(as_array(bitmask), index)
        except Exception as error:
            raise as_runtime_error(error) from error.__cause__

    def traverse_draft_tree(
        self,
        retrieve_next_token: torch.Tensor,
        retrieve_next_sibling: torch.Tensor,
        draft_tokens: torch.Tensor,
        token_bitmask: torch.Tensor,
        time_threshold: float = -1.0,
        temperatures: torch.Tensor | None = None,
    ) -> bool:
        """Masks for a tree of draft tokens; False if `time_threshold` seconds ran out before the end.

        Node i proposes `draft_tokens[i]`; -1 is no child, no sibling; node 0's token is taken already.  Row i gets the
        mask after the path to node i, all zeros where the path is refused or has ended.
        temperatures: gets each node's temperature, -1 where there is none, and after a refused path or the end; left
            alone when the time runs out.
        """
        for name, tree in (
            ("retrieve_next_token", retrieve_next_token),
            ("retrieve_next_sibling", retrieve_next_sibling),
            ("draft_tokens", draft_tokens),
        ):
            if str(getattr(tree, "dtype", "int64")).removeprefix("torch.") != "int64":
                raise InvalidArgumentError(f"{name} must be a 1-D tensor of int64, not of {tree.dtype}")
        if temperatures is not None:
            _check_temperatures(temperatures)
            if len(temperatures) != len(draft_tokens):
                reason = "The temperatures size must match the number of nodes in the tree"
                raise InvalidArgumentError(f"{reason}: {len(temperatures)} for {len(draft_tokens)}")
        with runtime_errors():
            finished = self.engine.traverse_draft_tree(
                retrieve_next_token, retrieve_next_sibling, draft_tokens, token_bitmask, time_threshold
            )
        if finished and temperatures is not None:
            temperatures[: len(draft_tokens)] = _NO_TEMPERATURE
            pending = [(0, self.engine.fork())]  # nodes and matchers before their tokens; the root's is taken
            while pending:
                node, before = pending.pop()
                here = before.fork() if node else before
                token = int(draft_tokens[node])
                alive = node == 0 or (0 <= token < self._vocab_size and here.accept_token(token))
                if alive and not self._has_ended(here):
                    temperatures[node] = self._temperature_of(here)
                for other, at in ((retrieve_next_sibling[node], before), (retrieve_next_token[node], here)):
                    if int(other) != -1 and (alive or at is before):
                        pending.append((int(other), at))
        return finished

    def _temperature_of(self, engine: EngineMatcher) -> float:
        """The temperature at another place of the same grammar, as a tensor holds it."""
        found = self._noted.temperature(engine)
        chosen = self._default_temperature if found is None else found
        return _NO_TEMPERATURE if chosen is None else chosen

    def find_jump_forward_string(self) -> str:
        """The longest text that must come next; "" where there is a choice, or the text may end."""
        if self.engine.is_terminated():
            raise MatcherTerminatedError("the text has ended: nothing comes next")
        return self.engine.find_jump_forward_string()

    def rollback(self, num_tokens: int = 1) -> None:
        """Undo the last `num_tokens` steps; a `RuntimeError` if there are fewer."""
        with runtime_errors():
            self.engine.rollback(num_tokens)

    def get_captures(self, *, deduplicate: bool = True) -> list[tuple[str, bytes]]:
        """`(name, bytes)` of every rule with `capture` that ended in the text, by where it ended.

        deduplicate: of the spans of one rule that begin at one place, the longest alone.
        """
        return self._noted.captures(self._engine, deduplicate=deduplicate)

    def is_terminated(self) -> bool:
        """Whether the text has ended: a stop token was taken (or it may end, with `terminate_without_stop_token`)."""
        return self._has_ended(self._engine)

    def _has_ended(self, engine: EngineMatcher) -> bool:
        """The same of another place of the text."""
        return engine.is_terminated() or (self._ends_by_itself and engine.is_completed())

    def is_completed(self) -> bool:
        """Whether the text may end here."""
        return self.engine.is_completed()

    def reset(self) -> None:
        """Back to the beginning."""
        self.engine.reset()

    def fork(self) -> GrammarMatcher:
        """An independent matcher at the same place."""
        other = copy(self)
        other.__dict__["_engine"] = self.engine.fork()
        return other

    @property
    def max_rollback_tokens(self) -> int:
        """-1: everything can be rolled back."""
        warnings.warn("max_rollback_tokens is not needed: rollback is unlimited", DeprecationWarning, stacklevel=2)
        return -1

    @property
    def temperature(self) -> float | None:
        """That of the innermost rule with `temperature` that is being read (the highest of several), or the default."""
        found = self._noted.temperature(self._engine)
        return self._default_temperature if found is None else found

    @property
    def stop_token_ids(self) -> list[int]:
        """Ids that end the text."""
        return list(self._stop_token_ids)

    def _debug_print_internal_state(self) -> str:
        """The Earley items here, and the text before."""
        return f"{self.engine!r}\n" + "\n".join(str(item) for item in self.engine.frontier().items)

    def say(self, what: str) -> None:
        """Print what is done, and where (`debug_print`)."""
        print(f"{what} at {self._debug_print_internal_state()}", file=sys.stderr)

    @cached_property
    def _noted(self) -> NotedText:
        return NotedText(Notes.of(self._engine.compiled))

    # A matcher moves: only the same object is equal.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class BatchGrammarMatcher(XGRObject[EngineBatch]):
    """Operations on lists of matchers; `max_threads`: how many masks may be computed at once ("auto": one a core)."""

    def __init__(self, max_threads: int | Literal["auto"] = "auto") -> None:
        with runtime_errors():
            if isinstance(max_threads, str) and max_threads != "auto":
                raise ValueError(f'max_threads must be "auto" or at least 1, got {max_threads!r}')
            self._engine = EngineBatch(max_threads)

    def batch_fill_next_token_bitmask(
        self,
        matchers: list[GrammarMatcher],
        bitmask: object,
        indices: list[int] | None = None,
        debug_print: bool = False,
    ) -> None:
        """Fill row `indices[i]` (default i) of `bitmask` with the mask of `matchers[i]`."""
        for matcher in matchers if debug_print else ():
            matcher.say("mask")
        with runtime_errors():
            array = as_array(bitmask)
            self.engine.batch_fill_next_token_bitmask([matcher.engine for matcher in matchers], array, indices)

    @staticmethod
    def batch_fill_temperature(
        matchers: list[GrammarMatcher], temperatures: torch.Tensor, indices: list[int] | None = None
    ) -> None:
        """Write each matcher's temperature, -1 for none, to entry `indices[i]` (default i)."""
        places: Sequence[int] = range(len(matchers)) if indices is None else indices
        _check_temperatures(temperatures)
        _same_length(matchers, places, "indices")
        for place in places:
            if not 0 <= place < len(temperatures):
                size = f"the temperatures tensor, which has {len(temperatures)} entries"
                raise InvalidArgumentError(f"The index {place} is out of bounds for {size}")
        for matcher, place in zip(matchers, places, strict=True):
            temperatures[place] = _NO_TEMPERATURE if matcher.temperature is None else matcher.temperature

    @staticmethod
    def batch_accept_token(matchers: list[GrammarMatcher], tokens: list[int], debug_print: bool = False) -> list[bool]:
        """`accept_token` of each matcher with its token."""
        _same_length(matchers, tokens, "tokens")
        pairs = zip(matchers, tokens, strict=True)
        return [matcher.accept_token(int(token), debug_print=debug_print) for matcher, token in pairs]

    @staticmethod
    def batch_accept_string(
        matchers: list[GrammarMatcher], strings: list[bytes | str], debug_print: bool = False
    ) -> list[bool]:
        """`accept_string` of each matcher with its text."""
        _same_length(matchers, strings, "strings")
        pairs = zip(matchers, strings, strict=True)
        return [matcher.accept_string(text, debug_print=debug_print) for matcher, text in pairs]

    @staticmethod
    def batch_rollback(matchers: list[GrammarMatcher], num_tokens: list[int] | int = 1) -> None:
        """Roll each matcher back; if one cannot, none is."""
        with runtime_errors():
            EngineBatch.batch_rollback([matcher.engine for matcher in matchers], num_tokens)


def _same_length(matchers: Sequence[object], values: Sequence[object], name: str) -> None:
    if len(matchers) != len(values):
        raise InvalidArgumentError(f"The {name} size must be that of the matchers: {len(values)} for {len(matchers)}")


def _check_temperatures(temperatures: torch.Tensor) -> None:
    if getattr(temperatures, "ndim", None) != 1 or str(temperatures.dtype) not in ("torch.float32", "float32"):
        found = f"{getattr(temperatures, 'dtype', type(temperatures).__name__)} of {getattr(temperatures, 'ndim', 0)}-D"
        raise InvalidArgumentError(f"The temperatures tensor must be a 1D float32 tensor, not {found}")
    device = getattr(temperatures, "device", "cpu")
    if getattr(device, "type", device) != "cpu":
        raise InvalidArgumentError(f"The temperatures tensor must be on CPU, not on {device}")


def _warn(reason: str) -> None:
    warnings.warn(reason, RuntimeWarning, stacklevel=3)
