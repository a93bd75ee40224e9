"""A causal language model behind three calls: encode a prompt, start a run, advance it token by token.

`load_model("demo")` (`loading.py`) is the project's own small model; any other name is a folder, or a Hugging Face
model that is already on this machine; `load_model("random:llama-3.1-8b@tiny")` is an architecture with random weights
(`random_weights.py`).  Nothing is fetched from the network, and no code from a model's folder is run.
A `LanguageModel` owns weights and tokenizer; a `ModelRun` owns one key-value cache.
Read on: `engine.py`, which drives a run under a grammar.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import torch
from jinja2 import TemplateError

from kernels_core import GrammarCompiler
from workbench.generation import random_weights
from workbench.generation.errors import ModelError, PromptTooLongError
from workbench.generation.fetching import DEMO, PACKAGED, advice_for, named_folder, spelt
from workbench.generation.sampling import Sampling
from workbench.tokenizers import load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Prompt: TypeAlias = str | Sequence[int] | Sequence[Mapping[str, object]]

SMALL = 5_000_000  # parameters
_THREADS = torch.get_num_threads()


class LanguageModel:
    """A `transformers` causal language model with its tokenizer.  One model may serve many runs, one thread at a time.

    Parameters
    ----------
    model
        Any model of `AutoModelForCausalLM` that returns a key-value cache.
    tokenizer
        Its `transformers` tokenizer.
    name
        For displays.

    Raises
    ------
    TokenizerError
        The tokenizer's tokens cannot be read as bytes.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, *, name: str) -> None:
        self.model: PreTrainedModel = model.eval()
        self.name = name
        self.hf_tokenizer = tokenizer
        self.vocab_size = logit_width(model)
        # Padding ids that the model scores are part of the vocabulary: a mask must be as wide as the logits.
        self.tokenizer = load_tokenizer(
            tokenizer, vocab_size=self.vocab_size, stop_token_ids=_stop_tokens(model, tokenizer), name=name
        )

    @property
    def device(self) -> torch.device:
        """Where the logits appear."""
        return torch.device(self.model.device)

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = self.model.dtype
        return dtype

    @property
    def context(self) -> int | None:
        """How many tokens, prompt included, the model was built for; None when its configuration does not say."""
        return context_of(self.model)

    @property
    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    @cached_property
    def sampling(self) -> Sampling:
        """How its makers draw from it, where nothing else is said: what its `generation_config.json` says."""
        said = self.model.generation_config.to_diff_dict()
        if said.get("top_k") == 0:  # `transformers` writes so that it is off
            del said["top_k"]
        known = {name: said[name] for name in ("temperature", "top_k", "top_p", "min_p") if said.get(name) is not None}
        return Sampling(**known)

    @cached_property
    def compiler(self) -> GrammarCompiler:
        """Compiles grammars for this model's vocabulary, and remembers them."""
        return GrammarCompiler(self.tokenizer.info)

    def encode_prompt(
        self,
        prompt: Prompt,
        *,
        chat: bool | None = None,
        tools: Sequence[Mapping[str, object]] | None = None,
        prompted: bool = True,
        continues: bool = False,
    ) -> list[int]:
        """Token ids of a prompt.

        `prompt` is a text, a list of chat messages (`{"role": ..., "content": ...}`), or token ids, which are taken
        as they are.  A text becomes the user's turn of a chat when `chat` is true, or is None and the model has a
        chat template.  `tools` are for chat templates that tell the model of them.  `prompted`: the template writes
        the beginning of the answer's turn.  `continues`: the last message is gone on with instead.  Raises ModelError
        for an empty prompt, an id outside the vocabulary, or a chat without a template.
        """
        if isinstance(prompt, str):
            if chat is None:
                chat = bool(self.hf_tokenizer.chat_template)
            if not chat:
                return self._checked(self.tokenizer.encode_prompt(prompt))
            prompt = [{"role": "user", "content": prompt}]
        items = list(prompt)
        if items and all(isinstance(item, Mapping) for item in items):
            if not self.hf_tokenizer.chat_template:
                raise ModelError(f"{self.name} has no chat template: pass the prompt as plain text")
            try:
                template: Callable[..., object] = self.hf_tokenizer.apply_chat_template
                text = template(
                    items,
                    tools=list(tools) if tools else None,
                    add_generation_prompt=prompted and not continues,
                    continue_final_message=continues,
                    tokenize=False,
                )
            except TemplateError as error:
                raise ModelError(f"the chat template of {self.name} refuses these messages: {error}") from error
            # The template has written the control tokens already.
            return self._checked(self.hf_tokenizer(str(text), add_special_tokens=False)["input_ids"])
        return self._checked(items)

    def _checked(self, items: Sequence[object]) -> list[int]:
        try:
            ids = [index(item) for item in items]  # type: ignore[arg-type]
        except TypeError:
            raise ModelError("a prompt is a text, a list of chat messages, or a list of token ids") from None
        if not ids:
            raise ModelError("the prompt has no tokens: a model needs at least one to start from")
        for token in ids:
            if not 0 <= token < self.vocab_size:
                raise ModelError(f"{token} is not a token id of {self.name} (0 to {self.vocab_size - 1:,})")
        if self.context is not None and len(ids) >= self.context:
            raise PromptTooLongError(
                f"the prompt has {len(ids):,} tokens, but {self.name} holds {self.context:,} with its answer"
            )
        return ids

    def start(self) -> ModelRun:
        """A fresh run: nothing read yet."""
        return ModelRun(self)

    def __repr__(self) -> str:
        kind = type(self.model).__name__
        dtype = str(self.dtype).removeprefix("torch.")
        return (
            f"<LanguageModel {self.name}: {kind}, {self.parameter_count:,} parameters, {self.vocab_size:,} tokens, "
            f"{dtype} on {self.device}>"
        )


