"""The front door of this package: a JSON schema becomes a grammar's rules, or an error that lists every reason.

Read on: `lazy_document.py` (what is plain waits), `reading.py` (schema to shapes), `emit.py` (shapes to rules),
`explain.py` (a table of keywords).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from ...clock import look
from ...errors import GrammarError, GrammarSyntaxError, SchemaProblem, UnsupportedSchemaError
from ...laboratory import has_mechanism
from ..analysis import matches_something, normal_form
from ..ir import DeferredRule, GrammarIR
from ..json_text import exact_number
from ..length import check_length
from ..resources import Form, Resources, reached
from ..rulebook import RuleBook
from ..rules import all_deferrable
from .conflicts import report_conflict
from .emit import Emitter
from .exact_text import exact_text
from .lazy_document import LazyDocument
from .problems import Problems
from .quick_writer import QuickWriter
from .schema_options import SchemaOptions


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """A grammar's rules, in normal form, and what was approximated."""

    ir: GrammarIR
    warnings: tuple[SchemaProblem, ...]


def load_schema(schema: Any) -> Any:
    """A schema as a Python value: text is parsed (numbers exactly), a pydantic model class is asked for its schema."""
    if isinstance(schema, str):
        return read_json(schema, _STRICT)
    model = getattr(schema, "model_json_schema", None)
    if callable(model):
        if not isinstance(schema, type) and hasattr(schema, "model_dump"):
            raise TypeError(f"an instance of {type(schema).__name__} is data, not a schema; pass its class")
        try:
            return model()
        except (RuntimeError, TypeError, NameError) as error:  # of a field that has none, as pydantic raises them
            reason = str(error).partition("\n")[0]
            raise TypeError(f"{schema!r} has no JSON schema: {reason}") from error
    if not isinstance(schema, dict | bool):
        raise TypeError(f"a schema is a dict, a bool, JSON text or a pydantic model class, not {type(schema).__name__}")
    return schema


def _no_constant(name: str) -> NoReturn:
    raise GrammarSyntaxError(f"{name} is no JSON number", name, 0, language="JSON")


_STRICT = json.JSONDecoder(parse_float=exact_number, parse_constant=_no_constant)
_AGAIN = json.JSONDecoder(parse_float=exact_number)


# Characters of JSON text that are read or written in a unit of work.
_READ = 4


