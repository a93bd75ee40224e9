# distutils: language = c++
"""Judge by its keywords whether a schema is deferrable: whether its rule may be made when the parser predicts it.

Compiling has to find every problem of a schema, and that it has instances at all.  Most sub-schemas are of a kind that
can have no problem: types, properties, items, references, bounds and constants, each used the way it is meant, without
conditions that meet at one place.  A *deferrable* schema is of that kind in all its parts, and certainly has an
instance; a member that is not required may have none.  Saying "not deferrable" is always safe; that part of the schema
is then compiled at once.

This is a single walk over the schema in C, since it is what compiling a large schema costs.

What is done with each keyword is in its entry (`keywords/`: `quick`), and so is the reason where it is never
deferred here.

Read on: `quick_reader.pyx` (what becomes of them), `reading.py` (what keywords mean).
"""

from libcpp.utility cimport pair

from kernels_core.clock cimport breathe
from kernels_core.grammar.json_schema.keywords.quick cimport (
    ARRAY, BOOLEAN, BOUND, CONSTANTS, EVERY_TYPE, FALSE_ALONE, FORMAT, INTEGER, ITEM_COUNT, ITEMS, LENGTH, MEMBERS,
    NAMES, NEVER, NULL_TYPE, NUMBER, OBJECT, ONE_CONSTANT, OPTIONS, OTHER_ITEMS, OTHER_MEMBERS, PATTERN, PATTERNS,
    QuickTable, STRING, TYPE,
)
from kernels_core.grammar.canonical_json cimport PyUnicode_IS_COMPACT_ASCII, is_word

from decimal import Decimal

from kernels_core.grammar.json_schema.disjoint import all_disjoint, signature
from kernels_core.grammar.json_schema.keywords import QUICK
from kernels_core.grammar.json_schema.simple_patterns import are_disjoint, is_simple

cdef int NONE_KNOWN = 0, SOME_FIT = 1, NONE_FIT = 2         # of constants
cdef int DEFERRABLE = 1, NOT_DEFERRABLE = 2, OPEN = 3       # OPEN + the level at which it was opened
cdef int DEEPEST = 200          # schemas in schemas; what is deeper is compiled at once
cdef int MOST_OPTIONS = 48       # alternatives of one place, far below what a normal form may have
cdef int MOST_OBJECTS = 4096     # the same where all of them are objects
cdef int MAX_ROUNDS = 12        # circles of references that turned out not to be deferrable
cdef long long LARGEST = 1_000_000_000_000
cdef int SMALL = 100        # places before or behind the point
cdef int FEW = 100          # characters that states may count
cdef int MOST_LETTERS = 2_000       # of the names of one object, beside which there are others: states of an automaton
UNSET = object()
cdef QuickTable TABLE = QUICK
cdef frozenset IDLE = TABLE.idle


cdef class Spelling:
    """What a way of writing asks of strings and names that stand in a text as they are.

    No string holds any of `avoid`, no name a character of `special`, a control character, or a blank at an end.
    `closes_with_names`: names stand behind values, too, so that only declared ones can be written.
    `keeps_clear(keyword, value)`: whether certainly no string of a pattern or a format holds one of `avoid`.
    """

    def __init__(self, tuple avoid not None, str special not None, bint closes_with_names, keeps_clear):
        self.avoid, self.special, self.closes_with_names = avoid, special, closes_with_names
        self.keeps_clear = keeps_clear

    cdef bint is_safe(self, str text) except -1:
        """Whether a string can be written."""
        for avoided in self.avoid:
            if <str>avoided in text:
                return False
        return True

    cdef bint can_name(self, str name) except -1:
        """Whether a member can have this name."""
        cdef Py_UCS4 letter
        if self.special:
            if not name or name[0] == " " or name[len(name) - 1] == " ":
                return False
            for letter in name:
                if letter < 0x20 or letter == 0x7F or letter in self.special:
                    return False
        return self.is_safe(name)


