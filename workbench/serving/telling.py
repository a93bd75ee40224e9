"""Tell a model what its chat template leaves out: which tools there are, how they are called, what an answer must be.

Models of the last years read `tools` in their chat template, and small or older ones do not: without a word of them
they never call, and write whatever the grammar leaves.  Nor does any template tell the schema of a JSON answer.
`Teller` adds both to the system turn of a request; a template that reads `tools` is left to do so.

Read on: `service.py` (who asks), `calls.py` (how calls are written).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jinja2 import TemplateError

from kernels_core.errors import MaskscopeError
from workbench.generation.fetching import DEMO
from workbench.generation.random_weights import PREFIX
from workbench.languages.telling import in_json, told_schema, told_tools
from workbench.languages.tools import body_of
from workbench.serving.calls import format_of_calls
from workbench.serving.constraint import forced_tool
from workbench.serving.fields import Asked, Message
from workbench.serving.thoughts import BLOCKS, Block

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from workbench.generation.model import LanguageModel

# What a chat template writes where a model calls tools, and the format of such calls; the first that fits counts.
_MARKERS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("<|channel|>", "<|message|>"), "harmony"),
    (("<|tool_calls_section_begin|>",), "kimi_k2"),
    (("<minimax:tool_call>",), "minimax"),
    (("｜DSML｜function_calls",), "deepseek_v3_2"),
    (("｜DSML｜tool_calls",), "deepseek_v4"),
    (("<｜tool▁calls▁begin｜>", "```json"), "deepseek_r1"),
    (("<｜tool▁calls▁begin｜>",), "deepseek_v3_1"),
    (("<arg_key>",), "glm_4_7"),
    (("<tool_call><function=",), "mimo"),
    (("<function=", "<parameter="), "qwen_3_5"),
    (("[TOOL_CALLS]", "[ARGS]"), "mistral"),
    (("<tool_call>", "<think>"), "qwen_3"),
    (("<tool_call>",), "hermes"),
    (('{"name": ', '"parameters": '), "llama"),
)
# Families by what a model's configuration calls its architecture.
_FAMILIES: Final = {
    "llama": "llama",
    "qwen2": "hermes",
    "qwen2_moe": "hermes",
    "qwen3": "qwen_3",
    "qwen3_moe": "qwen_3",
    "qwen3_5": "qwen_3_5",
    "qwen3_next": "qwen_3_5",
    "mistral": "mistral",
    "mistral3": "mistral",
    "ministral": "mistral",
    "exaone4": "exaone",
    "glm4_moe": "glm_4_7",
    "gpt_oss": "harmony",
    "deepseek_v3": "deepseek_v3_1",
    "deepseek_v32": "deepseek_v3_2",
    "kimi_k2": "kimi_k2",
    "minimax_m2": "minimax",
    "cohere2": "command_a",
}
_PROBE: Final = "probe_of_the_template"


@dataclass(frozen=True)
class Teller:
    """What is added to the turns of requests to a model.

    tool_format: how the model writes calls; None where nobody knows.  tells_tools: the chat template does not.
    tells_schemas: whether a schema may be told.  system: whether the template takes a system's turn; reads_calls: and
    calls with what they gave.  block: of reasoning, which the template knows.
    """

    tool_format: str | None
    tells_tools: bool
    tells_schemas: bool
    system: bool = True
    reads_calls: bool = True
    block: Block | None = None

    @classmethod
    def of(cls, model: LanguageModel, tool_format: str | None = None) -> Teller:
        """How `model` is told; `tool_format` is a format that it is said to write."""
        if model.name == DEMO or model.name.startswith(PREFIX):
            # The demo model was trained on its tools, and on nothing that could be told; random weights come with its
            # tokenizer.
            return cls(tool_format or "exaone", tells_tools=False, tells_schemas=False, system=False, reads_calls=False)
        tokenizer = model.hf_tokenizer
        user = Message(role="user", content="?")
        system = _render(tokenizer, [Message(role="system", content="?"), user]) is not None
        # A tool whose name nobody else writes.
        probe = {"type": "function", "function": {"name": _PROBE, "parameters": {"type": "object", "properties": {}}}}
        reads = _PROBE in (_render(tokenizer, [user], [probe]) or "")
        template = tokenizer.chat_template
        text = "\n".join(template.values()) if isinstance(template, dict) else template or ""
        marked = next((form for marks, form in _MARKERS if all(mark in text for mark in marks)), None)
        family = str(getattr(model.model.config, "model_type", ""))
        guessed = marked or (_FAMILIES.get(family) if reads else "hermes")
        block = next((one for one in BLOCKS if one.begin in text and one.end in text), None)
        return cls(tool_format or guessed, not reads, True, system=system, reads_calls=reads, block=block)

    def told(
        self, request: Asked, *, tell_schema: bool = True
    ) -> tuple[list[Mapping[str, object]], Sequence[Mapping[str, object]] | None]:
        """What the chat template is given: the turns of a request with what is added to them, and the tools that it is
        left to tell of."""
        turns = request.turns or []
        tools = request.tools if request.tool_choice != "none" else None
        if not self.reads_calls:
            turns = [self._as_text(turn) for turn in turns]
        if not self.system:
            turns = _before_users(turns)
        if tools and self.tells_tools:
            forced = forced_tool(request)
            turns = self._with(turns, self._tools(tools) if forced is None else _arguments(body_of(forced)))
            tools = None
        elif not tools and tell_schema and self.tells_schemas and request.form.schema is not None:
            turns = self._with(turns, told_schema(request.form.schema))
        return [turn.turn() for turn in turns], tools

    def _tools(self, tools: Sequence[Mapping[str, object]]) -> str:
        example = _call(self.tool_format, "FUNCTION", {"ARGUMENT": "value"})
        return told_tools(map(body_of, tools), example)

    def _with(self, turns: Sequence[Message], told: str) -> list[Message]:
        """With `told` behind what the system's turn says, or in a turn of its own before all; in front of the first
        user's turn for a template that takes no system's."""
        turns = list(turns)
        at = 0
        if not self.system:
            at = next((number for number, turn in enumerate(turns) if turn.role == "user"), 0)
        elif turns[0].role not in ("system", "developer"):
            return [Message(role="system", content=told), *turns]
        said = turns[at].content
        content = f"{said}\n\n{told}" if self.system else f"{told}\n\n{said}"
        turns[at] = turns[at].model_copy(update={"content": content.strip()})
        return turns

    def _as_text(self, turn: Message) -> Message:
        """A call, and what it gave, for a template that knows no tools."""
        if turn.role == "assistant" and turn.tool_calls:
            called = [call.function for call in turn.tool_calls]
            written = [_call(self.tool_format, one.name, one.arguments) for one in called]
            return Message(role="assistant", content="\n".join(filter(None, [turn.content, *written])))
        if turn.role in ("tool", "function"):
            return Message(role="user", content=f"<tool_response>\n{turn.content}\n</tool_response>")
        return turn


def _before_users(turns: Sequence[Message]) -> list[Message]:
    """The turns without a system's: each stands in front of what the user says next, or is the user's at the end."""
    found, said = list[Message](), list[str]()
    for turn in turns:
        if turn.role in ("system", "developer"):
            said.append(turn.content)
        elif turn.role == "user" and said:
            found.append(turn.model_copy(update={"content": "\n\n".join([*said, turn.content])}))
            said = []
        else:
            found.append(turn)
    return [*found, Message(role="user", content="\n\n".join(said))] if said else found


def _render(
    tokenizer: PreTrainedTokenizerBase, turns: list[Message], tools: Sequence[Mapping[str, object]] | None = None
) -> str | None:
    """What the chat template writes; None where it refuses, or there is none."""
    if not tokenizer.chat_template:
        return None
    template: Callable[..., object] = tokenizer.apply_chat_template
    try:
        return str(template([turn.turn() for turn in turns], tools=tools, add_generation_prompt=True, tokenize=False))
    except (TemplateError, TypeError, ValueError, KeyError):
        return None


def _call(tool_format: str | None, name: str, arguments: object) -> str:
    """A call as text; a name that the format cannot write stands in JSON."""
    try:
        return format_of_calls(tool_format or "hermes", name).write(arguments)
    except MaskscopeError:
        return in_json({"name": name, "arguments": arguments})


def _arguments(body: Mapping[str, object]) -> str:
    about = f"{body['name']} ({body['description']})" if body.get("description") else body["name"]
    return told_schema(body.get("parameters") or {}, f"the arguments of {about} as ")
