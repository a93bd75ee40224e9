from libc.stdint cimport int64_t


cdef struct Thresholds:
    # In the order of `thresholds.TABLE`, which says what each is.
    int64_t loop_children
    int64_t loop_nodes
    int64_t loop_visits
    int64_t loop_ids
    int64_t follow_bytes
    int64_t handed_over
    int64_t class_trie_tokens
    int64_t wide_bytes
    int64_t subtree_nodes
    int64_t subtree_depth
    int64_t subtree_sets
    int64_t subtree_new_sets
    int64_t subtree_failures
    int64_t difference_visits
    int64_t quick_difference_visits
    int64_t difference_depth
    int64_t listed_accepted
    int64_t listed_in_mask
    int64_t united_lacking
    int64_t profile_states
    int64_t profile_lacking
    int64_t body_states
    int64_t merged_body_states
    int64_t similar_bodies
    int64_t kept_token_sets
    int64_t kept_beside_row


cdef Thresholds thresholds
