"""Rules of a grammar: a name and a body, or the promise of one.

They are compiled classes since a large schema has thousands, most of which nobody ever asks for.

Read on: `ir.py` (rules together), `rulebook.pyx` (makes them), `tree.pyx` (bodies).
"""

from kernels_core.grammar.tree cimport Node


cdef class Rule:
    """A named rule.  `span` covers its definition (name and body) in the source.

    `notes` are marks for whoever drives a generation, as (name, value): `capture` and `temperature`, see
    `attributes.py`.  They say nothing about the language, but for those that the parser reads: `max_tokens`
    (`../earley/token_limits.pyx`), and marks (`../earley/marks.pyx`): `distinct` and `item`, and with a `Predicate` as
    their value `scope`, `judged` and `watched`, which no text can say.
    """

    def __init__(self, str name not None, body, tuple notes not None=(), *, span=None):
        self.name = name
        self.made = body
        self.notes = notes
        self.span = span

    @property
    def body(self):
        """What the rule matches."""
        return self.made

    def __eq__(self, other):
        if type(other) is not Rule:
            return NotImplemented
        return (self.name, self.made, self.notes) == (other.name, (<Rule>other).made, other.notes)

    def __hash__(self):
        return hash((self.name, self.made, self.notes))

    def __repr__(self):
        return f"Rule(name={self.name!r}, body={self.made!r}, notes={self.notes!r}, span={self.span!r})"

    def __reduce__(self):
        return _made, (self.name, self.made, self.notes, self.span)


def _made(name, body, notes, span):
    return Rule(name, body, notes, span=span)


cdef int32_t token_limit(Rule rule) except -2:
    """How many tokens may begin inside of a text of `rule`; -1: any number."""
    for key, value in rule.notes:
        if key == "max_tokens":
            return value
    return -1


cdef int mark_of(Rule rule) except -1:
    """Bits of `Mark`."""
    cdef int mark = 0
    for key, _ in rule.notes:
        if key == "distinct" or key == "scope":
            mark |= SCOPE
        elif key == "item" or key == "judged":
            mark |= JUDGED
        elif key == "watched":
            mark |= WATCHED
    return mark


cdef tuple marks_of(Rule rule):
    """The notes that are marks."""
    return tuple([note for note in rule.notes if note[0] in ("distinct", "scope", "item", "judged", "watched")])


cdef int restrictions(dict rules) except -1:
    """What rules say that no automaton can: bits of `Mark`, of all rules together."""
    cdef int found = 0
    for rule in rules.values():
        if (<Rule>rule).notes:
            found |= mark_of(<Rule>rule) | LIMITS_TOKENS * (token_limit(<Rule>rule) >= 0)
    return found


cdef Rule rule_of(str name, object body, object span):
    """A rule without notes, and without the detours of a constructor."""
    cdef Rule made = Rule.__new__(Rule)
    made.name, made.made, made.notes, made.span = name, body, (), span
    return made


cdef class DeferredRule(Rule):
    """A rule whose body is made when it is first needed: when the parser predicts it, or somebody looks.

    Whoever makes one promises that the rule matches some text, and not the empty one, so that nobody has to look.
    Each kind says what stands for it (`find_key`) and makes its body (`make`).
    """

    def __init__(self, str name not None):
        self.name = name
        self.notes = ()

    @property
    def key(self):
        """Bytes that stand for the language; rules with equal keys have equal bodies up to the names of rules."""
        if self.known_key is None:
            self.known_key = self.find_key()
        return self.known_key

    cdef bytes find_key(self):
        """What `key` is, asked for once."""
        raise NotImplementedError

    cpdef object make(self, bint compact):
        """The body, or with `compact` perhaps a compact body for it.

        May add rules to the grammar, under names that are free there.
        """
        raise NotImplementedError

    @property
    def tokens(self):
        """The tokens that the body names, or more."""
        return ()

    @property
    def body(self):
        """There is none: `LookupError`."""
        raise LookupError(f"the body of rule {self.name!r} is not made yet; ask for it with GrammarIR.expand")

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return object.__hash__(self)

    def __repr__(self):
        return f"<DeferredRule {self.name}>"

    def __reduce__(self):
        raise TypeError(f"rule {self.name!r} is not made yet, so it cannot be copied")


cpdef object body_of(dict rules, dict made, str name, bint compact):
    """The body of the rule called `name`, or with `compact` perhaps a compact body for it.

    A rule that was deferred and has its body now takes its own place in `rules`; `made` keeps what it was.
    """
    cdef Rule rule = rules[name]
    if not isinstance(rule, DeferredRule):
        return rule.made
    body = (<DeferredRule>rule).make(compact)
    if isinstance(body, Node):
        made[name] = rule
        rules[name] = rule_of(name, body, rule.span)
    return body


def all_deferrable(dict rules not None, frozenset known not None):
    """Whether all rules but those called one of `known` are deferred."""
    for name, rule in rules.items():
        if not isinstance(rule, DeferredRule) and name not in known:
            return False
    return True
