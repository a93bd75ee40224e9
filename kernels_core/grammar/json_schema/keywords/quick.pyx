"""What the quick readers in C know of keywords: a number for each word, and what they do with it.

Everything here is made of the keyword table when that is imported, so no reader has a list of words of its own.

Read on: `entry.py` (`Keyword.quick`), `../deferrable_schemas.pyx`, `../quick_reader.pyx` (the readers).
"""

__all__ = ["Quick", "QuickTable"]

Quick.__doc__ = """What the quick readers do with a keyword; `NEVER`: a schema with it is compiled now."""

# What the readers ask for by its name: another word with one of these ways would be checked, and then forgotten.
cdef dict BY_NAME = {
    Quick.BOUND: frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    Quick.LENGTH: frozenset(("minLength", "maxLength")),
    Quick.ITEM_COUNT: frozenset(("minItems", "maxItems")),
}


cdef class QuickTable:
    """The numbers of `entries`, which are those of the keyword table in its order."""

    def __init__(self, tuple entries not None):
        cdef int number
        if len(entries) > MOST_KEYWORDS:
            raise ValueError(f"more than {MOST_KEYWORDS} keywords")
        self.idle = frozenset([entry.name for entry in entries if entry.quick == Quick.NOTE and not entry.names])
        for number, entry in enumerate(entries):
            if entry.name not in BY_NAME.get(entry.quick, (entry.name,)):
                raise ValueError(f"no reader in C asks for {entry.name!r}: quick={entry.quick.name} is for "
                                 f"{', '.join(sorted(BY_NAME[entry.quick]))}; say why= instead, or teach the readers")
            self.quick[number] = entry.quick
            self.types[number] = entry.types
