"""`check`, `mask` and `explain`: one grammar, one text, and what our engine says.

Read on: `workbench/cli/common.py`, `workbench/session/session.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from visualizers.glyphs import clip, glyph
from workbench.cli.common import (
    DIFFERENT,
    FINE,
    AtPlace,
    OnTexts,
    Start,
    fail,
    mistake_data,
    open_session,
    reporting,
    say,
    spread,
)

if TYPE_CHECKING:
    from workbench.next.refusals import Refusals
    from workbench.next.why import Why
    from workbench.session import Session

PATIENCE: Final = 10.0
"""Seconds that following the refused tokens may take."""
LINE: Final = 160


# -- check ------------------------------------------------------------------------------------------------------------


@spread
def check(
    given: OnTexts,
    prefix: Annotated[bool, typer.Option("--prefix", help="Be content with the beginning of a text.")] = False,
    start: Start = None,
) -> None:
    """Does a text conform to a grammar? Where does it die, and why?

    Without a text the grammar alone is checked. Exit code 0: it conforms; 1: it does not, or the grammar has mistakes.

    Examples: check schema.json --text-file answer.json   ·   check 'root ::= "a"+' aab
    """
    from workbench.languages.warnings import doubts, unread_ends

    with reporting(given.as_json):
        session = open_session(given.source, given.language, given.tokenizer, start=start)
        warned = (*doubts(session.document, session.inspect.compiled.grammar), *unread_ends(session.document))
        checked = [_checked(session, name, data, prefix) for name, data in given.read()]
        results = [result for result, _ in checked]
        rules = len(session.inspect.grammar.lazy_ir.rules)  # of a schema those that a text has needed: all may be many
        data = {
            "ok": all(result["ok"] for result in results),
            "grammar": {"language": session.document.language, "rules": None if session.document.is_json else rules},
            "warnings": [mistake_data(one) for one in warned],
            "texts": results,
        }

        def picture() -> Group:
            shown: list[RenderableType] = [_check_picture(result, why) for result, why in checked]
            if not shown:
                count = "" if session.document.is_json else f", {rules:,} rule{'s' * (rules != 1)}"
                said = f"{session.document.title}{count} ({session.document.why})"
                shown = [Text.assemble(("a grammar: ", "green"), said)]
            return Group(*shown, *(Text.assemble(("warning: ", "yellow"), str(one)) for one in warned))

        say(data, picture)
    if not all(result["ok"] for result in results):
        raise typer.Exit(DIFFERENT)


def _checked(session: Session, name: str, data: bytes, prefix: bool) -> tuple[dict[str, Any], Why | None]:
    reading = session.read(data, by="byte" if len(data) < 200 else "token")
    ends = reading.ok and session.is_completed
    result: dict[str, object] = {
        "name": name,
        "bytes": len(data),
        "ok": reading.ok and (ends or prefix),
        "complete": ends,
        "read": reading.read,
        "message": reading.message,
    }
    why = None if result["ok"] else _why(session, data, reading.read)
    if why is not None:
        place = data[: reading.read]
        result |= {
            "line": place.count(b"\n") + 1,
            "column": len(place[place.rfind(b"\n") + 1 :].decode(errors="replace")) + 1,
            **_why_data(why),
        }
        if reading.ok:
            result["message"] = f"the text is not complete; {reading.message.partition('; ')[2]}"
    return result, why


def _check_picture(result: dict[str, object], why: Why | None) -> Group:
    name = Text(f"{result['name']}: ", "bold")
    if why is None:
        what = "conforms" if result["complete"] else "is the beginning of a text that conforms"
        return Group(Text.assemble(name, (what, "green"), f", {result['bytes']:,} bytes"))
    where = f"line {result['line']}, column {result['column']}, byte {result['read']}: "
    head = Text.assemble(name, ("does not conform", "red"), f"\n  {where}{result['message']}")
    return Group(head, _details(why))


# -- mask -------------------------------------------------------------------------------------------------------------


@spread
def mask(
    given: AtPlace,
    tokens: Annotated[int, typer.Option("--tokens", min=0, help="List so many allowed tokens, too.")] = 0,
    refused: Annotated[bool, typer.Option("--refused", help="Group the refused tokens by where they die.")] = False,
) -> None:
    """What may come next after a text, grouped by meaning: keys, values, closings, characters.

    Exit code 1 where nothing can come because the text dies before this place.

    Example: mask schema.json '{"na'
    """
    with reporting(given.as_json):
        session = given.session()
        _go(session, given.read() or b"")
        about, vocabulary = session.inspect, session.tokenizer.vocab_size
        spelling, ahead, listed = _spelling(session, given.as_generated), about.next(), about.allowed_tokens(tokens)
        allowed = len(set(about.allowed_ids()).difference(session.tokenizer.info.stop_token_ids))
        found = _refused(session) if refused else None

        def picture() -> Group:
            end = ", and the text may end here" if session.is_completed else ""
            shown: list[RenderableType] = [_place_line(session), *_legend(spelling)]
            shown.append(f"{allowed:,} of {vocabulary:,} tokens allowed{end}")
            shown += [Text(f"object {one.label}: {one.summary}") for one in about.members().objects[:1]]
            if len(ahead):
                said = "tokens: those that write such a continuation or begin one; a token may do several."
                shown += [ahead.table(), *_legend(said)]
            if not ahead.complete:
                shown += _legend(f"The search was stopped after {ahead.seconds:g} s: there may be more.")
            if listed:
                said = f"the first {len(listed):,} allowed tokens, as id:token (␣ is a space, ⟨0x0A⟩ a byte)"
                shown += [Text("  ".join(f"{c.token_id}:{c}" for c in listed)), *_legend(said)]
            if found is not None:
                said = "after reading: what of such a token can be read; cannot come: the byte behind it."
                shown += [Text(str(found)), *_legend(said)]
                if found.unsettled:
                    shown += _legend(f"{found.unsettled:,} tokens were not followed to the end within {PATIENCE:g} s.")
            return Group(*shown)

        data = {
            "position": about.position,
            "spelling": spelling,
            "allowed": allowed,
            "vocabulary": vocabulary,
            "may_end": session.is_completed,
            "next": ahead.rows(),
            "complete": ahead.complete,
            "tokens": [{"id": c.token_id, "token": str(c)} for c in listed],
            "refused": None if found is None else found.rows(),
        }
        say(data, picture)


def _refused(session: Session) -> Refusals:
    from workbench.next.refusals import refusals, with_reasons

    return with_reasons(session.inspect, refusals(session.inspect, seconds=PATIENCE))


# -- explain ----------------------------------------------------------------------------------------------------------


@spread
def explain(
    given: AtPlace,
    what: Annotated[
        str | None, typer.Option("--next", help="The text that is to come next.", show_default=False)
    ] = None,
    token: Annotated[int | None, typer.Option("--token", help="A token's id instead.", show_default=False)] = None,
) -> None:
    """Why can this text (or token) not come next, after TEXT?

    Exit code 0: it may come; 1: it cannot, and the answer says at which byte it dies, what forbids it and what could
    come instead.

    Example: explain schema.json '{' --next '"nmae"'
    """
    with reporting(given.as_json):
        if (what is None) == (token is None):
            fail("say what is to come: --next WHAT, or --token ID")
        session = given.session()
        _go(session, given.read() or b"")
        if token is not None and not 0 <= token < session.tokenizer.vocab_size:
            fail(f"there is no token {token}: ids go from 0 to {session.tokenizer.vocab_size - 1:,}")
        why = session.inspect.why(what if what is not None else int(token or 0))
        reading, spelling = why.reading, _spelling(session, given.as_generated)
        data = {
            "ok": reading.ok,
            "message": why.message,
            "position": session.inspect.position,
            "spelling": spelling,
            **_why_data(why),
        }

        def picture() -> Group:
            shown = f"token {token}, {glyph(reading.text)}" if token is not None else glyph(reading.text)
            words = ("may come", "cannot come") if token is None else ("allowed", "refused")
            verdict = (words[0], "green") if reading.ok else (words[1], "red")
            told = Text.assemble((shown, "bold"), ": ", verdict, f"\n  {why.message}")
            return Group(_place_line(session), *_legend(spelling), told, _details(why))

        say(data, picture)
    raise typer.Exit(FINE if reading.ok else DIFFERENT)


# -- shared -----------------------------------------------------------------------------------------------------------


def _go(session: Session, data: bytes) -> None:
    """To the place after `data`; a text that dies ends the command."""
    reading = session.read(data)
    if reading.ok:
        return
    why = _why(session, data, reading.read)
    said = f"the text before this place dies: {reading.message}"
    fail(said, code=DIFFERENT, details=_details(why), ok=False, **_why_data(why))


def _why(session: Session, data: bytes, read: int) -> Why:
    """Why `data` dies, or what it lacks, where the session stands after `read` bytes of it."""
    from workbench.next.why import why

    return why(session.inspect, data[read:], lead=data[:read])


def _spelling(session: Session, as_generated: bool) -> str:
    """Which spellings of JSON were asked about; "" where the source has one reading."""
    if session.document.for_a_model() is session.document:
        return ""
    if as_generated:
        return "as generate and the server write: members in declared order, numbers in their shortest spelling."
    return "every spelling that the schema allows; --as-generated asks as generate and the server write."


def _place_line(session: Session) -> Text:
    from workbench.provenance import provenance

    text = glyph(session.text)
    shown = "…" + text[-79:] if len(text) > 80 else text
    line = Text.assemble("after ", (shown or "nothing: at the beginning", "bold"))
    places = [place for place in provenance(session.inspect) if place.role == "here"]
    if places:
        line.append(f"\nin {', '.join(str(place) for place in places[:3])}", "dim")
    return line


def _why_data(why: Why) -> dict[str, Any]:
    state, reading = why.state(), why.whole
    return {
        "died_at": reading.died_at,
        "picture": reading.picture(),
        "possible": [glyph(bytes((value,))) for value in reading.possible],
        "expected": state["expected"],
        "may_end": reading.completed,
        "rules": state["rules"],
        "forbidden_by": [
            {"what": str(one), "keyword": one.keyword, "pointer": one.pointer, "rule": one.rule, "span": one.span}
            for one in why.reasons or ()
        ],
        "did_you_mean": state["suggestions"],
        "forced": state["forced"],
        "shortest_end": state["end"],
        "note": reading.note,
    }


def _details(why: Why) -> Group:
    return Group(*(Text(clip(line, LINE), no_wrap=line.endswith("^"), overflow="crop") for line in why.lines()))


def _legend(text: str) -> list[RenderableType]:
    """A line below what it explains; none for no text."""
    return [Text(f"  {text}", "dim")] if text else []
