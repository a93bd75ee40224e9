"""Reads a session's text along its source: one `Reader` for each source, which remembers what it worked out.

Read on: `schema.py`, `formats.py`, `rules.py` (the three kinds of sources), `__init__.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from kernels_core.grammar.json_schema import TAG_OPTIONS, SchemaArguments
from kernels_core.grammar.structural_tag import load_structural_tag
from kernels_core.inspect.classic import in_common
from visualizers.glyphs import many
from workbench.json_values import Json
from workbench.languages import Source
from workbench.languages.mistakes import moved_to
from workbench.languages.positions import around, child, value_at
from workbench.provenance.branches import Oracles
from workbench.provenance.elements import STYLES, read_element_name, read_elements, read_middle, spelt_element
from workbench.provenance.formats import Format, FormatWalk, Standing, Token, ends_of
from workbench.provenance.places import Role, SourcePlace, json_place, one_of_each
from workbench.provenance.prefix import JsonPrefix, path_of, read_prefix, shared_beginning
from workbench.provenance.rules import rule_places
from workbench.provenance.schema import SchemaWalk, Site, object_of
from workbench.session.masks import Known

if TYPE_CHECKING:
    from kernels_core import TokenizerInfo
    from workbench.session.context import Context

ORACLES: Final = Oracles()
MAX_NEXT = 200
MAX_TEXTS: Final = 8
MAX_NEW: Final = 64
"""Beginnings that are looked up at one place, the last ones first; a text that was read in steps has few new ones."""
_NAME: Final = re.compile(r'"((?:[^"\\]|\\.)*)("?)', re.S)
_BEHIND: Final = re.compile(r"\s*,?\s*" + _NAME.pattern, re.S)
Probe = Callable[[bytes], bool]
"""Whether a text can come next."""


@dataclass(frozen=True)
class Content:
    """A JSON schema at work: its walk, the pointer of its root in the source, and the text since its value began.

    `style`: how its members are written where that is not JSON (`STYLES`).  `owner`: the tag or the tool whose content
    it is, `closings` the texts that end that tag.  `ends`: one of them may begin here.
    """

    walk: SchemaWalk
    base: str
    text: bytes
    options: SchemaArguments
    style: str = ""
    owner: str = ""
    closings: tuple[str, ...] = ()
    ends: bool = False

    @cached_property
    def prefix(self) -> JsonPrefix:
        text = self.text.decode(errors="ignore")
        return read_elements(text, STYLES[self.style]) if self.style else read_prefix(text)

    @cached_property
    def levels(self) -> list[tuple[Site, ...]]:
        """What applies at each beginning of the text's path; see `SchemaWalk.levels`."""
        return self.walk.levels(self.prefix)

    def spelt_name(self, name: str) -> str:
        """How a member of this name begins."""
        return spelt_element(name, STYLES[self.style]) if self.style else spelt(name)

    def begun(self, rest: bytes) -> tuple[int, str, bool] | None:
        """The name of a member that is tried behind `text`: the bytes of it (and what leads to it) that stand there,
        the name, and whether it is whole."""
        prefix, more = self.prefix, rest.decode(errors="replace")
        if prefix.part == "after" and not self.style:
            match = _BEHIND.match(more) if prefix.levels[-1].is_object else None
            return None if match is None else (0, _read_name(match[1]), bool(match[2]))
        if prefix.part != "name":
            return None
        spelt, size = (prefix.partial + more).lstrip(), len(prefix.partial.encode())
        if self.style:
            style = STYLES[self.style]
            if not spelt.startswith(style.front):
                return None
            middle = read_middle(spelt, len(style.front), style)
            if middle is None:
                return size, read_element_name(spelt[len(style.front) :], style), False
            return size, middle.name, True
        match = _NAME.match(spelt)
        return None if match is None else (size, _read_name(match[1]), bool(match[2]))

    def missing(self, text: str) -> bytes | None:
        """What is missing of `text`, of which `prefix.partial` is written; None where that is not its beginning."""
        partial = self.prefix.partial
        return text[len(partial) :].encode(errors="replace") if text.startswith(partial) else None

    def pointer(self, pointer: str) -> str:
        """The pointer in the source of one in the schema; other documents keep theirs."""
        return self.base + pointer[1:] if pointer.startswith("#") else pointer


