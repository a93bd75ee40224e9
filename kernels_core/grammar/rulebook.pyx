"""The rules of a grammar under construction: fresh names, and rules that are shared by everything that needs them.

Read on: `rules.pyx`, `names.py` (names in general).
"""

from kernels_core.grammar.rules cimport DeferredRule, Rule, rule_of
from kernels_core.grammar.tree cimport Never, RuleRef, call_of
from kernels_core.grammar.canonical_json cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_IS_COMPACT_ASCII

import re

from kernels_core.grammar.ir import GrammarIR
from kernels_core.grammar.names import RESERVED

cdef object OUTSIDE = re.compile(r"[^A-Za-z0-9_.\-]+")
cdef enum:
    LONGEST = 40        # characters


cdef bint _is_name(str hint) except -1:
    """Whether a hint is a name as it stands."""
    cdef Py_ssize_t i, size = PyUnicode_GET_LENGTH(hint)
    cdef const unsigned char* text
    if not 0 < size <= LONGEST or not PyUnicode_IS_COMPACT_ASCII(hint):
        return False
    text = <const unsigned char*>PyUnicode_DATA(hint)
    for i in range(size):
        if not (c"a" <= text[i] <= c"z" or c"A" <= text[i] <= c"Z"):
            if i == 0 or i == size - 1 or not (c"0" <= text[i] <= c"9" or text[i] in b"_.-"):
                return i > 0 and c"0" <= text[i] <= c"9" and hint not in RESERVED
    return hint not in RESERVED


cdef class RuleBook:
    """Rules by name, in order of definition."""

    def __init__(self):
        self.rules = {}
        self.counts = {}
        self.shared = {}
        self.nodes = {}

    cpdef str free_name(self, str hint):
        """A name like `hint` that no other rule has."""
        cdef str base = hint, name
        if not _is_name(hint):
            base = OUTSIDE.sub("_", hint)[:LONGEST].strip("_.-") or "rule"
            if base[0].isdigit() or base in RESERVED:
                base = "_" + base
        name = base
        while name in self.rules:
            count = self.counts[base] = self.counts.get(base, 0) + 1
            name = f"{base}_{count}"
        return name

    def reserve(self, str hint not None):
        """A name like `hint` that no other rule has; its body follows by `define`."""
        cdef str name = self.free_name(hint)
        self.rules[name] = Rule(name, Never())
        return name

    cpdef RuleRef define(self, str name, body, tuple notes=()):
        """Give a reserved name its body, and its notes."""
        self.rules[name] = Rule(name, body, notes)
        return RuleRef(name)

    def defer(self, str hint not None, key not None, make not None, tokens=None, bint costly=False):
        """A new rule whose body `make(compact)` makes when it is needed; `key()` stands for it, and is `costly` or not,
        and `tokens()` are those that it names, if it may name any (`rules.DeferredRule`).
        """
        cdef str name = self.free_name(hint)
        self.rules[name] = _Promised(name, key, make, tokens, costly)
        return RuleRef(name)

    def add(self, str hint not None, body):
        """A new rule."""
        return self.define(self.free_name(hint), body)

    def share(self, key, str hint not None, build, tuple notes not None=()):
        """The rule filed under `key`; made by `build` when it is first asked for."""
        found = self.shared.get(key)
        if found is None:
            name = self.reserve(hint)
            found = self.shared[key] = RuleRef(name)
            try:
                self.define(name, build(), notes)
            except BaseException:
                del self.shared[key], self.rules[name]      # nobody has seen it
                raise
        return found

    cdef RuleRef share_body(self, str key, str hint, body):
        """`share` with a body that exists already."""
        cdef str name
        found = self.shared.get(key)
        if found is None:
            name = self.free_name(hint)
            self.rules[name] = rule_of(name, body, None)
            found = self.shared[key] = call_of(name)
        return <RuleRef>found

    cpdef bint adopt(self, RuleBook other) except -1:
        """Take the rules of `other` under their names, so that nodes that were made with it may stand here.

        False, and nothing is taken, where a name or a key stands for something else here.
        """
        cdef str name
        cdef set known = set()
        for key, call in other.shared.items():
            mine = self.shared.get(key)
            if mine is not None:
                if (<RuleRef?>mine).name != (<RuleRef?>call).name:
                    return False
                known.add((<RuleRef>call).name)         # made here, from the same key
        for name, rule in other.rules.items():
            mine = self.rules.get(name)
            if mine is not None and mine is not rule and name not in known:
                return False
        for name, rule in other.rules.items():
            self.rules.setdefault(name, rule)
        for key, call in other.shared.items():
            self.shared.setdefault(key, call)
        return True

    def remember(self, key, build):
        """The node filed under `key`, spelt out where it is used; made by `build` when it is first asked for."""
        found = self.nodes.get(key)
        if found is None:
            found = self.nodes[key] = build()
        return found

    def clear(self):
        """Let go of all rules: those that wait lead back to the book."""
        for found in (self.rules, self.counts, self.shared, self.nodes):
            found.clear()

    def grammar(self, str root, str source):
        """Everything defined so far, and what deferred rules will define: the rules are shared, not copied."""
        return GrammarIR(self.rules, root, source)


cdef class _Promised(DeferredRule):
    """A rule with its key, and a function that makes the body."""

    cdef object digest, maker, named

    def __init__(self, str name, digest, maker, named, bint costly):
        self.name = name
        self.notes = ()
        self.costly = costly
        self.digest, self.maker, self.named = digest, maker, named

    cdef bytes find_key(self):
        return self.digest()

    @property
    def tokens(self):
        return () if self.named is None else self.named()

    cpdef object make(self, bint compact):
        return self.maker(compact)
