"""What one request may cost, and how many there may be.  All limits are on; each can be set.

Read on: `service.py` (who asks), `docs/concepts/serving.md` (what answers when one is reached).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from kernels_core import Options

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`ValueError` for a limit that lets nothing through.

    rows: texts that are written side by side.
    max_waiting: answers that may wait behind those, while their grammar compiles too; more are answered 429.
    max_tokens: of one answer, and what it gets where it asks for no number.
    max_length: tokens of one text, prompt included.
    max_body_bytes: of one request; larger ones are answered 413.
    max_body_seconds: a request that has not arrived after so long is answered 408.
    max_seconds: from a request's arrival to the end of its answer; 504 beyond.
    max_compile_ms: processor time of reading and compiling one grammar.
    max_fill_ms: ... of one mask: as long as one row may keep the others waiting.
    max_states, max_bytes: automaton states of one grammar; bytes of its parser states and masks (`Options`).
    max_blanks: between two tokens of JSON, where a schema or a tool asks for it; small models may write nothing else.
    caps: bound strings, arrays and objects that a schema leaves without a bound (`workbench.languages.CAPS`).
    cache_bytes: what compiled grammars may hold that are kept for the next request.
    prefix_bytes: keys and values of prompts that are kept for texts that begin alike.
    compile_threads: grammars that are compiled at once.
    grace_seconds: what running requests get to end when the server is told to go.
    """

    rows: int = 16
    max_waiting: int = 64
    max_tokens: int = 1024
    max_length: int = 8192
    max_body_bytes: int = 1 << 20
    max_body_seconds: float = 30.0
    max_seconds: float = 600.0
    max_compile_ms: int = 2_000
    max_fill_ms: int = 250
    max_states: int = 100_000
    max_bytes: int = 1 << 27
    max_blanks: int = 1
    caps: bool = False
    cache_bytes: int = 1 << 28
    prefix_bytes: int = 1 << 27
    compile_threads: int = 2
    grace_seconds: float = 5.0

    def __post_init__(self) -> None:
        may_be_zero = ("max_waiting", "max_blanks", "caps", "cache_bytes", "prefix_bytes", "grace_seconds")
        for field in fields(self):
            value = getattr(self, field.name)
            if value < 0 or (value == 0 and field.name not in may_be_zero):
                raise ValueError(f"Limits.{field.name} must be more than 0, got {value}")

    @property
    def options(self) -> Options:
        """The engine's part."""
        return Options(
            max_compile_ms=self.max_compile_ms,
            max_fill_ms=self.max_fill_ms,
            max_states=self.max_states,
            max_bytes=self.max_bytes,
        )