def read_json(text: str, decoder: json.JSONDecoder = _AGAIN) -> Any:
    """What somebody wrote as JSON, numbers exactly; `GrammarSyntaxError` where it is none."""
    try:
        found = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise GrammarSyntaxError(error.msg, text, error.pos, language="JSON") from None
    except RecursionError:
        raise GrammarSyntaxError("nested too deeply", text, 0, language="JSON") from None
    except GrammarSyntaxError:
        raise
    except ValueError as error:
        raise GrammarSyntaxError(str(error), text, 0, language="JSON") from None
    look(len(text) // _READ)
    return found


def read_again(text: str) -> Any:
    """A copy of the schema, or other JSON, that `text` was made of."""
    found = _AGAIN.decode(text)
    look(len(text) // _READ)
    return found


def _read_shared(text: str) -> Any:
    """The same as `read_again`, in less memory: equal parts are one object, since nobody changes them."""
    strings: dict[str, str] = {}
    lists: dict[tuple[int, ...], list[Any]] = {}
    objects: dict[tuple[str | int, ...], dict[str, Any]] = {}

    def shared(value: Any) -> Any:
        if isinstance(value, str):
            return strings.setdefault(value, value)
        if isinstance(value, list):
            value = [shared(item) for item in value]
            return lists.setdefault(tuple(map(id, value)), value)
        return value

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = {name: shared(value) for name, value in pairs}
        # Parts are known by their ids: whatever a key speaks of lives in what is kept under it.
        return objects.setdefault((*made, *map(id, made.values())), made)

    found = json.JSONDecoder(parse_float=exact_number, object_pairs_hook=object_of).decode(text)
    look(len(text) // _READ)
    return found


def schema_text(schema: Any) -> str:
    """A schema as JSON text; text stays as it is, and exact numbers keep all their digits."""
    if isinstance(schema, str):
        return schema
    try:
        text = exact_text(load_schema(schema))
        check_length(text)
        look(len(text) // _READ)
        return text
    except RecursionError:
        raise GrammarSyntaxError("nested too deeply", "", 0, language="JSON") from None
    except ValueError as error:
        raise GrammarSyntaxError(f"this is no JSON: {error}", "", 0, language="JSON") from None


_FORM = Form(schema_text, _read_shared)


def reached_resources(loaded: Any, resources: Mapping[str, Any] | None) -> Resources:
    """Copies of those documents that the references of a loaded schema lead to."""
    return reached(loaded, resources or {}, _FORM)


def compile_schema(
    schema: Any,
    text: str,
    options: SchemaOptions,
    resources: Mapping[str, Any],
    *,
    defer: bool = False,
) -> CompiledSchema:
    """Compile a loaded schema; `text` is its JSON text.

    `defer`: rules of sub-schemas that cannot have problems are made when they are needed (`GrammarIR.expand`).

    Raises `UnsupportedSchemaError` with all problems unless `options.lenient`; in any case when there is no instance.
    """
    book = RuleBook()
    waits = defer and _may_wait(options)
    document = LazyDocument(schema, text, QuickWriter(book, options, waits=waits), resources)
    try:
        made = _compiled(document, text, partial(_normal, frozenset(book.rules)))
    except Exception:
        book.clear()
        raise
    if not waits:
        document.forget()
    return made


def _may_wait(options: SchemaOptions) -> bool:
    """Whether rules may be made when they are needed."""
    return not options.caps and has_mechanism("lazy documents")


def _normal(blanks: frozenset[str], ir: GrammarIR) -> GrammarIR:
    """`ir` in normal form.  `blanks` are rules that need no look.  Raises `GrammarError` where it has no text."""
    # Rules that wait were found to have texts: only what was written may hold parts that have none.
    return ir if all_deferrable(ir.rules, blanks) else normal_form(ir, "JSON Schema", trusted=True)


def _with_text(ir: GrammarIR) -> GrammarIR:
    """`ir` as it is.  Raises `GrammarError` where it has no text."""
    if not isinstance(ir.rules[ir.root], DeferredRule) and not matches_something(ir):
        raise GrammarError("no rule can finish")
    return ir


def _compiled(document: LazyDocument, text: str, check: Callable[[GrammarIR], GrammarIR]) -> CompiledSchema:
    """What becomes of a document, or the reasons why it cannot be used; `check` raises `GrammarError` for no text."""
    problems, writer = document.problems, document.writer
    try:
        top = None if len(problems) else document.top()
        if top is not None:
            return CompiledSchema(check(writer.book.grammar(top.name, text)), ())
        ir = document.emitter.grammar(document.root, text)
        if len(problems) and not writer.options.lenient:
            raise UnsupportedSchemaError(problems.all)
        try:
            return CompiledSchema(check(ir), problems.all)
        except GrammarError:
            conflicts = Problems()
            report_conflict(document.reader, document.root, conflicts)
            raise UnsupportedSchemaError((*problems.all, *conflicts.all)) from None
    except Exception:
        document.forget()
        raise


def schema_rules(
    schema: Any,
    text: str,
    options: SchemaOptions,
    book: RuleBook,
    writers: dict[object, QuickWriter],
    write: Callable[..., Emitter],
    way: object,
) -> CompiledSchema:
    """Compile a loaded schema that nobody changes into `book`, whose rules are those of the result.

    `write` makes the emitter: another one writes no JSON, and puts nothing off.  `writers` is kept by the caller, so
    that the schemas of one grammar that are written in one `way` share strings and blanks; the caller brings the rules
    of all to normal form.  Raises what `compile_schema` does.
    """
    writer = writers.get((options, way))
    if writer is None:
        writer = QuickWriter(book, options, waits=write is Emitter and _may_wait(options))
        writers[options, way] = writer
    document = LazyDocument(schema, text, writer, {}, write)
    made = _compiled(document, text, _with_text)
    if not writer.waits:
        document.forget()
    return made