class Reader:
    """Where texts stand in one source."""

    def __init__(self, source: Source, info: TokenizerInfo) -> None:
        self.source, self.info = source, info
        self._walks: dict[str, SchemaWalk] = {}
        self._formats: FormatWalk | None = None
        self._tag: Mapping[str, Json] | None = None
        self._moved: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._contents = Known(MAX_TEXTS)
        self._text = b""
        self._begun: dict[int, str | None] = {}  # pointers of what began in that text, by the bytes before it
        if source.language == "structural_tag":
            triggers = cast("Sequence[str] | None", source.options.get("triggers"))
            self._tag = load_structural_tag(source.value, triggers)
            self._moved = _older_places(source.value)
        elif source.language == "tools":
            self._tag = source.tool_tag.tag
            self._moved, self._names = source.tool_tag.moved, source.tool_tag.names
        if self._tag is not None:
            self._formats = FormatWalk(self._at("#/format"), "#/format", info, ORACLES)

    def places(self, context: Context, text: bytes, can_come: Probe) -> tuple[SourcePlace, ...]:
        """The places of `text`, the session's own."""
        source = self.source
        if not source.is_json:
            return one_of_each(rule_places(source, context.compiled, context.frontier().items))
        found: list[SourcePlace] = []
        for standing in self.standings(text):
            found += self._standing_places(standing)
        for content in self.contents(text):
            found += self._schema_places(content, can_come)
        return one_of_each(found)

    def pointer_behind(self, text: bytes) -> str | None:
        """The pointer of what is read behind `text`: a value's own schema, else that of the container, or the tag."""
        return self._pointer(text, self.contents(text))

    def _pointer(self, text: bytes, contents: Iterable[Content]) -> str | None:
        for content in contents:
            if content.prefix.part == "end":
                return content.base
            sites = content.levels[-1]
            return content.pointer(sites[0].pointer) if sites else None
        held = [self.moved(standing.pointer).split("/") for standing in self.standings(text)]
        return "/".join(shared_beginning(held)) if held else None

    def pointers(self, text: bytes, begins: Iterable[int]) -> dict[int, str | None]:
        """The pointers of what began after so many bytes of `text`; of those not met before only the last ones.

        Equal schemas share a rule, which is called after the first of them, and a rule may be split in two; but a rule
        that began at a byte reads what the source says about that byte.
        """
        same = in_common(self._text, text)
        self._begun = {begin: found for begin, found in self._begun.items() if begin <= same}
        self._text = text
        new = sorted({*begins} - self._begun.keys(), reverse=True)
        for begin in new[:MAX_NEW]:  # texts that nobody asks about again: they push no other out
            self._begun[begin] = self._pointer(text[:begin], self._found_contents(text[:begin]))
        return self._begun

    def standings(self, text: bytes) -> tuple[Standing, ...]:
        """For tags and tools: the readings of `text`."""
        return () if self._formats is None else self._formats.read(text)

    def contents(self, text: bytes) -> tuple[Content, ...]:
        """The JSON schemas that the end of `text` is inside of; what is known of them stays for the last few texts."""
        return self._contents.once(text, "contents", lambda: tuple(self._found_contents(text)))

    def _found_contents(self, text: bytes) -> Iterator[Content]:
        if self.source.language == "json_schema":
            options = cast(SchemaArguments, dict(self.source.options))
            yield Content(self._walk("#", self.source.value, options), "#", text, options)
            return
        standings = self.standings(text)
        ends = any(standing.where != "content" and standing.start == len(text) for standing in standings)
        for standing in standings:
            if standing.where != "content" or standing.kind != "json_schema":
                continue
            leaf = self._at(standing.pointer)
            style = leaf.get("style", "json")
            options = _options(leaf)
            pointer = child(standing.pointer, "json_schema")
            yield Content(
                self._walk(pointer, leaf["json_schema"], options),
                self.moved(pointer),
                text[standing.start :],
                options,
                "" if style == "json" else style,
                self.owner(standing.pointer),
                self.closings(standing.pointer),
                ends,
            )

    def schemas(self) -> Iterator[tuple[str, Json, SchemaArguments]]:
        """All JSON schemas of the source: the pointer of each, the schema, and how its texts are written."""
        if self.source.language == "json_schema":
            yield "#", self.source.value, cast(SchemaArguments, dict(self.source.options))
        for at, part in self._parts():
            if part.get("type") == "json_schema":
                yield self.moved(child(at, "json_schema")), part["json_schema"], _options(part)

    def moved(self, pointer: str) -> str:
        """The pointer in the source of one in the structural tag that was made of it."""
        at = next((one for one in around(pointer) if one in self._moved), None)
        if at is not None and (at in self._names or at.rpartition("/")[0].endswith("/tags")):
            return self._moved[at]  # of a tag: what is inside it was made by the template
        return moved_to(pointer, self._moved)

    def tool(self, pointer: str) -> str:
        """The name of the tool whose tag holds `pointer`, or ""."""
        return next((self._names[at] for at in around(pointer) if at in self._names), "")

    def owner(self, pointer: str) -> str:
        """The tool, or the beginning of the tag, that holds `pointer`; "" for none."""
        tag = self._tag_around(pointer)
        return self.tool(pointer) or (self.beginning(tag) if tag else "")

    def closings(self, pointer: str) -> tuple[str, ...]:
        """The texts any of which ends the innermost tag that holds `pointer`; a token goes by its name."""
        tag = self._tag_around(pointer)
        return tuple(map(self._text_of, ends_of(self._at(tag)))) if tag else ()

    def tags_around(self, pointer: str) -> Iterator[str]:
        """The tags that hold `pointer`, the innermost first."""
        while tag := self._tag_around(pointer):
            yield tag
            pointer = tag.rpartition("/")[0]

    def tags_in(self, pointer: str) -> list[str]:
        """The tags that the free text at `pointer` may switch to."""
        return [child(pointer, "tags", index) for index in range(len(self._at(pointer).get("tags") or ()))]

    def all_tags(self) -> Iterator[str]:
        """The places of all tags of the source, the outermost first."""
        return (at for at, part in self._parts() if "begin" in part and "end" in part)

    def _parts(self) -> Iterator[tuple[str, Format]]:
        """The formats and tags of the structural tag with their places, the outermost first."""
        waiting: list[tuple[str, Any]] = [("#", self._tag)]
        for at, found in waiting:
            if isinstance(found, Mapping):
                yield at, cast(Format, found)
                waiting += [(child(at, name), one) for name, one in found.items() if name != "json_schema"]
            elif isinstance(found, list | tuple):
                waiting += [(child(at, place), one) for place, one in enumerate(found)]

    def beginning(self, tag: str) -> str:
        """The text that begins a tag; a token goes by its name."""
        return self._text_of(self._at(tag)["begin"])

    def _text_of(self, named: str | Token) -> str:
        if isinstance(named, str):
            return named
        token = named["token"]
        if isinstance(token, int) and 0 <= token < self.info.vocab_size:
            return self.info.decoded_vocab[token].decode(errors="replace")
        return str(token)

    def _at(self, pointer: str) -> Format:
        """The format, or the tag, at a place of the structural tag."""
        return cast(Format, value_at(self._tag, pointer))

    def _walk(self, pointer: str, schema: Json, options: SchemaArguments) -> SchemaWalk:
        if pointer not in self._walks:
            self._walks[pointer] = SchemaWalk(schema, options, ORACLES)
        return self._walks[pointer]

    # -- tags ------------------------------------------------------------------------------------------------------

    def _standing_places(self, standing: Standing) -> Iterator[SourcePlace]:
        pointer, tag = self.moved(standing.pointer), self._tag_around(standing.pointer)
        name = self.tool(standing.pointer) or (repr(self.beginning(tag)) if tag else "")
        inside = f"tag {name}" if name else "the format"
        role: Role = "here" if standing.done or standing.where in ("free", "trigger", "content") else "next"
        match standing.where:
            case "free":
                label = "free text" if not tag else f"free text in {inside}"
            case "trigger":
                label = f"a tag begins, {many(standing.done, 'byte')} of it read"
                for index, trigger in enumerate(self._at(standing.pointer).get("triggers", ())):
                    if isinstance(trigger, str):
                        place = child(standing.pointer, "triggers", index)
                        if self.moved(place) != "#":
                            yield json_place(self.source, self.moved(place), "next", f"trigger {trigger!r}")
            case "begin" | "end":
                label = f"the {'beginning' if standing.where == 'begin' else 'end'} of {inside}"
                if standing.done:
                    label += f", {standing.done} of {len(standing.wanted)} bytes read"
            case "content":
                label = f"in {inside}" if name else f"content ({standing.kind})"
            case "separator":
                label = "between two tags"
            case _:
                label = "a fixed text"
        yield json_place(self.source, pointer, role, label)
        if tag:
            yield json_place(self.source, self.moved(tag), "around", inside)

    def _tag_around(self, pointer: str) -> str:
        """The innermost tag that holds `pointer`, or ""."""
        for at in around(pointer):
            value = self._at(at)
            if isinstance(value, dict) and "begin" in value and "content" in value:
                return at
        return ""

    # -- schemas ---------------------------------------------------------------------------------------------------

    def _schema_places(self, content: Content, can_come: Probe) -> Iterator[SourcePlace]:
        prefix = content.prefix
        if prefix.part == "end":
            yield json_place(self.source, content.base, "here", "behind the value")
            return
        for depth, sites in enumerate(content.levels[:-1]):
            for site in sites[:1]:
                pointer = content.pointer(site.pointer)
                yield json_place(
                    self.source, pointer, "around", path_of(prefix.path[:depth]) or "the value", site.keyword
                )
        label = _said_here(prefix)
        for site in content.levels[-1]:
            yield json_place(self.source, content.pointer(site.pointer), "here", label, site.keyword)
        yield from self._next(content, can_come)

    def _next(self, content: Content, can_come: Probe) -> Iterator[SourcePlace]:
        """Names and values that a schema lists and that may come (or go on) here."""
        prefix, asked = content.prefix, 0
        for site in content.levels[-1]:
            if prefix.part in ("name", "after") and (not prefix.levels or prefix.levels[-1].is_object):
                present = set(prefix.levels[-1].names) if prefix.levels else set()
                comma = (b",", b", ") if prefix.part == "after" else (b"",)
                for name in object_of(site.get("properties")):
                    asked += 1
                    rest = content.missing(content.spelt_name(name))
                    if name in present or rest is None or asked > MAX_NEXT:
                        continue
                    if any(can_come(before + rest) for before in comma):
                        pointer = content.pointer(child(site.pointer, "properties", name))
                        yield json_place(self.source, pointer, "next", f"key {spelt(name)}", "properties")
            elif prefix.part == "value":
                values = site.get("enum")
                for index, value in enumerate(values if isinstance(values, list) else ()):
                    asked += 1
                    if isinstance(value, list | dict):
                        continue
                    raw = content.style and isinstance(value, str) and len(prefix.levels) == 1
                    rest = content.missing(str(value) if raw else spelt(value))
                    if rest is not None and asked <= MAX_NEXT and can_come(rest):
                        pointer = content.pointer(child(site.pointer, "enum", index))
                        yield json_place(self.source, pointer, "next", f"value {spelt(value)}", "enum")


