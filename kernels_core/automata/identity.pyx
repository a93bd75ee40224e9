# distutils: language = c++
"""Compute the structural identity of states: a 16-byte name that says what is read from there on.

Equal names mean equal behaviour, in any grammar, so a token set can serve all grammars that have the state
(`masks.pool`).  A state is named by its rule and the NFA states that it stands for.  A rule outside every cycle of
calls is described by its NFA and the identities of what it calls.  A rule in a cycle of any shape is described by all
rules of its cycle, as seen from it: in the order in which they are first called.  A rule that is not made yet is
described by the key that came with it (`grammar.ir.DeferredRule`), so identity does not force lowering.

Descriptions hold calls with their bounds of iterations, but not a counted rule's own bounds: whoever uses the identity
adds the distance to them.  They are hashed with SipHash-2-4-128 (Aumasson & Bernstein 2012) under a secret key, so that
nobody can make two different grammars collide.
"""

import os

from libc.string cimport memcpy

from kernels_core.automata.nfa cimport NfaView

from kernels_core.grammar.components import strong_components

cdef int FEW_RULES = 12
cdef int MAX_CYCLE = 200      # rules of one cycle; those of a larger one are equal to nothing but themselves


cdef inline uint64_t _rotate(uint64_t x, int bits) noexcept nogil:
    return (x << bits) | (x >> (64 - bits))


cdef inline void _round(uint64_t* v) noexcept nogil:
    v[0] += v[1]
    v[2] += v[3]
    v[1] = _rotate(v[1], 13) ^ v[0]
    v[3] = _rotate(v[3], 16) ^ v[2]
    v[0] = _rotate(v[0], 32)
    v[2] += v[1]
    v[0] += v[3]
    v[1] = _rotate(v[1], 17) ^ v[2]
    v[3] = _rotate(v[3], 21) ^ v[0]
    v[2] = _rotate(v[2], 32)


cdef Identity siphash128(const uint8_t* data, size_t size, uint64_t k0, uint64_t k1) noexcept nogil:
    cdef uint64_t v[4]
    cdef uint64_t word
    cdef size_t i, whole = size // 8
    cdef Identity result
    v[0] = 0x736F6D6570736575ULL ^ k0
    v[1] = 0x646F72616E646F6DULL ^ k1 ^ 0xEE
    v[2] = 0x6C7967656E657261ULL ^ k0
    v[3] = 0x7465646279746573ULL ^ k1
    for i in range(whole):
        memcpy(&word, data + 8 * i, 8)
        v[3] ^= word
        _round(v)
        _round(v)
        v[0] ^= word
    word = <uint64_t>size << 56
    for i in range(8 * whole, size):
        word |= <uint64_t>data[i] << (8 * (i - 8 * whole))
    v[3] ^= word
    _round(v)
    _round(v)
    v[0] ^= word
    v[2] ^= 0xEE
    for _ in range(4):
        _round(v)
    result.high = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    for _ in range(4):
        _round(v)
    result.low = v[0] ^ v[1] ^ v[2] ^ v[3]
    return result