cdef class DeferrableSchemas:
    """Answers for the sub-schemas of one document.

    `root` is the document, in `dialect`.  `pointers`: references are plain pointers into the document (nothing in it has
    a name of its own); or a function that finds out.  `strict`: names that are not declared are forbidden.  `named`:
    names of schemas matter, since something may refer to them; or a function that finds out.  `spelling`: how strings
    and names are written where that is not JSON.  `loose`: members are repeated freely, which the algebra writes: it
    takes a while for each object, and all of a choice are written in one step.
    """

    def __init__(self, root, dialect, *, pointers, bint strict, named=True, Spelling spelling=None, bint loose=False):
        self.root = root
        self.most_objects = MOST_OPTIONS if loose else MOST_OBJECTS
        self.dialect = dialect
        self.words = dialect.numbers
        self.typed = "type" in self.words
        self.pointers = pointers
        self.strict = strict
        self.named = named
        self.spelling = spelling
        self.assumed = set()
        self.voids = set()

    cpdef renew(self, root):
        """Turn to another document."""
        self.root = root
        self.state.clear()
        self.assumed.clear()
        self.voids.clear()

    cpdef bint holds(self, schema) except -1:
        """Whether `schema`, a part of the document, is deferrable."""
        cdef int _round
        cdef unordered_map[size_t, int] refused
        cdef pair[size_t, int] entry
        for _round in range(MAX_ROUNDS):
            self.wrong = False
            self.assumed.clear()
            found = self._check(schema, False, 0, 0)
            if not self.wrong:
                return found
            # Something was taken for deferrable and is not: what relied on it has to be looked at again.
            refused.clear()
            for entry in self.state:
                if entry.second == NOT_DEFERRABLE:
                    refused.insert(entry)
            self.state.swap(refused)
        return False

    cdef int scalar(self, dict schema) except -1:
        """The scalar type whose name, perhaps with notes about it, is all of a schema: most schemas are such.  Else 0.
        """
        cdef int found = 0
        for word, value in schema.items():
            if type(word) is str and is_word(word, b"type", 4):
                found = type_of(value) & ~(ARRAY | OBJECT) if type(value) is str else 0
                if not found:
                    return 0
            elif word not in IDLE:
                return 0
        return found if self.typed else 0

    cdef bint _check(self, schema, bint needed, int depth, int level) except -1:
        """Whether a schema is deferrable, or is assumed to be because it is being looked at.

        needed: the schema around this one has no instance without an instance of this.  depth: schemas in schemas.
        level: values in values.
        """
        cdef int known
        cdef size_t key
        breathe(4)
        if schema is True:
            return True
        if type(schema) is not dict:
            return False
        if self.scalar(<dict>schema):
            return True
        key = <size_t><void*>schema
        known = self.state[key]     # 0: nothing is
        through = self.through(<dict>schema) if known < OPEN else None
        if through is not None:
            # Says what another schema says, and has an instance when that has.
            if known:
                return known == DEFERRABLE
            if through is UNSET or depth > DEEPEST:
                self.state[key] = NOT_DEFERRABLE
                return False
            answer = self._check(through, needed, depth + 1, level)
            # Each link of a chain is walked once.  What is only assumed, or asked of one place alone, is not kept.
            known = self.state[<size_t><void*>through]
            if 0 < known < OPEN:
                self.state[key] = known
            return answer
        if known:
            if known < OPEN:
                return known == DEFERRABLE
            if needed or known == OPEN + level:
                return False        # has to hold itself, or comes back without having gone into the value
            self.assumed.add(key)
            return True
        if depth > DEEPEST:
            return False
        self.state[key] = OPEN + level
        cdef bint found = self._look(<dict>schema, depth, level)
        self.state[key] = DEFERRABLE if found else NOT_DEFERRABLE
        if not found and key in self.assumed:
            self.wrong = True
        return found

    cdef bint _look(self, dict schema, int depth, int level) except -1:
        cdef bint bounds = False, lengths = False, constants = False, sized = False, named = self.spelling is not None
        cdef int number, quick, fit, types = EVERY_TYPE
        for word, value in schema.items():
            found = self.words.get(word)
            if found is None:
                if self._is_name(<dict>schema, word, value):
                    return False
                continue
            number = found
            quick = TABLE.quick[number]
            if quick == NEVER:
                return False
            if quick == OPTIONS:
                return self._alternatives(schema, word, value, depth, level)
            if not self._is_read(schema, quick, value, depth, level):
                return False
            if quick == TYPE:
                types = types_of(value)
            elif quick == MEMBERS or quick == NAMES:
                named = True
            elif quick == CONSTANTS or quick == ONE_CONSTANT:
                constants = True
            elif quick == ITEMS or quick == ITEM_COUNT:
                sized = True
            elif quick == LENGTH:
                lengths = True
            elif quick == BOUND:
                bounds = True
        if constants:
            fit = self._fit(schema, types)
            if fit == NONE_FIT:
                self.voids.add(<size_t><void*>schema)
            return fit == SOME_FIT and not (bounds or lengths or "format" in schema or "pattern" in schema)
        if bounds and not _has_room(schema, types):
            return False
        if lengths and not _in_order(schema, "minLength", "maxLength"):
            return False
        if lengths and self.spelling is not None and "maxLength" not in schema and schema["minLength"] > FEW:
            return False            # states count it beside texts that must not occur
        if sized:
            if not _in_order(schema, "minItems", "maxItems"):
                return False
            if schema.get("minItems", 0) and type(schema.get("items", True)) is dict:
                if not self._check(schema["items"], True, depth + 1, level + 1):
                    return False
        return not named or self._members(schema, depth, level)

    cdef bint _is_read(self, dict schema, int quick, value, int depth, int level) except -1:
        """Whether the value of a keyword, which is read in the way `quick`, is of the kind that can be read so."""
        if quick == TYPE:
            return types_of(value) != 0
        if quick == MEMBERS:
            return type(value) is dict
        if quick == NAMES:
            return type(value) is list
        if quick == ITEMS and type(value) is list:
            return (self.dialect.lists_of_items and "prefixItems" not in schema
                    and self._tuple(schema, <list>value, depth, level))
        if quick == OTHER_MEMBERS or quick == ITEMS:
            return value is False and quick != ITEMS or self._check(value, False, depth + 1, level + 1)
        if quick == OTHER_ITEMS:
            return type(schema.get("items")) is list
        if quick == PATTERNS:
            return self._patterns(schema, value, depth, level)
        if quick == CONSTANTS:
            return type(value) is list and len(<list>value) > 0
        if quick == ITEM_COUNT or quick == LENGTH:
            return _is_count(value)
        if quick == BOUND:
            return _is_number(value)
        if quick == FORMAT:
            return (type(value) is str and "minLength" not in schema and "maxLength" not in schema
                    and (self.spelling is None or self.spelling.keeps_clear("format", value)))
        if quick == PATTERN:
            if "format" in schema or "minLength" in schema or "maxLength" in schema:
                return False
            return (type(value) is str and is_simple(value)
                    and (self.spelling is None or self.spelling.keeps_clear("pattern", value)))
        if quick == FALSE_ALONE:
            return value is False
        return quick == ONE_CONSTANT

    cdef bint _members(self, dict schema, int depth, int level) except -1:
        cdef dict properties = schema.get("properties") or {}
        cdef list required = schema.get("required") or []
        cdef bint is_open = schema.get("additionalProperties", True) is not False and not self.strict
        cdef set needed = None
        if self.spelling is not None and not self._can_write(properties, required, is_open, schema):
            return False
        for name in required:
            if type(name) is not str or not _is_text(name):
                return False
            if name not in properties and (not is_open or "patternProperties" in schema
                                           or type(schema.get("additionalProperties", True)) is dict):
                return False
        for name, value in properties.items():
            if not _is_text(name):
                return False
            if type(value) is dict and self.scalar(<dict>value):
                continue
            if needed is None:
                needed = set(required)
            if not self._check(value, name in needed, depth + 1, level + 1):
                # What has no value may not come, and need not.
                if name in needed or value is not False and <size_t><void*>value not in self.voids:
                    return False
        breathe(4 * <int>len(properties))
        return True

    cdef bint _can_write(self, dict properties, list required, bint is_open, dict schema) except -1:
        """Whether all members can be written in the spelling at hand."""
        cdef Py_ssize_t letters = 0
        for names in (properties, required):
            for name in names:
                if type(name) is not str or not self.spelling.can_name(name):
                    return False
                letters += len(<str>name)
        if not is_open:
            return True
        if self.spelling.closes_with_names:
            return type(schema.get("additionalProperties", True)) is not dict and properties.keys() >= set(required)
        return letters <= MOST_LETTERS

    cdef bint _is_name(self, dict schema, word, value) except -1:
        """Whether a word that is no keyword changes what references inside mean, or the dialect."""
        if word == "$schema":
            return schema is not self.root and self.dialect.identifier in schema
        if word != self.dialect.identifier or type(value) is not str or value.startswith("#"):
            return False
        if not value.isascii() or "[" in value or "]" in value:
            return True             # may be malformed
        if schema is self.root:
            return False
        if type(self.named) is not bool:
            self.named = bool(self.named())
        return self.named

    cdef bint _alone(self, dict schema) except -1:
        """Whether only one keyword of the schema says something."""
        cdef int count = 0
        for word in schema:
            if word in self.words:
                count += 1
        return count == 1

    cdef bint _alternatives(self, dict schema, str word, value, int depth, int level) except -1:
        """Options, alone or beside the one type that all of them have."""
        cdef bint sure = False
        if type(value) is not list or not value:
            return False
        if self._width(schema, 0) > MOST_OPTIONS and not self._are_objects(<list>value):
            return False
        beside = None
        if not self._alone(schema):
            beside = schema.get("type")
            for other in schema:
                if other in self.words and other != word and other != "type":
                    return False
            if type(beside) is not str or not type_of(beside):
                return False
        if not self._go_together(word, <list>value, beside):
            return False
        for one in <list>value:
            if one is False:
                return False
            if self._check(one, True, depth + 1, level):
                sure = True
            elif not self._check(one, False, depth + 1, level):
                return False
        return sure

    cdef bint _go_together(self, str word, list options, beside) except -1:
        """Whether all options certainly are of the type `beside`, if there is one, and no two of a `oneOf` share a value.
        """
        cdef list found
        if word != "oneOf" and beside is None:
            return True
        found = [signature(one, self.followed, self.words) for one in options]
        if None in found or beside is not None and any([one.types != {beside} for one in found]):
            return False
        return word != "oneOf" or all_disjoint(found)

    def waiting(self, str word not None, list options not None):
        """Those options that may wait while others do not: objects; none where others may share values with them."""
        if not self._go_together(word, options, None):
            return []
        return [one for one in options if self._are_objects([one]) and self.holds(one)]

    cdef bint _are_objects(self, list options) except -1:
        """Whether all options are objects, not too many: then nothing has to be seen as one set."""
        if len(options) > self.most_objects:
            return False
        for one in options:
            one = self.followed(one)
            if type(one) is not dict or (<dict>one).get("type") != "object":
                return False
        return True

    cdef int _width(self, schema, int depth) except -1:
        """How many alternatives of objects and arrays a schema has at most, if it is deferrable."""
        cdef int found = 0
        if type(schema) is not dict or depth > MOST_OPTIONS:
            return 2 if depth <= MOST_OPTIONS else MOST_OPTIONS + 1
        through = self.through(<dict>schema)
        if through is not None:
            return self._width(through, depth + 1)
        for word in ("anyOf", "oneOf"):
            if word in schema and type(schema[word]) is list:
                for one in <list>schema[word]:
                    found += self._width(one, depth + 1)
                    if found > MOST_OPTIONS:
                        return found
                return found
        return 1 if type(schema.get("type")) is str else 2

    def followed(self, schema):
        """What a schema that is a reference, or references to references, stands for."""
        cdef int _step
        for _step in range(DEEPEST):
            through = self.through(<dict>schema) if type(schema) is dict else None
            if through is None:
                return schema
            schema = through
        return UNSET

    cdef bint _tuple(self, dict schema, list items, int depth, int level) except -1:
        """A list of items, the first of which have to be there, and those behind it."""
        cdef Py_ssize_t i, least
        least = schema.get("minItems", 0) if _is_count(schema.get("minItems", 0)) else 0
        for i in range(len(items)):
            if not self._check(items[i], i < least, depth + 1, level + 1):
                return False
        rest = schema.get("additionalItems", not self.strict)
        if rest is False:
            return least <= len(items)
        return self._check(rest, least > len(items), depth + 1, level + 1)

    cdef bint _patterns(self, dict schema, value, int depth, int level) except -1:
        """Keys by pattern, apart from each other and from declared ones."""
        if type(value) is not dict or "patternProperties" not in self.words or self.spelling is not None:
            return False
        for pattern, one in (<dict>value).items():
            if type(pattern) is not str or not is_simple(pattern):
                return False
            if one is not False and not self._check(one, False, depth + 1, level + 1):
                return False
        names = schema.get("properties")
        return are_disjoint(tuple(value), names if type(names) is dict else ())

    cdef object through(self, dict schema):
        """The schema that a reference, or an `allOf` of one, stands for; UNSET if it is none; None for others."""
        if "$ref" in schema and "$ref" in self.words:
            return self._target(schema["$ref"]) if self.dialect.ref_alone or self._alone(schema) else UNSET
        if "allOf" in schema and "allOf" in self.words and self._alone(schema):
            parts = schema["allOf"]
            return (<list>parts)[0] if type(parts) is list and len(<list>parts) == 1 else UNSET
        return None

    cdef object _target(self, reference):
        """The schema that a pointer into the document leads to, or UNSET."""
        if type(reference) is not str or not is_pointer(reference):
            return UNSET
        if type(self.pointers) is not bool:
            self.pointers = bool(self.pointers())
        return pointed(self.root, reference) if self.pointers else UNSET

    cdef int _fit(self, dict schema, int types) except -1:
        """Whether some constants are of the types that are asked for; they are all scalars, or nothing is known.

        What else is asked of arrays says nothing of scalars.  Members are not looked into here.
        """
        cdef bint some = False, whole = False
        cdef int kind
        if "enum" in schema and "const" in schema or "properties" in schema or "required" in schema:
            return NONE_KNOWN
        cdef list values = schema["enum"] if "enum" in schema else [schema["const"]]
        for value in values:
            kind = kind_of(value)
            if kind == STRING:
                if not _is_text(value) or self.spelling is not None and not self.spelling.is_safe(value):
                    return NONE_KNOWN
            elif kind == INTEGER or kind == NUMBER:
                if not _is_number(value):
                    return NONE_KNOWN
                whole = whole or kind == NUMBER and value == int(value)     # an integer in some dialects
                kind |= NUMBER
            elif not kind:
                return NONE_KNOWN
            some = some or kind & types != 0
        return SOME_FIT if some else NONE_KNOWN if whole else NONE_FIT


