# distutils: language = c++
"""Write members in any order (`grammar.tree.Unordered`, or a `Listing` without an order) into an automaton: a loop over
all of them, and guards.

Two states do for all members: `ahead`, where one begins, and `behind`, where one has ended.  Guards on states and updates
of the register (`members.pxd`) see to it that a member comes once, and that required ones do come.

Read on: `nfa.pyx` (asks, by way of `lower.py`).
"""

from libc.stdint cimport int32_t
from libcpp.vector cimport vector

from kernels_core.automata.inlining cimport Inlining
from kernels_core.automata.members cimport AHEAD, ALWAYS, CLOSES, OTHER, MemberSet
from kernels_core.automata.nfa cimport Nfa, Pending
from kernels_core.grammar.compact_body cimport Item, Listing
from kernels_core.grammar.tree cimport Never, Node, RuleRef, Unordered

from kernels_core.errors import UnsupportedFeatureError

__all__ = ["refuse_keys", "spell_unordered"]

cdef int32_t START = 0, FINAL = 1


def spell_unordered(Nfa nfa not None, Inlining lowering not None, Unordered node not None, int32_t source,
                    int32_t target, int32_t place):
    """Write `node`, which is at `place`, between two states of `nfa`; too many states are the caller's business."""
    cdef MemberSet* members
    cdef vector[Pending] pending
    cdef dict entries = nfa.entries, classes = nfa.classes
    cdef int32_t i
    if target != FINAL or nfa.members.get() != NULL:
        raise ValueError("members in any order are the end of a rule, and there is one such end")
    members = _members(nfa, <int32_t>len(node.keys), node.least, -1 if node.most is None else node.most,
                       len(node.other_keys) > 0)
    for i in range(members.count):
        if node.required[i]:
            _require(members, i)
    # What is spelt out here leads to states of its own: it shares nothing with what was spelt out before.
    pending.swap(nfa.pending)
    nfa.entries = nfa.classes = None
    try:
        _spell(nfa, lowering, members, node, source, place)
    finally:
        nfa.entries, nfa.classes = entries, classes
        pending.swap(nfa.pending)


cdef bint spell_listing(Nfa nfa, Inlining lowering, Listing listing, int32_t limit, bint trace) except -1:
    """Write `listing`, which has no order, between states 0 and 1 of `nfa`.  False past `limit` states.

    Parts are traced as `compact_bodies.traced` numbers them; the comma is that before the first item.
    """
    cdef int32_t count = <int32_t>len(listing.items), ahead, behind, closing, first, i, part
    cdef MemberSet* members = _members(nfa, count, 0, -1, len(listing.others) > 0)
    cdef Item item
    first = nfa.state()         # of its own, so that what leads there is not what leads from one member to the next
    ahead = nfa.state()
    nfa.epsilon(first, ahead)
    _guard(nfa, members, ahead, _kept(members, AHEAD))
    behind = nfa.state()
    if not nfa.spell(lowering, listing.opening, START, first, _part(trace, 0), limit):
        return False
    for i in range(count + <int32_t>len(listing.others)):
        item = <Item>(listing.items[i] if i < count else listing.others[i - count])
        if item.required:
            _require(members, i)
        part = 3 + 4 * i
        if not _spell_member(nfa, lowering, members, item.key, listing.colon, item.value,
                             i if i < count else _kept(members, OTHER), min(i, count), ahead, behind,
                             _part(trace, part + 1), _part(trace, part + 2), _part(trace, part + 3)):
            return False
    first = nfa.size
    if not nfa.spell(lowering, listing.comma, behind, ahead, _part(trace, 3), limit):
        return False
    _guard(nfa, members, first, _kept(members, AHEAD))
    closing = nfa.state()
    nfa.epsilon(behind, closing)
    if not nfa.spell(lowering, listing.closing, closing, FINAL, _part(trace, 2), limit):
        return False
    _guard(nfa, members, closing, CLOSES)
    members.guard[FINAL] = CLOSES
    return (type(listing.empty) is Never
            or nfa.spell(lowering, listing.empty, START, FINAL, _part(trace, 1), limit))


cdef inline int32_t _part(bint trace, int32_t number) noexcept:
    """The place of a part of a compact body: none, unless it is traced."""
    return -2 - number if trace else -1


