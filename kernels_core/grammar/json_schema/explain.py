"""`explain_schema`: how each keyword of a schema is treated, as a table.

Read on: `compile.py`; `problems.py` (where refusals come from).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from ...clock import READING_MS, is_limited
from ...errors import UnsupportedSchemaError
from ..length import request
from .compile import compile_schema, load_schema, reached_resources, schema_text
from .keywords import KEYWORDS
from .keywords.entry import Status
from .misspelt import meant_by
from .reach import Reached, reached
from .resolve import Documents
from .schema_options import SchemaArguments, SchemaOptions
from .values import Malformed


@dataclass(frozen=True, slots=True)
class Row:
    """One keyword at one place.

    status: "exact"; "approximated" (see `note`; with lenient=True also what would be refused); "refused"; or
    "annotation" for what the schema's draft does not enforce (`note`: the keyword that it looks like).
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
    with request(0 if is_limited() else READING_MS, "explaining a schema", schema):
        return _rows(load_schema(schema), arguments)


def _rows(loaded: Any, arguments: SchemaArguments) -> list[Row]:
    text = schema_text(loaded)  # words and references stand as they are, and not as escapes
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
        status: Status = "approximated" if lenient and not problem.is_hopeless else "refused"
        note = problem.lenient if status == "approximated" else problem.reason
        found[problem.pointer, problem.keyword] = Row(problem.pointer, problem.keyword, status, note)
    documents = Documents(loaded, text, resources)
    rows = [_row(keyword, place, found, options) for place in reached(documents, loaded) for keyword in place.schema]
    listed = {(row.pointer, row.keyword) for row in rows}
    # Equal sub-schemas are compiled once, so a problem may be known under another place than the first one here.
    return rows + [row for place, row in found.items() if place not in listed]


def _row(keyword: str, place: Reached, found: Mapping[tuple[str, str], Row], options: SchemaOptions) -> Row:
    pointer, dialect = place.pointer, place.context.dialect
    known = found.get((pointer, keyword))
    if known is not None:
        return known
    if keyword not in dialect.keywords:
        meant = meant_by(keyword)
        return Row(pointer, keyword, "annotation", f"it forbids nothing; did you mean {meant}?" if meant else "")
    if keyword not in place.keywords:
        return Row(pointer, keyword, "annotation", "beside $ref it is ignored in this draft")
    entry = KEYWORDS[keyword]
    try:
        entry.check(place.schema[keyword], keyword)
        said = entry.explain(place.schema[keyword], options) if entry.explain is not None else None
    except (Malformed, ValueError) as error:  # one of so many that not all were listed
        said = "refused", str(error)
    return Row(pointer, keyword, *said) if said is not None else Row(pointer, keyword, "exact")
