"""Keep the set of members that a text has, for rules whose members come in any order (`grammar.tree.Unordered`).

An item of such a rule has a *register*, the number of an interned set of members (`../earley/registers.pyx`), where
items of other rules count.  The automaton has one state for each place in a name, whatever was there before: it is as
large as that of the same members in one order.  Guards say what may not come any more:

- Some member may have to meet a need (`Unordered.needs`).  Which values do is told by the rule that is called for the
  value: the update of what is met stands behind that call, so it is made, and its guard asked, when it is predicted.
- Each NFA state has a guard, a condition on the register of whoever comes there; the state behind a name also has an
  update, which adds the member.
- A guard looks ahead: inside a name it asks whether *this* member may come, behind a comma whether any may, in the
  closing whether all required ones came.  So a state that may be entered can be finished, and every byte that leads to
  one is live.

Read on: `unordered.pyx` (puts guards on states), `tables.pxd` (gates: the guards of a state of the tables),
`../earley/registers.pyx` (asks).
"""

from libc.stdint cimport int32_t, uint64_t
from libcpp.vector cimport vector


cdef enum:
    # Guards; from 0 on: the member of that number may come.  Above the number of members: the option of number
    # `guard - count - 1` may be taken.  OTHER, and below where there are needs: another one of kind `count + OTHER -
    # guard`.
    ALWAYS = -1         # no condition
    CLOSES = -2         # there may be no other member
    AHEAD = -3          # there may be another member
    OTHER = -4          # there may be another member that is not declared


cdef cppclass MemberSet:
    int32_t count               # declared members
    int32_t least, most         # members in all; `most` is -1 where there is no bound
    int32_t cap                 # so many are as good as more: members are counted up to here
    int32_t needed              # required members
    bint others                 # whether there may be members that are not declared
    vector[uint64_t] required   # one bit a declared member
    # Conditions that some member has to meet: so many, and all of them as bits.  The values of a member are its
    # *options*; those of one kind (a declared member, or other ones of one key) lie together.
    int32_t needs
    uint64_t all_needs
    bint simple                 # none is lost by a member that comes, if it takes what meets most: there is room for all
    vector[int32_t] first_option    # by kind, and the end of the last
    vector[uint64_t] meets      # by option
    vector[uint64_t] may_meet   # by kind
    # by NFA state
    vector[int32_t] guard
    vector[int32_t] update      # what was read where one comes here: a member, `count` for another, options above; or -1
