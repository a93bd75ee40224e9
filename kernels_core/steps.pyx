# distutils: language = c++
"""The steps of a text: each points to the set reached and to the step before, so texts that begin alike share them.

Whoever has the last step has the text, and can go back as far as it likes.  Read on: `text.pyx`, which takes steps.
"""

cimport cython

from kernels_core.remembered cimport at_the_start

from kernels_core.looking import Step as ShownStep


@cython.final
@cython.freelist(1024)
@cython.trashcan(True)      # chains are as long as texts: they are freed without recursion
cdef class Step:
    """One accepted token or string."""


cdef Step root(Machine machine):
    """Where every text begins."""
    cdef Step step = Step.__new__(Step)
    step.set = machine.initial
    step.token = -1
    step.remembered = at_the_start(machine)
    return step


cdef bint is_among(const vector[int32_t]& stops, int32_t token) noexcept:
    cdef size_t i
    for i in range(stops.size()):
        if stops[i] == token:
            return True
    return False


cdef bytes text_since(Step at, TokenTrie trie, int position):
    """The bytes read up to `at`, from `position` on."""
    cdef list pieces = []
    while at.parent is not None and at.position > position:
        if at.token < 0:
            pieces.append(at.spelling)
        elif at.position > at.parent.position:
            pieces.append(trie.token_bytes(at.token))
        at = at.parent
    return b"".join(reversed(pieces))[max(0, position - at.position):]


cdef list history_of(Step at):
    """The steps up to `at`: token ids, and bytes for strings."""
    cdef list steps = []
    while at.parent is not None:
        steps.append(at.spelling if at.token < 0 else at.token)
        at = at.parent
    steps.reverse()
    return steps


cdef object shown(Step at, TokenTrie trie, const vector[int32_t]& stops):
    """A step as `looking.Step`; None for a stop token that ended the text."""
    cdef int token = at.token
    cdef bint spelt, has_text
    if token < 0:
        return ShownStep(at.spelling)
    if at.stop and at.set == at.parent.set:
        return None
    spelt = (trie.everything[token >> 5] >> (token & 31)) & 1 and not is_among(stops, token)
    has_text = (trie.spelt[token >> 5] >> (token & 31)) & 1 and not is_among(stops, token)
    return ShownStep(trie.token_bytes(token), token, bool(spelt), bool(has_text))


cdef list all_shown(Step at, TokenTrie trie, const vector[int32_t]& stops):
    """The steps up to `at` as `looking.Step`, without the stop token that ended the text."""
    cdef list taken = []
    while at.parent is not None:
        step = shown(at, trie, stops)
        if step is not None:
            taken.append(step)
        at = at.parent
    taken.reverse()
    return taken
