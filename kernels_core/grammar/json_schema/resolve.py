"""Where references lead: `$ref`, `$dynamicRef` and `$recursiveRef`, through the `referencing` library.

A `Context` is what a schema's meaning depends on besides its own text: the base URI, the dialect, and the dynamic
scope (base URIs entered on the way here, outermost first, each once: the outermost one with a matching anchor wins,
so later entries of the same URI change nothing, and recursion meets only finitely many contexts).

Nothing is fetched.  Other documents are given by the caller (`resources`); the meta-schemas of the drafts come from
the `jsonschema-specifications` package where that is installed.

Read on: `dialect.py`, `reading.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import islice
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from ...clock import look
from .deferrable_schemas import UNSET, is_pointer, pointed
from .dialect import DEFAULT, Dialect, dialect_of
from .exact_text import exact_text
from .keywords import KEYWORDS, NOTES, TABLE, schemas_in
from .keywords.entry import Schemas
from .problems import child
from .values import Malformed, kind_of

# What the text of a schema holds if what it says depends on where it stands.
REFERENCES = tuple(f'"{entry.name}"' for entry in TABLE if entry.refers)
# Keywords that make a base URI (a fragment alone makes none); and what makes a reference depend on the way to it.
_NAMES = {"id": re.compile(r'"id"\s*:\s*"(?!#)'), "$id": re.compile(r'"\$id"\s*:\s*"(?!#)')}
_SCOPED = re.compile(r'"\$(?:dynamic|recursive)(?:Ref|Anchor)"|"\$ref"\s*:\s*"https?://json-schema\.org/draft/20')


MOST_COMPARED = 100  # definitions that the name of one which is not there is compared with
# A quick look for fixed texts tells of most schemas that there is nothing to search for.
_SIGNS = ('"$dynamic', '"$recursive', "json-schema.org/draft/20")


class Unresolved(Malformed):
    """A reference that leads nowhere, or a name that is none; the message says why."""


@dataclass(frozen=True, slots=True)
class Context:
    """Base URI, dynamic scope (empty where no reference depends on it), dialect."""

    base: str
    scope: tuple[str, ...]
    dialect: Dialect


@dataclass(frozen=True, slots=True)
class Target:
    """What a reference leads to: a schema (any JSON, not checked), its context and its place in words.

    `entered`: the context already has the name that the schema gives itself.
    """

    schema: Any
    context: Context
    pointer: str
    entered: bool = False


def _is_scoped(text: str) -> bool:
    """Whether some reference in a document may depend on the way to it."""
    return any(sign in text for sign in _SIGNS) and _SCOPED.search(text) is not None


def _join(base: str, reference: str) -> tuple[str, str]:
    """(document, fragment) of a reference; a base like `urn:x` has no path to join, but it has fragments."""
    if reference.startswith("#"):
        return base, reference[1:]
    try:
        uri, fragment = urldefrag(urljoin(base, reference))
    except ValueError as error:
        raise Unresolved(f"{reference!r} is no URI: {error}") from None
    return uri, fragment


@cache
def _clocked(specification: Any) -> Any:
    """What a draft says about sub-schemas, with a look at the clock at each of them."""
    import referencing

    make: Any = referencing.Specification  # mypy does not see what its constructor takes

    def parts(schema: Any) -> Any:
        look(200)
        listed = schema.get("items") if isinstance(schema, dict) else None
        if not isinstance(listed, list):
            return specification.subresources_of(schema)
        # As in older drafts: a schema that says no draft may have it, and the newest knows no list there.
        others = {word: value for word, value in schema.items() if word != "items"}
        return [*listed, *specification.subresources_of(others)]

    return make(
        name=specification.name,
        id_of=specification.id_of,
        subresources_of=parts,
        anchors_in=lambda _, schema: specification.anchors_in(schema),
        maybe_in_subresource=specification.maybe_in_subresource,
    )


def misplaced(document: Any, pointer: str) -> str:
    """What stands in `document`, which stands at `pointer`, where a schema or several have to; "" if nothing does."""
    work = [(document, pointer)]
    while work:
        schema, pointer = work.pop()
        look(20)
        if isinstance(schema, bool):
            continue
        if not isinstance(schema, dict):
            return f"{pointer} must be a schema, not {kind_of(schema)}"
        for word in schema:
            value, there = schema[word], child(pointer, word)
            where = KEYWORDS[word].schemas if word in KEYWORDS and word != "dependencies" else Schemas.NONE
            if where is Schemas.BY_NAME and not isinstance(value, dict):
                return f"{there} must be an object, not {kind_of(value)}"
            if where is Schemas.LIST and not isinstance(value, list):
                return f"{there} must be a list, not {kind_of(value)}"
            if where in (Schemas.BY_NAME, Schemas.LIST) or (where is not Schemas.NONE and isinstance(value, dict)):
                work += [(part, child(there, *keys)) for keys, part in schemas_in(KEYWORDS[word], value)]
    return ""


def _meant(reference: str, document: Any) -> str:
    """The definition in `document` that a `reference` to nothing there may mean, by its last name."""
    before, _, fragment = reference.partition("#")
    name = fragment.rpartition("/")[2]
    for holder in ("$defs", "definitions") if isinstance(document, dict) else ():
        inside = document.get(holder)
        known = [*inside][:MOST_COMPARED] if isinstance(inside, dict) else []
        if close := [name] if name in known else get_close_matches(name, known, 1):
            return f"; did you mean {child(f'{before}#', holder, close[0])!r}?"
    return "; take along the components of its document" if reference.startswith("#/components/") else ""


class Documents:
    """A root schema and the documents it may refer to.  `text` is the root as JSON text."""

    def __init__(self, root: Any, text: str, resources: Mapping[str, Any]) -> None:
        self._root = root
        self._resources = resources
        # Other documents may hold anything.
        self._scoped = bool(resources) or _is_scoped(text)
        self._dialects: dict[str, Dialect] = {}
        self._schemas: dict[str, str] = {}  # what those that have names say, by these
        self._twice: set[str] = set()  # names of two that say different things
        self._names: dict[str, str] = {}  # what documents call themselves, by the URIs that they are given under
        self._registry: Any = None
        self._unknown: dict[str, str] = {}  # dialects that nobody knows, by the base URIs of their schemas
        dialect = self._dialect(root, "", DEFAULT)
        identifier = root.get(dialect.identifier) if isinstance(root, dict) else None
        # Whether anything but the root has a name.
        named = isinstance(identifier, str) and not identifier.startswith("#")
        self._named = False
        if f'"{dialect.identifier}"' in text:
            self._named = sum(1 for _ in islice(_NAMES[dialect.identifier].finditer(text), 2)) > named
        self._base = ""
        if isinstance(identifier, str) and not identifier.startswith("#"):
            with suppress(Unresolved):  # `misnamed` tells it
                self._base = _join("", identifier)[0]
        self._dialects[self._base] = self._dialect(root, self._base, dialect)
        self.root_context = Context(self._base, self._enter_scope((), self._base), dialect)

    def _declared(self, uri: str) -> Dialect | None:
        """The dialect of a `$schema`: a draft's meta-schema, or a given one built on a draft's vocabularies."""
        found = dialect_of(uri)
        if found is not None:
            return found
        meta = self._resources.get(uri.rstrip("#"))
        if not isinstance(meta, dict) or not isinstance(meta.get("$schema"), str):
            return None
        base = dialect_of(meta["$schema"])
        vocabulary = meta.get("$vocabulary")
        if base is None or not isinstance(vocabulary, dict):
            return base
        names = {name.rsplit("/", 1)[-1] for name in vocabulary}
        return base if "validation" in names else base.without_validation()

    def _dialect(self, schema: Any, base: str, otherwise: Dialect) -> Dialect:
        """The dialect that the schema at `base` declares, or that around it."""
        declared = schema.get("$schema") if isinstance(schema, dict) else None
        if not isinstance(declared, str):
            return otherwise
        found = self._declared(declared)
        if found is None:
            self._unknown[base] = declared
        return found or otherwise

    def misnamed(self, schema: Any, context: Context) -> Iterator[tuple[str, str]]:
        """A name of `schema` that is no URI, and a dialect in its `context` that nobody knows: keyword and reason."""
        identifier = schema.get(context.dialect.identifier) if isinstance(schema, dict) else None
        if isinstance(identifier, str):
            try:
                _join(context.base, identifier)
            except Unresolved as error:
                yield context.dialect.identifier, str(error)
        unknown = self._unknown.get(context.base)
        if unknown is not None:
            yield "$schema", f"unknown dialect {unknown!r}; leave it out, or name a draft: {DEFAULT.uri}"

    def _enter_scope(self, scope: tuple[str, ...], base: str) -> tuple[str, ...]:
        return scope if not self._scoped or base in scope else (*scope, base)

    def inside(self, schema: Mapping[str, Any], context: Context) -> Context:
        """The context of a sub-schema: the same, unless it names itself or its dialect."""
        if context.dialect.identifier not in schema and "$schema" not in schema:
            return context
        identifier = schema.get(context.dialect.identifier)
        if not isinstance(identifier, str) or identifier.startswith("#"):
            return context
        if context.dialect.ref_alone and "$ref" in schema:
            return context
        try:
            base = _join(context.base, identifier)[0]
        except Unresolved:
            return context
        dialect = self._dialect(schema, base, context.dialect)
        self._dialects.setdefault(base, dialect)
        return Context(base, self._enter_scope(context.scope, base), dialect)

    @property
    def root(self) -> Any:
        """The root schema."""
        return self._root

    @property
    def has_local_references(self) -> bool:
        """Whether nothing but the root may have a name: references are pointers into this document."""
        return not self._named and not self._scoped

    # -- references -----------------------------------------------------------------------------------------------

    def follow(self, keyword: str, reference: str, context: Context) -> Target:
        """What a reference under `keyword` means in `context`.  Raises `Unresolved`."""
        if keyword == "$dynamicRef":
            return self.resolve_dynamic(reference, context)
        return (self.resolve_recursive if keyword == "$recursiveRef" else self.resolve)(reference, context)

    def resolve(self, reference: str, context: Context) -> Target:
        """What `$ref: reference` means in `context`.  Raises `Unresolved`."""
        quick = self._local(reference, context)
        return quick if quick is not None else self._target(reference, context)

    def resolve_dynamic(self, reference: str, context: Context) -> Target:
        """`$dynamicRef`: the outermost resource on the way here that has the same dynamic anchor."""
        uri, name = _join(context.base, reference)
        if name and not name.startswith("/") and self._has_dynamic_anchor(uri, name):
            for scope in context.scope:
                if self._has_dynamic_anchor(scope, name):
                    return self.resolve(f"{scope}#{name}", context)
        return self.resolve(reference, context)

    def resolve_recursive(self, reference: str, context: Context) -> Target:
        """`$recursiveRef` (draft 2019-09): the outermost resource on the way here with `$recursiveAnchor`."""
        target = self.resolve(reference, context)
        if isinstance(target.schema, dict) and target.schema.get("$recursiveAnchor") is True:
            for scope in context.scope:
                outer = self.resolve(f"{scope}#", context)
                if isinstance(outer.schema, dict) and outer.schema.get("$recursiveAnchor") is True:
                    return outer
        return target

    def _local(self, reference: str, context: Context) -> Target | None:
        """A plain pointer into the root document where nothing else has a name: no library needed."""
        if self._named or self._scoped or context.base != self._base or not is_pointer(reference):
            return None
        found = pointed(self._root, reference)
        if found is UNSET:
            raise Unresolved(f"the reference {reference!r} points to nothing{_meant(reference, self._root)}")
        return Target(found, context, reference)

    def _address(self, reference: str, context: Context) -> tuple[str, str]:
        """(document, fragment) of a reference, the document by the name that it gives itself."""
        self._documents()
        uri, fragment = _join(context.base, reference)
        return self._names.get(uri, uri), fragment

    def _lookup(self, reference: str, uri: str, fragment: str) -> Any:
        from referencing import exceptions

        there = self._documents().get(uri)
        nothing = f"the reference {reference!r} points to nothing"
        pointer = f"#{unquote(fragment)}"  # the library takes -1 for the last of a list
        if there is not None and is_pointer(pointer) and pointed(there.contents, pointer) is UNSET:
            raise Unresolved(f"{nothing}{_meant(reference, there.contents)}")
        try:
            # From the document itself: seen from elsewhere a dynamic anchor might lead back there.
            return self._documents().resolver(uri).lookup(f"#{fragment}")
        except exceptions.Unresolvable as error:
            if isinstance(error, exceptions.PointerToNowhere | exceptions.NoSuchAnchor | exceptions.InvalidAnchor):
                raise Unresolved(f"{nothing}{_meant(reference, None if there is None else there.contents)}") from None
            raise Unresolved(
                f"the document {uri!r} of the reference {reference!r} is not here; nothing is fetched, pass it in "
                "resources={uri: schema}"
            ) from None
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise Unresolved(f"the reference {reference!r} cannot be followed: {error}") from None

    def _target(self, reference: str, context: Context) -> Target:
        uri, fragment = self._address(reference, context)
        resolved = self._lookup(reference, uri, fragment)
        base = resolved.resolver._base_uri  # the library has no public name for it
        if base in self._twice:
            raise Unresolved(f"two schemas are called {base!r}, which the reference {reference!r} leads to")
        dialect = self._dialects.get(base)
        if dialect is None:
            root = self._documents().get(base)
            dialect = self._dialects[base] = self._dialect(root and root.contents, base, context.dialect)
        entered = not fragment.startswith("/") or base != uri
        pointer = f"#{fragment}" if uri == self._base else f"{uri}#{fragment}"
        context = Context(base, self._enter_scope(context.scope, base), dialect)
        return Target(resolved.contents, context, pointer, entered)

    def _note(self, document: Any, context: Context) -> None:
        """Note the dialects of all schemas in a document that have names, and names that come twice."""
        work = [(document, context)]
        self._say(document, context)
        while work:
            schema, context = work.pop()
            look(20)
            if isinstance(schema, dict):
                outer, context = context, self.inside(schema, context)
                if context is not outer:
                    self._say(schema, context)
                for word in schema:
                    if word in KEYWORDS:
                        work += [(one, context) for _, one in schemas_in(KEYWORDS[word], schema[word])]

    def _say(self, schema: Any, context: Context) -> None:
        """Note what a schema with a name says; that name and notes do not count."""
        if isinstance(schema, dict):
            unsaid = NOTES | {context.dialect.identifier, "$schema"}
            schema = {word: value for word, value in schema.items() if word not in unsaid}
        said = f"{context.dialect.uri} {exact_text(schema)}"
        look(len(said) // 4)
        if self._schemas.setdefault(context.base, said) != said:
            self._twice.add(context.base)

    def _has_dynamic_anchor(self, uri: str, name: str) -> bool:
        from referencing import exceptions
        from referencing.jsonschema import DynamicAnchor

        try:
            return isinstance(self._documents().anchor(uri, name).value, DynamicAnchor)
        except (exceptions.Unresolvable, exceptions.NoSuchResource):
            return False

    def _documents(self) -> Any:
        """The registry of all documents; made when a reference needs more than a plain pointer."""
        if self._registry is not None:
            return self._registry
        from referencing import Registry
        from referencing.jsonschema import specification_with

        registry: Any = Registry()
        try:
            from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
        except ImportError:
            pass
        else:
            registry = REGISTRY
        documents = {self._base: (self._root, self._dialects[self._base])}
        for uri, document in self._resources.items():
            bare = _join("", uri)[0]
            documents.setdefault(bare, (document, self._dialect(document, bare, self._dialects[self._base])))
        for uri, (document, dialect) in documents.items():
            specification: Any = specification_with(dialect.specification)
            registry = registry.with_resource(uri, _clocked(specification).create_resource(document))
            self._note(document, Context(uri, (), dialect))
            if uri != self._base and isinstance(document, dict):
                self._names[uri] = self.inside(document, Context(uri, (), dialect)).base
        try:
            registry = registry.crawl()
        except (TypeError, ValueError, AttributeError, KeyError):
            for uri, (document, _) in documents.items():
                where = misplaced(document, "#" if uri == self._base else f"{uri}#")
                if where:
                    raise Unresolved(f"names of schemas cannot be collected: {where}") from None
            raise Unresolved("names of schemas cannot be collected: some schema is malformed") from None
        self._registry = registry
        return registry
