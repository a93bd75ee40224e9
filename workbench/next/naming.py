"""Why a name cannot come: no such member, there already, or out of the schema's order; and which one was meant.  And
why an object cannot close: which members are missing.

Read on: `workbench/provenance/members.py` (the members of the object), `workbench/next/why.py` (who asks).
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from kernels_core import GrammarMatcher
from workbench.provenance import reader_of
from workbench.provenance.members import Member, OpenObject, forced, listed, open_objects, probe
from workbench.provenance.reader import Content, Probe, read_text

if TYPE_CHECKING:
    from workbench.session.context import Context

CLOSE: Final = 0.6
"""How much alike (0 to 1, `difflib`) a name must be to be what was meant."""
MOST: Final = 3


@dataclass(frozen=True)
class Naming:
    """What is wrong with a name, in a sentence, and whole texts from the session's place on that may come instead."""

    about: str
    suggestions: tuple[bytes, ...]


def naming(context: Context, tried: bytes, read: int, *, afresh: bool = False) -> Naming | None:
    """What is wrong with the name that `tried` would write; None where it dies (after `read` bytes) as something else.

    `tried` comes after the session's text, or (`afresh`) is a text from the beginning.  The session is held.
    """
    reader, text = reader_of(context), b"" if afresh else read_text(context)
    if not reader.source.is_json:
        return None
    for content in reader.contents(text + tried[:read]):
        if tried[read : read + 1] == b"}" and not content.style and content.prefix.part in ("after", "name"):
            begin = len(text) + read
            at = _matcher(context, text, tried, begin, afresh)
            objects = [] if at is None else open_objects(reader, (text + tried)[:begin], at)
            missing = objects[0].missing if objects else []
            if missing:
                return Naming(f"{listed(missing, MOST)} {'is' if len(missing) == 1 else 'are'} still required", ())
        found = content.begun(tried[read:])
        if found is None:
            continue
        size, name, ended = found
        begin = len(text) + read - size
        at = _matcher(context, text, tried, begin, afresh)
        if at is None:
            continue
        objects = open_objects(reader, (text + tried)[:begin], at)
        if objects:
            comma = content.prefix.part == "after" and not content.style and b"," not in tried[read:].split(b'"')[0]
            if not comma and _may_come(objects[0], content, name, at):
                return None  # what is around it may not, or how it is spelt
            lead, typed = tried[: max(0, begin - len(text))], text[begin:]
            return _judged(objects[0], content, name, ended, comma, lead, typed, probe(at))
    return None


def _matcher(context: Context, text: bytes, tried: bytes, begin: int, afresh: bool) -> GrammarMatcher | None:
    """A matcher in front of byte `begin` of both texts together."""
    if begin >= len(text):
        at = GrammarMatcher(context.shadow().compiled) if afresh else context.shadow()
        return at if at.accept_string(tried[: begin - len(text)]) else None
    if text != context.text:
        return None  # tokens without text stand in it
    at = GrammarMatcher(context.shadow().compiled)
    return at if at.accept_string(text[:begin]) else None


def _may_come(found: OpenObject, content: Content, name: str, at: GrammarMatcher) -> bool:
    """Whether a member of this name may come where `at` stands, in the layout and spelling that are asked for."""
    whole = content.spelt_name(name).encode()
    return any(map(probe(at), (gap + whole for gap in (*_gaps(found, content), forced(at)[1]))))


def _gaps(found: OpenObject, content: Content) -> tuple[bytes, ...]:
    """What may stand in front of a name."""
    return (b"",) if found.now != "behind" or content.style else (b",", b", ")


def _judged(
    found: OpenObject,
    content: Content,
    name: str,
    ended: bool,
    comma: bool,
    lead: bytes,
    typed: bytes,
    can_come: Probe,
) -> Naming | None:
    """`comma`: one is missing in front of the name.  `typed`: what of the name stands in the session's text, `lead`:
    what of the text that is tried stands in front of it."""
    member = _meant(found, name, ended)
    if member is not None and member.state == "next" and not comma:
        return None
    possible = found.names("next")
    near = get_close_matches(name, possible, MOST, CLOSE)
    if member is not None and member.state == "next":
        about = ""
    elif member is None:
        about = _unknown(found, name) + (_not_now(found, name) or ("" if near else "; none of its names is like it"))
    elif member.state == "done":
        about = f"{member.name} is there already, and a name comes once"
    else:
        about = member.why
    suggestions = []
    for other in near:
        whole = content.spelt_name(other).encode()
        for gap in _gaps(found, content):
            if (gap + whole).startswith(typed) and can_come(gap + whole):
                suggestions.append(lead + (gap + whole)[len(typed) :])
                break
    missing = "a comma must come before the next member" if comma else ""
    return Naming("; ".join(filter(None, (missing, about))), tuple(suggestions))


def _meant(found: OpenObject, name: str, ended: bool) -> Member | None:
    """The member of this name; of a name that is not whole, the first that begins with it."""
    for member in found.members:
        if member.name == name or (not ended and name and member.name.startswith(name)):
            return member
    return None


def _unknown(found: OpenObject, name: str) -> str:
    if not found.others:
        return f'the schema has no member "{name}", and allows no other names'
    if found.missing:
        return f'the schema has no member "{name}", and {found.missing[0]} is required before other names'
    return f'the schema has no member "{name}"; other names: {found.others}'


def _not_now(found: OpenObject, name: str) -> str:
    """Of the members that cannot come now, the one that is most alike, and why it cannot."""
    others = {member.name: member for member in found.members if member.state not in ("next", "here")}
    close = get_close_matches(name, list(others), 1, CLOSE)
    if not close:
        return ""
    member = others[close[0]]
    why = "is there already" if member.state == "done" else f"cannot come now: {member.why}"
    return f"; {member.name} {why}"
