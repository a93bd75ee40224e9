"""Modules by the names of vLLM's and SGLang's, with as much in them as the backends touch, and nothing of theirs.

They stand for what is not installed: base classes, a register, the places where a backend is looked for.
"""

from __future__ import annotations

import enum
import json
import sys
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest


def module(monkeypatch: pytest.MonkeyPatch, name: str, **names: Any) -> ModuleType:
    """`name`, with the packages above it, until the test ends."""
    parent = name.rpartition(".")[0]
    if parent and parent not in sys.modules:
        module(monkeypatch, parent)
    made = ModuleType(name)
    made.__path__ = []  # type: ignore[attr-defined]
    for key, value in names.items():
        setattr(made, key, value)
    monkeypatch.setitem(sys.modules, name, made)
    if parent:
        monkeypatch.setattr(sys.modules[parent], name.rpartition(".")[2], made, raising=False)
    return made


# -- vLLM ------------------------------------------------------------------------------------------------------------


class Options(enum.Enum):
    JSON = enum.auto()
    JSON_OBJECT = enum.auto()
    REGEX = enum.auto()
    GRAMMAR = enum.auto()
    CHOICE = enum.auto()
    STRUCTURAL_TAG = enum.auto()


class VllmGrammar(ABC):
    @abstractmethod
    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool: ...
    @abstractmethod
    def validate_tokens(self, tokens: list[int]) -> list[int]: ...
    @abstractmethod
    def rollback(self, num_tokens: int) -> None: ...
    @abstractmethod
    def fill_bitmask(self, bitmask: Any, batch_index: int) -> None: ...
    @abstractmethod
    def is_terminated(self) -> bool: ...
    @abstractmethod
    def reset(self) -> None: ...


@dataclass
class VllmBackend(ABC):
    vllm_config: Any
    tokenizer: Any
    vocab_size: int

    @abstractmethod
    def compile_grammar(self, request_type: Any, grammar_spec: str, stop_token_ids: Any = None) -> VllmGrammar: ...
    @abstractmethod
    def allocate_token_bitmask(self, max_num_seqs: int) -> Any: ...
    @abstractmethod
    def destroy(self) -> None: ...


class VllmError(Exception):
    """A mistake of the client; no `ValueError`."""


def closed(schema: Any) -> Any:
    """vLLM's reading of a schema or its text with `disable_additional_properties`, at its top alone."""
    return (json.loads(schema) if isinstance(schema, str) else schema) | {"additionalProperties": False}


def install_vllm(monkeypatch: pytest.MonkeyPatch, place: str = "xgrammar") -> dict[str, ModuleType]:
    """The modules by their last names, with one backend."""

    def theirs(params: Any) -> None:
        raise AssertionError("vLLM's own")

    name = "vllm.v1.structured_output"
    backend = {f"{place.title()}Backend": object}
    reading = {f"validate_{place}_grammar": theirs}
    found = {
        "exceptions": module(monkeypatch, "vllm.exceptions", VLLMValidationError=VllmError),
        "manager": module(monkeypatch, name, StructuredOutputManager=object, **backend),
        "types": module(
            monkeypatch,
            f"{name}.backend_types",
            StructuredOutputBackend=VllmBackend,
            StructuredOutputGrammar=VllmGrammar,
            StructuredOutputOptions=Options,
        ),
        place: module(
            monkeypatch,
            f"{name}.backend_{place}",
            process_for_additional_properties=closed,
            **backend,
            **reading,
        ),
        "processor": module(monkeypatch, "vllm.v1.engine.processor", **reading),
    }
    return found


@dataclass
class Asked:
    """vLLM's parameters of a request, of which one is given."""

    json: Any = None
    regex: str | None = None
    choice: list[str] | None = None
    grammar: str | None = None
    json_object: bool | None = None
    structural_tag: str | None = None


@dataclass
class Params:
    structured_outputs: Asked | None


# -- SGLang ----------------------------------------------------------------------------------------------------------


@dataclass
class Stats:
    compilation_time: float | None = None
    is_cache_hit: bool = False
    tree_traversal_time: list[float] = field(default_factory=list)
    dispatch_type: str | None = None


class SglangGrammar:
    def __init__(self) -> None:
        self._finished = False
        self.grammar_stats: Any = None
        self.current_token: int | None = None

    def maybe_init_reasoning(self, reasoning: bool) -> None:
        pass

    @property
    def finished(self) -> bool:
        return self._finished

    @finished.setter
    def finished(self, value: bool) -> None:
        self._finished = value


class Invalid(SglangGrammar):
    def __init__(self, error_message: str = "") -> None:
        super().__init__()
        self.error_message = error_message


class SglangBackend:
    """The base class: compiles in threads, and hands out copies of what it has."""

    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor(2)
        self.cache: dict[Any, Any] = {}

    def asked(self, kind: str, text: str) -> Any:
        """A request's grammar: compiled by a thread at first, a copy from then on."""
        if (kind, text) in self.cache:
            return self.cache[kind, text].copy()
        dispatch = getattr(self, f"dispatch_{kind}")
        made = self.executor.submit(dispatch, text).result()
        self.cache[kind, text] = made
        return made if isinstance(made, Invalid) else made.copy()

    def reset(self) -> None:
        self.cache.clear()


class ReasoningParser:
    """Reads where the reasoning of a model ends."""

    def __init__(self, model_type: str, stream_reasoning: bool = True, tokenizer: Any = None) -> None:
        self.model_type, self.stream_reasoning, self.tokenizer = model_type, stream_reasoning, tokenizer


class ReasonerBackend:
    """The wrapper around a backend, by which grammars begin where reasoning ends."""

    def __init__(
        self,
        grammar_backend: SglangBackend,
        reasoning_parser: ReasoningParser,
        tokenizer: Any,
        enable_strict_thinking: bool = False,
    ) -> None:
        self.grammar_backend, self.reasoning_parser = grammar_backend, reasoning_parser
        self.strict = enable_strict_thinking


@dataclass
class Arguments:
    grammar_backend: str = "maskscope"
    constrained_json_disable_any_whitespace: bool = True
    constrained_json_max_whitespace_cnt: int | None = None
    reasoning_parser: str | None = None
    enable_strict_thinking: bool = False


@dataclass
class Entry:
    row: int
    grammar: Any


def install_sglang(monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], list[str]]:
    """What is registered by name, and the choices of the command line."""
    registered: dict[str, Any] = {}
    choices = ["xgrammar", "none"]
    module(
        monkeypatch,
        "sglang.srt.constrained.base_grammar_backend",
        BaseGrammarBackend=SglangBackend,
        BaseGrammarObject=SglangGrammar,
        InvalidGrammarObject=Invalid,
        GrammarStats=Stats,
        register_grammar_backend=registered.__setitem__,
    )
    name = "sglang.srt.constrained.reasoner_grammar_backend"
    module(monkeypatch, name, ReasonerGrammarBackend=ReasonerBackend)
    module(monkeypatch, "sglang.srt.parser.reasoning_parser", ReasoningParser=ReasoningParser)
    module(monkeypatch, "sglang.srt.server_args", add_grammar_backend_choices=choices.extend)
    return registered, choices
