"""Words of the specification that never constrain anything: identifiers, definitions, notes."""

from __future__ import annotations

from .entry import Note, Schemas

_NOTE = "a note: it forbids nothing"
_DEFINITIONS = "schemas to be referred to; they say nothing by themselves"

ENTRIES: tuple[Note, ...] = (
    *(
        Note(name=name, meaning=_NOTE, names=True)
        for name in (
            "$schema",
            "$id",
            "id",
            "$anchor",
            "$dynamicAnchor",
            "$recursiveAnchor",
            "$vocabulary",
        )
    ),
    Note(name="$defs", meaning=_DEFINITIONS, schemas=Schemas.BY_NAME, names=True),
    Note(name="definitions", meaning=_DEFINITIONS, schemas=Schemas.BY_NAME, names=True),
    *(
        Note(name=name, meaning=_NOTE)
        for name in (
            "$comment",
            "title",
            "description",
            "default",
            "examples",
            "deprecated",
            "readOnly",
            "writeOnly",
            "contentEncoding",
            "contentMediaType",
            "contentSchema",
        )
    ),
)
