"""`wb.probability`: how likely the model is to write a text, or any text of a language, in whatever tokens.

    p = wb.probability(model, "Is the sky blue?", ["yes", "no"])
    p["yes"]                                                   # of the text and a stop token behind it
    wb.probability(model, "A word:", 'root ::= [a-z]{3}').total

Read on: `walk.py` (the sum), `language.py` (what is summed over), `leaves.py` (the parts of one answer).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from workbench.conditioning.language import Language, ListedTexts
from workbench.conditioning.tree import OutOfForwardsError, PrefixTree
from workbench.conditioning.walk import Probability, Texts, Walk
from workbench.generation.loop import matcher_for

if TYPE_CHECKING:
    import pandas as pd

    from workbench.generation.loop import Constraint
    from workbench.generation.model import LanguageModel, Prompt


@dataclass(frozen=True, repr=False)
class Probabilities(Mapping[str, Probability]):
    """Probability of each text, the likeliest first.

    total: of all of them together (for a grammar: of its language).  forwards: prefixes that the model read; passes: in
    how many passes.  stopped: None, or why there are bounds instead of numbers: "max_forwards", "interrupted".
    Of a grammar's texts those that were found are there; one that was not has at most `total.upper - total`.
    """

    texts: Mapping[str, Probability]
    total: Probability
    ends: Literal["stop", "prefix"]
    forwards: int
    passes: int
    stopped: str | None = None

    def __getitem__(self, text: str) -> Probability:
        return self.texts[text]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def exact(self) -> bool:
        """Whether all of them are known."""
        return self.total.exact and all(one.exact for one in self.texts.values())

    def given_one_of_them(self) -> dict[str, float]:
        """Probability of each text if it is one of these: what a choice between them would be drawn by.

        `ValueError` where they are not exact, where all are 0, or where one text begins with another and
        ends="prefix", so that both may be written.
        """
        if not self.exact:
            raise ValueError(f"these are bounds, not numbers ({self.stopped}): raise max_forwards")
        names = list(self.texts)
        if self.ends == "prefix" and any(one != other and one.startswith(other) for one in names for other in names):
            raise ValueError("one text begins with another, so they are no alternatives")
        whole = sum(self.texts.values())
        if not whole:
            raise ValueError("the model gives probability 0 to all of these texts")
        return {text: value / whole for text, value in self.texts.items()}

    def to_frame(self) -> pd.DataFrame:
        """One row for each text: its probability, and its upper bound."""
        import pandas as pd

        return pd.DataFrame(
            {
                "text": list(self.texts),
                "probability": [float(value) for value in self.texts.values()],
                "upper": [value.upper for value in self.texts.values()],
            }
        )

    def _repr_html_(self) -> str:
        from workbench.conditioning.figures import table_html

        how = "and a stop token" if self.ends == "stop" else "and anything"
        rows = [(repr(text), repr(one)) for text, one in self.items()]
        return table_html(self._told(), (f"text {how}", "probability"), rows)

    def __repr__(self) -> str:
        some = ", ".join(f"{text!r}: {value!r}" for text, value in list(self.texts.items())[:8])
        more = f", and {len(self) - 8:,} more" if len(self) > 8 else ""
        return f"<Probabilities {{{some}{more}}}, {self._told()}>"

    def _told(self) -> str:
        stopped = "" if self.stopped is None else f", stopped: {self.stopped}"
        return f"together {self.total!r}, {self.forwards:,} forwards in {self.passes:,} passes{stopped}"


def probability(
    model: LanguageModel,
    prompt: Prompt,
    what: Sequence[str] | Constraint,
    *,
    ends: Literal["stop", "prefix"] = "stop",
    max_tokens: int = 256,
    temperature: float = 1.0,
    max_forwards: int = 1_000,
    tolerance: float = 0.0,
    chat: bool | None = None,
) -> Probabilities:
    """Probability that the model writes one of some texts, or any text of a language, summed over all tokenisations.

    Parameters
    ----------
    model, prompt, chat
        As of `generate`.
    what
        A list of texts; or a grammar, as of `generate`.
    ends
        "stop": the text is written, and then a stop token.  "prefix", for lists: what is written begins with the text,
        and goes on as it likes; a token may run past the text's end.  Control tokens write no text, so a text with one
        of them in between does not count.
    max_tokens
        Of a grammar's text, without the stop token; texts of a list have no such limit.
    temperature
        The model's probabilities at this temperature.
    max_forwards
        Prefixes that the model may read.  Where they are not enough, and where the kernel's stop button is pressed,
        the result has lower and upper bounds.
    tolerance
        End when what was not looked at has at most this share of the probability of what was found; a language without
        an end needs one above 0.

    Raises as `sample`.
    """
    if ends not in ("stop", "prefix"):
        raise ValueError(f'ends is "stop" or "prefix", not {ends!r}')
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must be at least 0 and below 1, not {tolerance!r}")
    listed = _listed(what)
    if listed is None and ends == "prefix":
        raise ValueError('ends="prefix" is for a list of texts: a grammar says which whole texts there are')
    if listed is not None and (not listed or (ends == "prefix" and "" in listed)):
        raise ValueError("there is no text to ask about" if not listed else 'everything begins with the text ""')
    tree = PrefixTree(model, model.encode_prompt(prompt, chat=chat), temperature=temperature, max_forwards=max_forwards)
    texts: Texts
    if listed is None:
        texts = Language(tree, matcher_for(model, what), max_tokens)
    else:
        texts = ListedTexts(tree, [text.encode() for text in listed], ends)
    walk, stopped = Walk(texts), None
    try:
        walk.run(tolerance)
    except OutOfForwardsError:
        stopped = "max_forwards"
    except KeyboardInterrupt:
        stopped = "interrupted"
    asked = [text.encode() for text in listed] if listed is not None else [text for text, _ in walk]
    bounds = {text.decode(errors="backslashreplace"): walk.bounds(text) for text in asked}
    return Probabilities(
        texts=dict(sorted(bounds.items(), key=lambda item: -item[1])),
        total=_together(walk, listed, ends),
        ends=ends,
        forwards=tree.forwards,
        passes=tree.passes,
        stopped=stopped,
    )


def _listed(what: object) -> list[str] | None:
    """A list of texts; None for anything else."""
    if isinstance(what, str | bytes | Mapping) or not isinstance(what, Sequence):
        return None
    return list(what) if all(isinstance(text, str) for text in what) else None


def _together(walk: Walk, listed: list[str] | None, ends: str) -> Probability:
    """Of any of the texts; what begins with two of them is counted once."""
    if listed is None or ends == "stop":
        return walk.bounds()
    shortest = [
        text for text in dict.fromkeys(listed) if not any(text != one and text.startswith(one) for one in listed)
    ]
    each = [walk.bounds(text.encode()) for text in shortest]
    return Probability(sum(each), min(1.0, sum(one.upper for one in each)))
