"""Which parts of a JSON schema speak about the place that a JSON text has reached.

The path of keys and indices is walked through the schema, level by level: through `$ref` and its kin, `allOf`, the
branches of `anyOf`, `oneOf` and `if` that the text so far is still a beginning of, `properties`, `patternProperties`,
`additionalProperties`, `items` and theirs.  What comes out are sites: sub-schemas with their JSON pointers.

A branch is alive while the text so far is a beginning of some text of that branch by itself, which is asked of a small
grammar of its own (`branches.py`).  Two branches that only together exclude a text are both called alive.

Nothing here knows how the engine compiles schemas; references are resolved by its `resolve.Documents`, which stands on
the `referencing` library.

Read on: `prefix.py` (where a text stands), `__init__.py` (sites to places).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast
from urllib.parse import quote

from kernels_core import Grammar
from kernels_core.grammar.json_schema import SchemaArguments
from kernels_core.grammar.json_schema.exact_text import exact_text
from kernels_core.grammar.json_schema.keywords import IN_PLACE
from kernels_core.grammar.json_schema.reach import schemas_below
from kernels_core.grammar.json_schema.resolve import REFERENCES, Context, Documents
from workbench.json_values import Json, JsonObject
from workbench.languages.positions import child, parts_of
from workbench.provenance.branches import Oracles
from workbench.provenance.prefix import JsonPrefix

_ROOT = "urn:maskscope:schema"
MAX_SITES = 500
SAME_VALUE = tuple(name for name in IN_PLACE if not name.startswith("unevaluated"))
"""Keywords that speak of the value that their schema speaks of, in the order of the engine's table."""


@dataclass(frozen=True)
class Site:
    """A sub-schema that applies.  `pointer` is its place in its document (`#/properties/city`), `keyword` the one that
    led here, `parent` the site that held it."""

    schema: Json
    context: Context
    pointer: str
    keyword: str = ""
    parent: Site | None = None

    def get(self, keyword: str) -> Json:
        """The value of a keyword that counts in this schema, or None."""
        if not isinstance(self.schema, Mapping) or keyword not in self.schema:
            return None
        if self.context.dialect.ref_alone and "$ref" in self.schema and keyword != "$ref":
            return None
        known = keyword in self.context.dialect.keywords or keyword in ("then", "else", "additionalItems")
        return self.schema[keyword] if known else None

    def below(self, schema: Json, *keys: str | int) -> Site:
        return Site(schema, self.context, child(self.pointer, *keys), str(keys[0]), self)


