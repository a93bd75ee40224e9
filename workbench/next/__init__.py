"""What may come next, by meaning: continuations, refusals and their reasons.

`lexicon` sorts a vocabulary and knows its trie, `continuations` explores the parser, `deaths` says where each refused
token dies; `outlook`, `refusals` and `why` put them together for a person: they are what `session.next()`,
`session.refusals()` and `session.why(what)` return.
"""

from workbench.next.continuations import Continuation, explore
from workbench.next.deaths import Deaths, Refusal, deaths
from workbench.next.lexicon import Lexicon, lexicon
from workbench.next.outlook import Chip, Group, Outlook, outlook
from workbench.next.refusals import Callers, Refusals, callers, refusals
from workbench.next.why import Why, why

__all__ = [
    "Callers",
    "Chip",
    "Continuation",
    "Deaths",
    "Group",
    "Lexicon",
    "Outlook",
    "Refusal",
    "Refusals",
    "Why",
    "callers",
    "deaths",
    "explore",
    "lexicon",
    "outlook",
    "refusals",
    "why",
]
