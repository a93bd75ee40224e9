r"""`format`: the strings of the specification's formats, after their RFCs.

Exact: date (with leap years), time, date-time, duration (in capitals), ipv4, ipv6, uuid, uri, uri-reference, iri,
iri-reference, uri-template, json-pointer, relative-json-pointer (without the index arithmetic of its last draft).
Narrower: a leap second is written in UTC; behind three labels of a hostname only the first may have more than 29
characters, and behind seven all are short (`APPROXIMATED`); email and idn-email are RFC 5321 mailboxes at a domain,
never `x@[127.0.0.1]`; a regex (which is not a regular language) nests groups at most three deep and has no oddities.
Wider: a label like `xn--...` is a sequence of whole Punycode numbers (RFC 3492), but to which characters it decodes
(RFC 5892) is not regular and is not checked.

Not enforced, as the specification allows: `idn-hostname`, and every other name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ..regular.languages import EPSILON, NOTHING, Language, concat, intersection, loop, union
from ..regular.patterns import full_match

# What is not exact about a format, for `explain`.
APPROXIMATED = {
    "hostname": (
        "names of four to seven labels of which another than the first has more than 29 characters, of eight to twelve "
        "of which one has more than 20, and of more are left out; what labels like xn--... decode to is not checked"
    ),
    "email": "addresses like x@[127.0.0.1] are left out",
    "idn-email": "addresses like x@[127.0.0.1] are left out",
    "regex": "groups are nested at most three deep; rare syntax is left out",
    "time": "a leap second is written in UTC",
    "date-time": "a leap second is written in UTC",
}

_HEX = "[0-9A-Fa-f]"
_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_FRACTION = r"(?:\.[0-9]+)?"
_TIME = (
    f"(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]{_FRACTION}(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
    f"|23:59:60{_FRACTION}(?:[Zz]|[+-]00:00))"
)
_N = "[0-9]+"
_DURATION = (
    f"P(?:{_N}W|(?:{_N}Y(?:{_N}M(?:{_N}D)?)?|{_N}M(?:{_N}D)?|{_N}D)(?:T(?:{_N}H(?:{_N}M(?:{_N}S)?)?|{_N}M(?:{_N}S)?|{_N}S))?"
    f"|T(?:{_N}H(?:{_N}M(?:{_N}S)?)?|{_N}M(?:{_N}S)?|{_N}S))"
)
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_POINTER = "(?:/(?:[^~/]|~[01])*)*"


# Large formats are put together from parts, each of which is read once: `many` and `maybe` are `*` and `?`.


def _many(item: Language) -> Language:
    return loop(item, 0, None)


def _maybe(item: Language) -> Language:
    return loop(item, 0, 1)


def _pattern(text: str) -> Callable[[], Language]:
    return lambda: full_match(text)


@cache
def _ipv4() -> Language:
    octet = full_match(_OCTET)
    return concat(octet, loop(concat(full_match(r"\."), octet), 3, 3))


@cache
def _ipv6() -> Language:
    """Eight groups of 16 bits, one run of zero groups perhaps left out, the last two perhaps as an IPv4 address."""
    group, colon = full_match(f"{_HEX}{{1,4}}"), full_match(":")
    headed = concat(group, colon)
    last = union(concat(headed, group), _ipv4())
    options = [concat(loop(headed, 6, 6), last)]
    tails = [concat(loop(headed, n, n), last) for n in (5, 4, 3, 2, 1, 0)] + [group, EPSILON]
    for before, tail in enumerate(tails):
        head = _maybe(concat(loop(headed, 0, before - 1), group)) if before else EPSILON
        options.append(concat(head, colon, colon, tail))
    return union(*options)


def _a_label(most: int) -> Language:
    """`xn--`, the ASCII characters and a hyphen, and Punycode: numbers whose digits say where each ends (RFC 3492).

    The thresholds of the first number are 1, 1, 26, 26, ..., so its first two digits end it only where they are `a`;
    every number ends in a letter, since no threshold is above 26.
    """
    first = "(?:[Aa]|[B-Zb-z0-9](?:[Aa]|[B-Zb-z0-9][0-9]*[A-Za-z]))"
    whole = full_match(f"[Xx][Nn]--(?:[A-Za-z0-9-]+-)?{first}(?:[A-Za-z0-9]*[A-Za-z])?")
    return intersection(whole, loop(full_match("[A-Za-z0-9-]"), 0, most))


def _hostname() -> Language:
    """At most 63 characters in a label and 253 in all, without counting: few labels may be long, many are short."""
    end, inner = full_match("[A-Za-z0-9]"), full_match("[A-Za-z0-9-]")
    dot, hyphen = full_match(r"\."), full_match("-")

    def label(most: int) -> Language:
        # `--` in the third and fourth place is for labels that stand for others (RFC 5891), and these begin with `xn`.
        longer = concat(end, inner, end, loop(inner, 0, most - 4), end)
        hyphened = concat(end, inner, hyphen, end, _maybe(concat(loop(inner, 0, most - 5), end)))
        return union(end, concat(end, end), concat(end, inner, end), longer, hyphened, _a_label(most))

    def name(first: int, others: int, count: int) -> Language:
        assert first + count * (others + 1) <= 253
        return concat(label(first), loop(concat(dot, label(others)), 0, count))

    return union(name(63, 63, 2), name(63, 29, 6), name(20, 20, 11))


# Beyond ASCII, as RFC 3987 (ucschar, iprivate) and RFC 6532 have it.
_UCS = "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr(plane + (0x1000 if plane == 0xE0000 else 0))}-{chr(plane + 0xFFFD)}"
    for plane in range(0x10000, 0xF0000, 0x10000)
)
_PRIVATE = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"


def _mailbox(beyond: str) -> Language:
    atom = rf"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{beyond}-]+"
    quoted = rf'"(?:[\x20\x21\x23-\x5b\x5d-\x7e{beyond}]|\\[\x20-\x7e])*"'
    label = full_match(f"[A-Za-z0-9{beyond}](?:[A-Za-z0-9{beyond}-]*[A-Za-z0-9{beyond}])?")
    before = full_match(rf"(?:{atom}(?:\.{atom})*|{quoted})@")
    return concat(before, label, _many(concat(full_match(r"\."), label)))


def _identifier(beyond: str, private: str, *, relative: bool) -> Language:
    """RFC 3986 (RFC 3987 with characters `beyond` ASCII): an absolute identifier, or any reference."""
    unreserved = rf"A-Za-z0-9\-._~{beyond}"
    delims = "!$&'()*+,;="
    escaped = full_match(f"%{_HEX}{{2}}")
    slash = full_match("/")

    def one(letters: str) -> Language:
        return union(full_match(f"[{unreserved}{letters}]"), escaped)

    char, no_colon = one(f"{delims}:@"), one(f"{delims}@")
    future = concat(full_match(rf"[vV]{_HEX}+\."), loop(full_match(f"[{unreserved}{delims}:]"), 1, None))
    address = concat(full_match(r"\["), union(_ipv6(), future), full_match("]"))
    host = union(address, _many(one(delims)))
    user = concat(_many(one(f"{delims}:")), full_match("@"))
    authority = concat(_maybe(user), host, full_match("(?::[0-9]*)?"))
    path = _many(concat(slash, _many(char)))
    network = concat(slash, slash, authority, path)
    rooted = concat(slash, _maybe(concat(loop(char, 1, None), path)))
    query = _maybe(concat(full_match(r"\?"), _many(one(rf"{delims}:@/?{private}"))))
    fragment = _maybe(concat(full_match("#"), _many(one(f"{delims}:@/?"))))

    def hierarchy(first: Language) -> Language:
        return union(network, rooted, concat(loop(first, 1, None), path), EPSILON)

    scheme = full_match(r"[A-Za-z][A-Za-z0-9+.\-]*:")
    absolute = concat(scheme, hierarchy(char), query, fragment)
    return union(absolute, concat(hierarchy(no_colon), query, fragment)) if relative else absolute


def _template() -> Language:
    """RFC 6570."""
    literal = rf"(?:[!#$&-;=?-\[\]_a-z~{_UCS}{_PRIVATE}]|%{_HEX}{{2}})"
    char = f"(?:[A-Za-z0-9_]|%{_HEX}{{2}})"
    variable = full_match(rf"{char}(?:\.?{char})*(?:\*|:[1-9][0-9]{{0,3}})?")
    more = _many(concat(full_match(","), variable))
    expression = concat(full_match(r"\{[+#./;?&=,!@|]?"), variable, more, full_match(r"\}"))
    return _many(union(full_match(literal), expression))


def _regex(depth: int) -> Language:
    r"""Regular expressions that are valid under every common flavour, groups nested at most `depth` deep."""
    hexadecimal = rf"x{_HEX}{{2}}|u{_HEX}{{4}}"
    one_escape = rf"\\(?:[dDwWsStnvfr\\^$.*+?()\[\]{{}}|/]|{hexadecimal})"
    class_escape = rf"\\(?:[dDwWsSbtnvfr\\^$.*+?()\[\]{{}}|/-]|{hexadecimal})"
    spans = "|".join(
        f"{first}-[{first}-{family[-1]}]"
        for family in ("0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
        for first in family
    )
    one_of = rf"\[\^?(?:[^\\\[\]^-]|{class_escape}|{spans})+-?\]"
    pairs = "|".join(f"{low},[{low}-9]" for low in range(10))
    count = full_match(rf"(?:(?:[*+?]|\{{(?:[0-9]{{1,3}},?|{pairs}|[0-9],[1-9][0-9]{{1,2}})\}})\??)?")
    atom = full_match(rf"[^\\^$*+?()\[\]{{}}|]|{one_escape}|{one_of}")
    edge, boundary = full_match("[|^$]"), full_match(r"\\[bB]")
    closing = full_match(r"\)")
    inside: Language = EPSILON
    for level in range(depth + 1):
        group = concat(full_match(r"\((?:\?:)?"), inside, closing) if level else NOTHING
        ahead = concat(full_match(r"\(\?[=!]"), inside, closing) if level == depth else NOTHING
        inside = _many(union(edge, boundary, ahead, concat(union(atom, group), count)))
    return inside


FORMATS: dict[str, Callable[[], Language]] = {
    "date": _pattern(_DATE),
    "time": _pattern(_TIME),
    "date-time": _pattern(f"{_DATE}[Tt]{_TIME}"),
    "duration": _pattern(_DURATION),
    "email": lambda: _mailbox(""),
    "idn-email": lambda: _mailbox("\u0080-\U0010ffff"),
    "hostname": _hostname,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "uri": lambda: _identifier("", "", relative=False),
    "uri-reference": lambda: _identifier("", "", relative=True),
    "iri": lambda: _identifier(_UCS, _PRIVATE, relative=False),
    "iri-reference": lambda: _identifier(_UCS, _PRIVATE, relative=True),
    "uri-template": _template,
    "uuid": _pattern(f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"),
    "json-pointer": _pattern(_POINTER),
    "regex": lambda: _regex(3),
    "relative-json-pointer": _pattern(f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})"),
}


def is_known(name: str) -> bool:
    """Whether the format `name` is enforced."""
    return name in FORMATS


def format_language(name: str) -> Language | None:
    """The strings of the format `name`; None if it is not enforced."""
    return _language(name) if name in FORMATS else None


@cache
def _language(name: str) -> Language:
    """Of a known format: names that schemas make up are as many as there are schemas, and are not remembered."""
    # `[^~/]` of a pointer takes line ends too, and patterns are read as they are: no flag is needed.
    return FORMATS[name]()
