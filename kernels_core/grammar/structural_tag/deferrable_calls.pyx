# distutils: language = c++
"""Find the deferrable calls in a list of tags: a string, arguments of a deferrable schema, one of some strings.

Sets of tools are lists of such tags, often hundreds, of which a text uses one or two.  Such a call certainly has no
problem, so only this much is asked about it at first; the tag is read when the parser gets to it.  Saying "not
deferrable" is always safe: such a tag is read at once, and that is what finds faults and names them.

Arguments in another style than JSON can have more problems (`styles.spelling_of`), and are asked about those, too.

Read on: `tag_lists.py` (who asks), `../json_schema/deferrable_schemas.pyx`, `../canonical_json.pyx` (the copy that is
read).
"""

cimport cython

from kernels_core.clock cimport rest
from kernels_core.grammar.canonical_json cimport ListPlace, Span, CanonicalText, is_word
from kernels_core.grammar.json_schema.deferrable_schemas cimport DeferrableSchemas

from kernels_core.grammar.json_schema.dialect import DEFAULT, dialect_of
from kernels_core.grammar.json_schema.resolve import Documents
from kernels_core.grammar.structural_tag.spelling import is_plain, markers_of, spelling_of

cdef class Judging


cdef class DeferrableCalls:
    """The deferrable calls among `tags`, a list that `written` knows, by their place.

    A deferrable call begins with just one of `triggers`, which may be empty strings.
    """

    cdef readonly list begins       # how each tag begins; None for those that are not deferrable
    cdef readonly set ends          # what ends any of them
    cdef readonly set texts         # fixed texts in them, of tags that are not deferrable, too
    cdef readonly list by_trigger   # for each trigger, the places of its deferrable calls
    cdef readonly list others       # the places of all other tags
    cdef CanonicalText written
    cdef ListPlace place
    cdef dict judges                # by style and what strings must not hold; None where nothing is certain

    def __init__(self, list tags, tuple triggers, CanonicalText written):
        cdef int at, number, fitting
        cdef Py_ssize_t size
        cdef dict known
        cdef list lengths
        self.judges = {}
        self.begins = []
        self.ends = set()
        self.texts = set()
        self.by_trigger = [[] for _ in triggers]
        self.others = []
        self.written = written
        self.place = written.lists.at(<size_t><void*>tags)
        ended = None
        known = {trigger: number for number, trigger in enumerate(triggers)}
        lengths = sorted({len(trigger) for trigger in triggers})
        for at, tag in enumerate(tags[:self.place.size]):       # a copy, for another thread may change the list
            begin = self._begin(tag, written.items[self.place.first_item + at])
            fitting = -1
            if begin is not None:
                rest(4 + 4 * <int>len(lengths))
                for size in lengths:
                    if size > len(<str>begin):
                        break
                    number = known.get((<str>begin)[:size], -1)
                    if number >= 0:
                        fitting = number if fitting == -1 else -2
            if fitting < 0:
                self.begins.append(None)
                self.others.append(at)
                continue
            self.begins.append(begin)
            (<list>self.by_trigger[fitting]).append(at)
            end = (<dict>tag)["end"]
            if type(end) is not str:
                self.ends.update(end)
            elif end != ended:
                self.ends.add(end)
                ended = end

    cdef object _begin(self, tag, Span span):
        """How a deferrable call, written in a stretch, begins; None for all other tags."""
        if type(tag) is not dict:
            return None
        begin = content = end = None
        for key, value in (<dict>tag).items():
            if is_word(key, b"begin", 5):
                begin = value
            elif is_word(key, b"content", 7):
                content = value
            elif is_word(key, b"end", 3):
                end = value
            elif not is_word(key, b"type", 4) or type(value) is not str or not is_word(value, b"tag", 3):
                return None
        if type(begin) is not str or type(content) is not dict or not _is_end(end):
            return None
        if not self._is_deferrable_content(<dict>content, span):
            return None
        # What a text begins when it predicts a rule is never empty, as arguments in another style than JSON may be.
        if (end == "" or type(end) is list and "" in end) and _has_style(<dict>content):
            return None
        return begin

    cdef bint _is_deferrable_content(self, dict content, Span span) except -1:
        """Whether a format is the arguments of a deferrable schema, perhaps with fixed texts and plain patterns around.
        """
        cdef int schemas = 0
        if content.get("type") != "sequence":
            return self._is_deferrable_schema(content, span)
        if len(content) != 2 or type(content.get("elements")) is not list:
            return False
        for part in <list>content["elements"]:
            if type(part) is not dict:
                return False
            if (<dict>part).get("type") == "const_string" and len(<dict>part) == 2:
                value = (<dict>part).get("value")
                if type(value) is not str:
                    return False
                self.texts.add(value)
            elif (<dict>part).get("type") == "regex" and len(<dict>part) == 2:
                value = (<dict>part).get("pattern")
                if type(value) is not str or not is_plain(value):
                    return False
            elif self._is_deferrable_schema(<dict>part, span):
                schemas += 1
            else:
                return False
        return schemas == 1

    cdef bint _is_deferrable_schema(self, dict content, Span span) except -1:
        """Whether a format is the arguments of a deferrable schema."""
        cdef bint strict = False, is_schema = False
        cdef str style = "json"
        cdef tuple excludes = ()
        cdef Judging judging
        schema = None
        for key, value in content.items():
            if is_word(key, b"json_schema", 11):
                schema = value
            elif is_word(key, b"type", 4):
                is_schema = type(value) is str and is_word(value, b"json_schema", 11)
            elif key == "strict_mode" and type(value) is bool:
                strict = value
            elif key == "plain_integers" or key == "canonical_numbers" or key == "whitespace_before_separators":
                if type(value) is not bool:
                    return False
            elif key == "style":
                if type(value) is not str:
                    return False
                style = value
            elif key == "order":
                if value != "any" and value != "declared":
                    return False
            elif key == "max_whitespace_cnt":
                if type(value) is not int or value < 0:
                    return False
            elif key == "excludes":
                if type(value) is not list:
                    return False
                excludes = tuple(<list>value)
                for text in excludes:
                    if type(text) is not str:
                        return False
            else:
                return False
        if not is_schema or type(schema) is not dict:
            return False
        known_as = (style, excludes) if excludes else style
        judging = self.judges.get(known_as)
        if judging is None:
            judging = self.judges[known_as] = Judging(style, excludes)
        if not judging.is_deferrable(<dict>schema, strict, self.written, span):
            return False
        if style != "json":
            self.texts.update(markers_of(style))
        return True

    def text(self, int at):
        """A tag as it was written."""
        return _taken(self.written, self.written.items[self.place.first_item + at])

    def whole_text(self):
        """The whole list as it was written."""
        return _taken(self.written, self.place.whole)

    def __repr__(self):
        return f"<DeferrableCalls: {len(self.begins) - len(self.others)} of {len(self.begins)} tags>"


