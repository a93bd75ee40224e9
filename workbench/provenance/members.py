"""The objects that are being written: which members are there, may come or are required, and whether it may close.

    open_objects(reader, text, matcher)        # the innermost first; see `Session.inspect.members`

What is there and what is required is read off the text and the schema.  Whether a name or the closing may come now is
asked of the parser.  While a member is being written the parser cannot be asked about the next one, so that is worked
out: in the schema's order the next are those up to the first that is required, in any order all that are left.

Read on: `reader.py` (the schemas that a text is inside of), `schema.py` (what applies there), `elements.py` (arguments
of calls that are written as elements).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from kernels_core.inspect.snapshots import Table
from visualizers.glyphs import many
from workbench.languages.positions import child
from workbench.provenance.elements import STYLES
from workbench.provenance.prefix import path_of
from workbench.provenance.schema import SAME_VALUE

if TYPE_CHECKING:
    from kernels_core import GrammarMatcher
    from workbench.provenance.reader import Content, Probe, Reader
    from workbench.provenance.schema import Site

MemberState = Literal["done", "here", "next", "later", "passed"]
"""`done`: it is there.  `here`: it is being written.  `next`: it may come now (or right after the one being written).
`later`: it may come once others have.  `passed`: it cannot come any more."""
Now = Literal["name", "begun", "member", "behind"]
MAX_MEMBERS: Final = 400
_FORCED: Final = 64  # bytes that must follow, of which blanks matter
_LISTED: Final = 6
_FEW: Final = 3
_REQUIRED: Final = (" is required", " are required")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)
_HEADS: Final[Mapping[MemberState, str]] = {
    "done": "✓ written",
    "here": "▸ being written",
    "next": "+ may come next",
    "later": "… may come later",
    "passed": "– cannot come any more",
}


@dataclass(frozen=True, slots=True)
class Member:
    """One member by its name.  `pointer`: its schema in the source; `why`: what keeps it from coming now, if it is
    `later` or `passed`."""

    name: str
    state: MemberState
    required: bool
    pointer: str
    why: str = ""


@dataclass(frozen=True)
class OpenObject:
    """An object that has begun and not ended.

    `pointer` is its schema's place in the source, `path` what it is called in the text (`address`), "" for the whole;
    `tool` the tag or tool that it is an argument of.  `ordered`: members come in the schema's order.  `others` says in
    a few words which names beside those listed may come, "" for none.  `now`: what is being written: nothing yet or a
    `name` may begin, a name has `begun`, a `member` has, or one has just ended (`behind`).  `blocked`: why the object
    may not close now, "" where it may.
    """

    pointer: str
    path: str
    tool: str
    members: tuple[Member, ...]
    ordered: bool
    others: str
    now: Now
    blocked: str

    @property
    def may_close(self) -> bool:
        return not self.blocked

    def names(self, *states: MemberState) -> list[str]:
        """The names of the members in one of `states`, in the schema's order."""
        return [member.name for member in self.members if member.state in states]

    @property
    def missing(self) -> list[str]:
        """The members that are required and not there, nor being written."""
        return [member.name for member in self.members if member.required and member.state not in ("done", "here")]

    @property
    def label(self) -> str:
        """What the object is called: its tool and its path in the text; `#` for the whole."""
        return " ".join(filter(None, (self.tool, self.path))) or "#"

    @property
    def summary(self) -> str:
        """One line: how many members are there, which are still required, whether it may close."""
        why = "" if not self.blocked or self.blocked.endswith(_REQUIRED) else f": {self.blocked}"  # those are counted
        return f"{self.counts}; {'may close now' if self.may_close else 'may not close now'}{why}"

    @property
    def counts(self) -> str:
        """How many members are there, which is being written, which are still required."""
        here = self.names("here")
        parts = [f"{len(self.names('done'))} of {many(len(self.members), 'member')} written"]
        parts += [f"writing {here[0]}"] if here else []
        parts.append(f"still required: {listed(self.missing, _FEW)}" if self.missing else "no more required")
        return "; ".join(parts)