cpdef bint is_pointer(str reference) except -1:
    """Whether a reference is a plain pointer into its document."""
    return reference.startswith("#") and "%" not in reference and (len(reference) == 1 or reference[1] == "/")


cpdef object pointed(root, str pointer):
    """What a plain pointer leads to in a document, or UNSET."""
    at = root
    for part in pointer[2:].split("/") if len(pointer) > 1 else ():
        if "~" in part:
            part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(at, dict) and part in at:
            at = at[part]
        elif (isinstance(at, list) and len(part) < 10 and part.isdecimal() and str(int(part)) == part
              and int(part) < len(at)):
            at = at[int(part)]
        else:
            return UNSET
    return at


cdef int type_of(str word) except -1:
    """The type that is called so; 0 for none."""
    if is_word(word, b"string", 6):
        return STRING
    if is_word(word, b"object", 6):
        return OBJECT
    if is_word(word, b"array", 5):
        return ARRAY
    if is_word(word, b"integer", 7):
        return INTEGER
    if is_word(word, b"number", 6):
        return NUMBER
    if is_word(word, b"boolean", 7):
        return BOOLEAN
    return NULL_TYPE if is_word(word, b"null", 4) else 0


cdef int types_of(value) except -1:
    """The types that a name or a list of names says; 0 for others."""
    cdef int found = 0, one
    if type(value) is str:
        return type_of(value)
    for name in value if type(value) is list else ():
        one = type_of(name) if type(name) is str else 0
        if not one:
            return 0
        found |= one
    return found