def _options(leaf: Mapping[str, object]) -> SchemaArguments:
    """How the texts of a format's JSON schema are written."""
    return cast(SchemaArguments, {name: leaf[name] for name in TAG_OPTIONS if leaf.get(name) is not None})


def named_tokens(context: Context) -> list[tuple[int, bytes]]:
    """The control tokens that were taken by their ids: the bytes of text before each, and its name."""
    vocabulary = context.tokenizer.info.decoded_vocab
    return [
        (step.start, bytes(vocabulary[step.token_id]))
        for step in context.steps[: context.place.index]
        if step.token_id is not None and not step.data and not step.stop
    ]


def read_text(context: Context) -> bytes:
    """The session's text, with the names of control tokens where they were taken by their ids."""
    text, pieces, taken = context.text, [], 0
    for start, name in named_tokens(context):
        pieces += [text[taken:start], name]
        taken = start
    return b"".join([*pieces, text[taken:]])


def _said_here(prefix: JsonPrefix) -> str:
    where = path_of(prefix.path) or "the value"
    match prefix.part:
        case "name":
            return f"a name in {where}" if prefix.path else "a name in the object"
        case "after":
            return f"in {where}, behind a member" if prefix.levels[-1].is_object else f"in {where}, behind an item"
        case "colon":
            return f"behind the name {where}"
    return where


def _read_name(name: str) -> str:
    try:
        return str(json.loads(f'"{name}"', strict=False))
    except ValueError:  # an escape that is cut, or none
        return name


def spelt(value: object) -> str:
    """A name or scalar as JSON text."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _older_places(value: object) -> dict[str, str]:
    """For the older form of structural tags: places in the present form to places in the text."""
    base, items = ("#", value) if isinstance(value, list) else ("#/structures", None)
    if items is None:
        items = value.get("structures") if isinstance(value, dict) else None
    if not isinstance(items, list):
        return {}
    moved = {"#/format": "#"}
    for index in range(len(items)):
        tag = child("#/format", "tags", index)
        moved[tag] = child(base, index)
        moved[child(tag, "content", "json_schema")] = child(base, index, "schema")
        for key in ("begin", "end"):
            moved[child(tag, key)] = child(base, index, key)
    return moved