class SchemaWalk:
    """Walks one root schema.  `options` are those the schema is compiled with (for the layout of its texts)."""

    def __init__(self, root: Json, options: SchemaArguments, oracles: Oracles) -> None:
        self.root = root
        self._resources: dict[str, Json] = dict(options.get("resources") or {})
        told = {name: value for name, value in options.items() if name not in ("lenient", "resources")}
        self._options = cast(SchemaArguments, told)
        self._oracles = oracles
        self.text = exact_text(root)
        self._documents = Documents(root, self.text, self._resources)
        self._refers = any(word in self.text for word in REFERENCES)
        self.top = Site(root, self._documents.root_context, "#")

    # -- the walk --------------------------------------------------------------------------------------------------

    def levels(self, prefix: JsonPrefix) -> list[tuple[Site, ...]]:
        """The sites at each beginning of the path, the whole value first; the last are those of the place itself."""
        found = [tuple(self.expand([self.top], prefix, 0))]
        for depth, key in enumerate(prefix.path):
            below = [inner for site in found[-1] for inner in self.descend(site, key)]
            found.append(tuple(self.expand(below, prefix, depth + 1)))
        return found

    def expand(self, sites: Iterable[Site], prefix: JsonPrefix, depth: int) -> Iterator[Site]:
        """`sites` and all that applies to the same value with them."""
        starts = prefix.starts
        text = prefix.text[starts[depth] :] if depth < len(starts) else ""
        names = prefix.levels[depth].names if depth < len(prefix.levels) else []
        waiting = list(reversed(list(sites)))
        seen: set[tuple[str, Context]] = set()
        while waiting:
            site = waiting.pop()
            key = (site.pointer, site.context)
            if key in seen or len(seen) >= MAX_SITES:
                continue
            seen.add(key)
            yield site
            waiting += reversed(list(self._in_place(site, text, names)))

    def _in_place(self, site: Site, text: str, names: list[str]) -> Iterator[Site]:
        """What a schema applies to the value that it applies to itself."""
        if not isinstance(site.schema, Mapping):
            return
        site = self._entered(site)
        for keyword in SAME_VALUE:
            value = site.get(keyword)
            for found in schemas_below(self._documents, keyword, value, site.context, site.pointer):
                below = Site(*found[:3], keyword, site)
                if self._applies(below, text, names):
                    yield below

    def _applies(self, site: Site, text: str, names: list[str]) -> bool:
        """Whether a schema in its parent applies to a value of the parent: `text` so far, with the members `names`."""
        match site.keyword:
            case "anyOf" | "oneOf":
                return self.alive(site, text)
            case "then" | "else":
                parent = site.parent
                condition = None if parent is None else parent.get("if")
                if parent is None or condition is None:
                    return False
                held = self.alive(parent.below(condition, "if"), text, negated=site.keyword == "else")
                return held and self.alive(site, text)
            case "dependentSchemas" | "dependencies":
                return parts_of(site.pointer)[-1] in names and isinstance(site.schema, Mapping)
        return site.keyword not in ("not", "if")

    def _entered(self, site: Site) -> Site:
        """The same in the context of what stands in it."""
        return replace(site, context=self._documents.inside(object_of(site.schema), site.context))

    def descend(self, site: Site, key: str | int) -> Iterator[Site]:
        """What a schema says about one member or item."""
        if not isinstance(site.schema, Mapping):
            return
        site = self._entered(site)
        yield from self._member(site, key) if isinstance(key, str) else self._item(site, key)

    def _member(self, site: Site, name: str) -> Iterator[Site]:
        matched = False
        properties = object_of(site.get("properties"))
        if name in properties:
            matched = True
            yield site.below(properties[name], "properties", name)
        for pattern, schema in object_of(site.get("patternProperties")).items():
            if self.matches(pattern, name):
                matched = True
                yield site.below(schema, "patternProperties", pattern)
        for keyword in ("additionalProperties", "unevaluatedProperties"):
            rest = site.get(keyword)
            if not matched and rest is not None:
                yield site.below(rest, keyword)
                return

    def _item(self, site: Site, index: int) -> Iterator[Site]:
        items = site.get("items")
        listed = list_of(site.get("prefixItems"))
        keyword, rest_word = "prefixItems", "items"
        if isinstance(items, list) and not listed:
            listed, keyword, rest_word = items, "items", "additionalItems"
        if index < len(listed):
            yield site.below(listed[index], keyword, index)
        else:
            rest = site.get(rest_word)
            if rest is not None and not isinstance(rest, list):
                yield site.below(rest, rest_word)
            elif site.get("unevaluatedItems") is not None:
                yield site.below(site.get("unevaluatedItems"), "unevaluatedItems")
        if site.get("contains") is not None:
            yield site.below(site.get("contains"), "contains")

    # -- questions -------------------------------------------------------------------------------------------------

    def alive(self, site: Site, text: str, *, negated: bool = False) -> bool:
        """Whether `text` is the beginning of some text of this sub-schema by itself; `negated`, of its opposite."""
        if not text:
            return True
        if isinstance(site.schema, bool):
            return site.schema != negated
        key = ("branch", self.text, repr(sorted(self._options.items())), site.pointer, negated)
        oracle = self._oracles.get(key, lambda: self._grammar(site, negated))
        return oracle.begins(text.encode())

    def matches(self, pattern: str, name: str) -> bool:
        """Whether a pattern of `patternProperties` matches a name."""
        oracle = self._oracles.get(("pattern", pattern), lambda: Grammar.from_regex(pattern, match="search"))
        return oracle.holds(name.encode(errors="replace"))

    def _grammar(self, site: Site, negated: bool) -> Grammar:
        """The grammar of a sub-schema by itself: members in any order, since they may stand among others'."""
        options: SchemaArguments = {**self._options, "order": "any", "lenient": True}
        if not self._refers and site.pointer.startswith("#"):
            schema = {"not": site.schema} if negated else dict(object_of(site.schema))
            if "$schema" in (root := object_of(self.root)):
                schema.setdefault("$schema", root["$schema"])
            options["resources"] = self._resources
            return Grammar.from_json_schema(schema, **options)
        schema = self.pointing(site.pointer)
        if negated:
            schema = {"not": {"$ref": schema.pop("$ref")}, **schema}
        options["resources"] = {**self._resources, self._base: self.root}
        return Grammar.from_json_schema(schema, **options)

    def pointing(self, pointer: str) -> dict[str, Json]:
        """A schema that says what the sub-schema at `pointer` says, where the root and its resources are known."""
        uri = pointer if not pointer.startswith("#") else self._base + quote(pointer, safe="#/~:@!$&'()*+,;=?-._")
        schema: dict[str, Json] = {"$ref": uri}
        if isinstance(self.root, Mapping) and "$schema" in self.root:
            schema["$schema"] = self.root["$schema"]
        return schema

    @property
    def _base(self) -> str:
        return self.top.context.base or _ROOT


def list_of(value: Json) -> Sequence[Json]:
    """The list that a keyword holds; nothing where it holds something else."""
    return value if isinstance(value, list) else []


def object_of(value: Json) -> JsonObject:
    """What a keyword holds that has schemas by name; nothing where it holds something else."""
    return value if isinstance(value, Mapping) else {}