cdef MemberSet* _members(Nfa nfa, int32_t count, int32_t least, int32_t most, bint others) except NULL:
    """What `nfa` keeps of members, none of which are required so far."""
    cdef MemberSet* members = new MemberSet()
    nfa.members.reset(members)
    members.count, members.least, members.most, members.others = count, least, most, others
    members.cap = max(1, least, most)
    members.required.assign((count + 63) // 64, 0)
    members.needed = 0
    return members


cdef void _require(MemberSet* members, int32_t i) noexcept:
    members.required[i >> 6] |= <unsigned long long>1 << (i & 63)
    members.needed += 1


cdef bint _spell(Nfa nfa, Inlining lowering, MemberSet* members, Unordered node, int32_t source,
                 int32_t place) except -1:
    """False, and not all of it is there, past the limit of states."""
    cdef int32_t ahead = nfa.state(), behind, limit = lowering.limits.most_states, first, closing, i
    cdef int32_t count = members.count, more = <int32_t>len(node.other_keys)
    nfa.epsilon(source, ahead)
    _guard(nfa, members, ahead, _kept(members, AHEAD))
    behind = nfa.state()
    for i in range(count):
        if not _spell_member(nfa, lowering, members, node.keys[i], None, node.values[i], i, i, ahead, behind,
                             nfa.place(place, i), -1, nfa.place(place, count + i)):
            return False
    for i in range(more):
        if not _spell_member(nfa, lowering, members, node.other_keys[i], None, node.other_values[i],
                             _kept(members, OTHER), count, ahead, behind, nfa.place(place, 2 * count + i), -1,
                             nfa.place(place, 2 * count + more + i)):
            return False
    first = nfa.size
    if not nfa.spell(lowering, node.separator, behind, ahead, nfa.place(place, 2 * (count + more)), limit):
        return False
    _guard(nfa, members, first, _kept(members, AHEAD))
    closing = nfa.state()
    nfa.epsilon(behind, closing)
    if not nfa.spell(lowering, node.closing, closing, FINAL, nfa.place(place, 2 * (count + more) + 1), limit):
        return False
    _guard(nfa, members, closing, CLOSES)
    members.guard[FINAL] = CLOSES
    return True


cdef bint _spell_member(Nfa nfa, Inlining lowering, MemberSet* members, Node key, Node colon, Node value, int32_t guard,
                        int32_t update, int32_t ahead, int32_t behind, int32_t key_place, int32_t colon_place,
                        int32_t value_place) except -1:
    """One member: its key, with a guard, then the update, then a colon, if there is one, and its value, which nothing
    more is asked of.

    A key that is a call is not inlined, however small: the parser comes to `named` by that call alone, and other keys go
    on beside it.
    """
    cdef int32_t first = nfa.size, named = nfa.state(), after = named, limit = lowering.limits.most_states
    if type(key) is RuleRef:
        nfa.tag(ahead, key_place)
        nfa.call(ahead, lowering.rule_id((<RuleRef>key).name), named)
        if lowering.node_can_be_empty(key):
            nfa.epsilon(ahead, named)
    elif not nfa.spell(lowering, key, ahead, named, key_place, limit):
        return False
    _guard(nfa, members, first, guard)
    members.update.resize(nfa.size, -1)
    members.update[named] = update
    if colon is not None:
        after = nfa.state()
        if not nfa.spell(lowering, colon, named, after, colon_place, limit):
            return False
    return nfa.spell(lowering, value, after, behind, value_place, limit)


cdef int32_t _kept(const MemberSet* members, int32_t guard) noexcept:
    """`guard`, unless it always holds: where others may come, and any number of them."""
    return ALWAYS if members.others and members.most < 0 else guard


cdef void _guard(Nfa nfa, MemberSet* members, int32_t first, int32_t guard) noexcept:
    """Put `guard` on the states from `first` on; those before that have none yet get ALWAYS."""
    members.guard.resize(first, ALWAYS)
    members.guard.resize(nfa.size, guard)


def refuse_keys(str where not None):
    """Raise `UnsupportedFeatureError`: behind a key (in the rule `where`) the text may be something else as well."""
    raise UnsupportedFeatureError(
        f"in {where} a text that ends a key of members in any order may be something else as well: the beginning of "
        f"another key, of a value, or of what stands beside the members; end keys with a mark of their own, or make each "
        f"a rule")
