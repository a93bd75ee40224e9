"""What may come next, by meaning: continuations, refusals and their reasons.

`lexicon` sorts a vocabulary and knows its trie, `continuations` explores the parser, `deaths` says where each refused
token dies; `outlook` and `refusals` put them together for a person: they are what `session.next()` and
`session.refusals()` return.
"""

from workbench.next.continuations import Continuation, explore
from workbench.next.deaths import Deaths, Refusal, deaths
from workbench.next.lexicon import Lexicon, lexicon
from workbench.next.outlook import Chip, Group, Outlook, outlook
from workbench.next.refusals import Callers, Reason, Refusals, callers, refusals

__all__ = [
    "Callers",
    "Chip",
    "Continuation",
    "Deaths",
    "Group",
    "Lexicon",
    "Outlook",
    "Reason",
    "Refusal",
    "Refusals",
    "callers",
    "deaths",
    "explore",
    "lexicon",
    "outlook",
    "refusals",
]
