"""`/v1/completions`: texts, or token ids, that a model goes on with, and no chat around them.

Read on: `fields.py` (what it shares with the others), `chat.py` (a chat).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from pydantic import Field

from workbench.generation.row import Chunk
from workbench.serving.answers import Answer, Event, Writer
from workbench.serving.body import Body
from workbench.serving.calls import Said
from workbench.serving.fields import MAX_LOGPROBS, Asked, Common, Sampled
from workbench.serving.forms import form_of

MAX_PROMPTS: Final = 64
TOKENS: Final = 16  # of an answer to a request that says nothing of it, as OpenAI's API has it


class CompletionRequest(Common):
    """A request to go on with some texts."""

    not_built: ClassVar[Mapping[str, tuple[object, ...]]] = {**Sampled.not_built, "suffix": ("",), "best_of": (1,)}

    prompt: object
    max_tokens: int | None = Field(None, ge=1)
    logprobs: int | None = Field(None, ge=0, le=MAX_LOGPROBS)
    echo: bool | None = None

    def asked(self, body: Body) -> Asked:
        if self.echo and self.logprobs is not None:
            raise body.wrong(
                "#/echo", "not with logprobs: those of the prompt are not computed", code="unsupported_value"
            )
        texts = _texts(body, self.prompt)
        return replace(
            self._common(body, form_of(body, self.response_format)),
            texts=texts,
            limit=("max_tokens", TOKENS if self.max_tokens is None else self.max_tokens),
            likeliest=self.logprobs,
            echo=bool(self.echo),
        )


def _texts(body: Body, prompt: object) -> Sequence[str | list[int]]:
    """A text, a list of texts, token ids, or a list of lists of them."""
    if isinstance(prompt, str):
        return [prompt]
    if not isinstance(prompt, list) or not prompt:
        raise body.wrong("#/prompt", "a text, token ids, or a list of texts or of lists of token ids is expected")
    if all(_is_id(one) for one in prompt):
        return [prompt]
    if len(prompt) > MAX_PROMPTS:
        raise body.wrong("#/prompt", f"at most {MAX_PROMPTS} prompts")
    for number, one in enumerate(prompt):
        if not isinstance(one, str) and not (isinstance(one, list) and one and all(map(_is_id, one))):
            raise body.wrong(f"#/prompt/{number}", "a text, or a list of token ids, is expected")
        if isinstance(one, str) is not isinstance(prompt[0], str):
            raise body.wrong(f"#/prompt/{number}", "prompts are all texts, or all lists of token ids")
    return prompt


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class CompletionAnswer(Answer):
    """Texts that go on."""

    prefix = "cmpl"
    kind = kind_of_events = "text_completion"

    def begin(self) -> Iterator[Event]:
        for writer in self.writers if self.asked.echo else ():
            yield self._event(_choice(writer, self.prompts[writer.prompt]))

    def take(self, index: int, chunk: Chunk) -> Iterator[Event]:
        writer = self.writers[index]
        for piece in writer.take(chunk):
            if isinstance(piece, Said):
                yield self._event(_choice(writer, piece.text, logprobs=self._new(writer)))

    def finish(self, index: int) -> Iterator[Event]:
        writer = self.writers[index]
        yield self._event(_choice(writer, "", logprobs=self._new(writer), **writer.ended))

    def whole_choice(self, writer: Writer) -> Event:
        text = (self.prompts[writer.prompt] if self.asked.echo else "") + writer.text
        return _choice(writer, text, logprobs=_logprobs(writer, 0), **writer.ended)

    def _new(self, writer: Writer) -> Event | None:
        """Log probabilities that were not told yet."""
        new = writer.new_logprobs()
        return _logprobs(writer, len(writer.logprobs) - len(new)) if new else None


def _choice(writer: Writer, text: str, **more: object) -> Event:
    return {"index": writer.index, "text": text, "logprobs": None, "finish_reason": None, **more}


def _logprobs(writer: Writer, first: int) -> Event | None:
    """The older shape, from the token numbered `first` on: lists by token; the token is among its likeliest."""
    if writer.likeliest is None or writer.row is None:
        return None
    told, text = writer.logprobs[first:], writer.row.text
    return {
        "text_offset": [len(text[:start].decode(errors="ignore")) for start in writer.starts[first:]],
        "tokens": [one["token"] for one in told],
        "token_logprobs": [one["logprob"] for one in told],
        "top_logprobs": [{other["token"]: other["logprob"] for other in [*one["top_logprobs"], one]} for one in told],
    }