@dataclass(frozen=True, repr=False)
class Members(Table):
    """The objects that are open after `position` bytes, the innermost first; none where no schema speaks."""

    position: int
    objects: tuple[OpenObject, ...]

    def __bool__(self) -> bool:
        return bool(self.objects)

    def rows(self) -> list[dict[str, Any]]:
        return [{"object": one.label, **asdict(member)} for one in self.objects for member in one.members]

    def state(self) -> dict[str, Any]:
        """What the view shows: plain data."""
        return {
            "position": self.position,
            "objects": [
                {
                    "label": one.label,
                    "pointer": one.pointer,
                    "summary": one.summary,
                    "counts": one.counts,
                    "ordered": one.ordered,
                    "others": one.others,
                    "now": one.now,
                    "missing": one.missing,
                    "closes": one.may_close,
                    "blocked": one.blocked,
                    "members": [
                        (member.name, member.state, member.required, member.pointer, member.why)
                        for member in one.members[:MAX_MEMBERS]
                    ],
                    "more": max(0, len(one.members) - MAX_MEMBERS),
                }
                for one in self.objects
            ],
        }

    def __repr__(self) -> str:
        names = " in ".join(one.label for one in self.objects) or "no object is open"
        return f"Members(after {self.position} bytes: {names})"

    def __str__(self) -> str:
        lines = []
        for one in self.objects:
            lines.append(f"{one.label}: {one.summary}")
            for state, head in _HEADS.items():
                found = [member for member in one.members if member.state == state]
                if found:
                    said = ", ".join(member.name + "*" * member.required for member in found)
                    lines.append(f"  {head}: {said}")
            order = "members come in the schema's order" if one.ordered else "members come in any order"
            lines.append(f"  * required; {order}; {f'others: {one.others}' if one.others else 'no other names'}")
        return "\n".join(lines) or "no object is open"


def open_objects(reader: Reader, text: bytes, at: GrammarMatcher) -> tuple[OpenObject, ...]:
    """The objects that are open after `text`, which `at` has read, the innermost first.

    The parser is asked about what follows the text, also about what must, for layouts that fix where line ends are.
    """
    for content in reader.contents(text):
        opened, levels = content.prefix.levels, content.levels
        depths = [depth for depth in range(min(len(opened), len(levels))) if opened[depth].is_object]
        if depths and content.prefix.part != "end":
            return tuple(_Object(content, depth, levels[depth], at).read() for depth in reversed(depths))
    return ()


def probe(at: GrammarMatcher) -> Probe:
    """Whether a text can come where a matcher stands, which stays there."""
    return lambda text: bool(at.fork().accept_string(text))


def forced(at: GrammarMatcher) -> tuple[bytes, bytes]:
    """What must follow where a matcher stands, and the blanks that it begins with."""
    text = at.find_jump_forward_string(_FORCED).encode()
    return text, text[: len(text) - len(text.lstrip())]


