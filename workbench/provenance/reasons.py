"""Why a byte cannot come, in the words of the source: found by trying what would allow it.

A keyword of a schema is a reason if the same schema without it would allow the byte.  Where no keyword alone is, the
keywords of the place are left out together, and taken back one by one while the byte stays possible: what is left over
is the reason, all of it.  Before that, for names, each is left out with the order of members set aside: an unknown name
is forbidden by `additionalProperties` alone, not by the required members that would have to come before it.  A name is
asked about as a whole, as its first byte may begin another.  Options (the order of members is fixed, spellings are)
are tried in the same way.

Each trial compiles a variant of the schema over single bytes, about a millisecond, and is remembered.

Read on: `branches.py` (keeps the variants), `__init__.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, cast

from kernels_core import Grammar, GrammarMatcher
from kernels_core.grammar.json_schema import SchemaArguments, SchemaOptions
from kernels_core.grammar.json_schema.keywords import KEYWORDS, NOTES, Schemas
from visualizers.glyphs import glyph
from workbench.json_values import Json
from workbench.languages.positions import child, parts_of
from workbench.provenance.formats import Standing
from workbench.provenance.places import SourcePlace, json_place, one_of_each
from workbench.provenance.reader import ORACLES, Content, Reader
from workbench.provenance.rules import rule_places
from workbench.provenance.schema import Site, object_of
from workbench.provenance.sentences import sentence
from workbench.session.matching import possible_bytes, read_bytes
from workbench.session.result import content as in_words

_SHUT: Final = ("additionalProperties", "unevaluatedProperties")
# Keywords that apply other schemas: to blame only where nothing more exact is.
_APPLICATORS: Final = {
    name for name, entry in KEYWORDS.items() if entry.refers or entry.schemas is not Schemas.NONE
}.difference(("propertyNames", "unevaluatedItems"), _SHUT)
_OPTIONS: Final = (
    ("order", "any", "members come in the order of the schema; with the option order=any it could come"),
    ("strict_mode", False, "strict_mode forbids what the schema does not mention"),
    ("plain_integers", False, "plain_integers writes integers as digits alone"),
    ("canonical_numbers", False, "canonical_numbers allows only the shortest spelling of a number, of few digits"),
    ("whitespace_before_separators", True, "a blank in front of a separator comes with whitespace_before_separators"),
    ("caps", (), "caps bound what the schema leaves without a bound"),
    ("any_spelling", True, "this escape is redundant; with the option any_spelling it could come"),
    ("any_whitespace", True, "the layout is fixed; with the option any_whitespace it could come"),
)
_UNSAID: Final = SchemaOptions()


class _Cut(NamedTuple):
    """Something that may be left out: a keyword of a site, or (keyword "") a site that is `false`."""

    site: Site
    keyword: str

    @property
    def parts(self) -> tuple[str, ...]:
        return parts_of(child(self.site.pointer, self.keyword) if self.keyword else self.site.pointer)


class Search:
    """One search for the reasons of one text."""

    def __init__(self, reader: Reader, matcher: GrammarMatcher, before: bytes, budget_ms: float) -> None:
        self._before = before  # what `matcher` has read
        self._reader = reader
        self._matcher = matcher
        self._budget = budget_ms / 1000
        # The clock is the thread's work, so that a busy machine finds the same.  It starts with the first variant: what
        # comes before is needed anyway.
        self._until: float | None = None

    def reasons(self, data: bytes) -> tuple[SourcePlace, ...]:
        """The reasons why `data` cannot be read, empty where it can."""
        probe = self._matcher.fork()
        read = read_bytes(probe, data)
        if read == len(data):
            return ()
        source = self._reader.source
        if not source.is_json:
            found = rule_places(source, probe.compiled, probe.frontier().items, calls=False)
            here = (place for place in found if place.role == "here")
            return one_of_each(
                [SourcePlace("forbids", f"expects {one.label}", one.span, None, one.rule) for one in here]
            )
        before = self._before + data[:read]
        places: list[SourcePlace] = []
        for content in self._reader.contents(before):
            places += self._in_schema(content, data[read:], _only(probe))
        for standing in self._reader.standings(before):
            places += self._in_format(standing)
        return one_of_each(places)

    def _spent(self) -> bool:
        if self._until is None:
            self._until = time.thread_time() + self._budget
        return time.thread_time() > self._until

    # -- schemas ---------------------------------------------------------------------------------------------------

    def _in_schema(self, content: Content, rest: bytes, only: str) -> Iterator[SourcePlace]:
        """The reasons why `rest` cannot come behind `content.text`; its first byte cannot."""
        text = content.text + rest[:1]
        prefix = content.prefix
        if prefix.part == "end":
            if self._reader.source.language == "json_schema":  # else the end of the tag says what follows
                yield self._forbids(content, "#", "the value is complete: nothing can follow")
            return
        levels = content.levels
        here = next((site.pointer for site in levels[-1]), "#")
        listed = [site for site in levels[-1] if site.get("properties") is not None]
        if not self._variant(content, (), {}, anything=True, text=text):
            yield self._forbids(content, here, only)
            return
        tried = _name(content, rest, levels[-1])
        if tried is not None:
            name, text = tried
            if name in prefix.levels[-1].names:
                own = (site.pointer for site in listed if name in object_of(site.get("properties")))
                place = next((child(pointer, "properties", name) for pointer in own), here)
                yield self._forbids(content, place, f"`{name}` is there already, and a name comes once")
                return
        for sites in reversed(levels):
            found = list(self._at_level(content, sites, text))
            yield from found
            if found:
                break
        for name, value, label in _OPTIONS:
            if self._spent():
                return
            default = getattr(_UNSAID, name)
            if content.style and name != "order":
                continue  # formats have no such option, or it says nothing about elements
            other = cast(SchemaArguments, {name: value})
            if content.options.get(name, default) != value and self._variant(content, (), other, text=text):
                place = here
                if name == "order" and listed:  # where the order is written
                    place = child(listed[0].pointer, "properties")
                # An option is no keyword at that place, though a member may be called so.
                yield replace(self._forbids(content, place, label), keyword=name)

    def _forbids(self, content: Content, pointer: str, label: str, keyword: str = "") -> SourcePlace:
        return json_place(self._reader.source, content.pointer(pointer), "forbids", label, keyword)

    def _at_level(self, content: Content, sites: tuple[Site, ...], text: bytes) -> Iterator[SourcePlace]:
        cuts = [cut for site in sites for cut in _cuts(site)]
        for plain in (True, False):
            tried = [cut for cut in cuts if (cut.keyword not in _APPLICATORS) == plain]
            found = []
            for cut in tried:
                if self._spent():
                    break
                if self._variant(content, (cut,), {}, text=text):
                    found.append(cut)
            if not found and len(tried) > 1 and content.prefix.part == "name":
                found = self._in_any_order(content, tried, text)
            if not found and len(tried) > 1 and not self._spent():
                found = self._together(content, tried, text)
                found.sort(key=lambda cut: cut.keyword not in _SHUT)  # what shuts names out speaks of the name itself
                yield from (self._place(content, cut, found) for cut in found)
            else:
                yield from (self._place(content, cut, []) for cut in found)
            if found:
                return

    def _in_any_order(self, content: Content, cuts: list[_Cut], text: bytes) -> list[_Cut]:
        """Which of `cuts` allows the byte alone, were the order of members free; empty where that alone allows it."""
        free: SchemaArguments = {"order": "any"}
        if content.options.get("order", "any") == "any" or self._spent() or self._variant(content, (), free, text=text):
            return []
        return [cut for cut in cuts if not self._spent() and self._variant(content, (cut,), free, text=text)]

    def _together(self, content: Content, cuts: list[_Cut], text: bytes) -> list[_Cut]:
        """The fewest of `cuts`, greedily, that allow the byte together; empty where all of them do not."""
        if not self._variant(content, tuple(cuts), {}, text=text):
            return []
        kept = list(cuts)
        for cut in cuts:
            fewer = [other for other in kept if other is not cut]
            if not self._spent() and fewer and self._variant(content, tuple(fewer), {}, text=text):
                kept = fewer
        return kept

    def _place(self, content: Content, cut: _Cut, others: list[_Cut]) -> SourcePlace:
        if not cut.keyword:
            return self._forbids(content, cut.site.pointer, "`false` allows no value")
        label = sentence(cut.site.pointer, cut.keyword, cut.site.get(cut.keyword))
        if len(others) > 1:
            rest = ", ".join(f"`{other.keyword}`" for other in others if other is not cut)
            label += f" (together with {rest})"
        return self._forbids(content, cut.site.pointer, label, cut.keyword)

    def _variant(
        self,
        content: Content,
        cuts: tuple[_Cut, ...],
        options: SchemaArguments,
        *,
        text: bytes,
        anything: bool = False,
    ) -> bool:
        """Whether `text` would be possible without `cuts` and with other `options`."""
        walk = content.walk
        paths = tuple(sorted({cut.parts for cut in cuts if cut.site.pointer.startswith("#")}))
        if len(paths) < len({cut.parts for cut in cuts}):
            return False  # in another document
        chosen: SchemaArguments = {**content.options, **options, "lenient": True}
        said = {name: value for name, value in {**content.options, **options}.items() if name != "resources"}
        key = ("variant", walk.text, content.style, paths, anything, repr(sorted(said.items())))

        def make() -> Grammar:
            root: Json = True if anything else _without(walk.root, paths)
            if not content.style:
                return Grammar.from_json_schema(root, **chosen)
            root = {"type": "object"} if root is True else root
            leaf = {"type": "json_schema", "json_schema": root, "style": content.style, **said}
            ends = [{"type": "const_string", "value": end} for end in content.closings if end]
            parts = [leaf, {"type": "or", "elements": ends}] if ends else [leaf]
            return Grammar.from_structural_tag(
                {"type": "structural_tag", "format": {"type": "sequence", "elements": parts}}
            )

        oracle = ORACLES.get(key, make)
        return not oracle.unknown and oracle.begins(text)

    # -- structural tags -------------------------------------------------------------------------------------------

    def _in_format(self, standing: Standing) -> Iterator[SourcePlace]:
        source, pointer = self._reader.source, self._reader.moved(standing.pointer)
        if standing.where in ("begin", "end", "text", "separator"):
            rest = glyph(standing.wanted[standing.done :])
            name = self._reader.tool(standing.pointer)
            what = {"begin": "the tag", "end": "the end of the tag", "separator": "the separator"}.get(
                standing.where, "the text"
            )
            label = f"{what}{f' {name}' if name else ''} goes on with {rest}"
            yield json_place(source, pointer, "forbids", label)
        elif standing.where in ("free", "trigger"):
            label = "free text: what is excluded, or the end of a tag, cannot be part of it"
            yield json_place(source, pointer, "forbids", label)
        elif standing.kind != "json_schema":
            yield json_place(source, pointer, "forbids", f"the {standing.kind} does not go on like this")


def _name(content: Content, rest: bytes, sites: tuple[Site, ...]) -> tuple[str, bytes] | None:
    """The name that `rest` goes on with behind `content.text`, and the text up to its end; None where there is none, or
    where it has only begun and no member that is listed begins so."""
    found = content.begun(rest)
    if found is None or not sites:
        return None
    size, name, ended = found
    if not ended:
        listed = (one for site in sites for one in object_of(site.get("properties")) if name and one.startswith(name))
        name = next(listed, "")
        if not name:
            return None
    lead = rest[: rest.index(b'"')] if content.prefix.part == "after" else b""
    if content.prefix.part == "after" and b"," not in lead:
        return None
    return name, content.text[: len(content.text) - size] + lead + content.spelt_name(name).encode()


def _only(probe: GrammarMatcher) -> str:
    """What may follow where `probe` stands, in words."""
    return f"only {in_words(possible_bytes(probe)) or 'the end of the text'} may follow here"


def _cuts(site: Site) -> Iterator[_Cut]:
    if site.schema is False:
        yield _Cut(site, "")
    if isinstance(site.schema, Mapping):
        said = (keyword for keyword in site.schema if keyword not in NOTES and site.get(keyword) is not None)
        yield from (_Cut(site, keyword) for keyword in said)


def _without(root: Json, paths: tuple[tuple[str, ...], ...]) -> Json:
    """`root` without the members at `paths`."""
    for path in paths:
        root = _cut_out(root, path)
    return root


def _cut_out(value: Json, path: tuple[str, ...]) -> Json:
    if not path:
        return True
    first, rest = path[0], path[1:]
    if isinstance(value, list):
        index = int(first)
        return [*value[:index], _cut_out(value[index], rest), *value[index + 1 :]]
    if not isinstance(value, Mapping) or first not in value:
        return value  # gone with one that was cut out before
    if not rest:
        # Also where it is a sub-schema that is `false`: without a schema anything goes.
        return {key: item for key, item in value.items() if key != first}
    return {key: _cut_out(item, rest) if key == first else item for key, item in value.items()}
