"""What can be known about a grammar before any automaton: which rules are nullable, productive, reachable, recursive.

Everything is a loop over explicit work lists and linear in the size of the grammar; no rule is looked at again and
again until nothing changes.

`check` finds what makes an IR unusable and says where; `normal_form` makes the IR that the engine may rely on: every
node in the normal form of `nodes.pyx`, every rule reachable from the root (in the order of first mention, root first)
and *productive*, so that a parser that is alive can always finish.

Read on: `nodes.pyx` (normal form of one node), `grammar.py` (who calls this).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType

from ..errors import GrammarError
from .components import strong_components
from .ir import (
    MAX_CODE_POINT,
    ByteSet,
    CharSet,
    Choice,
    DeferredRule,
    Empty,
    GrammarIR,
    Literal,
    Never,
    Node,
    Repeat,
    Rule,
    RuleRef,
    Seq,
    TagDispatch,
    TokenSet,
    Unordered,
    children,
    walk,
)
from .names import is_name, undefined
from .needs import complaint
from .nodes import MAX_REPEAT, fold, rebuild
from .tree import has_text

# Groups in groups, as they are written or would be printed.
MAX_NESTING = 1000
# Nodes that share children can stand for a tree of exponential size.
MAX_NODES = 2_000_000
# Depth of one rule's tree: a group has at most a repeat, a choice and a sequence.
MAX_DEPTH = 4 * MAX_NESTING


def call_graph(ir: GrammarIR) -> dict[str, tuple[str, ...]]:
    """For each rule the rules it mentions, once each, in order of first mention; a deferred rule mentions none yet."""
    return {name: _calls(rule) for name, rule in ir.rules.items()}


def _calls(rule: Rule) -> tuple[str, ...]:
    if isinstance(rule, DeferredRule):
        return ()
    return tuple(dict.fromkeys([node.name for node in walk(rule.body) if isinstance(node, RuleRef)]))


def reachable_rules(ir: GrammarIR) -> tuple[str, ...]:
    """Rules that can be called from the root, the root first, then depth first in order of first mention.

    No other rule is looked at.
    """
    order: dict[str, None] = {}
    stack = [ir.root]
    while stack:
        name = stack.pop()
        if name not in order:
            order[name] = None
            stack.extend(reversed(_calls(ir.rules[name])))
    return tuple(order)


def reached(ir: GrammarIR) -> GrammarIR:
    """The rules that can be called from the root, in the order of `reachable_rules`, and no others."""
    return GrammarIR({name: ir.rules[name] for name in reachable_rules(ir)}, ir.root, ir.source)


def components(ir: GrammarIR) -> list[tuple[str, ...]]:
    """Strongly connected components of the call graph, callees before callers."""
    return strong_components(call_graph(ir), ir.rules)


def recursive_rules(ir: GrammarIR) -> frozenset[str]:
    """Rules that can call themselves, directly or through others."""
    calls = call_graph(ir)
    return frozenset(name for group in components(ir) for name in group if len(group) > 1 or name in calls[name])


def nullable_rules(ir: GrammarIR, known: Mapping[str, bool] = MappingProxyType({})) -> frozenset[str]:
    """Rules that match the empty string.  `known` answers for rules that are called but are not in `ir`."""
    return _derivable(ir, lambda leaf: isinstance(leaf, Empty), lambda _: False, known, deferred=False)


def productive_rules(ir: GrammarIR) -> frozenset[str]:
    """Rules that match at least one string."""
    return _derivable(ir, _has_text, has_text, {}, deferred=True)


def matches_something(ir: GrammarIR) -> bool:
    """Whether the root matches some string; looks at no rule that it does not lead to."""
    return ir.root in productive_rules(reached(ir))


def _has_text(leaf: Node) -> bool:
    match leaf:
        case CharSet(ranges):
            return any(low < 0xD800 or high > 0xDFFF for low, high in ranges)
        case ByteSet(ranges):
            return bool(ranges)
        case _:
            return not isinstance(leaf, Never)


def _derivable(
    ir: GrammarIR,
    holds: Callable[[Node], bool],
    known_to_hold: Callable[[Node], bool],
    known: Mapping[str, bool],
    *,
    deferred: bool,
) -> frozenset[str]:
    """The least set of rules for which a property holds that passes up the tree; `deferred`: ... for deferred rules.

    `holds` answers for leaves, and nobody looks into nodes that are `known_to_hold`; a sequence needs all its items, a
    choice one, a repeat its item unless it may be left out, a call its rule.  Each node waits with a count of what it
    still needs and is told once by each child, so the
    whole takes time linear in the grammar (the way unit propagation works on Horn clauses).
    """
    parents: list[int] = []  # per node: its parent, or -1 - (index of the rule) for a body
    needed: list[int] = []  # per node: how many children must still hold
    waiting: dict[str, list[int]] = {name: [] for name in ir.rules}
    true_nodes: list[int] = []
    names = list(ir.rules)
    for number, rule in enumerate(ir.rules.values()):
        if isinstance(rule, DeferredRule):
            if deferred:
                true_nodes.append(len(parents))
            parents.append(-1 - number)
            needed.append(1)
            continue
        stack: list[tuple[Node, int]] = [(rule.body, -1 - number)]
        while stack:
            node, parent = stack.pop()
            here = len(parents)
            parents.append(parent)
            if known_to_hold(node):
                needed.append(0)
                true_nodes.append(here)
                continue
            needed.append(len(node.items) if isinstance(node, Seq) else 1)
            if isinstance(node, RuleRef):
                if node.name in waiting:
                    waiting[node.name].append(here)
                elif known[node.name]:
                    true_nodes.append(here)
            elif isinstance(node, TagDispatch):
                if not node.stops or holds(node):
                    true_nodes.append(here)  # free text may be empty; before a stop string it is some text
                continue
            elif isinstance(node, Unordered):
                needed[here] = 3
                stack += ((node.separator, here), (node.closing, here))
                # Enough members besides the required ones: so many that are declared, or any other one.
                enough, declared = len(parents), len(parents) + 1
                parents += (here, enough)
                needed += (1, max(1, node.least) - sum(node.required))
                if needed[declared] <= 0:
                    true_nodes.append(declared)
                needed[here] += sum(node.required)
                members, others = node.entries()
                member = None
                for key, value, required, _ in members:
                    if not node.needs or key is not member:  # one of its values is enough
                        member = key
                        parents.append(here if required else declared)
                        needed.append(1)
                        either = len(parents) - 1
                    stack += ((key, len(parents)), (value, len(parents)))
                    parents.append(either)
                    needed.append(2)
                for key, value, _, _ in others:
                    stack += ((key, len(parents)), (value, len(parents)))
                    parents.append(enough)
                    needed.append(2)
                continue
            elif isinstance(node, Repeat) and (node.minimum == 0 or node.maximum == 0):
                true_nodes.append(here)
                continue
            below = children(node)
            if not below and not isinstance(node, RuleRef | Seq | Choice) and holds(node):
                true_nodes.append(here)
            for child in below:
                stack.append((child, here))
    found: set[str] = set()
    for node_id in true_nodes:
        needed[node_id] = 0
    while true_nodes:
        parent = parents[true_nodes.pop()]
        told = [parent]
        if parent < 0:
            name = names[-1 - parent]
            if name in found:
                continue
            found.add(name)
            told = waiting[name]
        for other in told:
            needed[other] -= 1
            if needed[other] == 0:
                true_nodes.append(other)
    return frozenset(found)


def check(ir: GrammarIR) -> None:
    """Raise `GrammarError` for an IR that breaks an invariant: names, undefined rules, ranges, bounds, depth, size.

    Front-ends keep these by construction; this is for an IR that was built by hand.
    """
    if ir.root not in ir.rules:
        raise GrammarError(undefined(ir.root, ir.rules, role="root rule"))
    visited = 0
    for name, rule in ir.rules.items():
        if name != rule.name:
            raise GrammarError(f"the rule {rule.name!r} is filed under the name {name!r}")
        if not is_name(name):
            raise GrammarError(f"{name!r} cannot be a rule name: letters, digits, '_', '-', '.', and not digits alone")
        stack: list[tuple[Node, int, int]] = [] if isinstance(rule, DeferredRule) else [(rule.body, 1, 0)]
        while stack:
            node, depth, groups = stack.pop()
            problem = _problem(node, ir)
            visited += 1
            if visited > MAX_NODES:
                raise GrammarError(f"more than {MAX_NODES:,} nodes, counting shared ones each time")
            if depth > MAX_DEPTH:
                problem = f"nested deeper than {MAX_DEPTH:,} nodes"
            elif groups > MAX_NESTING:
                problem = f"nested deeper than {MAX_NESTING:,} groups"
            if problem:
                offset = node.span.start if node.span else None
                raise GrammarError(f"in rule {name!r}: {problem}", ir.source or None, offset)
            stack += [(child, depth + 1, groups + _is_grouped(node, child)) for child in children(node)]
        if not isinstance(rule, DeferredRule) and not members_are_last(rule.body):
            raise GrammarError(
                f"in rule {name!r}: members in any order are the end of a rule, and there is one such end"
            )
        if any(note == "distinct" for note, _ in rule.notes) and not begins_with_a_bracket(rule.body):
            raise GrammarError(f'in rule {name!r}: a rule whose items differ begins with "[" or "{{"')


def members_are_last(body: Node) -> bool:
    """Whether `body` holds no `Unordered`, or one, and that where the rule ends."""
    found = sum(isinstance(node, Unordered) for node in walk(body))
    ends, stack = 0, [body]
    while found and stack:
        node = stack.pop()
        ends += isinstance(node, Unordered)
        stack += node.items[-1:] if isinstance(node, Seq) else node.items if isinstance(node, Choice) else ()
    return found == ends <= 1


def begins_with_a_bracket(body: Node) -> bool:
    """Whether `body` is written so that each of its texts begins with `[` or `{`."""
    stack = [body]
    while stack:
        match stack.pop():
            case Literal(value) if value[:1] in (b"[", b"{"):
                pass
            case Seq(items):
                stack.append(items[0])
            case Choice(items):
                stack += items
            case _:
                return False
    return True


def _is_grouped(parent: Node, child: Node) -> bool:
    """Does `child` need parentheses inside `parent` when it is printed?"""
    if isinstance(parent, Repeat):
        return isinstance(child, Seq | Choice | Repeat)
    return isinstance(parent, Seq) and isinstance(child, Choice)


def _problem(node: Node, ir: GrammarIR) -> str | None:
    match node:
        case RuleRef(name) if name not in ir.rules:
            return undefined(name, ir.rules)
        case CharSet(ranges) | ByteSet(ranges):
            last = 0xFF if isinstance(node, ByteSet) else MAX_CODE_POINT
            for low, high in ranges:
                if not 0 <= low <= high <= last:
                    return f"the range {low}..{high} is not within 0..{last:#x}"
        case Seq(()) | Choice(()) | Literal(b""):
            return f"an empty {type(node).__name__}; write Empty() or Never()"
        case Repeat(_, minimum, maximum):
            if not 0 <= minimum <= MAX_REPEAT or not (maximum is None or minimum <= maximum <= MAX_REPEAT):
                return f"repeat bounds {minimum}..{maximum} are not within 0 <= minimum <= maximum <= {MAX_REPEAT:,}"
        case Unordered(keys, _, required, other_keys, _, _, _, least, most, _, _):
            needed = max(1, least, sum(required))
            if (most is not None and most < needed) or (not other_keys and len(keys) < needed):
                return "members in any order that can never be enough; write Never()"
            return complaint(node) or None
        case TagDispatch(tags, contents, _, excludes, stops):
            if len(tags) != len(contents):
                return f"{len(tags)} tags, but {len(contents)} contents"
            if b"" in (*tags, *excludes, *stops):
                return "an empty tag, exclude or stop string"
        case TokenSet(ids):
            if any(one >= other for one, other in pairwise(ids)) or (ids and ids[0] < 0):
                return "token ids are not distinct, ascending and at least 0"
            if not ids and not node.negated:
                return "a set of no tokens; write Never()"
    return None


def normal_form(ir: GrammarIR, language: str = "EBNF", *, trusted: bool = False) -> GrammarIR:
    """The same language in normal form (see the top of this file).

    `trusted`: each node already is in normal form, as front-ends leave them, so that only the rules need a look.
    `GrammarError` when the root matches nothing at all, naming the rules that can never finish.
    """
    productive = productive_rules(ir)
    if ir.root not in productive:
        dead = [name for name in reachable_rules(ir) if name not in productive]
        named = ", ".join(dead[:10]) + (", ..." if len(dead) > 10 else "")
        span = ir.rules[ir.root].span
        raise GrammarError(
            f"the grammar matches no text at all; these rules can never finish: {named}",
            ir.source or None,
            span.start if span else 0,
            language=language,
        )

    def combine(node: Node, below: list[Node]) -> Node:
        if isinstance(node, RuleRef) and node.name not in productive:
            return Never(span=node.span)
        return rebuild(node, below)

    rules = ir.rules
    if not trusted or len(productive) < len(rules):
        rules = {
            name: rule
            if isinstance(rule, DeferredRule)
            else Rule(name, fold(rule.body, combine), rule.notes, span=rule.span)
            for name, rule in rules.items()
            if name in productive
        }
    if any(isinstance(rule, DeferredRule) for rule in rules.values()):
        # What a deferred body will call is not known: nothing may go, and the dict is the one it was promised.
        if rules is not ir.rules:
            ir.rules.clear()
            ir.rules.update(rules)
        return ir
    return reached(GrammarIR(rules, ir.root, ir.source))
