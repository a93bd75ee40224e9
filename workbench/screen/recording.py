"""A run of a gallery entry, recorded once and shown where no model is: what the model wanted, token by token.

    python -m workbench.screen.recording            # records all again, with the model that speaks best here
    python -m workbench.screen.recording sql --model demo

Read on: `gallery.py`, `state.py` (what is shown of it).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from visualizers.caches import NAMES

if TYPE_CHECKING:
    from workbench.generation import LanguageModel
    from workbench.generation.step import Step
    from workbench.screen.gallery import Entry

FOLDER: Final = Path(__file__).parent / "recordings"
MAX_TOKENS: Final = 80
LIKELY: Final = 0.02  # a refused token that is worth telling
SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Option:
    """One of the likeliest tokens: its bytes, the model's probability before the mask and after it (None: not known),
    and whether the mask allows it."""

    data: bytes
    before: float
    after: float | None
    allowed: bool


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a run: its bytes, the probability of it and of all that the mask allows, whether the mask left a
    choice, how the mask was come by (found, put together, made), in how many microseconds, what else was likely, and
    how many tokens the mask allows (0: not known)."""

    data: bytes
    p: float
    mass: float
    forced: bool
    mask: str
    us: float
    options: tuple[Option, ...]
    stop: bool = False
    given: bool = False
    allowed: int = 0

    @property
    def refused(self) -> Option | None:
        """The model's favourite, where the mask refuses it."""
        return self.options[0] if self.options and not self.options[0].allowed else None


@dataclass(frozen=True, slots=True)
class Recording:
    """A run: the model that wrote it, with which seed and temperature."""

    model: str
    seed: int
    temperature: float
    tokens: tuple[Token, ...]

    def place_before(self, text: str) -> int:
        """How many tokens end before the last occurrence of `text`: all, where it is empty.

        Raises:
            ValueError: the run does not hold it.
        """
        at, place, end = b"".join(one.data for one in self.tokens).rindex(text.encode()), 0, 0
        for token in self.tokens:
            end += len(token.data)
            if not token.data or end > at:
                break
            place += 1
        return place


def tokens_of(steps: Iterable[Step], special: Collection[int] = ()) -> tuple[Token, ...]:
    """The steps of a generation, as far as the screen shows them; ids in `special` are no text."""
    return tuple(_token(step, special) for step in steps)


def _token(step: Step, special: Collection[int]) -> Token:
    found = {one.token_id: one for one in (*step.alternatives, *step.choices)}
    ordered = sorted(found.values(), key=lambda one: -one.logprob)
    allowed = [one for one in ordered if one.allowed][:SHOWN]
    refused = [one for one in ordered if not one.allowed and (one is ordered[0] or one.probability >= LIKELY)][:2]
    options = [
        Option(
            b"" if one.token_id in special else one.token,
            _round(one.probability),
            _round(step.masked_probability(one)),
            one.allowed,
        )
        for one in ordered
        if one in allowed or one in refused
    ]
    return Token(
        b"" if step.is_special else step.token,
        _round(step.probability),
        _round(step.feasible_mass),
        step.forced,
        "" if step.fill is None else NAMES[step.fill.kind][0],
        round(step.mask_ns / 1e3, 1),
        tuple(options),
        step.is_stop,
        step.given,
        step.allowed_count,
    )


def _round(value: float) -> float:
    return float(f"{value:.3g}")


@cache
def recorded(name: str) -> Recording | None:
    """The recorded run of the gallery's entry `name`, if there is one."""
    try:
        value = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    tokens = (
        Token(
            **{
                **one,
                "data": _bytes(one["data"]),
                "options": tuple(Option(_bytes(data), *rest) for data, *rest in one["options"]),
            }
        )
        for one in value.pop("tokens")
    )
    return Recording(**value, tokens=tuple(tokens))


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")


def _plain(recording: Recording) -> dict[str, Any]:
    """For a file: bytes are written as characters of the same numbers."""

    def plain(token: Token) -> dict[str, Any]:
        value = asdict(token)
        options = [[one.data.decode("latin-1"), one.before, one.after, one.allowed] for one in token.options]
        return {**value, "data": token.data.decode("latin-1"), "options": options}

    return {**asdict(recording), "tokens": [plain(token) for token in recording.tokens]}


def model_word() -> str:
    """The word of the best model of this machine: SmolLM2 where it was fetched, else the demo model."""
    try:
        from workbench.generation.fetching import find_model
    except ImportError:
        return "demo"
    return "smollm2" if find_model("smollm2") is not None else "demo"


def record(entry: Entry, model: LanguageModel, name: str) -> Recording:
    """Let `model` write what `entry` asks for."""
    import workbench as wb

    session = wb.Session(entry.source, model.tokenizer)
    trace = session.run(
        model,
        entry.prompt,
        seed=entry.seed,
        temperature=0.7,
        max_tokens=MAX_TOKENS,
        chat=None if entry.chat else False,
        complete=True,
    )
    tokens = list(tokens_of(trace.generation.steps, frozenset(model.tokenizer.info.special_token_ids)))
    while entry.until and entry.until.encode() in b"".join(token.data for token in tokens[:-1]):
        tokens.pop()
    return Recording(name, entry.seed, 0.7, tuple(tokens))


def main() -> None:
    import argparse

    from workbench.generation import load_model
    from workbench.screen.gallery import GALLERY

    parser = argparse.ArgumentParser(description="Record a run of each entry of the gallery.")
    parser.add_argument("names", nargs="*", help="entries to record (default: all)")
    parser.add_argument("--model", default=model_word(), help="the model's word (default: %(default)s)")
    options = parser.parse_args()
    model = load_model(options.model)
    for entry in GALLERY:
        if options.names and entry.name not in options.names:
            continue
        made = record(entry, model, options.model)
        lines = ",\n".join(json.dumps(one, ensure_ascii=True, separators=(",", ":")) for one in _plain(made)["tokens"])
        head = json.dumps({"model": made.model, "seed": made.seed, "temperature": made.temperature})[:-1]
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{entry.name}.json").write_text(f'{head}, "tokens": [\n{lines}\n]}}\n', encoding="utf-8")
        text = b"".join(token.data for token in made.tokens)
        print(
            f"{entry.name}: {len(made.tokens)} tokens, overruled "
            f"{sum(token.refused is not None for token in made.tokens)} times: {text!r}"
        )


if __name__ == "__main__":
    main()
