"""What the first screen shows, as plain data: pure functions of a session and a run.

Of a leaf of a JSON object, wherever one stands in the text, its confidence is told: how likely its tokens were among
those that the grammar allowed.

A token of the text was *agreed* (the model gave nearly all of its probability to what the grammar allows), *pushed*
(the grammar took more than a tenth away), *overruled* (the model's favourite was refused), *forced* (the grammar left
one choice), *free* (the model wrote without the grammar), or *typed* (no model wrote it).

Read on: `recording.py` (runs), `parts.py`, `workbench/panels/screen.py`, `frontend/src/screen.ts` (draws it).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Literal

from kernels_core.errors import BudgetExceededError
from visualizers.caches import NAMES
from visualizers.glyphs import STOP_TOKEN, box_text, clip, glyph, many
from workbench.conditioning.leaves import leaves_within
from workbench.languages import NOTHING
from workbench.provenance import SourcePlace, forbidding
from workbench.screen.parts import Part
from workbench.screen.recording import Option, Token
from workbench.session import Session
from workbench.session.history import Step
from workbench.session.result import Reading

if TYPE_CHECKING:
    from workbench.next.next_tokens import Chip

How = Literal["agreed", "pushed", "overruled", "forced", "free", "typed", "refused"]
PUSHED: Final = 0.1
ROWS: Final = 4
CHIPS: Final = 32
"""So many things that may come at once are listed."""
FEW: Final = 8
"""Where there are fewer, what a separator leads to is listed too."""
FORBIDS_MS: Final = 60.0
QUICK: Final = 0.03
OF_RULES: Final = ("ebnf", "lark", "regex")
"""Languages in which a person may have written rules that derive a text in several ways."""
UNJUDGED: Final = "the model wrote it without the grammar, or under another"


@dataclass(frozen=True, slots=True)
class Shown:
    """A token of the text: the characters it adds, what the grammar did to the model there, how its mask was come by
    and in how many microseconds (0: not known), what a hover says, and the confidence of the leaf that it belongs to
    (None: of none, or somebody typed in it)."""

    text: str
    how: How
    mask: str = ""
    us: float = 0.0
    told: str = ""
    sure: float | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """The whole text: its tokens, its parts, and what was typed after them and refused."""

    tokens: tuple[Shown, ...]
    parts: tuple[Part, ...]
    refused: str = ""

    def plain(self) -> dict[str, Any]:
        """For the browser: lists in place of objects that come by the hundred."""
        return {
            "tokens": [[one.text, one.how, one.mask, one.us, one.told, one.sure] for one in self.tokens],
            "parts": [[one.name, one.hue, one.count] for one in self.parts],
            "refused": self.refused,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """A token or a text that may come next, or that the model wanted: its probability before the mask and after it
    where a model was asked, `text` to type it, and why it was refused.

    A `token` of its own has no text to type.  What is open, such as a digit, is many texts: its tokens are those of the
    `chip` of that name in `group` (`inspect.next()`)."""

    shown: str
    text: str
    before: float | None = None
    after: float | None = None
    taken: bool = False
    why: str = ""
    keyword: str = ""
    group: str = ""
    chip: str = ""
    token: int | None = None


@dataclass(frozen=True, slots=True)
class Here:
    """The place: how many tokens are read, the same and the bytes in words, what may come next, what the model wanted
    and was refused, what is still required, how much more may come than `next` lists ("…": nobody has looked), why
    what was typed here is refused, and whether the text is a `whole` one of a grammar of rules.  `parses`: how many it
    has, in words, "" where it has one; None: nobody has counted."""

    place: int
    where: str
    next: tuple[Row, ...]
    wanted: tuple[Row, ...]
    end: str
    more: str = ""  # what `next` leaves out
    died: str = ""  # why what was typed here is refused
    note: str = ""  # what is said where nothing was wanted
    whole: bool = False
    parses: str | None = None


def how(token: Token) -> How:
    """What the grammar did to the model where it took `token`."""
    if token.forced:
        return "forced"
    if token.refused is not None:
        return "overruled"
    if not token.mask and token.mass == 1:  # no mask was asked for
        return "free"
    return "pushed" if token.mass < 1 - PUSHED else "agreed"


def matched(steps: Sequence[Step], tokens: Sequence[Token]) -> int:
    """With how many tokens of a run the text begins."""
    count = 0
    for step, token in zip(steps, tokens, strict=False):
        if step.data != token.data and not (step.stop and token.stop):
            break
        count += 1
    return count


def text_state(
    session: Session, tokens: Sequence[Token], parts: Sequence[Part], refused: bytes = b"", *, judged: bool = True
) -> Text:
    """The session's text, with what `tokens` (a run that may have written it) tell of it; judged: by the source in use.

    A run without a grammar goes on after the token that the grammar refused: these tokens are shown as refused.
    """
    steps = session.steps
    same = matched(steps, tokens)
    shown = []
    texts = _texts([step.data for step in steps])
    fills = session.inspect.fills()
    leaves = _leaves(tokens[:same])
    for number, (step, text) in enumerate(zip(steps, texts, strict=True)):
        written = "" if step.stop else text  # it adds nothing to the text
        fill = fills[number] if number < len(fills) else None
        mask, us = ("", 0.0) if fill is None else (NAMES[fill.kind][0], round(fill.nanoseconds / 1e3, 1))
        if number < same and not tokens[number].given and not judged and how(tokens[number]) != "free":
            told = (
                f"step {number + 1}: {_signed(glyph(step.data))}, probability {_percent(tokens[number].p)}; {UNJUDGED}"
            )
            shown.append(Shown(written, "typed", mask, us, told))
            continue
        if number < same and not tokens[number].given:
            # What a mask cost here, rather than where the run was recorded; a run without the grammar asked for none.
            kind, token = how(tokens[number]), tokens[number]
            token = token if fill is None or kind == "free" else replace(token, mask=mask, us=us)
            told, sure = _told(number, token), None
            if number in leaves:
                name, sure = leaves[number]
                told += f"; as a whole {name} had a probability of {_percent(sure)}"
            shown.append(Shown(written, kind, token.mask, token.us, told, sure))
            continue
        shown.append(Shown(written, "typed", mask, us, f"step {number + 1}: {_signed(glyph(step.data))}, typed"))
    rest = tokens[same:] if same == len(steps) else ()
    if not refused or b"".join(token.data for token in rest) != refused:  # a person wrote something else
        rest = ()
    shown += [Shown(box_text(token.data), "refused", told="the grammar refuses it") for token in rest]
    return Text(tuple(shown), tuple(parts), "" if rest else box_text(refused))


def _leaves(tokens: Sequence[Token]) -> dict[int, tuple[str, float]]:
    """Of each token that holds a part of a leaf: the leaf's JSON Pointer, and its confidence.

    Of a token that holds parts of two it is the first.  A leaf with a token that was given has none.
    """
    data = b"".join(token.data for token in tokens)
    text = data.decode(errors="replace")
    places = [0]  # of each character, in bytes
    for character in text:
        places.append(places[-1] + len(character.encode()))
    if places[-1] != len(data):
        return {}  # no UTF-8, so no JSON
    ends = list(accumulate(len(token.data) for token in tokens))
    found: dict[int, tuple[str, float]] = {}
    for pointer, _, start, past in leaves_within(text):
        held = range(bisect_right(ends, places[start]), bisect_left(ends, places[past]) + 1)
        if not any(tokens[number].given for number in held):
            sure = math.prod(_sure(tokens[number]) for number in held)
            for number in held:
                found.setdefault(number, (pointer, sure))
    return found


def _sure(token: Token) -> float:
    """Probability of a token among those that the mask allowed."""
    return 1.0 if token.forced else min(1.0, token.p / token.mass) if token.mass else 0.0


def _texts(pieces: Sequence[bytes]) -> list[str]:
    """The characters that each piece of a text adds; a character that is cut between pieces belongs to the last."""
    texts, kept = [], b""
    for number, piece in enumerate(pieces):
        kept += piece
        try:
            kept.decode()
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data" and number + 1 < len(pieces):
                texts.append("")
                continue
        texts.append(box_text(kept))
        kept = b""
    return texts


def _told(number: int, token: Token) -> str:
    shown = STOP_TOKEN if token.stop else _signed(glyph(token.data))
    told = f"step {number + 1}: {shown}, probability {_percent(token.p)}; "
    if how(token) == "free":
        return f"{told}written without the grammar"
    told += f"the mask took {_percent(1 - token.mass)} of the probability away"
    if token.refused is not None:
        told += f"; the model wanted {_named(token.refused)} ({_percent(token.refused.before)})"
    return f"{told}; mask {token.mask} in {token.us:g} µs" if token.mask else told


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _named(option: Option) -> str:
    return _signed(glyph(option.data)) if option.data else STOP_TOKEN


def _signed(shown: str) -> str:
    """A line of glyphs with the signs of line ends and tabs that the text beside it has."""
    return shown.replace("⟨0x0A⟩", "↵").replace("⟨0x09⟩", "→")


def here_state(
    session: Session,
    tokens: Sequence[Token],
    *,
    asked: bool = True,
    judged: bool = True,
    reading: Reading | None = None,
    ahead: bool = True,
) -> tuple[Here, tuple[SourcePlace, ...]]:
    """The session's place, with what the model wanted there if `tokens` tell of it; and the places in the source that
    refuse the model's favourite.  `asked`: whether reasons are looked for, which takes time; `judged`: whether the
    source in use judged the run, else it is asked here what it says of the tokens that were likely, as it is where the
    model was free; `reading`: the fate of what was typed here; `ahead`: whether it is told what may come, which takes
    time too."""
    index = session.index
    token = tokens[index] if not session.place.offset and index < len(tokens) else None
    if token is not None and matched(session.steps, tokens) < min(index, len(session.steps)):
        token = None
    forbids: tuple[SourcePlace, ...] = ()
    wanted: tuple[Row, ...] = ()
    rows: tuple[Row, ...] = ()
    more = ""
    judged = judged and (token is None or token.given or how(token) != "free")
    if token is not None and not judged:
        token = _judged(session, token)
    if token is not None and not token.given:
        rows = _likely(token)
        refused = [option for option in token.options if not option.allowed][:2]
        blamed = [
            forbidding(session.inspect, option.data, budget_ms=FORBIDS_MS) if asked and option.data else ()
            for option in refused
        ]
        forbids = blamed[0] if blamed else ()
        wanted = tuple(_refused(session, *both) for both in zip(refused, blamed, strict=True))
    if not rows:  # nor did a model that was free think of anything that may come
        rows, more = _outlook(session) if ahead else ((), "…")
    if asked and reading is not None and not reading.ok:
        forbids = forbidding(session.inspect, reading.text[reading.read :], budget_ms=FORBIDS_MS)
    if asked and token is not None and token.data and index == len(session.steps):
        reading = session.inspect.explain(token.data)  # what a model that was free went on with
        forbids = forbids or forbidding(session.inspect, token.data, budget_ms=FORBIDS_MS)
    died = "" if reading is None or reading.ok else reading.verdict
    if died and forbids and forbids[0].keyword:
        died += f": {forbids[0].label}"
    note = "" if judged or index >= len(tokens) else f"nothing that the grammar refuses ({UNJUDGED})"
    steps = len(session.steps)
    where = f"byte {session.inspect.position:,} · after step {index:,} of {steps:,}"
    end = _end(session, rows, token) if ahead else ""
    whole = ahead and asked and session.is_completed and session.document.language in OF_RULES
    return Here(index, where, rows, wanted, end, more, died, note, whole), forbids


def _judged(session: Session, token: Token) -> Token:
    """A token of a run that another grammar judged, or none, with what the source in use says of what was likely.

    Of these tokens alone is it known what they are, so nothing is said of their probabilities after the mask, nor of
    how many others there are.  The one that was taken comes first.
    """
    taken = [Option(token.data, token.p, 0.0, True)] if token.data and not token.stop else []
    options = {one.data: one for one in (*taken, *token.options)}

    def allowed(data: bytes) -> bool:
        return session.inspect.explain(data).ok if data else session.is_completed

    told = tuple(replace(one, after=None, allowed=allowed(one.data)) for one in options.values())
    return replace(token, options=told, allowed=0)


def _likely(token: Token) -> tuple[Row, ...]:
    """What the model would have taken with the highest probabilities, and what it took, though that was unlikely."""
    rows = [_row(option, option.data == token.data) for option in token.options if option.allowed][:ROWS]
    known = any(option.data == token.data for option in token.options if not option.allowed)  # by another grammar
    if not known and not any(row.taken for row in rows):
        rows[ROWS - 1 :] = [_row(Option(token.data, token.p, _sure(token), True), True)]
    return tuple(rows)


def _row(option: Option, taken: bool) -> Row:
    return Row(_named(option), box_text(option.data), option.before, option.after, taken)


def _refused(session: Session, option: Option, forbids: Sequence[SourcePlace]) -> Row:
    if not option.data:
        why = "the text may not end here"
    else:
        why = session.inspect.explain(option.data).message
    keyword = forbids[0].label if forbids else ""
    if forbids and forbids[0].pointer:
        why += f"; the source says so at {forbids[0].pointer}"
    return Row(_named(option), box_text(option.data), option.before, 0.0, why=why, keyword=keyword)


def _outlook(session: Session) -> tuple[tuple[Row, ...], str]:
    """What may come by meaning, where no model was asked, and what is left out.

    What may come at once stands before what a separator or white space leads to, which is shown with it.
    """
    if session.inspect.is_terminated:
        return (), ""
    try:
        found = session.inspect.next(seconds=QUICK)
    except BudgetExceededError:
        return (), "not listed: the search takes more than its budget"
    chips = [(chip, group.name) for group in found for chip in group.chips]
    first = [one for one in chips if not one[0].lead]
    led = [one for one in chips if one[0].lead]
    rows = tuple(_chip(*one) for one in first[:CHIPS] + led[: max(0, FEW - len(first))])
    left = len(first) - len(first[:CHIPS]) + sum(group.more for group in found)
    return rows, (f"and {left:,} more" if left else "") or ("" if found.complete else "and perhaps more")


def _chip(chip: Chip, group: str) -> Row:
    row = Row(clip(_signed(chip.lead + chip.label), 28), box_text(chip.text), token=chip.token)
    return row if chip.types else replace(row, group=group, chip=chip.name)


def _end(session: Session, rows: Sequence[Row], token: Token | None) -> str:
    """Whether the text may end, what is still required, and how many tokens are allowed: those of the run whose `token`
    is told of by `rows`, which may be another vocabulary's, else the session's.

    Where `rows` are no tokens but texts, a token may begin several.
    """
    if session.inspect.is_terminated:
        return "the text has ended"
    if session.edits.draft is not None and session.edits.draft.in_use == NOTHING:  # else one would look in the text
        return "the source has a mistake: only the empty text is allowed"
    try:
        told = token.allowed if token is not None and rows and rows[0].before is not None else 0
        allowed = told or session.inspect.allowed_array().size
    except BudgetExceededError as error:
        return f"the mask takes more than the engine's budget: {error}"
    opened = session.inspect.members().objects
    missing = [name for one in opened for name in one.missing]
    end = "may end here" if session.is_completed else "may not end yet"
    if missing:
        names = f"{', '.join(missing[:3])}{', …' if len(missing) > 3 else ''}"
        end += f": {names} {'is' if len(missing) == 1 else 'are'} required"
    listed = f", {len(rows)} listed" if len(rows) < allowed else ""
    if any(row.before is None and row.token is None for row in rows):
        listed = ", listed as texts"
    return f"{end} · {many(allowed, 'token')} allowed{listed}"
