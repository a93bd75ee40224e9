# distutils: language = c++
"""Turn deferrable schemas straight into rules: write what they say as it is read, with no terms or shapes in between.

A value becomes a node that stands where it is used: texts, calls of rules, or a choice of these.  Objects, arrays and
what has conditions are rules (`QuickRule`), made when they are needed; equal ones are one.  What such a schema may say
and is not written here (keys by pattern, lists of items) goes through the algebra, as do bodies
that are asked for in full.

Most real schemas are deferrable in most of their parts, and this is run inside the first masks, so it is written in C.

Read on: `deferrable_schemas.pyx` (which schemas these are), `quick_writer.pyx`, `lazy_document.py` (one document),
`emit.py` (all others).
"""

cimport cython

from kernels_core.grammar.json_schema.keywords.quick cimport (
    ARRAY, BOOLEAN, CONSTANTS, EVERY_TYPE, FALSE_ALONE, FORMAT, INTEGER, NULL_TYPE, NUMBER, OBJECT, ONE_CONSTANT, OPTIONS,
    QuickTable, STRING, TYPE,
)
from kernels_core.grammar.json_schema.deferrable_schemas cimport DeferrableSchemas, kind_of, type_of, types_of
from kernels_core.grammar.json_schema.quick_writer cimport Frame, QuickWriter
from kernels_core.grammar.compact_body cimport ListedWords
from kernels_core.grammar.nodes cimport choice, repeat, seq
from kernels_core.grammar.rules cimport DeferredRule
from kernels_core.grammar.tree cimport Literal, Never, Node, RuleRef, call_of

from functools import partial
from hashlib import blake2b
from operator import itemgetter

from kernels_core.grammar.json_schema.exact_text import exact_text
from kernels_core.grammar.json_schema.keywords import QUICK
from kernels_core.grammar.json_schema.numbers import ALL_NUMBERS
from kernels_core.grammar.json_schema.numerals import INTEGERS, INTEGERS_BEFORE_6
from kernels_core.grammar.json_schema.objects import fields_in_order
from kernels_core.grammar.json_schema.resolve import REFERENCES
from kernels_core.grammar.nodes import unordered
from kernels_core.grammar.regular.languages import ANY_CHARACTER, loop
from kernels_core.grammar.regular.languages import Words as WordsOf
from kernels_core.grammar.regular.patterns import ecma_search

cdef tuple TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
cdef QuickTable TABLE = QUICK
cdef int FEW = 4                    # alternatives that stand where they are used; more are a rule
cdef Literal TRUE_TEXT = Literal(b"true"), FALSE_TEXT = Literal(b"false"), NULL_TEXT = Literal(b"null")
cdef Literal QUOTE = Literal(b'"')
cdef tuple BOTH = (TRUE_TEXT, FALSE_TEXT)
cdef tuple SINGLE = ((TRUE_TEXT, True), (FALSE_TEXT, False), (NULL_TEXT, None))
cdef Node ANY_BOOLEAN = choice(BOTH), NOTHING = choice(())
cdef object BY_FIRST = itemgetter(0)


# Any value, and objects of any members, by the identity of what stands between values and the names of what is called:
# (the former, the nodes).
cdef dict ANYTHING = {}
cdef int MOST_ANYTHING = 256


@cython.final
@cython.freelist(16)
cdef class Words:
    """What the keywords of one schema say, by the type of value that they speak of."""


