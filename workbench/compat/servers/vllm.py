"""A structured-output backend for vLLM (its V1 engine).

    from workbench.compat.servers import vllm

    vllm.register()                 # in every process of the server, before the first request

vLLM has no register of backends and its configuration takes four names, so ours takes the place of one of them:
`--structured-outputs-config.backend xgrammar` is this engine then.  An installed Maskscope does so by itself, as a
plugin of vLLM, where the environment says MASKSCOPE_VLLM=xgrammar (or guidance); not otherwise.

A request is read before it is queued (`validate`), with the engine's own verdict: keywords that vLLM refuses on
XGrammar's behalf (`multipleOf`, `uniqueItems`, `patternProperties` and others) are taken where this engine takes them.
Read on: `requests.py`; docs/concepts/servers.md.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from kernels_core import GrammarCompiler
from workbench.compat.servers.requests import (
    KINDS,
    LOGGER,
    Follower,
    Kind,
    ServerInterfaceError,
    compile_request,
    import_server,
    read_request,
    read_vocabulary,
)

if TYPE_CHECKING:
    import torch

SWITCH: Final = "MASKSCOPE_VLLM"
MANAGER: Final = "vllm.v1.structured_output"
Place = Literal["xgrammar", "guidance"]
PLACES: Final[dict[str, tuple[str, str]]] = {
    "xgrammar": ("XgrammarBackend", "validate_xgrammar_grammar"),
    "guidance": ("GuidanceBackend", "validate_guidance_grammar"),
}
"""By the name in vLLM's configuration: the class of the backend, and the function that reads requests for it."""

_REPLACED: list[tuple[ModuleType, str, object]] = []


class RequestGrammar(Follower):
    """One request's grammar, with the methods of vLLM's `StructuredOutputGrammar`."""

    num_processed_tokens = 0

    def accept_tokens(self, request_id: str, tokens: Sequence[int]) -> bool:
        """Take `tokens`; those behind the end of the text are not looked at.  False at the first that is refused."""
        for token in tokens:
            if self.is_terminated():
                break
            if not self.accept(token):
                why = self.error or "the grammar refuses it"
                LOGGER.error("request %s: token %s is not taken: %s", request_id, token, why)
                return False
            self.num_processed_tokens += 1
        return True

    validate_tokens = Follower.fitting  # padding (-1) fits nowhere
    fill_bitmask = Follower.fill

    def rollback(self, num_tokens: int) -> None:
        super().rollback(num_tokens)
        self.num_processed_tokens -= num_tokens

    def reset(self) -> None:
        """Back to the beginning."""
        super().rollback(self.matcher.num_steps)
        self.num_processed_tokens = 0

    def find_jump_string(self) -> str | None:
        """The text that is forced here, of which older versions of vLLM ask; None for none."""
        return self.forced() or None


