"""Predicates: what Python says about texts of named rules, beyond what a grammar can say.

    Grammar.from_ebnf(text, predicates={"table": OneOf("users", "orders"), "column": AllDifferent(within="select")})

Where a text of such a rule may end, its predicate is asked, and if it refuses the text, this may not end there, but may
go on: in masks, steps, drafts and forced text alike.  `docs/concepts/predicates.md` says what that means, and what is
refused.

Read on: `../judging.pyx` (asks), `../remembered.pyx` (keeps what predicates remember), `attributes.py` (marks rules).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import GrammarError
from .analysis import nullable_rules
from .ir import GrammarIR, Rule, RuleRef, walk


class Predicate:
    """Judges the texts of the rules that it is given for, in the order in which they end.

    Subclasses return what is remembered at first (`start`), and for each text what is remembered from then on, or None
    to refuse it (`judge`).  One object given for several rules, or equal ones, have one memory for all of them.

    A memory is never changed, there is another one, so that going back, forks and drafts cost nothing; and it can be
    compared (`==`).  Any value but None: tuples, frozen sets, strings.  `judge` may be asked about the same text any
    number of times, about texts that nobody will write, and from several threads.

    within: the name of a rule: in each of its texts the memory begins anew, and behind it is what it was before.  None:
        one memory for the whole text.
    needs: names of rules that it has to judge as well, since it learns from their texts.
    """

    within: str | None = None
    needs: frozenset[str] = frozenset()

    def start(self) -> Any:
        """What is remembered before any text."""
        return ()

    def judge(self, memory: Any, rule: str, text: bytes) -> Any:
        """What is remembered behind `text`, which was read as `rule`; None if it is refused."""
        raise NotImplementedError(f"{type(self).__name__}.judge")

    def begins(self, memory: Any, rule: str, text: bytes) -> bool:
        """Whether `judge` may allow some text that begins with `text`, which is not empty.

        False is a promise that it refuses all of them: then none is begun that could not be ended.  Without this method
        there may be dead ends.  It is not asked of rules in which the same predicate judges others.
        """
        return True


class OneOf(Predicate):
    """The text is one of these."""

    def __init__(self, *texts: str | bytes) -> None:
        _check_kinds("OneOf", "texts", texts, (str, bytes))
        self.texts = frozenset(text.encode() if isinstance(text, str) else text for text in texts)
        self._beginnings = frozenset(text[:count] for text in self.texts for count in range(1, len(text) + 1))

    def judge(self, memory: Any, rule: str, text: bytes) -> Any:
        return memory if text in self.texts else None

    def begins(self, memory: Any, rule: str, text: bytes) -> bool:
        return text in self._beginnings


class AllDifferent(Predicate):
    """No text is equal to one before it."""

    def __init__(self, *, within: str | None = None) -> None:
        self.within = within

    def start(self) -> frozenset[bytes]:
        return frozenset()

    def judge(self, memory: frozenset[bytes], rule: str, text: bytes) -> frozenset[bytes] | None:
        return None if text in memory else memory | {text}


class DeclaredBefore(Predicate):
    """What is read as another rule was read as one of the rules `declares` before, which it judges, too."""

    def __init__(self, *declares: str, within: str | None = None) -> None:
        _check_kinds("DeclaredBefore", "names of rules", declares, (str,))
        self.declares = self.needs = frozenset(declares)
        self.within = within

    def start(self) -> frozenset[bytes]:
        return frozenset()

    def judge(self, memory: frozenset[bytes], rule: str, text: bytes) -> frozenset[bytes] | None:
        if rule in self.declares:
            return memory | {text}
        return memory if text in memory else None

    def begins(self, memory: frozenset[bytes], rule: str, text: bytes) -> bool:
        return rule in self.declares or any(name.startswith(text) for name in memory)


def _check_kinds(name: str, what: str, given: tuple[object, ...], kinds: tuple[type, ...]) -> None:
    for one in given:
        if not isinstance(one, kinds):
            kind, several = type(one).__name__, what.split()[0]
            raise TypeError(f"{name} takes {what} one by one, not a {kind}: write {name}(*{several})")


def marks(predicates: Mapping[str, Predicate] | None) -> dict[str, tuple[tuple[str, Predicate], ...]]:
    """The notes (`Rule.notes`) that say which rules are judged, and in which ones a memory begins anew, by rule.

    `GrammarError` where a predicate is not given for a rule that it needs.
    """
    predicates = predicates or {}
    found: dict[str, dict[tuple[str, Predicate], None]] = {}
    for name, predicate in predicates.items():
        if not isinstance(predicate, Predicate):
            raise TypeError(f"what judges the rule {name!r} is a Predicate, not {type(predicate).__name__}")
        hash(predicate)  # grammars are looked up by their predicates
        for needed in sorted(predicate.needs):
            if needed not in predicates or predicates[needed] != predicate:
                reason = f"what judges {name!r} learns from {needed!r}: give the same object for that rule, too"
                raise GrammarError(reason)
        found.setdefault(name, {})["judged", predicate] = None
        if predicate.within is not None:
            found.setdefault(predicate.within, {})["scope", predicate] = None
    return {name: tuple(notes) for name, notes in found.items()}


def check_judged(ir: GrammarIR, language: str) -> None:
    """Check rules with predicates, and note which of them are watched (`Predicate.begins`).

    `GrammarError` where a rule that is judged may be empty, since an empty text is read nowhere and nobody is asked,
    where it is an item, which the engine's own predicate judges, and where a memory begins anew in a rule whose texts
    hold none that is judged.
    """
    noted = {name: rule for name, rule in ir.rules.items() if rule.notes}
    judged = {name: dict(rule.notes)["judged"] for name, rule in noted.items() if "judged" in dict(rule.notes)}
    empty = nullable_rules(ir) if judged else frozenset()
    for name, rule in noted.items():
        scopes = [predicate for note, predicate in rule.notes if note == "scope"]
        reason = ""
        if name in empty and name in judged:
            reason = f"the rule {name!r} is judged, so no text of it may be empty: let callers leave it out instead"
        elif ("item", None) in rule.notes and name in judged:
            reason = f"the rule {name!r} is an item and has a predicate; one judges a rule: judge one inside of it"
        elif any(judged.get(name) != one and not _is_judged_inside(ir, rule, one) for one in scopes):
            reason = f"a memory begins anew within {name!r}, and no rule that its predicate judges is called in there"
        if reason:
            offset = None if rule.span is None else rule.span.start
            raise GrammarError(reason, ir.source or None, offset, language=language)
    for name, predicate in judged.items():
        rule = noted[name]
        notes = [note for note in rule.notes if note[0] != "watched"]
        changes = ("scope", predicate) in notes or _is_judged_inside(ir, rule, predicate)
        if type(predicate).begins is not Predicate.begins and not changes:
            notes.append(("watched", predicate))
        ir.rules[name] = Rule(name, rule.body, tuple(notes), span=rule.span)


def _is_judged_inside(ir: GrammarIR, rule: Rule, predicate: Predicate) -> bool:
    """Whether `predicate` judges a rule that is called inside of texts of `rule`."""
    inside: set[str] = set()
    todo = [rule.body]
    while todo:
        for node in walk(todo.pop()):
            if isinstance(node, RuleRef) and node.name not in inside:
                inside.add(node.name)
                todo.append(ir.rules[node.name].body)
    return any(("judged", predicate) in ir.rules[name].notes for name in inside)
