"""Why a token or a text cannot come here, in the few lines of a card beside the pointer.

Quicker and shorter than `Session.inspect.why`: no way out is looked for, and the reasons only as long as nobody
notices.

Read on: `frontend/src/hints.js` (the card), `workbench/next/why.py` (all of it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from visualizers.glyphs import clip, glyph
from workbench.provenance import forbidding
from workbench.session.result import content

if TYPE_CHECKING:
    from workbench.session.context import Context

REASONS_MS: Final = 80.0
WIDTH: Final = 60
BYTES: Final = 24


def tooltip(context: Context, what: bytes | int) -> dict[str, Any]:
    """What to tell of a token or a text at the session's place.

    `message` is the verdict, `after` what may come then (or there, where it dies), `reasons` the places of the source
    that forbid it, `bytes` a token's.  Raises `StepError` for an id outside the vocabulary.
    """
    with context.held():
        reading = context.explain(what)
        shown = clip(glyph(reading.text), WIDTH)
        refused = not reading.ok and not reading.note
        if refused:
            message = reading.verdict
        else:
            message = f"{shown} {'may' if reading.ok else 'cannot'} come here".lstrip()
        if reading.note:
            message += f": {reading.note}"
        places = forbidding(context, reading.text, budget_ms=REASONS_MS) if refused else ()
        after = [content(reading.possible), "the end of the text" if reading.completed else ""]
        token = bytes(context.tokenizer.info.decoded_vocab[what])[:BYTES] if isinstance(what, int) else b""
    return {
        "ok": reading.ok,
        "message": message,
        "after": ", or ".join(filter(None, after)),
        "reasons": [{"label": place.label, "where": place.pointer or place.rule or ""} for place in places],
        "bytes": token.hex(" ").upper(),
    }