class Backend:
    """The engine for all requests of one vLLM engine, with the methods of its `StructuredOutputBackend`.

    `vllm_config`: vLLM's; of `structured_outputs_config` `disable_any_whitespace` and `disable_additional_properties`
    are read, in the place of guidance for schemas inside tags, too.  `tokenizer`: vLLM's, or a `TokenizerInfo`.
    `vocab_size`: ids that the model scores.
    """

    def __init__(self, vllm_config: object, tokenizer: object, vocab_size: int) -> None:
        self.vllm_config, self.tokenizer = vllm_config, tokenizer
        self.info = read_vocabulary(_readable(tokenizer), vocab_size)
        self.vocab_size = self.info.vocab_size
        settings = getattr(vllm_config, "structured_outputs_config", None)
        compact = getattr(settings, "disable_any_whitespace", False)
        self.layout = {"any_whitespace": False, "separators": (",", ":")} if compact else {}
        self.more_properties = not getattr(settings, "disable_additional_properties", False)
        self.compiler = GrammarCompiler(self.info)

    def compile_grammar(
        self, request_type: object, grammar_spec: str, stop_token_ids: Iterable[int] | None = None
    ) -> RequestGrammar:
        """`request_type`: a member of vLLM's `StructuredOutputOptions`.  Errors are those of `compile_request`."""
        kind = _kind(request_type)
        if kind == "json" and not self.more_properties:
            grammar_spec = _closed(grammar_spec)
        schemas = self._in_a_tag if self._place == "guidance" else None
        compiled = compile_request(self.compiler, kind, grammar_spec, schemas, **self.layout)
        return self._grammar_class(compiled, stop_token_ids)

    _grammar_class = RequestGrammar
    _place: Place = "xgrammar"

    def _in_a_tag(self, form: dict[str, Any]) -> dict[str, Any]:
        """A format of a schema by the settings of this server, which vLLM's guidance reads inside tags, too."""
        if self.layout and form.get("max_whitespace_cnt") is None:
            form["max_whitespace_cnt"] = 0
        return form if self.more_properties else form | {"json_schema": _closed(form["json_schema"])}

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """Rows that allow everything: int32, shape (max_num_seqs, words)."""
        import torch

        return torch.full((max_num_seqs, (self.vocab_size + 31) // 32), -1, dtype=torch.int32)

    def destroy(self) -> None:
        """Forget what was compiled; requests that run go on."""
        self.compiler.clear_cache()

    @staticmethod
    def is_tokenizer_supported(tokenizer: object) -> bool:
        """What vLLM asks of the class in the place of `guidance` before it reads a request: slow tokenizers are taken
        too."""
        return True


class Params(Protocol):
    """vLLM's parameters of a request."""

    structured_outputs: object


def validate(sampling_params: Params, tokenizer: object = None) -> None:
    """Read a request's grammar before it is queued; vLLM's `VLLMValidationError` says what is wrong.

    Tokens that are given by their text are looked up later: vLLM hands over no tokenizer here that always has them.
    """
    asked = sampling_params.structured_outputs
    if asked is None:
        return
    try:
        for name in KINDS:
            value = getattr(asked, name, None)
            if value is not None and value is not False:
                text = "" if name == "json_object" else value if isinstance(value, str) else json.dumps(value)
                read_request(name, text)
                return
    except (ValueError, RuntimeError) as error:
        raise _validation_error()(f"the grammar of this request cannot be used: {error}") from error
    raise _validation_error()("the request asks for structured output and says no grammar")


# -- in the server ---------------------------------------------------------------------------------------------------


def register(instead_of: Place = "xgrammar") -> type[Backend]:
    """Put this backend where vLLM looks for `instead_of`; returns its class.  A second call changes nothing.

    Raises `ServerInterfaceError`, and changes nothing, where vLLM is missing or not as it was when it was read.
    """
    if instead_of not in PLACES:
        raise ValueError(f"instead_of is one of {', '.join(PLACES)}, not {instead_of!r}")
    backend_name, validate_name = PLACES[instead_of]
    types = import_server(f"{MANAGER}.backend_types", "StructuredOutputBackend", "StructuredOutputGrammar")
    home = import_server(f"{MANAGER}.backend_{instead_of}", backend_name, validate_name)
    manager = import_server(MANAGER, "StructuredOutputManager", backend_name)
    present = getattr(manager, backend_name)
    if isinstance(present, type) and issubclass(present, Backend):
        return present
    grammar = type("MaskscopeGrammar", (RequestGrammar, types.StructuredOutputGrammar), {})
    body = {"_grammar_class": grammar, "_place": instead_of}
    backend = type("MaskscopeBackend", (Backend, types.StructuredOutputBackend), body)
    for name, theirs, ours in (
        (backend_name, present, backend),
        (validate_name, getattr(home, validate_name), validate),
    ):
        # Some versions import these at the top of other modules: whoever holds theirs gets ours.
        for module in [module for key, module in sys.modules.items() if key.partition(".")[0] == "vllm"]:
            if getattr(module, name, None) is theirs:
                _REPLACED.append((module, name, theirs))
                setattr(module, name, ours)
    return backend


def unregister() -> None:
    """Give vLLM back what `register` took."""
    while _REPLACED:
        module, name, theirs = _REPLACED.pop()
        setattr(module, name, theirs)


def plugin() -> None:
    """What vLLM calls in each of its processes: registers where the environment says so (`MASKSCOPE_VLLM`)."""
    place = os.environ.get(SWITCH, "")
    if place in PLACES:
        register(place)  # type: ignore[arg-type]
        # A logger below vLLM's own writes where its lines go; others tell nothing below a warning there.
        logging.getLogger("vllm.maskscope").info("structured output is by Maskscope, instead of %s", place)
    elif place:
        raise ServerInterfaceError(f"{SWITCH} is one of {', '.join(PLACES)}, not {place!r}")


def _kind(request_type: object) -> Kind:
    name = str(getattr(request_type, "name", request_type)).lower()
    for kind in KINDS:
        if kind == name:
            return kind
    raise ValueError(f"structured output of kind {request_type} is not known: {', '.join(KINDS)}")


def _closed(schema: Any) -> Any:
    """The schema, or its text, with vLLM's own reading of `disable_additional_properties`: objects that list properties
    have no others, unless they say so."""
    guidance = import_server(f"{MANAGER}.backend_guidance", "process_for_additional_properties")
    try:
        closed = guidance.process_for_additional_properties(schema)
    except json.JSONDecodeError:
        return schema  # the engine says where
    return json.dumps(closed) if isinstance(schema, str) else closed


def _readable(tokenizer: object) -> object:
    """vLLM's own class for Mistral's tokenizers is read through mistral-common's object inside, which knows the bytes
    of each token and the control tokens; all others as they are."""
    return getattr(tokenizer, "mistral", tokenizer)


def _validation_error() -> type[Exception]:
    """The class by which vLLM knows a mistake of the client; in newer versions it is no `ValueError`."""
    module = sys.modules.get("vllm.exceptions")
    found = getattr(module, "VLLMValidationError", ValueError)
    return found if isinstance(found, type) and issubclass(found, Exception) else ValueError