cdef str _taken(CanonicalText written, Span span):
    return written.text[span.first:span.past]


cdef bint _has_style(dict content) except -1:
    """Whether arguments that are deferrable are written in another style than JSON."""
    for part in content.get("elements", (content,)):
        if (<dict>part).get("style", "json") != "json":
            return True
    return False


cdef bint _is_end(end) except -1:
    if type(end) is str:
        return True
    if type(end) is not list or not <list>end:
        return False
    for text in <list>end:
        if type(text) is not str:
            return False
    return True


@cython.final
cdef class Judging:
    """Which schemas are deferrable whose values are written in a style, by strings that hold none of some texts."""

    cdef bint any_value         # a schema need not be of objects alone
    cdef bint certain           # something is known of the style
    cdef object spelling
    cdef DeferrableSchemas usual        # a judge to turn to any schema of the default dialect that is not strict

    def __init__(self, str style not None, tuple excludes not None):
        self.any_value = style == "json"
        self.spelling = None
        self.certain = True
        if style != "json" or excludes:
            self.spelling = spelling_of(style, excludes)
            self.certain = self.spelling is not None
        self.usual = self._judge(None, DEFAULT, False, False)

    cdef DeferrableSchemas _judge(self, root, dialect, bint pointers, bint strict):
        return DeferrableSchemas(root, dialect, pointers=pointers, strict=strict, spelling=self.spelling)

    cdef bint is_deferrable(self, dict schema, bint strict, CanonicalText written, Span span) except -1:
        if not self.certain or not self.any_value and schema.get("type") != "object":
            return False
        dialect = DEFAULT
        if "$schema" in schema:
            dialect = dialect_of(schema["$schema"]) if type(schema["$schema"]) is str else None
            if dialect is None:
                return False
        if "$id" in schema or "id" in schema:
            return False
        if dialect is DEFAULT and not strict:
            self.usual.renew(schema)
            if self.usual.holds(schema):
                return True
        elif self._judge(schema, dialect, False, strict).holds(schema):
            return True
        text = _taken(written, span)
        if '"$ref"' not in text or not Documents(schema, text, {}).has_local_references:
            return False
        return self._judge(schema, dialect, True, strict).holds(schema)