class _Object:
    """One object: container `depth` of `content`, to which `sites` apply; `at` has read the text."""

    def __init__(self, content: Content, depth: int, sites: tuple[Site, ...], at: GrammarMatcher) -> None:
        self.content, self.depth, self.sites = content, depth, sites
        self.prefix = prefix = content.prefix
        self.at, self.can_come = at, probe(at)
        self.level = prefix.levels[depth]
        self.innermost = depth == len(prefix.levels) - 1
        self.declared = dict(_declared(content, sites))
        self.required = required_names(sites, self.level.names)
        for name in (*sorted(self.required), *self.level.names):
            if name not in self.declared:
                self.declared[name] = next((content.pointer(site.pointer) for site in sites), content.base)
        self.names = list(self.declared)
        self.others = _others(sites, content.options)
        self.ordered = content.options.get("order", "any") == "declared" and not self.others

    def read(self) -> OpenObject:
        now = self._now()
        written = [name for name in self.level.names if name != self._being]
        states = self._worked_out(written)
        if now in ("name", "behind", "begun"):
            states = self._asked(states, now)
        members = tuple(
            Member(name, state, name in self.required, self.declared[name], why)
            for name, (state, why) in states.items()
        )
        return OpenObject(
            pointer=self.content.pointer(self.sites[0].pointer) if self.sites else self.content.base,
            path=path_of(level.key for level in self.prefix.levels[: self.depth]),
            tool=self.content.owner,
            members=members,
            ordered=self.ordered,
            others=self.others,
            now=now,
            blocked=self._blocked(members, now),
        )

    @property
    def _being(self) -> str | None:
        """The name of the member that is being written."""
        if self.innermost and self.prefix.part not in ("value", "colon"):
            return None
        return self.level.key if isinstance(self.level.key, str) else None

    def _now(self) -> Now:
        if not self.innermost or self.prefix.part in ("value", "colon"):
            return "member"
        if self.prefix.part == "after":
            return "behind"
        return "begun" if self.prefix.partial else "name"

    def _worked_out(self, written: list[str]) -> dict[str, tuple[MemberState, str]]:
        """The states as the order of members gives them, right after what is there."""
        being = self._being
        order = {name: place for place, name in enumerate(self.names)}
        there = [*written, *([being] if being is not None else [])]
        last = max((order[name] for name in there), default=-1)
        latest = self.names[last] if last >= 0 else ""
        states: dict[str, tuple[MemberState, str]] = {}
        first = ""  # the first that must come before what follows it
        for name in self.names:
            if name == being:
                states[name] = "here", ""
            elif name in written:
                states[name] = "done", ""
            elif not self.ordered:
                states[name] = "next", ""
            elif order[name] < last:
                states[name] = "passed", f"members come in the schema's order, and {name} comes before {latest}"
            elif first:
                states[name] = "later", f"members come in the schema's order, and {first} is required before {name}"
            else:
                states[name] = "next", ""
                first = name if name in self.required else ""
        return states

    def _asked(self, states: dict[str, tuple[MemberState, str]], now: Now) -> dict[str, tuple[MemberState, str]]:
        """The same, with what the parser says of each name that is not there."""
        partial, leads = self.prefix.partial, self._leads(now)
        found = dict(states)
        for name, (state, why) in states.items():
            rest = self.content.missing(self.content.spelt_name(name))
            if state in ("done", "here") or (rest is None and state != "next"):
                continue
            if rest is None:
                found[name] = "later", f"the name that has begun, {partial}, is another"
            elif any(self.can_come(lead + rest) for lead in leads):
                found[name] = "next", ""
            elif state == "next":
                found[name] = "passed", why or "the schema's other keywords leave no room for it"
        begun = [name for name, (state, _) in found.items() if state == "next"]
        if partial and self.ordered and begun:
            for name in self.names[: self.names.index(begun[0])]:
                if found[name][0] == "later":
                    found[name] = "passed", f"members come in the schema's order, and {name} comes before {begun[0]}"
        return found

    def _blocked(self, members: tuple[Member, ...], now: Now) -> str:
        """Why the object may not close now, "" where it may."""
        if now == "member" and not self._number_may_end():
            being = next((member.name for member in members if member.state == "here"), "a member")
            return f"the value of {being} is not complete"
        if now == "begun":
            return "a name has begun"
        if self._may_close():
            return ""
        missing = [member.name for member in members if member.required and member.state not in ("done", "here")]
        if missing:
            return f"{listed(missing)}{_REQUIRED[len(missing) > 1]}"
        if now == "name" and self.level.names and not self.content.style:
            return "a member must follow the comma"
        counts = [site.get("minProperties") for site in self.sites]
        least = max((one for one in counts if isinstance(one, int | float)), default=0)
        if len(self.level.names) < least:
            return f"at least {least:g} members are required (minProperties)"
        return "other keywords of the schema require more members"

    def _number_may_end(self) -> bool:
        """Whether the value that is being written is a number that is complete: what ends it stands behind it."""
        if not self.innermost or self.prefix.part != "value" or self.content.style:
            return False
        return bool(_NUMBER.fullmatch(self.prefix.partial)) and any(map(self.can_come, (b"}", b",", b" ", b"\n")))

    def _may_close(self) -> bool:
        if not self.content.style:
            return self.can_come(b"}") or self.can_come(forced(self.at)[1] + b"}")
        if self.depth == 0:
            return self.content.ends
        back, key = STYLES[self.content.style].back, str(self.prefix.levels[self.depth - 1].key)
        return self.can_come(key.join(back).encode() if back[1:] else back[0].encode())

    def _leads(self, now: Now) -> list[bytes]:
        """What may stand between the text and a name."""
        if now == "begun":
            return [b""]
        must, blanks = forced(self.at)
        comma = b"," if now == "behind" and not self.content.style else b""
        return list(dict.fromkeys([comma, comma + b" ", comma + blanks, blanks + comma, must]))


