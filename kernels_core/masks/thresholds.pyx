"""The thresholds that choose between ways to make the same mask.

A mask does not depend on any of them: they say where one way becomes quicker than another on vocabularies of a hundred
thousand tokens.  On a small vocabulary many of these ways are never taken, so tests set them to other values
(`kernels_core.laboratory.with_thresholds`).  `Mechanisms` has those that experiments vary: `direct_limit`,
`differential_from`, `unroll_limit`.

A threshold is read where it decides, so a new value counts at once, but for what was made before.
"""

ANY = 1 << 40

TABLE = {
    # name: (value, the greatest that is allowed, unit: what it decides and why there)
    # -- direct walks
    "loop_children": (6, ANY, "children of a node: with fewer, its subtree is no self-loop row worth a look"),
    "loop_nodes": (128, ANY, "trie nodes: fewer are as quick to visit as to look up, and hardly met again"),
    "loop_visits": (1 << 17, ANY, "trie nodes: a self-loop row that takes more is walked node by node instead"),
    "loop_ids": (128, ANY, "tokens: fewer are added one by one, since rows of few would make many unions"),
    # -- token sets: walks
    "follow_bytes": (2, 7, "bytes that callers of a wide or counted state take: token sets are made for each such set"),
    "handed_over": (4096, ANY, "tokens that leave a rule at one node: fewer are kept as suffixes, once for all callers"),
    "class_trie_tokens": (2048, ANY, "tokens that may begin: fewer are walked without the byte-class trie"),
    "wide_bytes": (32, 256, "live bytes: with more, going node by node is quicker than from child to child"),
    "subtree_nodes": (4, ANY, "nodes of a subtree, when the trie is made: fewer are visited as quickly as asked about"),
    "subtree_depth": (24, ANY, "bytes to look ahead where that leads to ever new sets: few tokens are longer"),
    "subtree_sets": (512, 4096, "sets explored from one: strings and searches lead to a handful"),
    "subtree_new_sets": (128, 4096, "parser states made for one exploration: they stay, and may not be met again"),
    "subtree_failures": (4, ANY, "explorations that led too far: this machine has too many states to look around in"),
    # -- token sets: differences
    "difference_visits": (4096, ANY, "trie nodes visited: more, and a walk of its own is as quick as a difference"),
    "quick_difference_visits": (1024, ANY, "trie nodes visited where walks take shortcuts: these walks are quicker"),
    "difference_depth": (4, 4, "references below references: each is read for a mask, and pool files take so many"),
    # -- how token sets and masks are stored
    "listed_accepted": (256, ANY, "accepted ids: more are quicker to copy as bits than to add one by one"),
    "listed_in_mask": (1024, ANY, "ids listed in one mask: with more it gets bits of its own"),
    "united_lacking": (64, ANY, "ids that a row lacks: with more it is not united with others but copied"),
    # -- iteration profiles
    "profile_states": (4096, 4096, "states of one iteration: they are numbered in 16 bits"),
    "profile_lacking": (512, ANY, "tokens lacking from a row: with more the row is written out"),
    # -- string bodies
    "body_states": (1024, 4096, "states within reach: drawing more takes longer than a walk; they have 16 bits"),
    "merged_body_states": (512, ANY, "states: larger bodies are not minimised, since they are seldom met again"),
    "similar_bodies": (16, ANY, "bodies that begin alike: of more the oldest is forgotten"),
    "kept_token_sets": (64, ANY, "token sets kept with one body token set: of more all are forgotten"),
    "kept_beside_row": (16, ANY, "tokens beside a row: with more it is written out, since many masks are made of it"),
}
"""The thresholds by name, in the order of `Thresholds`: (value, the greatest that is allowed, what it is)."""

cdef tuple NAMES = tuple(TABLE)

if sizeof(Thresholds) != sizeof(int64_t) * len(NAMES):
    raise ImportError("kernels_core.masks.thresholds: a threshold has no row")


cdef int64_t* _place(str name) except NULL:
    if name not in TABLE:
        raise ValueError(f"no threshold {name!r}; known: {', '.join(NAMES)}")
    return <int64_t*>&thresholds + <int>NAMES.index(name)


def read_threshold(str name not None):
    """Return the value that a threshold has now."""
    return _place(name)[0]


def set_threshold(str name not None, int64_t value):
    """Set a threshold in the whole process; `kernels_core.laboratory.with_thresholds` sets it back, too."""
    cdef int64_t* place = _place(name)
    if not 0 <= value <= TABLE[name][1]:
        raise ValueError(f"threshold {name!r} must be from 0 to {TABLE[name][1]:,}, got {value:,}")
    place[0] = value


for _name, _row in TABLE.items():
    set_threshold(_name, _row[0])
