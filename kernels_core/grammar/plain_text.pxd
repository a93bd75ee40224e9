"""The bytes that texts between delimiters are commonly made of, and the delimiters: all that later rooms know of them.

Strings of JSON and of programming languages, terminals of Lark, comments and the texts between tags of XML have in
common that they take nearly any character and end at one of a few.  A vocabulary is sorted once, before any grammar is
known (`masks/trie.pyx`), so the few have to be known beforehand: each is a *delimiter*, with the backslash that begins
escapes, and with the control characters, which many texts leave out and which count as one.  A text of tokens that
hold no delimiter, or those alone that do not end the text, is then accepted as a whole.  Which of them does end a text,
if any, the grammar says: any other byte may, at the cost of a longer walk, and no mask depends on this list.
"""

from libc.stdint cimport uint8_t


cdef enum:
    NO_DELIMITER
    CONTROL_CHARACTERS
    DOUBLE_QUOTE
    SINGLE_QUOTE
    BACKTICK            # around names in SQL, templates in JavaScript, code in Markdown
    LESS_THAN           # begins a tag
    BACKSLASH
    DELIMITERS          # the numbers above are less


cdef inline int delimiter_of(int byte) noexcept nogil:
    """The delimiter that `byte` is."""
    if byte < 0x20:
        return CONTROL_CHARACTERS
    if byte == 0x22:
        return DOUBLE_QUOTE
    if byte == 0x27:
        return SINGLE_QUOTE
    if byte == 0x60:
        return BACKTICK
    if byte == 0x3C:
        return LESS_THAN
    return BACKSLASH if byte == 0x5C else NO_DELIMITER


cdef inline bint encloses(int first, int last) noexcept nogil:
    """Whether a text from the byte `first` to the byte `last` is in quotes, or in a pair of tags."""
    cdef int delimiter = delimiter_of(first)
    if delimiter == LESS_THAN:
        return last == 0x3E
    return DOUBLE_QUOTE <= delimiter <= BACKTICK and first == last
