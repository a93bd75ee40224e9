"""Attributes of rules: what changes the language is done to it, what does not is kept as a note.

- `lazy`: the rule ends as soon as it can, so it holds the texts of which no proper beginning is one of its texts.
- `max_chars=N`: its texts of at most N characters.
- `suffix` and `stop` (Lark): the rule, then the suffix, and the whole lazy; with `max_chars` the rule also ends,
  without a suffix, after as many characters.
- `capture`, `capture="name"`, `temperature=x`: notes for whoever drives a generation.  They stay on the rule
  (`ir.Rule.notes`) and are printed; masks do not depend on them.  `trailing="text"` says that a capture leaves out this
  text at its end, which a suffix left there, `hidden` that captures of rules around it leave it out, too, and
  `stop_capture="name"` that it is captured by itself.

- `max_tokens=N`: at most N tokens begin inside of one of its texts.  A note too, for the language of bytes is what it
  was, but one that the parser reads (`../earley/token_limits.pyx`); N = 0 leaves the empty text.  Not with `lazy`,
  `suffix` or `stop`, whose end is a part of the rule.

- `distinct`, `item`: no two items of one text of a `distinct` rule are equal as JSON values.  Its items are the texts
  of rules with `item` that are read in it, each in the innermost `distinct` rule around it.  They must be told apart
  by the bytes between them, and a `distinct` rule begins with `[` or `{`.  Notes too, which the parser reads
  (`../earley/marks.pyx`).

The first three work on regular rules, and on no rule that calls one with `max_tokens`, `distinct` or `item`.

Read on: `ebnf.py` and `lark/lower.py` (how attributes are written), `regular/languages.pyx`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import GrammarError, UnsupportedFeatureError
from .analysis import begins_with_a_bracket, components, reached
from .ir import Empty, GrammarIR, Rule
from .names import undefined
from .regular.from_rules import grammar_language
from .regular.languages import (
    ALL,
    ANY_CHARACTER,
    EPSILON,
    Language,
    TooManyStates,
    complement,
    concat,
    intersection,
    loop,
)
from .regular.lengths import with_length
from .regular.to_rules import language_node
from .rulebook import RuleBook

NOTES = ("capture", "temperature", "trailing", "hidden", "stop_capture", "max_tokens", "distinct", "item")

Note = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Attribute:
    """`name` or `name=value`, and the offset of the name in the source."""

    name: str
    value: str | float | int | None
    offset: int


def named(notes: tuple[Note, ...], name: str) -> tuple[Note, ...]:
    """Notes of a rule that gets another name: a capture without a name keeps that of the rule."""
    return tuple((key, name if key == "capture" and value is None else value) for key, value in notes)


def shortest(language: Language) -> Language:
    """The texts of `language` of which no proper beginning is in it."""
    if language.nullable:
        return EPSILON
    return intersection(language, complement(concat(language, ANY_CHARACTER, ALL)))


def at_most(language: Language, count: int) -> Language:
    """The texts of `language` with at most `count` characters."""
    solved = with_length(language, 0, count)
    return solved if solved is not None else intersection(language, loop(ANY_CHARACTER, 0, count))


def shaped(
    ir: GrammarIR, attributes: Mapping[str, list[Attribute]], language: str, marks: Mapping[str, tuple[Note, ...]] = {}
) -> GrammarIR:
    """`ir` with `lazy` and `max_chars` done to their rules, called ones first, and with the notes of all; `marks` are
    notes that no text can say (`predicates.py`).

    `GrammarError` where there is no rule to mark; `UnsupportedFeatureError`, at the attribute, where a rule is not
    regular or needs too many states.
    """
    for name in marks:
        if name not in ir.rules:
            raise GrammarError(undefined(name, ir.rules, role="rule for a predicate"), language=language)
    book = RuleBook()
    rules = book.rules = {
        name: Rule(name, rule.body, marks.get(name, ()), span=rule.span) for name, rule in ir.rules.items()
    }
    for name in [name for group in components(ir) for name in group if name in attributes]:
        rule = rules[name]
        asked = {attribute.name: attribute for attribute in attributes[name]}
        body = rule.body
        if "lazy" in asked and "max_tokens" in asked:
            reason = "a rule that is lazy ends by itself, so it takes no max_tokens: give that to a rule that calls it"
            raise UnsupportedFeatureError(reason, ir.source, asked["max_tokens"].offset, language=language)
        if "distinct" in asked and not begins_with_a_bracket(body):
            reason = f'the rule {name!r} has items that differ (distinct), so it begins with "[" or "{{"'
            raise UnsupportedFeatureError(reason, ir.source, asked["distinct"].offset, language=language)
        if {"lazy", "max_chars"} & asked.keys():
            if "distinct" in asked:
                reason = "lazy and max_chars make a rule anew, without items that could differ (distinct)"
                raise UnsupportedFeatureError(reason, ir.source, asked["distinct"].offset, language=language)
            rules[name] = Rule(name, body, span=rule.span)  # a text of the rule is still judged as a whole
        if "lazy" in asked or "max_chars" in asked:
            offset = min(asked[key].offset for key in ("lazy", "max_chars") if key in asked)
            try:
                texts = grammar_language(reached(GrammarIR(rules, name, ir.source)))
                if "lazy" in asked:
                    texts = shortest(texts)
                if "max_chars" in asked:
                    texts = at_most(texts, int(asked["max_chars"].value or 0))
                there_before = len(rules)
                body = language_node(texts, book, f"{name}.text")
                for added in [*rules][there_before:]:
                    rules[added] = Rule(added, rules[added].body, span=rule.span)
            except TooManyStates as error:
                reason = f"the rule {name!r} is not regular, as its attributes need, or it needs {error}"
                raise UnsupportedFeatureError(reason, ir.source, offset, language=language) from None
            except UnsupportedFeatureError as error:
                place = error.offset if error.offset is not None else offset
                raise UnsupportedFeatureError(error.reason, ir.source, place, language=language) from None
        if "max_tokens" in asked and asked["max_tokens"].value == 0:
            body = Empty(span=body.span)
            del asked["max_tokens"]
        notes = tuple((key, attribute.value) for key, attribute in asked.items() if key in NOTES)
        rules[name] = Rule(name, body, span=rule.span, notes=(*notes, *marks.get(name, ())))
    return GrammarIR(rules, ir.root, ir.source)
