"""Why a text or a token may come here or not: the fatal byte, what was expected, who forbids it, and ways out.

`why(session, what)` is quick; the reasons in the words of the source are looked for by trying (`reasons=True`, up to a
fifth of a second), see `workbench/provenance`.

Read on: `workbench/panels/why.py` (the panel), `workbench/session/session.py` (`explain`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernels_core import GrammarMatcher
from kernels_core.display import Displayed
from visualizers.glyphs import clip, glyph, split_rules
from visualizers.tokens import token_index
from workbench.next.continuations import explore
from workbench.next.naming import naming
from workbench.next.probes import LONGEST, short_end
from workbench.next.refusals import END, decided
from workbench.provenance import SourcePlace, forbidding, reader_of
from workbench.provenance.reader import read_text
from workbench.session.result import Reading, content
from workbench.tokenizers.lexicon import lexicon

if TYPE_CHECKING:
    from workbench.session.context import Context

CONTEXT: Final = 80
ALIKE: Final = 0.5
VERY_ALIKE: Final = 0.7
"""So much alike must a suggestion be for a text that can come: `"mdoe"` where any key may."""
SUGGESTED: Final = 4
CALLERS: Final = 4
_WORD: Final = re.compile(rb"[\w\x80-\xff-]+")
NOT_NAMES: Final = ("space", "end", "escape", "sign", "separator")
SECONDS: Final = 0.05
FORCED: Final = 400


@dataclass(frozen=True)
class Why(Displayed):
    """The fate of `reading.text` (of token `token`, or of a text) and what to do about it.

    `kind` is what became of the token in the token sets, "" for a text; `about` a sentence on that.  `reasons` are the
    places of the source that forbid the fatal byte, None where they were not looked for.  `suggestions` are whole texts
    from the session's place on that are allowed and look like it, the likeliest first.  After what could be read (all
    of it, for a text that can come) `forced` must follow, and `end` is the shortest way to the end of the text; None
    where none is known.  `place` is the JSON pointer of what is read there, in sources that have such.
    `begun` is the word at the end of the session's text, with the quote before it, that suggestions may go on with.
    `lead` was typed before it and read: of a text that died in the text box the session took what it could.
    """

    reading: Reading
    token: int | None
    kind: str
    about: str
    reasons: tuple[SourcePlace, ...] | None
    suggestions: tuple[bytes, ...]
    forced: bytes
    end: bytes | None
    place: str | None = None
    lead: bytes = b""
    begun: bytes = b""

    @property
    def ok(self) -> bool:
        return self.reading.ok

    @property
    def read(self) -> bytes:
        """What of it can be read."""
        return self.reading.text[: self.reading.read]

    @property
    def message(self) -> str:
        """The verdict in one sentence."""
        reading = self.reading
        if reading.ok:
            said = f"{glyph(reading.text) or 'nothing'} may come here"
            return "; ".join(filter(None, (said, self.about))) if self.token is None else self.about or said
        return self.whole.verdict

    @property
    def meant(self) -> list[str]:
        """The suggestions for people: each with the beginning of the word that the text has of it."""
        return [glyph(self.begun * _goes_on(text) + text) for text in self.suggestions]

    @property
    def whole(self) -> Reading:
        """The fate of all that was typed, the `lead` included."""
        one, size = self.reading, len(self.lead)
        return replace(one, text=self.lead + one.text, start=one.start - size, read=one.read + size, about=self.about)

    def state(self) -> dict[str, Any]:
        """What the view shows: what was read `before` the `fatal` byte (`cut`: only its end), and what came behind."""
        reading, whole = self.reading, self.whole
        rest = whole.text[whole.read + len(whole.fatal) :]
        word = whole.word if self.lead else 0
        dots = dict.fromkeys(rule for item in reading.waiting for rule in split_rules(item.dot))
        rules = dict.fromkeys(
            name for item in reading.waiting for name in [rule.name for rule in item.source_rules] or [item.rule]
        )
        return {
            "subject": {
                "token": self.token,
                "text": clip(glyph(whole.text[word:]), 4 * CONTEXT),
                "read": glyph(whole.text[word : whole.read][-CONTEXT:]),
                "rest": clip(glyph(rest), CONTEXT),
            },
            "position": reading.start,
            "ok": reading.ok,
            "kind": self.kind,
            "message": self.message,
            "before": glyph(whole.text[: whole.read][-CONTEXT:]),
            "cut": whole.read > CONTEXT,
            "fatal": glyph(whole.fatal),
            "rest": clip(glyph(rest), 4 * CONTEXT),
            "at": reading.start + reading.read,
            "expected": content(reading.possible),
            "ends": reading.completed,
            "reasons": None
            if self.reasons is None
            else [
                {"label": label, "keyword": keyword, "pointer": pointer, "rule": rule}
                for label, keyword, pointer, rule in dict.fromkeys(
                    (place.label, place.keyword, place.pointer, place.rule) for place in self.reasons
                )
            ],
            "place": self.place,
            "rules": [] if self.place is not None else list(rules),
            "dots": list(dots),
            "suggestions": self.meant,
            "forced": clip(glyph(self.forced), 2 * CONTEXT),
            "end": None if self.end is None else clip(glyph(self.end), LONGEST),
            "end_bytes": len(self.end or b""),
            "note": reading.note,
        }

    def lines(self) -> list[str]:
        """What there is to say beside the message."""
        state, lines = self.state(), []
        if not self.ok:
            lines += [f"  {line}" for line in self.whole.picture().split("\n")]
            possible = state["expected"] + (" or the end of the text" if state["ends"] and state["expected"] else "")
            lines.append(f"  expected: {possible or ('the end of the text' if state['ends'] else 'nothing')}")
            lines += [f"  in the source: {state['place']}"] if state["place"] else []
            lines += [f"  forbidden by: {place}" for place in self.reasons or ()]
            if not self.reasons and state["rules"]:
                lines.append(f"  waiting rules: {', '.join(state['rules'])}")
        if state["suggestions"]:
            lines.append(f"  {'or did' if self.ok else 'did'} you mean: {'   '.join(state['suggestions'])}")
        if state["forced"]:
            lines.append(f"  must follow: {state['forced']}")
        if state["end"]:
            lines.append(f"  shortest end ({len(self.end or b''):,} bytes): {state['end']}")
        return lines

    def __str__(self) -> str:
        return "\n".join([self.message, *self.lines()])


def why(context: Context, what: str | bytes | int, *, reasons: bool = True, lead: bytes = b"") -> Why:
    """Why `what`, a text or a token's id, may come at the session's place or not; nothing changes.

    `lead` is the end of the session's text that was typed with `what` as one text.
    Raises `StepError` for an id outside the vocabulary, `TypeError` for anything else.
    """
    with context.held():
        token = None if isinstance(what, (str, bytes)) else int(what)
        reading = context.explain(what)
        shadow = context.shadow()
        named = None if reading.ok else naming(context, reading.text, reading.read)
        if named is not None:  # the names of the object's members are known, also of those that cannot come now
            near = named.suggestions[:SUGGESTED]
        else:
            near = suggestions(shadow, context.text, reading.text, reading.read, VERY_ALIKE if reading.ok else ALIKE)
        after = shadow.fork()
        spelt = after.accept_string(reading.text[: reading.read]) if reading.read else True
        going = spelt and not after.is_terminated()
        kind, about = ("", _as_token(context, reading.text)) if token is None else _fate(context, token)
        found = Why(
            reading=reading,
            token=token,
            kind=kind,
            about="; ".join(filter(None, (about or reading.note, reading.about))),
            reasons=() if reading.ok else None,
            suggestions=near,
            forced=after.find_jump_forward_string(FORCED).encode() if going else b"",
            place=reader_of(context).pointer_behind(read_text(context) + reading.text[: reading.read])
            if context.document.is_json
            else None,
            end=short_end(after) if going else b"",
            lead=lead,
            begun=_begun(context.text),
        )
        return with_reasons(context, found) if reasons else found


def with_reasons(context: Context, found: Why) -> Why:
    """The same with the locations in the source that forbid it."""
    if found.reasons is not None:
        return found
    return replace(found, reasons=forbidding(context, found.reading.text))


def _fate(context: Context, token: int) -> tuple[str, str]:
    """What the token sets say of a token: its kind, and a sentence where that tells more than the fatal byte."""
    row = token_index(context.token_sets()).row(token)
    if row["kind"] == "uncertain":
        rest, rule = row["suffix"], row["rule"]
        told = _decided(context, token, rule)
        if told and all(name == END for name, _ in told):
            return ("uncertain", f"it runs over the end of {rule}, which nothing called: the text is over there")
        after = " and ".join(
            f"its caller {name} {verb} {f'its rest {rest}' if rest else 'that'}" for name, verb in told
        )
        verb = "take" if row["allowed"] else "refuse"
        return "uncertain", f"it runs over the end of {rule}: {after or f'its callers {verb} its rest {rest}'}"
    if row["kind"] == "accepted":
        return "accepted", "allowed: it stays inside its rule"
    if row["kind"] == "stop":
        return "stop", "allowed: the text may end here, or the grammar names this token"
    return "rejected", ""


def _begun(text: bytes) -> bytes:
    """The word at the end of `text`, with the quote before it."""
    found = re.search(rb'"?[\w\x80-\xff-]+\Z', text[-CONTEXT:])
    return found.group() if found is not None else b""


def _goes_on(text: bytes) -> bool:
    return _WORD.match(text) is not None


def _as_token(context: Context, text: bytes) -> str:
    """Who decides about a typed text that is one token, where that runs over the end of a rule; "" elsewhere."""
    words = lexicon(context.tokenizer.info)
    first, last = words.spelling(text) if text else (0, 0)
    if first >= last:
        return ""
    token = int(words.ids[first])
    kind, about = _fate(context, token)
    return f"as token {token}, {about}" if kind == "uncertain" else ""


def _decided(context: Context, token: int, rule: str) -> list[tuple[str, str]]:
    """The callers of `rule` and what they do with the rest of an uncertain token, those that take it first."""
    for entry, who in zip(context.token_sets().states, context.rest_callers(), strict=True):
        if entry.rule == rule and (place := np.flatnonzero(entry.uncertain.ids == token)).size:
            found = decided(who, place)
            return sorted(found, key=lambda one: one[1] != "takes")[:CALLERS]
    return []


def suggestions(
    matcher: GrammarMatcher, before: bytes, text: bytes, read: int, alike: float = ALIKE
) -> tuple[bytes, ...]:
    """Texts that may come after `before`, which `matcher` has read, and look like `text`, of which `read` bytes can be.

    Each is a whole thing (a key, a value, a word, a tag), at least `alike` (0 to 1); none where `text` begins with one.
    """
    if not text:
        return ()
    near: dict[bytes, float] = {}
    died = matcher.fork()
    if read:
        died.accept_string(text[:read])
    places = [(matcher, b""), (died, text[:read])] if 0 < read < len(text) else [(matcher, b"")]
    for at, kept in places:
        for one in explore(at, before + kept, seconds=SECONDS).found:
            if one.members or one.kind in NOT_NAMES or not one.unit:
                continue
            whole = kept + one.text
            wanted = text[: len(whole) + 1]
            if text.startswith(whole) and len(whole) > 1 and read == len(text):
                return ()
            found = SequenceMatcher(None, wanted.lower(), whole.lower(), autojunk=False).ratio()
            if found >= alike and len(whole) > 1 and not whole.startswith(text):
                near[whole] = max(found, near.get(whole, 0.0))
    ranked = sorted(near, key=lambda whole: (-near[whole], len(whole), whole))
    return tuple(ranked[:SUGGESTED])