cdef class QuickReader:
    """Rules for the deferrable schemas of one document.

    `judge` says which these are, and is asked first.  `document` (`document.LazyDocument`) writes what goes through the
    algebra and knows what rules depend on besides their schemas.
    """

    def __init__(self, DeferrableSchemas judge not None, QuickWriter writer not None, document):
        self.judge = judge
        self.writer = writer
        self.order = writer.options.order
        self.document = document
        self.old_integers = judge.dialect.draft == 4
        self.words = judge.words
        self.known = {}
        self.rules = {}

    cpdef Node value(self, schema, int level, str hint):
        """The JSON texts of a deferrable schema: calls of rules, texts, or a choice of these.

        `hint` is what a rule may be called.
        """
        cdef dict said
        cdef int kind
        if schema is True:
            return self.rule(True, level, "any")
        said = schema
        kind = self.judge.scalar(said)
        if kind:
            return self._scalar(kind)
        # No other value lies within so many bytes (`layout.py`: levels end at 16).
        key = <size_t><void*>said + <size_t>(level + 1)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._value(said, level, hint)
        return <Node>found

    def top(self, schema, int level):
        """The same for a whole document, preferably as a call."""
        cdef Words words
        if type(schema) is dict and self.judge.through(schema) is None:
            words = self._read(schema)
            if words.options is not None:
                return self.rule({"anyOf": words.options}, level, "root")
        return self.value(schema, level, "root")

    cdef Node _scalar(self, int kind):
        if kind == STRING:
            return self.writer.string()
        if kind == INTEGER or kind == NUMBER:
            return self.writer.numerals.common(self._numbers(kind))
        return ANY_BOOLEAN if kind == BOOLEAN else NULL_TEXT

    cdef Node _value(self, dict schema, int level, str hint):
        cdef Words words
        cdef list nodes
        through = self.judge.through(schema)
        if through is not None:
            found = self.known.get(<size_t><void*>through + <size_t>(level + 1))
            if found is not None:
                return <Node>found
            if "$ref" in schema:
                hint = (<str>schema["$ref"]).rsplit("/", 1)[-1].strip("#") or "root"
            return self.value(through, level, hint)
        words = self._read(schema)
        if not words.says_something:
            return self.rule(True, level, "any")
        if words.options is not None:
            if len(words.options) > FEW or self._unites(words.options):
                return self.rule({"anyOf": words.options}, level, hint)
            return choice([self.value(one, level, hint) for one in words.options])
        if words.constants is not None:
            return self._constant_nodes(words, level, hint)
        if _count(words.types) > FEW:
            return self.rule({word: said for word, said in schema.items() if word in self.words}, level, hint)
        nodes = self._nodes(words, level, hint)
        return <Node>nodes[0] if len(nodes) == 1 else choice(nodes)

    cdef Words _read(self, dict schema):
        cdef Words words = Words.__new__(Words)
        cdef int number, quick, of
        words.types = EVERY_TYPE
        for word, said in schema.items():
            found = self.words.get(word)
            if found is None:
                continue
            number = found
            quick, of = TABLE.quick[number], TABLE.types[number]
            words.says_something = True
            if quick == TYPE:
                words.types = types_of(said)
            elif quick == OPTIONS:
                words.options = said
            elif quick == CONSTANTS:
                words.constants = said
            elif quick == ONE_CONSTANT:
                words.constants = [said]
            elif quick == FALSE_ALONE:
                pass
            elif of == OBJECT:
                if words.members is None:
                    words.members = {"type": "object"}
                words.members[word] = said
            elif of == ARRAY:
                if words.listed is None:
                    words.listed = {"type": "array"}
                words.listed[word] = said
            elif of == STRING:
                if quick == FORMAT and not self.writer.enforces(said):
                    continue
                if words.spelt is None:
                    words.spelt = {"type": "string"}
                words.spelt[word] = said
            elif of == INTEGER | NUMBER:
                if words.bounded is None:
                    words.bounded = {}
                words.bounded[word] = said
        if words.types & NUMBER:
            words.types &= ~INTEGER         # these are numbers anyway
        return words

    # -- values where they stand ----------------------------------------------------------------------------------

    cdef list _nodes(self, Words words, int level, str hint):
        """Nodes for the types of a schema without constants, each a call, or a fixed text."""
        cdef list nodes = []
        cdef str kind
        if words.types & OBJECT:
            nodes.append(self.rule(words.members or {"type": "object"}, level, hint, OBJECT))
        if words.types & ARRAY:
            nodes.append(self.rule(words.listed or {"type": "array"}, level, hint, ARRAY))
        if words.types & STRING:
            if words.spelt is None:
                nodes.append(self.writer.string())
            else:
                nodes.append(self.rule(words.spelt, level, hint, STRING))
        if words.types & (INTEGER | NUMBER):
            if words.bounded is None:
                nodes.append(self._scalar(words.types & (INTEGER | NUMBER)))
            else:
                kind = "number" if words.types & NUMBER else "integer"
                nodes.append(self.rule({"type": kind, **words.bounded}, level, hint))
        if words.types & BOOLEAN:
            nodes += BOTH
        if words.types & NULL_TYPE:
            nodes.append(NULL_TEXT)
        return nodes

    cdef Node _constant_nodes(self, Words words, int level, str hint):
        """Constants: a few words that are spelt in one way as they are, others as a rule."""
        cdef list nodes = [], fitting = _fitting(words)
        if len(fitting) <= FEW:
            for value in fitting:
                if type(value) is str and self.writer.is_letters(value):
                    nodes.append(self.writer.word(value))
                elif value is None:
                    nodes.append(NULL_TEXT)
                elif type(value) is bool:
                    nodes.append(TRUE_TEXT if value else FALSE_TEXT)
                else:
                    break
            else:
                return choice(nodes)
        return self.rule({"type": _names(words.types), "enum": fitting}, level, hint)

    cdef RuleRef rule(self, schema, int level, str hint, int kind=0, bint begun=False):
        """A call of the rule of a schema, which is a part of the document or what some keywords of one say.

        `kind`: it says this type and nothing of others.  `begun`: it is of objects, from behind their first member.
        """
        cdef QuickRule rule
        cdef str text = "true" if schema is True else exact_text(schema)
        key = (level, text, begun)
        found = self.rules.get(key)
        if found is None:
            rule = QuickRule.__new__(QuickRule)
            rule.name = self.writer.book.free_name(hint)
            rule.notes = ()
            rule.reader, rule.schema, rule.text, rule.level, rule.kind = self, schema, text, level, kind
            rule.begun = begun
            self.writer.book.rules[rule.name] = rule
            found = self.rules[key] = call_of(rule.name)
        return <RuleRef>found

    cdef bint _unites(self, list options) except -1:
        """Whether options say something of numbers, or of strings, that has to be seen as one set.

        How a value may be spelt depends on the whole set (`number_text.py`, `spelling.py`): 1e1 where all that is known
        of numbers is their sign, 5.0 where there are other numbers than integers, escapes where any string is allowed.
        """
        cdef int numbers = 0, spelt = 0
        cdef list work = list(options)
        cdef Words words
        while work:
            schema = self.judge.followed(work.pop())
            if schema is True:
                numbers += 1
                continue
            words = self._read(schema)
            if words.options is not None:
                work += words.options
            elif words.constants is not None:
                numbers += any([kind_of(value) & (INTEGER | NUMBER) for value in words.constants])
            else:
                numbers += words.types & (INTEGER | NUMBER) != 0
                spelt += words.types & STRING and words.spelt is not None
        return spelt > 1 or numbers > 1

    # -- bodies of rules ------------------------------------------------------------------------------------------

    cdef Node body(self, QuickRule rule):
        """The body of a rule."""
        cdef Words words
        cdef Node found = None
        if rule.schema is True:
            return self._anything(rule.level)
        words = self._said(rule)
        if words.options is not None:
            if self._unites(words.options):
                return self.document.written(rule.schema, rule.level, rule.name)
            found = self._tagged(words.options, rule)
            if found is None:
                found = choice([self.value(one, rule.level, rule.name) for one in words.options])
            return found
        if words.constants is not None:
            return self._constants(words)
        if words.types == OBJECT:
            if self.order != "loose":
                found = self._fields(words, rule.level, rule.name, rule.begun)
        elif words.types == ARRAY:
            found = self._array(words, rule.level, rule.name)
        elif words.types == STRING:
            found = self._string(words, rule.name)
        elif words.types == INTEGER or words.types == NUMBER:
            found = self._number(words)
        else:
            return choice(self._nodes(words, rule.level, rule.name))
        return found if found is not None else self.document.written(rule.schema, rule.level, rule.name)

    cdef Node _tagged(self, list options, QuickRule rule):
        """Objects that begin with the same member, whose value tells which of many they are; None for others.

        Which object it is is not looked into before its value was read.
        """
        cdef list tags = []     # how the value is written, and the object
        cdef Frame frame = self.writer.frame(rule.level)
        first = None
        if len(options) <= FEW or self.order != "declared":
            return None
        for one in options:
            one = self.judge.followed(one)
            name, value = self._tag(self._read(one)) if type(one) is dict else (None, None)
            if value is None or tags and name != first:
                return None
            first = name
            tags.append(((<Literal>self.writer.word(value)).value, one, value))
        tags.sort(key=BY_FIRST)
        listed = self.writer.book.defer(rule.name, partial(_key_of_tags, rule),
                                        partial(self._listed, tags, rule.level))
        return seq((frame.open_member, self.writer.name(first), frame.colon, listed))

    cdef tuple _tag(self, Words words):
        """The name and the value of the member that an object begins with, if there is no other value; else None twice.
        """
        cdef dict said = words.members or {}
        cdef dict properties = said.get("properties") or {}
        cdef list fitting
        if words.types != OBJECT or not properties or "patternProperties" in said:
            return None, None
        if said.get("additionalProperties", not self.judge.strict) is not False:
            return None, None           # such members come in any order
        name = next(iter(properties))
        schema = self.judge.followed(properties[name])
        if type(schema) is not dict or name not in (said.get("required") or ()):
            return None, None
        words = self._read(schema)
        fitting = _fitting(words) if words.constants is not None else []
        if len(fitting) != 1 or type(fitting[0]) is not str or not self.writer.is_letters(fitting[0]):
            return None, None
        return name, fitting[0]

    def _listed(self, tags, level, compact):
        """What `_tagged` puts behind the name of the first member."""
        behind = partial(self._behind, tags, level)
        if compact:
            return ListedWords(tuple([word for word, _, _ in tags]), behind)
        return choice([seq((Literal(word), call_of(behind(at)))) for at, (word, _, _) in enumerate(tags)])

    def _behind(self, tags, level, place):
        """The name of the rule of what is behind the first member of an object."""
        _, schema, hint = tags[place]
        return self.rule(schema, level, hint, 0, True).name

    cdef Words _said(self, QuickRule rule):
        """What the schema of a rule says."""
        cdef Words words
        if not rule.kind:
            return self._read(rule.schema)
        words = Words.__new__(Words)
        words.types = rule.kind
        words.members = words.listed = words.spelt = rule.schema
        return words

    cdef Node _anything(self, int level):
        """Any value.  Most grammars need it: all but objects is spelt out, in nodes that grammars share."""
        cdef Frame frame = self.writer.frame(level)
        cdef RuleRef fields = self.rule({"type": "object"}, level, "any", OBJECT)
        cdef RuleRef item = self.value(True, frame.inner, "any"), rest = self.writer.rest()
        cdef RuleRef number = self._scalar(NUMBER)
        cdef Node array, whole
        cdef tuple key = (<size_t><void*>frame, fields.name, item.name, rest.name, number.name)
        known = ANYTHING.get(key)
        if known is None:
            array = seq((frame.open_array, item, repeat(seq((frame.comma, item)), 0, None), frame.close_array))
            if len(ANYTHING) >= MOST_ANYTHING:
                ANYTHING.clear()
            whole = choice((fields, array, frame.no_array, seq((QUOTE, rest)), number, *BOTH, NULL_TEXT))
            known = ANYTHING[key] = (frame, whole)
        return <Node>(<tuple>known)[1]

    cdef Node _fields(self, Words words, int level, str name, bint begun):
        """An object that is no more than names and their values; None for others.

        `begun`: what is behind its first member, which is required; others than declared ones are forbidden then.
        """
        cdef dict said = words.members or {}
        cdef dict properties = said.get("properties") or {}
        cdef Frame frame = self.writer.frame(level)
        cdef list keys = [], values = [], required = []
        cdef tuple other_keys = (), other_values = ()
        cdef Node node, body
        if "patternProperties" in said:
            return None
        needs = dict.fromkeys(said.get("required") or ())
        free = said.get("additionalProperties", not self.judge.strict or "properties" not in said)
        for word, schema in properties.items():
            node = NOTHING if schema is False else self.value(schema, frame.inner, word)
            if type(node) is Never:     # no value: it may not come
                continue
            keys.append(self.writer.name(word))
            values.append(seq((frame.colon, node)))
            required.append(word in needs)
        for word in needs:
            if word not in properties:
                if free is not True:
                    return None
                keys.append(self.writer.name(word))
                values.append(seq((frame.colon, self.value(True, frame.inner, word))))
                required.append(True)
        if free is not False:
            node = self.value(free, frame.inner, f"{name}_value")
            other_keys = (self.writer.speller.other_names(frozenset(properties).union(needs), "other_key"),)
            if not keys and free is True:
                return self._any_fields(frame, other_keys[0], node)
            other_values = (seq((frame.colon, node)),)
        if begun:
            named = [(seq(pair), must) for pair, must in list(zip(zip(keys, values), required))[1:]]
            return seq((fields_in_order(named, [], frame.next_member, True), frame.close_object))
        if not keys and not other_keys:
            return frame.no_object
        if len(keys) + len(other_keys) > 1 and (other_keys or self.order != "declared"):
            body = unordered(
                zip(keys, values, required), zip(other_keys, other_values), frame.next_member, frame.close_object)
        elif len(keys) == 1:
            body = seq((keys[0], values[0], frame.close_object))
        else:
            named = [(seq(pair), must) for pair, must in zip(zip(keys, values), required)]
            others = [seq(pair) for pair in zip(other_keys, other_values)]
            body = seq((fields_in_order(named, others, frame.next_member), frame.close_object))
        node = seq((frame.open_member, body))
        return node if True in required else choice((node, frame.no_object))

    cdef Node _any_fields(self, Frame frame, RuleRef key, RuleRef value):
        """An object of any members: the same node wherever their keys and values are calls of the same."""
        cdef tuple place = (<size_t><void*>frame, key.name, value.name)
        cdef Node member, whole
        known = ANYTHING.get(place)
        if known is None:
            member = seq((key, frame.colon, value))
            whole = seq((frame.open_member, fields_in_order([], [member], frame.next_member), frame.close_object))
            if len(ANYTHING) >= MOST_ANYTHING:
                ANYTHING.clear()
            known = ANYTHING[place] = (frame, choice((whole, frame.no_object)))
        return <Node>(<tuple>known)[1]

    cdef Node _array(self, Words words, int level, str name):
        """An array of any number of items of one schema; None for others."""
        cdef dict said = words.listed or {}
        cdef Frame frame = self.writer.frame(level)
        cdef Node item, filled
        cdef int kind
        items = said.get("items", True)
        if type(items) is list:
            return None
        least, most = said.get("minItems", 0), said.get("maxItems")
        if most == 0:
            return frame.no_array
        kind = self.judge.scalar(items) if type(items) is dict else 0
        if kind:
            item = self._scalar(kind)
        else:
            item = self.value(items, frame.inner, "any" if items is True else f"{name}_item")
        tail = repeat(seq((frame.comma, item)), max(least - 1, 0), None if most is None else most - 1)
        filled = seq((frame.open_array, item, tail, frame.close_array))
        return filled if least else choice((filled, frame.no_array))

    cdef Node _string(self, Words words, str name):
        cdef dict said = words.spelt or {}
        speller = self.writer.speller
        if "format" in said:
            return speller.format(said["format"], name)
        if "pattern" in said:
            return speller.quoted(ecma_search(said["pattern"]))
        return speller.quoted(loop(ANY_CHARACTER, said.get("minLength", 0), said.get("maxLength")))

    cdef Node _number(self, Words words):
        return self.writer.numerals.between(self._numbers(words.types), _bounds(words.bounded or {}))

    cdef object _numbers(self, int types):
        """The numbers of some types: a constant of `numerals.py`."""
        if types & NUMBER:
            return ALL_NUMBERS
        return INTEGERS_BEFORE_6 if self.old_integers else INTEGERS

    cdef Node _constants(self, Words words):
        """Constants that fit their types, as they are."""
        cdef list nodes = [], fitting = _fitting(words)
        texts = frozenset([value for value in fitting if type(value) is str])
        numbers = [value for value in fitting if kind_of(value) == INTEGER or kind_of(value) == NUMBER]
        if texts:
            nodes.append(self.writer.speller.written(WordsOf(texts)))
        if numbers:
            nodes.append(self.writer.numerals.these(numbers, self._numbers(words.types)))
        nodes += [node for node, single in SINGLE if any([value is single for value in fitting])]
        return choice(nodes)


