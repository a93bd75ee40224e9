"""`explain_schema`: how each keyword of a schema is treated, as a table.

Read on: `compile.py`; `problems.py` (where refusals come from).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from ...errors import UnsupportedSchemaError
from .compile import SchemaArguments, SchemaOptions, compile_schema, load_schema, reached_resources, schema_text
from .keywords import KEYWORDS, schemas_in
from .keywords.entry import Status
from .problems import child
from .resolve import Context, Documents, Unresolved

__all__ = ["Row", "explain_schema"]


@dataclass(frozen=True, slots=True)
class Row:
    """One keyword at one place.

    status: "exact"; "approximated" (see `note`; with lenient=True also what would be refused); "refused"; or
    "annotation" for what the schema's draft does not enforce.
    """

    pointer: str
    keyword: str
    status: Status
    note: str = ""


def explain_schema(schema: Any, **arguments: Unpack[SchemaArguments]) -> list[Row]:
    """One row for each keyword that the root can reach, through references too, in the order of reading.

    schema and arguments are those of `Grammar.from_json_schema`.  Never raises `UnsupportedSchemaError`: a schema
    without instances has a row that says so.
    """
    loaded = load_schema(schema)
    text = schema_text(schema)
    chosen: dict[str, Any] = {**arguments}
    resources = reached_resources(loaded, chosen.pop("resources", None))
    lenient = chosen.pop("lenient", False)
    options = SchemaOptions(**chosen, lenient=True)
    try:
        problems = compile_schema(loaded, text, options, resources).warnings
    except UnsupportedSchemaError as error:
        problems = error.problems
    found: dict[tuple[str, str], Row] = {}
    for problem in problems:
        hopeless = problem.lenient.startswith("there is no instance")
        status: Status = "approximated" if lenient and not hopeless else "refused"
        note = problem.lenient if status == "approximated" else problem.reason
        found[problem.pointer, problem.keyword] = Row(problem.pointer, problem.keyword, status, note)
    rows = _Walk(Documents(loaded, text, resources), found, options).rows(loaded)
    listed = {(row.pointer, row.keyword) for row in rows}
    # Equal sub-schemas are compiled once, so a problem may be known under another place than the first one here.
    return rows + [row for place, row in found.items() if place not in listed]


class _Walk:
    def __init__(self, documents: Documents, found: dict[tuple[str, str], Row], options: SchemaOptions) -> None:
        self._documents = documents
        self._found = found
        self._options = options
        self._rows: list[Row] = []

    def rows(self, root: Any) -> list[Row]:
        seen: set[tuple[int, Context]] = set()
        work: list[tuple[Any, Context, str, bool]] = [(root, self._documents.root_context, "#", False)]
        while work:
            schema, context, pointer, entered = work.pop()
            if not isinstance(schema, dict) or (id(schema), context) in seen:
                continue
            seen.add((id(schema), context))
            if not entered:
                context = self._documents.inside(schema, context)
            below: list[tuple[Any, Context, str, bool]] = []
            alone = context.dialect.ref_alone and "$ref" in schema
            for keyword, value in schema.items():
                self._rows.append(self._row(keyword, value, schema, context, pointer))
                if keyword not in context.dialect.keywords or (alone and keyword != "$ref"):
                    continue
                below += self._below(keyword, value, context, pointer)
            work.extend(reversed(below))
        return self._rows

    def _row(self, keyword: str, value: Any, schema: Mapping[str, Any], context: Context, pointer: str) -> Row:
        known = self._found.get((pointer, keyword))
        if known is not None:
            return known
        if keyword not in context.dialect.keywords:
            return Row(pointer, keyword, "annotation")
        if keyword != "$ref" and context.dialect.ref_alone and "$ref" in schema:
            return Row(pointer, keyword, "annotation", "beside $ref it is ignored in this draft")
        explain = KEYWORDS[keyword].explain
        said = explain(value, self._options.formats) if explain is not None else None
        if said is not None:
            return Row(pointer, keyword, *said)
        return Row(pointer, keyword, "exact")

    def _below(self, keyword: str, value: Any, context: Context, pointer: str) -> list[tuple[Any, Context, str, bool]]:
        entry = KEYWORDS[keyword]
        if entry.refers and isinstance(value, str):
            resolve = {
                "$ref": self._documents.resolve,
                "$dynamicRef": self._documents.resolve_dynamic,
                "$recursiveRef": self._documents.resolve_recursive,
            }[keyword]
            try:
                target = resolve(value, context)
            except Unresolved:
                return []  # a problem that is listed
            return [(target.schema, target.context, target.pointer, target.entered)]
        return [(one, context, child(pointer, keyword, *keys), False) for keys, one in schemas_in(entry, value)]
