"""Which rule of the engine reads what a schema says at a place, also where the text has not been yet.

A rule made of a schema has a key that stands for its language (`kernels_core.grammar.rules.DeferredRule.key`).  The
sub-schema at a place, read once more as part of its document, has the same key exactly if a rule of the session reads
it; equal sub-schemas share a rule, and so do references and what they lead to, so a rule can have many places.  Small
sub-schemas have no rule: they are written into the rule around them.

Read on: `reader.py` (the schemas of a source), `workbench/panels/automaton.py` (who asks).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from kernels_core import Grammar
from kernels_core.clock import TimeLimit
from kernels_core.errors import BudgetExceededError, MaskscopeError
from kernels_core.grammar.json_schema import SchemaArguments, SchemaOptions
from kernels_core.grammar.json_schema.misspelt import schemas_of
from kernels_core.grammar.json_schema.rule_keys import RuleKeys
from workbench.json_values import Json
from workbench.languages.positions import around, value_at
from workbench.provenance.reader import Reader

if TYPE_CHECKING:
    from workbench.session.context import Context

MAX_PLACES: Final = 400
"""Places that are looked at to find one that a rule reads: each is a schema to compile, about a millisecond."""
MAX_MS: Final = 1_000
"""Of processor time for one question; what was not found within it is not known."""


class SchemaRules:
    """The rules of one session's grammar by the places that they read; what was found is kept."""

    def __init__(self, context: Context, reader: Reader) -> None:
        self.reader, self.grammar = reader, context.compiled.grammar
        self._schemas: dict[str, tuple[str, Callable[[], RuleKeys]]] = {}  # where its document is, and keys in that
        whole = _schema_of(self.grammar) if reader.source.language == "json_schema" else None
        for base, schema, options in reader.schemas():
            keys = cache(partial(_keys, schema, options, whole))
            for pointer, _ in schemas_of([(base, schema)]):
                self._schemas.setdefault(pointer, (base, keys))
        self._keys: dict[str, bytes | None] = {}

    def rules(self, pointer: str) -> list[str]:
        """The rule that reads the schema at `pointer`, then those that read the schemas around it, if they have one."""
        names = {key: name for name, key in self._named()}
        found: list[str] = []
        with suppress(BudgetExceededError), TimeLimit(MAX_MS, where="the rule of a place"):
            for at in around(pointer):
                if at == "#" and at in self._schemas:
                    found.append(str(self.grammar.lazy_ir.root))
                elif (key := self._key(at)) is not None and key in names:
                    found.append(names[key])
        return found

    def place(self, rule: str) -> str | None:
        """The first place that the rule reads, among the first `MAX_PLACES` of the source; None for none."""
        if rule == self.grammar.lazy_ir.root and "#" in self._schemas:
            return "#"
        wanted = dict(self._named()).get(rule)
        if wanted is None:
            return None
        with suppress(BudgetExceededError), TimeLimit(MAX_MS, where="the place of a rule"):
            return next((one for one in islice(self._schemas, MAX_PLACES) if self._key(one) == wanted), None)
        return None

    def _named(self) -> list[tuple[str, bytes]]:
        """The rules that there are by now, and their keys; of two with one key the one that was made last first."""
        ir = self.grammar.lazy_ir
        found = [(name, ir.deferred(name)) for name in list(ir.rules)]
        return [(name, rule.key) for name, rule in reversed(found) if rule is not None and rule.key is not None]

    def _key(self, pointer: str) -> bytes | None:
        """What stands for the language of the schema at `pointer`; None where there is none that can be made alone."""
        if pointer not in self._schemas:
            return None
        if pointer not in self._keys:
            base, keys = self._schemas[pointer]
            inside = "#" + pointer.removeprefix(base)
            try:
                self._keys[pointer] = keys().key(value_at(keys().schema, inside), inside)
            except MaskscopeError as error:  # it leads nowhere, or is no schema by itself
                if isinstance(error, BudgetExceededError) and error.what == "milliseconds":
                    raise  # those before it may have taken them
                self._keys[pointer] = None
        return self._keys[pointer]


_Whole = tuple[str, SchemaOptions, Mapping[str, Json]]
"""The text of a schema, its options and the other documents that it refers to."""


def _keys(schema: Json, options: SchemaArguments, whole: _Whole | None) -> RuleKeys:
    """The keys of one schema of a source, in which what stands in it refers to the rest of it.

    `whole`: what the grammar in use was made of, if that is the schema.
    """
    return RuleKeys(*(whole or _schema_of(Grammar.from_json_schema(schema, **options))))


def _schema_of(grammar: Grammar) -> _Whole:
    """The text, the options and the other documents that a grammar was made of."""
    _, text, given = grammar.__reduce__()[1]
    return text, given["options"], given["resources"]


_KNOWN: weakref.WeakKeyDictionary[Context, SchemaRules] = weakref.WeakKeyDictionary()


def schema_rules(context: Context, reader: Reader) -> SchemaRules:
    """Those of the session's grammar, kept as long as that is in use; the session is held."""
    known = _KNOWN.get(context)
    if known is None or known.reader is not reader or known.grammar is not context.compiled.grammar:
        known = _KNOWN[context] = SchemaRules(context, reader)
    return known