cdef int kind_of(value) except -1:
    """The type of a constant; 0 for arrays and objects."""
    if value is None:
        return NULL_TYPE
    if type(value) is str:
        return STRING
    if type(value) is bool:
        return BOOLEAN
    if type(value) is int:
        return INTEGER
    return NUMBER if type(value) is float or type(value) is Decimal else 0


cdef bint _is_count(value) except -1:
    return type(value) is int and 0 <= value <= 1_000_000


cdef bint _is_number(value) except -1:
    if type(value) is int:
        return -LARGEST < value < LARGEST
    if type(value) is Decimal and not -SMALL < value.adjusted() < SMALL:
        return False            # a short exponent may stand for a million digits
    if type(value) is float or type(value) is Decimal:
        return len(repr(value)) < 27 and -1e12 < value < 1e12
    return False


cdef bint _is_text(str value) except -1:
    """No lone surrogates."""
    cdef Py_UCS4 letter
    if PyUnicode_IS_COMPACT_ASCII(value):
        return True
    for letter in value:
        if 0xD800 <= letter <= 0xDFFF:
            return False
    return True


cdef bint _in_order(dict schema, str low, str high) except -1:
    return low not in schema or high not in schema or schema[low] <= schema[high]


cdef bint _has_room(dict schema, int types) except -1:
    """Whether numbers certainly lie between the bounds, whole ones if those are asked for."""
    cdef double low = -1e13, high = 1e13
    for word in ("minimum", "exclusiveMinimum"):
        if word in schema:
            low = max(low, float(schema[word]))
    for word in ("maximum", "exclusiveMaximum"):
        if word in schema:
            high = min(high, float(schema[word]))
    if "exclusiveMinimum" in schema or "exclusiveMaximum" in schema:
        return high - low > 2
    if types & (INTEGER | NUMBER) == INTEGER:
        return high - low >= 1 or (high == low and low == <long long>low)
    return low <= high