@cython.final
cdef class QuickRule(DeferredRule):
    """The values of a deferrable schema at one level of nesting."""

    cdef bytes find_key(self):
        """In this document or another."""
        text = self.text
        if any([word in text for word in REFERENCES]):
            text = f"{text} in {self.reader.document.digest}"
        place = f"{self.level} begun" if self.begun else self.level
        content = f"{self.reader.document.setting} {place} {text}".encode("utf-8", "surrogatepass")
        return blake2b(content, digest_size=16).digest()

    cpdef object make(self, bint compact):
        return self.reader.body(self)


def _key_of_tags(rule):
    """What stands for that."""
    return rule.key + b" tags"


cdef int _count(int types):
    """How many texts and calls some types take."""
    cdef int found = 1 if types & BOOLEAN else 0
    while types:
        found += types & 1
        types >>= 1
    return found


cdef list _names(int types):
    return [name for name in TYPES if types & type_of(name)]


cdef tuple _bounds(dict said):
    """The bounds that a schema sets to numbers: the least, whether it is out, the most, whether it is out."""
    cdef bint low_open = False, high_open = False
    low, high = said.get("minimum"), said.get("maximum")
    other = said.get("exclusiveMinimum")
    if other is not None and (low is None or other >= low):
        low, low_open = other, True
    other = said.get("exclusiveMaximum")
    if other is not None and (high is None or other <= high):
        high, high_open = other, True
    return low, low_open, high, high_open


cdef list _fitting(Words words):
    """The constants of a schema that are of its types; a number with a fraction may be an integer's value."""
    cdef list found = []
    cdef int kind
    for value in words.constants:
        kind = kind_of(value)
        if kind == INTEGER or kind == NUMBER:
            kind = NUMBER | (INTEGER if kind == INTEGER or value == int(value) else 0)
        if kind & words.types:
            found.append(value)
    return found
