"""What one request may cost, and how many there may be.  All limits are on; each can be set.

Read on: `service.py` (who asks), `docs/concepts/serving.md` (what answers when one is reached).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from kernels_core import Options


def _limit(default: object, help: str, *, least: float = 1) -> Any:
    """A limit; `help` is that of its option on the command line too, and less than `least` lets nothing through."""
    return field(default=default, metadata={"help": help, "min": least})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`ValueError` for a limit that lets nothing through.  The command `serve` has an option for each."""

    rows: int = _limit(16, "Texts that are written side by side.")
    max_waiting: int = _limit(
        64, "Answers that may wait, while their grammar compiles; more are answered 429.", least=0
    )
    max_tokens: int = _limit(1024, "Of one answer, and what it gets where it asks for no number.")
    max_length: int = _limit(8192, "Tokens of one text, prompt included.", least=2)
    max_body_bytes: int = _limit(1 << 20, "Of one request; larger ones are answered 413.")
    max_body_seconds: float = _limit(30.0, "A request that has not arrived after so long is answered 408.", least=0.1)
    max_seconds: float = _limit(600.0, "From a request's arrival to the end of its answer; 504 beyond.", least=0.1)
    max_compile_ms: int = _limit(2_000, "Processor time of reading and compiling one grammar.")
    max_fill_ms: int = _limit(250, "Processor time of one mask: as long as one row may keep the others waiting.")
    max_states: int = _limit(100_000, "Automaton states of one grammar.")
    max_bytes: int = _limit(1 << 27, "Bytes of one grammar's parser states and masks.")
    max_blanks: int = _limit(1, "In a row, between two tokens of JSON; small models may write nothing else.", least=0)
    caps: bool = _limit(False, "Bound strings, arrays and objects that a schema leaves without a bound.", least=0)
    cache_bytes: int = _limit(1 << 28, "Of compiled grammars that are kept for the next request.", least=0)
    prefix_bytes: int = _limit(1 << 27, "Of prompts that are kept for texts that begin alike.", least=0)
    compile_threads: int = _limit(2, "Grammars that are compiled at once.")
    grace_seconds: float = _limit(5.0, "What running requests get to end when the server is told to go.", least=0)

    def __post_init__(self) -> None:
        for one in fields(self):
            value, least = getattr(self, one.name), one.metadata["min"]
            if value < least:
                raise ValueError(f"Limits.{one.name} must be at least {least}, got {value}")

    @property
    def options(self) -> Options:
        """The engine's part."""
        return Options(
            max_compile_ms=self.max_compile_ms,
            max_fill_ms=self.max_fill_ms,
            max_states=self.max_states,
            max_bytes=self.max_bytes,
        )
