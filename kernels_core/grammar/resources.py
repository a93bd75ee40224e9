"""The documents that a schema's references lead to: of all that the caller has, only those are copied and kept.

A registry may hold thousands of documents.  `reached` follows references from the root, document by document.  A
document is copied when it is first reached, and equal copies are one object in the process, whichever schemas reach
them, for as long as one of these lives.

Read on: `json_schema/resolve.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any
from urllib.parse import urldefrag, urljoin
from weakref import WeakValueDictionary

from ..clock import look
from ..errors import NO_INSTANCE, SchemaProblem, UnsupportedSchemaError
from .length import check_length

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_IDENTIFIERS = ("$id", "id")


class _Copy:
    """A document as it was when a schema was compiled, and what its text was known by."""

    __slots__ = ("__weakref__", "characters", "digest", "document")

    def __init__(self, digest: bytes, characters: int, document: Any) -> None:
        self.digest = digest
        self.characters = characters
        self.document = document


_COPIES: WeakValueDictionary[bytes, _Copy] = WeakValueDictionary()


@dataclass(frozen=True)
class Form:
    """How documents are written as JSON text, and read."""

    write: Callable[[Any], str]
    read: Callable[[str], Any]

    def copy(self, document: Any) -> _Copy:
        """A copy of `document`, which is JSON text or what `write` takes."""
        check_length(document)
        text = self.write(document)
        look(len(text) // 8)
        digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
        found = _COPIES.get(digest)
        if found is None:
            found = _COPIES[digest] = _Copy(digest, len(text), self.read(text))
        return found


class Resources(Mapping[str, Any]):
    """Documents by URI, which nobody changes."""

    __slots__ = ("_copies", "_form")

    def __init__(self, documents: Mapping[str, Any], form: Form) -> None:
        self._copies = {
            uri: one if isinstance(one, _Copy) else _copied(uri, one, form) for uri, one in documents.items()
        }
        self._form = form

    @property
    def key(self) -> tuple[tuple[str, bytes], ...]:
        """Equal where the documents are, and hashable."""
        return tuple((uri, copy.digest) for uri, copy in sorted(self._copies.items()))

    @property
    def characters(self) -> int:
        """The length of the documents' texts."""
        return sum(copy.characters for copy in self._copies.values())

    def __getitem__(self, uri: str) -> Any:
        return self._copies[uri].document

    def __iter__(self) -> Iterator[str]:
        return iter(self._copies)

    def __len__(self) -> int:
        return len(self._copies)

    def __repr__(self) -> str:
        return f"<Resources: {', '.join(self._copies) or 'none'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Text, since pickle recurses.
        return Resources, ({uri: self._form.write(copy.document) for uri, copy in self._copies.items()}, self._form)


def reached(root: Any, resources: Mapping[str, Any], form: Form) -> Resources:
    """Those of `resources` that references of `root` lead to, also through others.

    Where one leads elsewhere, those too that may name a part of theirs so.
    """
    if isinstance(resources, Resources):
        return resources
    if not isinstance(resources, Mapping):
        raise TypeError(f"resources are a mapping from URIs to schemas, not {type(resources).__name__}")
    if not resources:
        return Resources({}, form)
    names = _Names(resources)
    names.look("", root)
    copies: dict[str, _Copy] = {}
    while found := names.take() or _that_mention(names.missing(), resources, copies, form):
        for uri in found:
            copies[uri] = _copied(uri, resources[uri], form)
            names.look(uri, copies[uri].document)
    return Resources(copies, form)


