"""Whether members in any order can meet all their needs (`tree.Unordered`), and what the parser can tell of that.

Read on: `../automata/unordered.pyx`, whose `may_come` asks the same of a text that has begun.
"""

from __future__ import annotations

from functools import reduce
from itertools import islice
from operator import or_

from .ir import RuleRef, Unordered

# Needs of one object; and those where not every member may come that meets some, or one meets some with one value, some
# with another.
MAX_NEEDS = 64
MAX_NEEDS_IN_LITTLE_ROOM = 10


def too_many(node: Unordered) -> int:
    """How many needs there may be in members like these, if there are more; else 0."""
    most = MAX_NEEDS if _has_room(node) else MAX_NEEDS_IN_LITTLE_ROOM
    return most if node.needs > most else 0


def can_be_met(node: Unordered) -> bool:
    """Whether some members, of those that may come together, meet all needs, which are not too many."""
    everything, count = (1 << node.needs) - 1, len(node.keys)
    if reduce(or_, (meets for options in node.options for meets in options), 0) != everything:
        return False
    if _has_room(node):
        return True
    fewest = {0: 0}  # members besides those that are required, by the needs that they meet together
    for number, options in enumerate(node.options):
        required = number < count and node.required[number]
        behind = {} if required else dict(fewest)
        for met, members in fewest.items():
            for meets in options:
                here = members + (not required)
                behind[met | meets] = min(behind.get(met | meets, here), here)
        fewest = behind
    return everything in fewest and (node.most is None or fewest[everything] + sum(node.required) <= node.most)


def complaint(node: Unordered) -> str:
    """What is wrong with the needs of a node that somebody wrote; "" if nothing is."""
    if not node.needs:
        return ""
    values = iter((*node.values, *node.other_values))
    for options in node.options:
        rules = [isinstance(value, RuleRef) for value in islice(values, len(options))]
        if not all(rules) and (len(options) > 1 or any(options)):
            return "a value that meets a need, or is one of several, has to be a rule"
    if few := too_many(node):
        return f"in members like these there may be {few} needs"
    return "" if can_be_met(node) else "no members that may come together meet all needs"


def _has_room(node: Unordered) -> bool:
    """Whether every member may come, and each meets with one value all that it can meet."""
    declared = node.options[: len(node.keys)]
    return node.most is None and all(reduce(or_, options) in options for options in declared)
