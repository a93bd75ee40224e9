# distutils: language = c++
"""Write members in any order (`grammar.tree.Unordered`) into an automaton: a loop over
all of them, and guards.

Two states do for all members: `ahead`, where one begins, and `behind`, where one has ended.  Guards on states and updates
of the register (`members.pxd`) see to it that a member comes once, and that required ones do come.

Read on: `nfa.pyx` (asks, by way of `lower.py`).
"""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from kernels_core.automata.inlining cimport Inlining
from kernels_core.automata.members cimport AHEAD, ALWAYS, CLOSES, OTHER, MemberSet
from kernels_core.automata.nfa cimport Nfa, Pending
from kernels_core.clock cimport breathe
from kernels_core.grammar.tree cimport Node, RuleRef, Unordered

from kernels_core.errors import UnsupportedFeatureError

cdef int32_t START = 0, FINAL = 1

cdef enum:
    MOST_NEEDS = 10     # where not all that meet them may come
    NONE = 255


def spell_unordered(Nfa nfa not None, Inlining lowering not None, Unordered node not None, int32_t source,
                    int32_t target, int32_t place):
    """Write `node`, which is at `place`, between two states of `nfa`; too many states are the caller's business."""
    cdef MemberSet* members
    cdef vector[Pending] pending
    cdef dict entries = nfa.entries, classes = nfa.classes
    cdef int32_t i
    if target != FINAL or nfa.members.get() != NULL:
        raise ValueError("members in any order are the end of a rule, and there is one such end")
    members = new MemberSet()
    nfa.members.reset(members)
    members.count, members.others = <int32_t>len(node.keys), len(node.other_keys) > 0
    members.least, members.most = node.least, -1 if node.most is None else node.most
    members.cap = max(1, members.least, members.most)
    members.needed = 0
    _add_options(members, node)
    members.required.assign((members.count + 63) // 64, 0)
    for i in range(members.count):
        if node.required[i]:
            members.required[i >> 6] |= <uint64_t>1 << (i & 63)
            members.needed += 1
    # What is spelt out here leads to states of its own: it shares nothing with what was spelt out before.
    pending.swap(nfa.pending)
    nfa.entries = nfa.classes = None
    try:
        _spell(nfa, lowering, members, node, source, place)
    finally:
        nfa.entries, nfa.classes = entries, classes
        pending.swap(nfa.pending)


cdef int _add_options(MemberSet* members, Unordered node) except -1:
    """The needs, and what members meet: where there are no needs, each has one value, which meets nothing."""
    cdef uint64_t found
    cdef bint top = True
    members.needs = node.needs
    members.all_needs = (<uint64_t>1 << (members.needs - 1) << 1) - 1 if members.needs else 0
    for k, options in enumerate(node.options if members.needs else ((0,),) * (len(node.keys) + len(node.other_keys))):
        members.first_option.push_back(<int32_t>members.meets.size())
        found = 0
        for meets in options:
            members.meets.push_back(meets)
            found |= <uint64_t>meets
        members.may_meet.push_back(found)
        top = top and (k >= members.count or found in options)
    members.first_option.push_back(<int32_t>members.meets.size())
    members.simple = not members.needs or top and members.most < 0
    if not members.simple and members.needs > MOST_NEEDS:
        raise UnsupportedFeatureError(
            f"members in any order with {members.needs} needs, where there may be no room for all that meet them; there "
            f"may be {MOST_NEEDS}")
    return 0


cdef bint _spell(Nfa nfa, Inlining lowering, MemberSet* members, Unordered node, int32_t source,
                 int32_t place) except -1:
    """False, and not all of it is there, past the limit of states."""
    cdef int32_t ahead = nfa.state(), behind, limit = lowering.limits.most_states, first, closing, i, part, guard
    cdef int32_t count = members.count, more = <int32_t>len(node.other_keys), past = <int32_t>len(node.values)
    nfa.epsilon(source, ahead)
    _guard(nfa, members, ahead, _kept(members, AHEAD))
    behind = nfa.state()
    for i in range(count + more):
        # The parts of a node are keys, values, other keys, other values, separator, closing.
        part = i if i < count else past + i
        guard = i if i < count else _kept(members, OTHER - (i - count if members.needs else 0))
        key = <Node>(node.keys[i] if i < count else node.other_keys[i - count])
        if not _spell_member(nfa, lowering, members, node, key, i, guard, ahead, behind, place, part):
            return False
    part = count + past + more + <int32_t>len(node.other_values)
    first = nfa.size
    if not nfa.spell(lowering, node.separator, behind, ahead, nfa.place(place, part), limit):
        return False
    _guard(nfa, members, first, _kept(members, AHEAD))
    closing = nfa.state()
    nfa.epsilon(behind, closing)
    if not nfa.spell(lowering, node.closing, closing, FINAL, nfa.place(place, part + 1), limit):
        return False
    _guard(nfa, members, closing, CLOSES)
    members.guard[FINAL] = CLOSES
    return True


cdef bint _spell_member(Nfa nfa, Inlining lowering, MemberSet* members, Unordered node, Node key, int32_t kind,
                        int32_t guard, int32_t ahead, int32_t behind, int32_t place, int32_t part) except -1:
    """A member of some kind: its key, with a guard, then the update, then its values, of which nothing more is asked but
    where they meet needs or are several: then each is called.

    A key that is a call is not inlined, however small: the parser comes to what is behind it by that call alone, and
    other keys go on beside it.
    """
    cdef int32_t count = members.count, first = nfa.size, named = nfa.state(), limit = lowering.limits.most_states
    cdef int32_t option, taken, at, declared = <int32_t>len(node.values)
    cdef Node value
    at = nfa.place(place, part)
    if type(key) is RuleRef:
        nfa.tag(ahead, at)
        nfa.call(ahead, lowering.rule_id((<RuleRef>key).name), named)
        if lowering.node_can_be_empty(key):
            nfa.epsilon(ahead, named)
    elif not nfa.spell(lowering, key, ahead, named, at, limit):
        return False
    _guard(nfa, members, first, guard)
    members.update.resize(nfa.size, -1)
    members.update[named] = min(kind, count)
    for option in range(members.first_option[kind], members.first_option[kind + 1]):
        value = <Node>(node.values[option] if kind < count else node.other_values[option - declared])
        at = nfa.place(place, count + option if kind < count else count + <int32_t>len(node.other_keys) + option)
        if members.meets[option] == 0 and members.first_option[kind + 1] - members.first_option[kind] == 1:
            if not nfa.spell(lowering, value, named, behind, at, limit):
                return False
            continue
        if type(value) is not RuleRef or lowering.node_can_be_empty(value):
            raise ValueError("a value that meets a need, or is one of several, calls a rule that is never empty")
        taken = nfa.state()
        nfa.tag(named, at)
        nfa.call(named, lowering.rule_id((<RuleRef>value).name), taken)
        nfa.epsilon(taken, behind)
        _guard(nfa, members, taken, count + 1 + option)
        members.update.resize(nfa.size, -1)
        members.update[taken] = count + 1 + option
    return True


cdef int32_t _kept(const MemberSet* members, int32_t guard) noexcept:
    """`guard`, unless it always holds: where others may come, any number of them, and no need is lost by it."""
    return ALWAYS if members.others and members.most < 0 and members.simple else guard


# -- what may come ----------------------------------------------------------------------------------------------

cdef bint may_come(const MemberSet* members, const Read& read, int32_t guard) except -1 nogil:
    """Whether `guard` holds (`members.pxd`).  A required member has a place whatever else there is."""
    cdef bint room = members.most < 0 or read.count + read.missing < members.most
    cdef int32_t kind
    if guard > members.count:
        return _can_meet(members, read, -1, members.most - read.count - read.missing,
                         read.met | members.meets[guard - members.count - 1])
    if guard >= 0:
        return (not _is_in(read.bits, guard) and (room or _is_in(members.required.data(), guard))
                and (members.simple or _has_option(members, read, guard)))
    if guard <= OTHER:
        return room and (members.simple or _has_option(members, read, members.count + OTHER - guard))
    if guard == AHEAD and members.simple:
        # More members are declared than were seen and are missing: there is one that is neither.
        return read.missing > 0 or room and (members.others or read.seen < members.count)
    if guard == AHEAD:
        for kind in range(<int32_t>members.may_meet.size()):
            if may_come(members, read, kind if kind < members.count else OTHER - (kind - members.count)):
                return True
        return False
    if guard == CLOSES:
        return (read.count == 0
                or read.missing == 0 and read.count >= members.least and read.met == members.all_needs)
    return True


cdef inline bint _is_in(const uint64_t* bits, int32_t member) noexcept nogil:
    return bits != NULL and bits[member >> 6] >> (member & 63) & 1


cdef bint _has_option(const MemberSet* members, const Read& read, int32_t kind) except -1 nogil:
    """Whether all needs can still be met behind some member of a kind."""
    cdef int32_t option, left = members.most - read.count - read.missing
    if kind >= members.count or not _is_in(members.required.data(), kind):
        left -= 1
    for option in range(members.first_option[kind], members.first_option[kind + 1]):
        if _can_meet(members, read, kind, left, read.met | members.meets[option]):
            return True
    return False


cdef bint _can_meet(const MemberSet* members, const Read& read, int32_t but, int32_t left, uint64_t met) except -1 nogil:
    """Whether all needs can be met by members that were not read, of kinds other than the declared one `but`, of which
    `left` may come besides those that are required."""
    cdef uint64_t open = members.all_needs & ~met, found = 0
    cdef int32_t kind, option, n, s, size
    cdef int32_t[MOST_NEEDS] needs
    cdef uint8_t[1 << MOST_NEEDS] fewest      # members, to meet a set of the open needs; NONE: it cannot be
    cdef uint8_t[1 << MOST_NEEDS] before
    cdef int32_t count = members.count
    if open == 0:
        return True
    breathe(1 + (<int32_t>members.may_meet.size() >> 5))
    for kind in range(<int32_t>members.may_meet.size()):
        if kind >= count or kind != but and not _is_in(read.bits, kind):
            found |= members.may_meet[kind]
    if open & ~found:
        return False
    if members.simple:
        return True
    n = 0
    for s in range(members.needs):
        if open >> s & 1:
            needs[n] = s
            n += 1
    size = 1 << n
    memset(fewest, NONE, size)
    fewest[0] = 0
    for kind in range(count):
        if kind == but or _is_in(read.bits, kind) or not members.may_meet[kind] & open:
            continue
        breathe(1 + (size >> 5))
        memcpy(before, fewest, size)
        if _is_in(members.required.data(), kind):
            memset(fewest, NONE, size)      # it comes, with one of its values
        for option in range(members.first_option[kind], members.first_option[kind + 1]):
            _take(fewest, before, size, _among(members.meets[option], needs, n),
                  not _is_in(members.required.data(), kind))
    for option in range(members.first_option[count], members.first_option[<int32_t>members.may_meet.size()]):
        _take(fewest, fewest, size, _among(members.meets[option], needs, n), True)
    return fewest[size - 1] != NONE and (members.most < 0 or fewest[size - 1] <= left)


cdef int32_t _among(uint64_t meets, const int32_t* needs, int32_t n) noexcept nogil:
    """Which of some `needs` are met."""
    cdef int32_t i, found = 0
    for i in range(n):
        found |= <int32_t>(meets >> needs[i] & 1) << i
    return found


cdef void _take(uint8_t* fewest, const uint8_t* before, int32_t size, int32_t meets, bint counts) noexcept nogil:
    """Take a member that meets some needs, behind each of the sets in `before`."""
    cdef int32_t s
    for s in range(size):
        if before[s] != NONE and before[s] + counts < fewest[s | meets]:
            fewest[s | meets] = before[s] + counts


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