class ModelRun:
    """One text being read by a model: its key-value cache, and a clock.  Not thread-safe.

    Also what `Engine` reads one text by: a single slot that is never copied or shortened.  What `read` is given is read
    with the next token.
    """

    splits = False
    nbytes = 0

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._keep = {"logits_to_keep": 1} if "logits_to_keep" in _parameters(model.model) else {}
        self._cache_name = cache_name(model.model)
        self._cache: object = None
        self._unread: list[int] = []
        self.lengths = [0]
        self.device = model.device
        self._cuda = self.device.type == "cuda"
        if self.device.type == "cpu":
            fit_threads(model)
        self._began = 0
        self._ended = 0
        if self._cuda:
            self._before = torch.cuda.Event(enable_timing=True)
            self._after = torch.cuda.Event(enable_timing=True)
        self.length = 0

    def read(self, slot: int, ids: Sequence[int]) -> None:
        """Read `ids`, of which nobody asks for logits."""
        self._unread += ids
        self.lengths[slot] += len(ids)

    def decode(self, tokens: torch.Tensor) -> torch.Tensor:
        """Read one token: logits, shape (1, vocab)."""
        ids, self._unread = [*self._unread, *tokens.tolist()], []
        self.lengths[0] += 1
        return self.advance(ids).unsqueeze(0)

    @staticmethod
    def logits(states: torch.Tensor) -> torch.Tensor:
        """What `decode` returned."""
        return states

    @staticmethod
    def logits_of(states: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """The logits of `ids`, shape (1, k)."""
        return states.gather(-1, ids)

    def clear(self, slot: int) -> None:
        """Its text has ended."""

    def move(self, source: int, target: int) -> None:
        """There is one slot."""

    def give_back(self) -> None:
        """The cache goes with the run."""

    def advance(self, ids: Sequence[int]) -> torch.Tensor:
        """Read `ids`; returns the next token's logits, float32, shape (vocab,), on the model's device.

        On CUDA the call returns before the logits are there, so that the caller can fill a mask meanwhile; `wait`
        waits for them.  Raises ModelError when the model keeps no key-value cache.
        """
        model = self._model
        self._began = time.perf_counter_ns()
        if self._cuda:
            self._before.record()
        with torch.no_grad():
            output = model.model(
                input_ids=torch.tensor([list(ids)], device=self.device),
                use_cache=True,
                **{self._cache_name: self._cache},
                **self._keep,
            )
        self._cache = getattr(output, self._cache_name, None)
        if self._cache is None:
            raise ModelError(f"{model.name} ({type(model.model).__name__}) returned no key-value cache")
        logits: torch.Tensor = output.logits[0, -1].float()
        if self._cuda:
            self._after.record()
        self._ended = time.perf_counter_ns()
        self.length += len(ids)
        return logits

    def wait(self) -> int:
        """Wait for the last `advance`; returns the nanoseconds it took on the device."""
        if self._cuda:
            self._after.synchronize()
            return int(self._before.elapsed_time(self._after) * 1e6)
        return self._ended - self._began


def cache_name(module: torch.nn.Module) -> str:
    """What a model calls the key-value cache that it takes and returns: `cache`, or `past_key_values` as all models of
    earlier versions of `transformers` do."""
    return "cache" if "cache" in _parameters(module) else "past_key_values"


def _parameters(module: torch.nn.Module) -> Mapping[str, inspect.Parameter]:
    """What a pass of a model takes."""
    return inspect.signature(module.forward).parameters


def read_model(name_or_path: str | Path, device: str, dtype: str | torch.dtype | None) -> LanguageModel:
    """`load_model`, without a word while one waits."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    name = spelt(str(name_or_path))
    folder = _folder(name)
    if (isinstance(name_or_path, Path) or name.startswith((".", "/", "~"))) and not Path(folder).is_dir():
        if Path(folder).is_file():
            raise ModelError(f"{folder} is a file; a model is the folder of its config.json and *.safetensors")
        raise ModelError(f"no such folder: {folder}")
    target = _device(device)
    if name.startswith(random_weights.PREFIX):
        tokenizer = AutoTokenizer.from_pretrained(_folder(DEMO), local_files_only=True, trust_remote_code=False)
        width = _dtype(dtype, target, name)
        precise = width if isinstance(width, torch.dtype) else torch.bfloat16
        filled = random_weights.make_model(name, target, precise, tokenizer.eos_token_id)
        return LanguageModel(filled, tokenizer, name=name)
    try:
        with _quiet():
            model = AutoModelForCausalLM.from_pretrained(
                folder, dtype=_dtype(dtype, target, name), local_files_only=True, trust_remote_code=False
            )
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and not Path(folder).exists():
            # The library would speak of a network that nobody asks.
            raise ModelError(f"there is no model {name!r} on this machine: {advice_for(name)}") from error
        raise ModelError(f"cannot load the model {name!r}: {error}") from error
    shown = Path(folder).name if name not in {DEMO, *PACKAGED} and Path(folder).is_dir() else name
    return LanguageModel(model.to(target), tokenizer, name=shown)  # type: ignore[arg-type]


def _folder(name: str) -> str:
    """Where a model of that name lies; a name that is no folder here is looked up in the Hugging Face cache."""
    found = named_folder(name)
    if found is not None:
        return str(found)
    return str(Path(name).expanduser()) if name.startswith("~") else name


def _device(device: str) -> torch.device:
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        target = torch.device(device)
    except RuntimeError as error:
        raise ModelError(f"torch knows no device {device!r}") from error
    if target.type == "cuda" and not torch.cuda.is_available():
        raise ModelError(f"device {device!r}: this PyTorch ({torch.__version__}) sees no CUDA GPU; use device='cpu'")
    return target


def _dtype(dtype: str | torch.dtype | None, device: torch.device, name: str) -> torch.dtype | str:
    if dtype is None:
        return torch.float32 if device.type == "cpu" or name == DEMO else "auto"
    if isinstance(dtype, str):
        dtype = getattr(torch, dtype, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ModelError("dtype must be a floating type of torch, such as 'float32' or 'bfloat16'")
    return dtype


def context_of(model: PreTrainedModel) -> int | None:
    """How many tokens a model was built for; None where its configuration does not say."""
    limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return limit if isinstance(limit, int) and limit > 0 else None


def logit_width(model: PreTrainedModel) -> int:
    """How many ids the model scores, which may exceed what its tokenizer knows."""
    head = model.get_output_embeddings()
    if head is not None:
        return int(head.weight.shape[0])
    return int(model.config.get_text_config().vocab_size)


def _stop_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[int] | None:
    """What ends a generation: the model's own list, with the tokenizer's; None when neither says."""
    configured = getattr(model.generation_config, "eos_token_id", None)
    found = set() if configured is None else {configured} if isinstance(configured, int) else set(configured)
    if tokenizer.eos_token_id is not None:
        found.add(tokenizer.eos_token_id)
    return sorted(found) or None


def fit_threads(model: LanguageModel) -> None:
    """One CPU thread for a small model, torch's own number again for the next large one.

    A small model's pass lasts about a millisecond; threads that wait for each other on busy cores make that a hundred.
    The number is torch's for the whole process, and changing it costs tens of milliseconds, so it is left as it is
    between runs of the same kind.
    """
    wanted = 1 if model.parameter_count < SMALL else _THREADS
    if torch.get_num_threads() != wanted and (wanted == 1 or torch.get_num_threads() == 1):
        torch.set_num_threads(wanted)


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars while a model loads; as it was afterwards."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