cdef class Identities:
    """Identities of the states of `tables`, found when asked for.  `key` is 16 secret bytes.

    Not locked: the machine that owns it asks under its own lock.
    """

    def __init__(self, LazyTables tables, bytes key):
        if len(key) != 16:
            raise ValueError(f"the key must have 16 bytes, not {len(key)}")
        self.tables = tables
        self.rules = {}
        memcpy(&self.key_high, <const char*>key, 8)
        memcpy(&self.key_low, <const char*>key + 8, 8)

    def __getitem__(self, int state):
        """The identity of `state` as 16 bytes."""
        if not 2 <= state < self.tables.state_count:
            raise IndexError(f"no state {state}")
        cdef Identity found
        self.identity(state, &found)
        return found.high.to_bytes(8, "big") + found.low.to_bytes(8, "big")

    cdef int identity(self, int32_t state, Identity* result) except -1 nogil:
        """`result` gets the identity of `state`."""
        cdef int32_t rule = self.tables.states[state].rule, at, first, count
        if <size_t>rule >= self.of_rule.size():
            self.of_rule.resize(rule + 1)
            self.named.resize(rule + 1, 0)
        if not self.named[rule]:
            with gil:
                name = self._inside(rule)
                memcpy(&self.of_rule[rule], <const char*><bytes>name, sizeof(Identity))
            self.named[rule] = 1
        # 16 bytes of the rule, whether this is the start of an iteration, and the place in the rule.
        first = self.tables.subsets[state].first
        count = self.tables.subsets[state].past - first
        self.text.resize(20 + 4 * count)
        memcpy(self.text.data() + 20, self.tables.members.data() + first, 4 * count)
        at = self.tables.min_iterations[rule] >= 0 and state == self.tables.start[rule]
        memcpy(self.text.data(), &self.of_rule[rule], sizeof(Identity))
        memcpy(self.text.data() + 16, &at, 4)
        result[0] = siphash128(self.text.data(), self.text.size(), self.key_high, self.key_low)
        return 0

    cdef bint is_near(self, int32_t state) except -1 nogil:
        """Whether the rule of `state` reaches few rules.

        An object of a large schema reaches all of it: describing that costs more than its token sets, and forces rules
        to be lowered that no text may ever visit.  So does what stands for many calls (`DeferredRule.costly`).
        """
        cdef int32_t rule = self.tables.states[state].rule
        if <size_t>rule >= self.near.size():
            self.near.resize(rule + 1, 0)
        if self.near[rule] == 0:
            if self._calls_nothing(rule):
                self.near[rule] = 1
                return True
            with gil:
                self.near[rule] = 2 - <uint8_t>bool(self._reaches_few(rule))
        return self.near[rule] == 1

    cdef bint _calls_nothing(self, int32_t rule) noexcept nogil:
        """Whether `rule` is byte edges and no more: no calls, no tokens, no words that are left out, no members in any
        order; it is lowered."""
        cdef NfaView* nfa = &self.tables.nfas[rule].nfa
        return nfa.first[nfa.size].symbol == 0 and nfa.words == NULL and nfa.members == NULL

    def _reaches_few(self, int root):
        reached, pending = {root}, [root]
        while pending:
            number = pending.pop()
            waiting = self.tables.lowering.rules[number].deferred
            if waiting is not None and waiting.costly:
                return False
            if number in self.rules or waiting is not None:
                continue
            for called in self.tables.lowering.nfa(number).called():
                if called not in reached:
                    if len(reached) == FEW_RULES:
                        return False
                    reached.add(called)
                    pending.append(called)
        return True

    cdef bytes _hash(self, bytes text):
        cdef Identity found = siphash128(<const uint8_t*><const char*>text, len(text), self.key_high, self.key_low)
        return (<char*>&found)[:sizeof(Identity)]

    def _inside(self, int number):
        """What the states of a lowered rule are named by: its key, if it has one, and the automaton made of it.

        The automaton says all if what it calls has no keys: then a string is the same string in every schema.
        """
        rule = self.tables.lowering.rules[number]
        if rule.deferred is None:
            return self.rule(number)
        called = rule.nfa.called()
        listed = self.tables.nfas[number].nfa.words != NULL and self.tables.nfas[number].nfa.words.lists
        if not listed and all(self.tables.lowering.rules[other].deferred is None for other in called):
            for other in called:
                self.rule(other)
            return self._hash(b"rule" + self._describe(number, self.rules))
        return self._hash(b"inside" + rule.key + rule.nfa.description(_unnamed, _unnamed))

    def rule(self, int number):
        """The identity of a rule as 16 bytes."""
        if number not in self.rules:
            self._identify(number)
        return self.rules[number]

    def _identify(self, int root):
        """Describe all rules that `root` leads to and that have no name yet."""
        lowering = self.tables.lowering
        calls = {}
        pending = [root]
        while pending:
            number = pending.pop()
            if number in calls or number in self.rules:
                continue
            rule = lowering.rules[number]
            if rule.deferred is not None:
                # Its key says all, whether it is lowered by now or not: a name must not change.
                self.rules[number] = self._hash(b"deferred" + rule.key)
                continue
            calls[number] = lowering.nfa(number).called()
            pending += calls[number]
        for group in map(set, strong_components(calls, calls)):
            for number in group:
                if len(group) == 1 and number not in calls[number]:
                    self.rules[number] = self._hash(b"rule" + self._describe(number, self.rules))
                elif len(group) <= MAX_CYCLE:
                    self.rules[number] = self._hash(b"cycle" + self._cycle(number, group))
                else:
                    self.rules[number] = os.urandom(16)

    def _cycle(self, int root, group):
        """The rules of a cycle, `root` first, each in the order in which the ones before call it."""
        place = {root: b"0"}
        order = [root]
        for number in order:
            for called in self.tables.lowering.nfa(number).called():
                if called in group and called not in place:
                    place[called] = b"%d" % len(order)
                    order.append(called)
        return b"".join(self._describe(number, place) for number in order)

    def _describe(self, int number, names):
        """The automaton of a rule as bytes; `names` come before identities."""
        lowering = self.tables.lowering

        def reference(called):
            name = names[called] if called in names else self.rules[called]
            return b"%s %s" % (repr(lowering.rules[called].repeat).encode(), name)

        def token_set(chosen):
            return repr(lowering.token_sets[chosen]).encode()

        text = lowering.nfa(number).description(reference, token_set)
        counted = lowering.rules[number].repeat is not None
        return b"%d %d " % (counted, len(text)) + text


def _unnamed(symbol):
    return b""