def _that_mention(names: set[str], resources: Mapping[str, Any], taken: Container[str], form: Form) -> list[str]:
    """URIs of documents not `taken` that hold the end of one of `names`, as they must where they give a part that name.

    A name is written from its last `/` on, whatever it is relative to.
    """
    ends = {name.rstrip("/").rpartition("/")[2] for name in names}
    found = []
    for uri, document in resources.items() if ends else ():
        if uri in taken:
            continue
        try:
            # Text may spell a name with escapes; what is written here does not.
            escaped = isinstance(document, str) and "\\" in document
            text = form.write(form.read(document) if escaped else document)
        except (TypeError, ValueError, RecursionError):
            continue  # no schema, in which nothing has a name
        look(len(text) // 8)
        if any(end in text for end in ends):
            found.append(uri)
    return found


def _copied(uri: str, document: Any, form: Form) -> _Copy:
    """A copy of the document called `uri`.  `UnsupportedSchemaError` where that is no schema."""
    try:
        copy = form.copy(document)
    except ValueError as error:  # of a number that is too long, too
        reason = f"it is no JSON: {error}"
    except RecursionError:
        reason = "it is nested too deeply"
    except TypeError as error:
        reason = _KINDS.get(type(document)) or str(error)
    else:
        if isinstance(copy.document, dict | bool):
            return copy
        reason = _KINDS.get(type(copy.document), _KINDS[float])
    problem = SchemaProblem(f"{uri}#", "schema", f"the document that is given for it: {reason}", NO_INSTANCE, True)
    raise UnsupportedSchemaError((problem,)) from None


_KINDS: Mapping[type, str] = {
    kind: f"a schema must be an object or a Boolean, not {name}"
    for kind, name in (
        (list, "a list"),
        (str, "a string"),
        (int, "a number"),
        (float, "a number"),
        (type(None), "null"),
    )
}


def _absolute(base: str, reference: str) -> str:
    """The document that a reference leads to; what is no URI stays as it is, for the schema's reader to refuse."""
    try:
        return urldefrag(urljoin(base, reference))[0]
    except ValueError:
        return reference


class _Names:
    """The names that documents have, and those that references used.

    What stands in constants is looked at as well, and a reference counts under each base that it may have: some
    documents may be copied for nothing, and none is forgotten.
    """

    def __init__(self, resources: Mapping[str, Any]) -> None:
        self._resources = resources
        self._own: set[str] = set()  # names of documents that were looked at, and of parts of them
        self._used: set[tuple[str, ...]] = set()  # what each reference may name
        self._declared: set[str] = set()  # names of dialects
        self._taken: set[str] = set()

    def look(self, uri: str, document: Any) -> None:
        """Note every name in `document`, and every one that it uses."""
        outer = _absolute("", uri)
        self._own.add(outer)
        work: list[tuple[Any, tuple[str, ...]]] = [(document, (outer,))]
        while work:
            value, bases = work.pop()
            look(20)
            if isinstance(value, list):
                work += [(item, bases) for item in value if isinstance(item, dict | list)]
            elif isinstance(value, dict):
                for word in _IDENTIFIERS:
                    name = value.get(word)
                    if isinstance(name, str) and not name.startswith("#"):
                        # It is no name in some dialects, and beside `$ref` in others.
                        inner = _absolute(bases[-1], name)
                        self._own.add(inner)
                        bases = tuple(dict.fromkeys((outer, bases[-1], inner)))
                for word in _REFERENCES:
                    reference = value.get(word)
                    if isinstance(reference, str) and not reference.startswith("#"):
                        self._used.add(tuple(_absolute(base, reference) for base in bases))
                if isinstance(value.get("$schema"), str):
                    self._declared.add(_absolute("", value["$schema"]))
                work += [(item, bases) for item in value.values() if isinstance(item, dict | list)]

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """The URI of each document, by what it may be called.  Most schemas lead to none of thousands."""
        found: dict[str, str] = {}
        for uri, document in self._resources.items():
            bare = _absolute("", uri)
            for word in _IDENTIFIERS if isinstance(document, dict) else ():
                if isinstance(document.get(word), str):
                    found.setdefault(_absolute(bare, document[word]), uri)
            found[bare] = uri
        return found

    def take(self) -> list[str]:
        """URIs of documents that were used, and that were not taken before."""
        used = self._declared.union(*self._used)
        found = sorted({self._by_name[name] for name in used if name in self._by_name} - self._taken) if used else []
        self._taken |= {*found}
        return found

    def missing(self) -> set[str]:
        """What references name that name nothing known; the drafts' own documents are always there."""
        return {
            name
            for names in self._used
            if self._own.isdisjoint(names)
            and self._by_name.keys().isdisjoint(names)
            and not any("://json-schema.org/" in name for name in names)
            for name in names
        }