def listed(names: Iterable[str], most: int = _LISTED) -> str:
    """Some names in a line."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def required_names(sites: Iterable[Site], present: Iterable[str] = ()) -> set[str]:
    """The names that every way to read on requires, where the members `present` are there.

    Of several branches that are still possible only what all of them require counts.
    """
    there = set(present)
    sure: set[str] = set()
    branches: dict[tuple[str, str], dict[str, set[str]]] = {}
    for site in sites:
        names = set(_required(site, there))
        group = _branch(site)
        if group is None:
            sure |= names
        else:
            outer, branch = group
            branches.setdefault(outer, {}).setdefault(branch, set()).update(names)
    for ways in branches.values():
        sure |= set.intersection(*ways.values())
    return sure


def _branch(site: Site) -> tuple[tuple[str, str], str] | None:
    """The outermost `anyOf` or `oneOf` around `site` in the same place (holder and keyword), and the branch of it."""
    found = None
    at: Site | None = site
    while at is not None and at.keyword in SAME_VALUE:
        if at.keyword in ("anyOf", "oneOf") and at.parent is not None:
            found = (at.parent.pointer, at.keyword), at.pointer
        at = at.parent
    return found


def _required(site: Site, present: set[str]) -> Iterator[str]:
    names = site.get("required")
    yield from (name for name in names if isinstance(name, str)) if isinstance(names, list) else ()
    for keyword in ("dependentRequired", "dependencies"):
        needs = site.get(keyword)
        for name, others in needs.items() if isinstance(needs, Mapping) else ():
            if name in present and isinstance(others, list):
                yield from others


def _declared(content: Content, sites: Iterable[Site]) -> Iterator[tuple[str, str]]:
    """The names that `properties` lists, in order, each with its pointer."""
    seen = set()
    for site in sites:
        properties = site.get("properties")
        for name in properties if isinstance(properties, Mapping) else ():
            if name not in seen:
                seen.add(name)
                yield name, content.pointer(child(site.pointer, "properties", name))


def _others(sites: Iterable[Site], options: Mapping[str, object]) -> str:
    """Which names beside the declared ones may come, in words; "" for none."""
    patterns: list[str] = []
    closed = False
    for site in sites:
        found = site.get("patternProperties")
        patterns += [f"/{pattern}/" for pattern in found] if isinstance(found, Mapping) else []
        for keyword in ("additionalProperties", "unevaluatedProperties"):
            closed = closed or site.get(keyword) is False
        if options.get("strict_mode") and site.get("properties") is not None:
            closed = closed or site.get("additionalProperties") is None
    if not closed:
        return "any name"
    return f"names that match {', '.join(patterns)}" if patterns else ""
