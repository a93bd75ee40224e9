# distutils: language = c++
"""What remains of uncertain tokens, tried against a caller.

A token set keeps the rests of its uncertain tokens as a trie in preorder.  Most of what is tried has no place behind the
rule: of a hundred bytes that may follow a quote a caller takes two or three.  In preorder each of the others is a line
of memory that is fetched to be passed over, so here siblings lie together, as in `trie.TokenTrie.twigs`.

Behind white space hundreds of rests are a quote and letters, and whatever string begins there takes all of them: there
the parser stays where it is, as in `loops.pyx`.  What such a *stretch* holds depends on the rests and on the bytes of the
loop, so it is kept with the token set, as a row of bits.
"""

from libc.string cimport memcmp, memcpy
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.utility cimport pair
from libcpp.algorithm cimport sort

from kernels_core.earley.machine cimport is_live, step
from kernels_core.masks.loops cimport Entry, entry_of, leads_inside, loop_of, may_loop
from kernels_core.masks.mask_table cimport ms_mix
from kernels_core.masks.trie cimport live_places

cdef int32_t MANY_TOKENS = 64        # of a stretch: fewer are as quick to try
cdef size_t MOST_STRETCHES = 8      # of one token set: there is one for each kind of string


cdef void lay_out_rests(const vector[uint8_t]& byte, const vector[int32_t]& skip, const vector[int32_t]& token_first,
                        Rests& rests) noexcept nogil:
    """`rests` gets the nodes of a trie in preorder (`TokenSet`) level by level, the root first; none if it has none.

    Siblings stay in the order of their bytes.
    """
    cdef vector[int32_t] nodes      # beside those of `rests`
    cdef size_t i = 0
    cdef int32_t kid
    rests.nodes.clear()
    rests.bytes.clear()
    rests.stretches.reset(new RestStretches())
    if byte.empty():
        return
    nodes.push_back(0)
    rests.nodes.push_back(Rest(0, token_first[0], token_first[1], token_first[skip[0]], 0, byte[0]))
    while i < nodes.size():
        rests.nodes[i].kid_first = <int32_t>nodes.size()
        kid = nodes[i] + 1
        while kid < skip[nodes[i]]:
            nodes.push_back(kid)
            rests.nodes.push_back(Rest(0, token_first[kid], token_first[kid + 1],
                                       token_first[skip[kid]] - token_first[kid], 0, byte[kid]))
            kid = skip[kid]
        rests.nodes[i].kid_count = <uint16_t>(nodes.size() - rests.nodes[i].kid_first)
        i += 1
    for i in range(rests.nodes.size()):
        rests.bytes.push_back(rests.nodes[i].byte)


cdef int find_rests(const Rests& rests, const vector[int32_t]& ids, const vector[int32_t]& laps, Machine machine, SetRec* caller, int32_t words,
                    Tries& tries, vector[shared_ptr[RestStretch]]* stretches) except -1 nogil:
    """Find the tokens of a token set whose rest `caller` takes; with the machine's lock held.

    `ids` are the set's, and `laps` where it has them, on a vocabulary of `words` words of bits.  `tries.places` gets where in `ids` they are, but for
    those in a stretch, which `stretches` gets; NULL: there are none.
    """
    cdef Tried at
    cdef SetRec* looked_at
    cdef SetRec* target
    cdef const Rest* rest
    cdef int32_t[256] found
    cdef int32_t k, n, m
    cdef bint loops = False     # whether there may be a stretch at `looked_at`
    tries.places.clear()
    tries.todo.clear()
    if rests.nodes.empty():
        return 0
    tries.todo.push_back(Tried(0, caller))
    while not tries.todo.empty():
        at = tries.todo.back()
        tries.todo.pop_back()
        n = live_places(rests.bytes.data(), rests.nodes[at.rest].kid_first, rests.nodes[at.rest].kid_count,
                        at.set.live, found)
        looked_at = NULL
        for m in range(n):
            k = found[m]
            rest = &rests.nodes[k]
            if not rest.kid_count:
                _take_places(rests, k, tries)       # a live byte leads somewhere, and where is not asked
                continue
            target = step(machine, at.set, rest.byte)
            if stretches != NULL and rest.below >= MANY_TOKENS:
                if target != looked_at:
                    loops = may_loop(machine, target)
                    looked_at = target
                if loops:
                    if _take_stretch(rests, ids, laps, machine, k, target, words, tries, stretches[0]):
                        continue
                elif _take_entry(rests, ids, laps, machine, k, target, words, tries, stretches[0]):
                    continue
            _take(rests, k, target, tries)
    return 0


