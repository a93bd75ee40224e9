"""`compare`: the masks of several engines, grammars or places side by side, every difference explained.

Read on: `workbench/comparing/sides.py`, `workbench/comparing/differences.py`, `workbench/comparing/tables.py` (how it
looks in a terminal), `visualizers/compare.py` (in a notebook).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from rich.text import Text

from visualizers.compare import comparison_html
from visualizers.glyphs import clip, glyph
from workbench.comparing.differences import Difference, Judge, find_differences
from workbench.comparing.sides import (
    Answer,
    Bits,
    Common,
    EngineSpec,
    Missing,
    Side,
    ask,
    common_ids,
    open_engines,
    peer_note,
)
from workbench.comparing.tables import FOLD, RIGHT, duration, grid, legend
from workbench.languages import Source
from workbench.record import Printed
from workbench.session.matching import bytes_of
from workbench.tokenizers import Tokenizer, load_tokenizer

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, RenderResult

MAX_GROUPS: Final = 12
EXAMPLE: Final = 18

MAX_SIDES: Final = 24
SHOWN_IDS: Final = 1000


@dataclass(frozen=True)
class Pair:
    """The first side beside another: how many common tokens both, one or none allow, and the differences."""

    base: Answer
    other: Answer
    both: int
    only_base: int
    only_other: int
    neither: int
    special: int
    differences: tuple[Difference, ...]

    @property
    def agree(self) -> bool:
        """Whether the two say the same of every token and of the end; what only the mask leaves out is agreement."""
        return all(difference.kind == "mask only" for difference in self.differences)


class Comparison(Printed):
    """What `compare` found.  Displays itself; `differences` are grouped, `to_frame()` has a row for each token.

    answers: one a side.  missing: engines that could not be opened.  pairs: the first side that has a mask, at each
    place where there are several, with each other one there that has; where no place has several, the first place with
    each other one.  common: which ids were compared.
    """

    def __init__(
        self, answers: Sequence[Answer], missing: Sequence[Missing], common: Common, tokenizer: Tokenizer
    ) -> None:
        self.answers = tuple(answers)
        self.missing = tuple(missing)
        self.common = common
        self.tokenizer = tokenizer
        self._judges: dict[tuple[object, ...], Judge] = {}
        pairs: list[Pair] = []
        for answers in self._held_together():
            usable = [answer for answer in answers if answer.ok]
            pairs += [self._pair(usable[0], other) for other in usable[1:]]
        self.pairs = tuple(pairs)

    def _held_together(self) -> list[list[Answer]]:
        """The answers at each place, where several are; otherwise all, so that places are held against each other."""
        places: dict[bytes, list[Answer]] = {}
        for answer in self.answers:
            places.setdefault(answer.side.text, []).append(answer)
        if any(len(answers) > 1 for answers in places.values()):
            return list(places.values())
        return [list(self.answers)]

    @property
    def agree(self) -> bool:
        """Whether all sides answered, and alike."""
        return bool(self.pairs) and all(answer.ok for answer in self.answers) and all(p.agree for p in self.pairs)

    @property
    def refusals(self) -> tuple[Answer, ...]:
        """The sides that have no mask: the grammar or the text was refused, with the engine's message."""
        return tuple(answer for answer in self.answers if not answer.ok)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """All groups of differing tokens, pair by pair, most tokens first."""
        return tuple(difference for pair in self.pairs for difference in pair.differences)

    def _pair(self, base: Answer, other: Answer) -> Pair:
        assert base.allowed is not None
        assert other.allowed is not None
        ids, kinds = self.common.ids, _kinds(base.allowed, other.allowed)
        found = find_differences(base, other, ids, self._judge(other))
        found += find_differences(other, base, ids, self._judge(base))
        neither, only_base, only_other, both = np.bincount(kinds[ids], minlength=4).tolist()
        special = ~ids & (base.allowed ^ other.allowed)
        special[list(self.common.stops)] = False
        return Pair(base, other, both, only_base, only_other, neither, int(special.sum()), tuple(found))

    def _judge(self, answer: Answer) -> Judge:
        key = (*answer.side.grammar.key, answer.side.text)
        if key not in self._judges:
            self._judges[key] = Judge(answer.side.grammar, self.tokenizer, answer.side.text)
        return self._judges[key]

    # -- as data ------------------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """One row for each differing token (and one for a differing end), with our explanation."""
        import pandas as pd

        vocabulary = self.tokenizer.info.decoded_vocab
        frame = pd.DataFrame(
            [
                (
                    one.token_ids or (None,),
                    b"",
                    one.allowed_by,
                    one.refused_by,
                    one.kind,
                    group,
                    one.why,
                    ", ".join(one.rules),
                )
                for group, one in enumerate(self.differences)
            ],
            columns=["token_id", "token", "allowed_by", "refused_by", "kind", "group", "why", "rules"],
        ).explode("token_id", ignore_index=True)
        frame["token"] = [b"" if token is None else bytes(vocabulary[token]) for token in frame["token_id"]]
        return frame.astype({"token_id": "Int64"})

    def summary(self) -> pd.DataFrame:
        """One row for each side: what it allows, what it took, or why it has no mask."""
        import pandas as pd

        return pd.DataFrame([self._side_row(answer) for answer in self.answers])

    def _side_row(self, answer: Answer) -> dict[str, Any]:
        def scaled(seconds: float | None, factor: float) -> float | None:
            return None if seconds is None else round(seconds * factor, 2)

        return {
            "side": answer.side.label,
            "engine": answer.side.engine.name,
            "version": answer.side.engine.version,
            "settings": answer.side.engine.settings,
            "language": answer.side.grammar.language,
            "text": glyph(answer.side.text),
            "allowed": None if answer.allowed is None else int((answer.allowed & self.common.ids).sum()),
            "may_end": answer.may_end if answer.ok else None,
            "compile_ms": scaled(answer.compile_s, 1e3),
            "read_us": scaled(answer.read_s, 1e6),
            "first_mask_us": scaled(answer.first_s, 1e6),
            "mask_again_us": scaled(answer.again_s, 1e6),
            "stage": answer.stage,
            "refusal": answer.refusal,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data: sides, pairs, groups; bytes as glyphs, at most 1,000 ids a group."""
        return {
            "tokenizer": self.tokenizer.name,
            "vocabulary": self.common.vocab_size,
            "compared": self.common.count,
            "left_out": self.common.left_out,
            "agree": self.agree,
            "notes": self.notes,
            "sides": [self._side_row(answer) for answer in self.answers],
            "missing": [{"engine": missing.name, "reason": missing.reason} for missing in self.missing],
            "pairs": [
                {
                    "base": pair.base.side.label,
                    "other": pair.other.side.label,
                    "agree": pair.agree,
                    "both": pair.both,
                    "only_base": pair.only_base,
                    "only_other": pair.only_other,
                    "neither": pair.neither,
                    "special": pair.special,
                    "differences": [difference.to_dict(SHOWN_IDS) for difference in pair.differences],
                }
                for pair in self.pairs
            ],
        }

    @cached_property
    def notes(self) -> list[str]:
        """What a reader must know: which ids were compared, what an engine could not be told, who is missing."""
        common = self.common
        notes = [
            f"{common.count:,} of {common.vocab_size:,} ids are compared; {common.left_out:,} control ids, stop tokens "
            "and padding are left out, because every engine has its own idea of them. The end is compared as one bit."
        ]
        special = max((pair.special for pair in self.pairs), default=0)
        if special:
            notes.append(
                f"Of the ids left out, {special:,} differ: tokens that a grammar names by their id, or an"
                " engine's own view of control tokens."
            )
        notes += [f"{missing.name} was not asked: {missing.reason}" for missing in self.missing]
        others = [answer.side for answer in self.answers if answer.side.engine.name != "ours"]
        notes += [note for note in dict.fromkeys(peer_note(side.grammar) for side in others) if note]
        if not self.pairs and len(self.answers) > 1:
            notes.append("Fewer than two sides have a mask, so there is nothing to compare.")
        return notes

    # -- to look at ---------------------------------------------------------------------------------------------------

    def masks(self, pair: Pair) -> bytes:
        """What `_kinds` says of each token, for a picture; 0 for those that are not compared."""
        assert pair.base.allowed is not None
        assert pair.other.allowed is not None
        return np.where(self.common.ids, _kinds(pair.base.allowed, pair.other.allowed), 0).astype(np.uint8).tobytes()

    def _repr_html_(self) -> str:
        return comparison_html(self.to_dict(), [self.masks(pair) for pair in self.pairs])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _tables(self)

    def __repr__(self) -> str:
        sides = ", ".join(answer.side.label for answer in self.answers)
        refused = f", {len(self.refusals)} refused" if self.refusals else ""
        verdict = "no differences" if self.agree else f"{len(self.differences)} groups of differences"
        return f"<Comparison of {sides}: {verdict}{refused}>"


def _kinds(base: Bits, other: Bits) -> npt.NDArray[np.uint8]:
    """Of each token: 0 neither side allows it, 1 the base alone, 2 the other alone, 3 both."""
    return (base + 2 * other.astype(np.uint8)).astype(np.uint8)


def compare(
    *grammars: object,
    engines: Sequence[EngineSpec] | EngineSpec | None = None,
    text: str | bytes = b"",
    texts: Sequence[str | bytes] | None = None,
    tokenizer: object = None,
    language: str | None = None,
) -> Comparison:
    """The masks of engines, grammars or places beside each other.

    The first side is what the others are held against: at each place by itself where there are several engines or
    grammars, and one place against another where there are not.

    grammars: one or more, whatever `workbench.languages.Source.of` takes (text, a dict, a file, a pydantic model, a
    `Grammar`), or a `Session`, whose text and tokenizer are then taken, too, unless given.  engines: names (those
    of `workbench.peers.catalogue.ENGINES`), `Options` of ours, or `Engine` objects; by default ours alone where several
    grammars or texts are compared, else ours and xgrammar and llguidance where they are installed.  text: what was
    read before the mask; `texts`: several such places instead.  language: of grammars that are text, guessed if None.

    A grammar that an engine refuses is no error: the answer says so.  Raises `ValueError` for unknown engines and
    languages, and where there is nothing to compare.
    """
    if not grammars:
        raise ValueError("compare needs a grammar: compare(grammar, engines=[...]), or compare(one, another)")
    first = grammars[0]
    if tokenizer is None:
        tokenizer = first.tokenizer if hasattr(first, "tokenizer") else "tekken"
    read = getattr(first, "text", None)
    if not text and texts is None and hasattr(first, "tokenizer") and isinstance(read, bytes):
        text = read
    loaded = load_tokenizer(tokenizer)
    places = [bytes_of(one) for one in (texts if texts is not None else [text])]
    if not places:
        raise ValueError("texts is empty: there is no place to compare at")
    sources = [Source.of(one, language) for one in grammars]
    if engines is None and len(sources) * len(places) > 1:
        engines = ["ours"]
    specs = [engines] if isinstance(engines, EngineSpec) else engines
    opened = open_engines(specs, loaded)
    present = [(label, engine) for label, engine in opened if not isinstance(engine, Missing)]
    missing = [engine for _, engine in opened if isinstance(engine, Missing)]
    sides = [
        Side(_label(label, source, number, place, sources, places, present), engine, source, place)
        for number, source in enumerate(sources)
        for label, engine in present
        for place in places
    ]
    if len(sides) > MAX_SIDES:
        raise ValueError(f"{len(sides)} sides are too many to look at: at most {MAX_SIDES}")
    if len(sides) + len(missing) < 2:
        peers = "peers come with: pip install '.[peers]'"
        raise ValueError(f"one side alone cannot be compared: name a second grammar, engine or text ({peers})")
    common = common_ids(loaded)
    return Comparison([ask(side, common) for side in sides], missing, common, loaded)


def _label(
    engine: str,
    source: Source,
    number: int,
    place: bytes,
    sources: Sequence[Source],
    places: Sequence[bytes],
    engines: Sequence[object],
) -> str:
    """What tells this side from the others, and no more."""
    parts = []
    if len(engines) > 1 or (len(sources) == 1 and len(places) == 1):
        parts.append(engine)
    if len(sources) > 1:
        parts.append(source.name or f"grammar {number + 1}")
    if len(places) > 1:
        parts.append(f"after {glyph(place[-24:])}" if place else "at the beginning")
    return ", ".join(parts)


def _tables(comparison: Comparison) -> Iterator[Any]:
    """The sides, then each pair with its groups of differences, then what to know."""
    table = grid(
        ("side", FOLD),
        ("may follow", RIGHT),
        ("end", {"no_wrap": True}),
        ("compile", RIGHT),
        ("first mask", RIGHT),
        ("again", RIGHT),
    )
    for answer in comparison.answers:
        name = Text(answer.side.label)
        if answer.allowed is None:
            name.append(f"\nrefuses the {answer.stage}: {answer.refusal}", "red")
            table.add_row(name, "-", "-", duration(answer.compile_s), "", "")
        else:
            count = int((answer.allowed & comparison.common.ids).sum())
            end = "yes" if answer.may_end else "no"
            times = (duration(answer.compile_s), duration(answer.first_s), duration(answer.again_s))
            table.add_row(name, f"{count:,}", end, *times)
    texts = list(dict.fromkeys(answer.side.text for answer in comparison.answers))
    if len(texts) == 1:
        yield Text.assemble("after ", (clip(glyph(texts[0]), 80) or "nothing: at the beginning", "bold"))
    yield table
    yield from legend(
        "may follow: tokens that the mask allows; end: whether the text may end here.",
        "compile, first mask, again: measured once, to see the order of magnitude.",
    )
    for pair in comparison.pairs:
        yield from _pair_tables(pair)
    yield Text("")
    for note in comparison.notes:
        yield from legend(note)


def _pair_tables(pair: Pair) -> Iterator[Any]:
    base, other = pair.base.side.label, pair.other.side.label
    yield Text("")
    if pair.agree:
        yield Text.assemble((f"{base} and {other} agree", "green"), f" on all {pair.both + pair.neither:,} tokens.")
        if not pair.differences:
            return
    else:
        counts = f"{pair.both:,} by both, {pair.only_base:,} by {base} alone, {pair.only_other:,} by {other} alone"
        yield Text.assemble((f"{base} and {other} differ", "red"), f": {counts}.")
    table = grid(
        ("tokens", RIGHT),
        ("allowed by", {**FOLD, "max_width": 14}),
        ("part at", {**FOLD, "max_width": 14}),
        ("for example", {**FOLD, "max_width": 20}),
        ("why, by our engine", {**FOLD, "min_width": 28}),
    )
    for difference in pair.differences[:MAX_GROUPS]:
        examples = "  ".join(clip(glyph(data), EXAMPLE) for _, data in difference.examples[:4])
        what = "the end" if difference.kind == "end" else f"{difference.count:,}"
        where = difference.parts_at
        if difference.after:
            where = f"{where} after {clip(glyph(difference.after), EXAMPLE)}"
        why = Text(clip(difference.why, 240))
        if difference.places:
            verb = "in" if difference.ours else "because:"
            why.append(f"\n{verb} {clip('; '.join(difference.places), 200)}", "dim")
        table.add_row(what, Text(difference.allowed_by), Text(where), Text(examples), why)
    yield table
    if len(pair.differences) > MAX_GROUPS:
        yield from legend(f"... and {len(pair.differences) - MAX_GROUPS:,} more groups: see to_frame() or --json")
    yield from legend("part at: the byte at which the side that refuses parts from the token.")
