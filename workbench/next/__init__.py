"""What may come next, by meaning: continuations, refusals and their reasons.

`continuations` explores the parser, `rejections` says where each refused token dies; `next_tokens`, `refusals` and
`why` put them together for a person: they are what `session.inspect.next()`, `.refusals()` and `.why(what)` return.
`tooltip` is a quick `why` for the pointer.
"""

from workbench.next.continuations import Continuation, explore
from workbench.next.next_tokens import Chip, Group, NextTokens, next_tokens
from workbench.next.refusals import Callers, Refusals, callers, refusals
from workbench.next.rejections import Refusal, Rejections, rejections
from workbench.next.why import Why, why

__all__ = [
    "Callers",
    "Chip",
    "Continuation",
    "Group",
    "NextTokens",
    "Refusal",
    "Refusals",
    "Rejections",
    "Why",
    "callers",
    "explore",
    "next_tokens",
    "refusals",
    "rejections",
    "why",
]