cdef inline void _take(const Rests& rests, int32_t k, SetRec* target, Tries& tries) noexcept nogil:
    """Take the tokens that end at rest `k`, where the parser is in `target`, and go on behind it later."""
    _take_places(rests, k, tries)
    tries.todo.push_back(Tried(k, target))


cdef inline int _take_branch(const Rests& rests, Machine machine, int32_t k, SetRec* source, Tries& tries) except -1 nogil:
    """Take the tokens that end at rest `k`, whose byte is live in `source`, and go on behind it later."""
    if rests.nodes[k].kid_count:
        _take(rests, k, step(machine, source, rests.nodes[k].byte), tries)
    else:
        _take_places(rests, k, tries)
    return 0


cdef inline void _take_places(const Rests& rests, int32_t k, Tries& tries) noexcept nogil:
    cdef int32_t m
    for m in range(rests.nodes[k].token_first, rests.nodes[k].token_past):
        tries.places.push_back(m)


cdef bint _take_stretch(const Rests& rests, const vector[int32_t]& ids, const vector[int32_t]& laps, Machine machine, int32_t k, SetRec* target,
                        int32_t words, Tries& tries, vector[shared_ptr[RestStretch]]& stretches) except -1 nogil:
    """Whether all that stays in a loop at `target`, where rest `k` leads, was taken at once."""
    cdef uint64_t[4] bytes
    cdef shared_ptr[RestStretch] found
    cdef size_t n
    cdef int32_t branch
    if not loop_of(machine, target, bytes):
        return False
    found = _stretch(rests, ids, laps, k, bytes, words)
    if found.get() == NULL or found.get().places.empty():
        return False
    stretches.push_back(found)
    for n in range(found.get().branches.size()):
        branch = found.get().branches[n]
        if is_live(target, rests.nodes[branch].byte):
            _take_branch(rests, machine, branch, target, tries)
    return True


cdef bint _take_entry(const Rests& rests, const vector[int32_t]& ids, const vector[int32_t]& laps, Machine machine, int32_t k, SetRec* target,
                      int32_t words, Tries& tries, vector[shared_ptr[RestStretch]]& stretches) except -1 nogil:
    """Whether all that goes on like any text from `target`, where rest `k` leads, was taken at once."""
    cdef Entry entry
    cdef shared_ptr[RestStretch] held
    cdef RestStretch* found
    cdef SetRec* at
    cdef size_t n
    cdef int32_t i, branch, begin = 0
    if not entry_of(machine, target, entry):
        return False
    held = _stretch(rests, ids, laps, k, entry.loop, words)
    found = held.get()
    if found == NULL or found.places.empty() or found.height > entry.left:
        return False
    stretches.push_back(held)
    for n in range(found.branches.size()):
        branch = found.branches[n]
        at = entry.inside
        if not leads_inside(entry, found.paths.data() + begin, found.path_past[n] - begin):
            at = target
            for i in range(begin, found.path_past[n]):
                at = step(machine, at, found.paths[i])
        begin = found.path_past[n]
        if is_live(at, rests.nodes[branch].byte):
            _take_branch(rests, machine, branch, at, tries)
    return True


cdef shared_ptr[RestStretch] _stretch(const Rests& rests, const vector[int32_t]& ids, const vector[int32_t]& laps, int32_t k, const uint64_t* bytes,
                                      int32_t words) noexcept nogil:
    """What there is below rest `k`, made when it is first asked for; NULL if too many were asked for."""
    cdef RestStretches* all = rests.stretches.get()
    cdef shared_ptr[RestStretch] found
    cdef size_t i
    all.lock.lock()
    for i in range(all.known.size()):
        if all.known[i].get().rest == k and memcmp(all.known[i].get().bytes, bytes, 4 * sizeof(uint64_t)) == 0:
            found = all.known[i]
            break
    if found.get() == NULL and all.known.size() < MOST_STRETCHES:
        found.reset(new RestStretch())
        found.get().rest = k
        memcpy(found.get().bytes, bytes, 4 * sizeof(uint64_t))
        _walk(rests, ids, laps, words, found.get())
        all.known.push_back(found)
    all.lock.unlock()
    return found


cdef void _walk(const Rests& rests, const vector[int32_t]& ids, const vector[int32_t]& laps, int32_t words, RestStretch* made) noexcept nogil:
    cdef vector[int32_t] todo
    cdef vector[string] paths                       # beside it
    cdef vector[pair[int32_t, int32_t]] ways        # byte and rest
    cdef unordered_map[int32_t, string] found       # by rest: its path
    cdef string path
    cdef int32_t k, m, token
    cdef uint8_t byte
    cdef size_t n
    made.height = _height(rests, made.rest)
    todo.push_back(made.rest)
    paths.push_back(path)
    while not todo.empty():
        k = todo.back()
        path = paths.back()
        todo.pop_back()
        paths.pop_back()
        for m in range(rests.nodes[k].token_first, rests.nodes[k].token_past):
            made.places.push_back(m)
        for m in range(rests.nodes[k].kid_first, rests.nodes[k].kid_first + rests.nodes[k].kid_count):
            byte = rests.nodes[m].byte
            if made.bytes[byte >> 6] >> (byte & 63) & 1:
                todo.push_back(m)
                paths.push_back(path)
                paths.back().push_back(<char>byte)
            else:
                ways.push_back(pair[int32_t, int32_t](byte, m))
                found[m] = path
    if <int32_t>made.places.size() < MANY_TOKENS:
        made.places.clear()
        return
    made.bits.assign(words, 0)
    made.population, made.hash = 0, 0
    if not laps.empty():
        made.least = made.most = laps[made.places[0]]
        for n in range(made.places.size()):
            made.least, made.most = min(made.least, laps[made.places[n]]), max(made.most, laps[made.places[n]])
    for n in range(made.places.size()):
        token = ids[made.places[n]]
        if not made.bits[token >> 5] >> (token & 31) & 1:       # it may have left the rule in two places
            made.bits[token >> 5] |= <uint32_t>1 << (token & 31)
            made.population += 1
            made.hash += ms_mix(token)
    sort(ways.begin(), ways.end())
    for n in range(ways.size()):
        path = found[ways[n].second]
        made.branches.push_back(ways[n].second)
        made.paths.insert(made.paths.end(), path.begin(), path.end())
        made.path_past.push_back(<int32_t>made.paths.size())


cdef int32_t _height(const Rests& rests, int32_t rest) noexcept nogil:
    """Bytes from `rest` to the deepest one below."""
    cdef vector[pair[int32_t, int32_t]] todo        # rest and depth
    cdef pair[int32_t, int32_t] at
    cdef int32_t m, found = 0
    todo.push_back(pair[int32_t, int32_t](rest, 0))
    while not todo.empty():
        at = todo.back()
        todo.pop_back()
        found = max(found, at.second)
        for m in range(rests.nodes[at.first].kid_first, rests.nodes[at.first].kid_first + rests.nodes[at.first].kid_count):
            todo.push_back(pair[int32_t, int32_t](m, at.second + 1))
    return found
