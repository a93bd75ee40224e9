r"""`format`: the strings of the specification's formats, after their RFCs.

Exact: date (with leap years), time, date-time, duration, ipv4, ipv6, uuid, uri, uri-reference, iri, iri-reference,
uri-template, json-pointer, relative-json-pointer.  Narrower: a leap second is written in UTC; a hostname has no labels
like `xn--...`, and not several long ones among many; email and idn-email are RFC 5321 mailboxes at a domain, never
`x@[127.0.0.1]`; a regex (which is not a regular language) nests groups at most three deep and has no oddities.

Not enforced, as the specification allows: `idn-hostname`, and every other name.
"""

from __future__ import annotations

from functools import cache

from ..regular.languages import Language
from ..regular.patterns import full_match

__all__ = ["APPROXIMATED", "format_language", "is_known"]

# What is not exact about a format, for `explain`.
APPROXIMATED = {
    "hostname": "labels like xn--..., and several long labels among many, are left out",
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
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_H16 = f"{_HEX}{{1,4}}"
_LS32 = f"(?:{_H16}:{_H16}|{_IPV4})"


def _ipv6() -> str:
    """Eight groups of 16 bits, one run of zero groups perhaps left out, the last two perhaps as an IPv4 address."""
    options = [f"(?:{_H16}:){{6}}{_LS32}"]
    tails = [f"(?:{_H16}:){{{n}}}{_LS32}" for n in (5, 4, 3, 2, 1, 0)] + [_H16, ""]
    for before, tail in enumerate(tails):
        head = f"(?:(?:{_H16}:){{0,{before - 1}}}{_H16})?" if before else ""
        options.append(f"{head}::{tail}")
    return f"(?:{'|'.join(options)})"


def _hostname() -> str:
    """At most 63 characters in a label and 253 in all, without counting: few labels may be long, many are short."""

    def label(most: int) -> str:
        # No `--` in the third and fourth place: such labels stand for others (RFC 5891), by rules that are not regular.
        end, inner = "[A-Za-z0-9]", "[A-Za-z0-9-]"
        longer = f"{end}{inner}{end}{inner}{{0,{most - 4}}}{end}|{end}{inner}-{end}(?:{inner}{{0,{most - 5}}}{end})?"
        return f"(?:{end}|{end}{end}|{end}{inner}{end}|{longer})"

    def name(first: int, others: int, count: int) -> str:
        assert first + count * (others + 1) <= 253
        return rf"{label(first)}(?:\.{label(others)}){{0,{count}}}"

    return f"(?:{name(63, 63, 2)}|{name(63, 29, 6)}|{name(20, 20, 11)})"


# Beyond ASCII, as RFC 3987 (ucschar, iprivate) and RFC 6532 have it.
_UCS = "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr(plane + (0x1000 if plane == 0xE0000 else 0))}-{chr(plane + 0xFFFD)}"
    for plane in range(0x10000, 0xF0000, 0x10000)
)
_PRIVATE = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"


def _mailbox(beyond: str) -> str:
    atom = rf"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{beyond}-]+"
    quoted = rf'"(?:[\x20\x21\x23-\x5b\x5d-\x7e{beyond}]|\\[\x20-\x7e])*"'
    label = f"[A-Za-z0-9{beyond}](?:[A-Za-z0-9{beyond}-]*[A-Za-z0-9{beyond}])?"
    return rf"(?:{atom}(?:\.{atom})*|{quoted})@{label}(?:\.{label})*"


def _identifier(beyond: str, private: str, *, relative: bool) -> str:
    """RFC 3986 (RFC 3987 with characters `beyond` ASCII): an absolute identifier, or any reference."""
    unreserved = rf"A-Za-z0-9\-._~{beyond}"
    escaped = f"%{_HEX}{{2}}"
    delims = "!$&'()*+,;="
    char = f"(?:[{unreserved}{delims}:@]|{escaped})"
    no_colon = f"(?:[{unreserved}{delims}@]|{escaped})"
    future = rf"[vV]{_HEX}+\.[{unreserved}{delims}:]+"
    host = rf"(?:\[(?:{_ipv6()}|{future})\]|(?:[{unreserved}{delims}]|{escaped})*)"
    authority = f"(?:(?:[{unreserved}{delims}:]|{escaped})*@)?{host}(?::[0-9]*)?"
    path = f"(?:/{char}*)*"
    network = f"//{authority}{path}"
    rooted = f"/(?:{char}+{path})?"
    query = rf"(?:\?(?:[{unreserved}{delims}:@/?{private}]|{escaped})*)?"
    fragment = f"(?:#(?:[{unreserved}{delims}:@/?]|{escaped})*)?"
    absolute = rf"[A-Za-z][A-Za-z0-9+.\-]*:(?:{network}|{rooted}|{char}+{path}|){query}{fragment}"
    if not relative:
        return absolute
    return f"(?:{absolute}|(?:{network}|{rooted}|{no_colon}+{path}|){query}{fragment})"


def _template() -> str:
    """RFC 6570."""
    literal = rf"(?:[!#$&-;=?-\[\]_a-z~{_UCS}{_PRIVATE}]|%{_HEX}{{2}})"
    char = f"(?:[A-Za-z0-9_]|%{_HEX}{{2}})"
    name = rf"{char}(?:\.?{char})*"
    variable = rf"{name}(?:\*|:[1-9][0-9]{{0,3}})?"
    return rf"(?:{literal}|\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}})*"


def _regex(depth: int) -> str:
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
    count = rf"(?:[*+?]|\{{(?:[0-9]{{1,3}},?|{pairs}|[0-9],[1-9][0-9]{{1,2}})\}})\??"
    atom = rf"[^\\^$*+?()\[\]{{}}|]|{one_escape}|{one_of}"
    inside = ""
    for level in range(depth + 1):
        group = rf"|\((?:\?:)?{inside}\)" if level else ""
        ahead = rf"|\(\?[=!]{inside}\)" if level == depth else ""
        inside = rf"(?:[|^$]|\\[bB]{ahead}|(?:{atom}{group})(?:{count})?)*"
    return inside


_POINTER = "(?:/(?:[^~/]|~[01])*)*"


@cache
def _patterns() -> dict[str, str]:
    return {
        "date": _DATE,
        "time": _TIME,
        "date-time": f"{_DATE}[Tt]{_TIME}",
        "duration": _DURATION,
        "email": _mailbox(""),
        "idn-email": _mailbox("\u0080-\U0010ffff"),
        "hostname": _hostname(),
        "ipv4": _IPV4,
        "ipv6": _ipv6(),
        "uri": _identifier("", "", relative=False),
        "uri-reference": _identifier("", "", relative=True),
        "iri": _identifier(_UCS, _PRIVATE, relative=False),
        "iri-reference": _identifier(_UCS, _PRIVATE, relative=True),
        "uri-template": _template(),
        "uuid": f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}",
        "json-pointer": _POINTER,
        "regex": _regex(3),
        "relative-json-pointer": f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})",
    }


def is_known(name: str) -> bool:
    """Whether the format `name` is enforced."""
    return name in _patterns()


@cache
def format_language(name: str) -> Language | None:
    """The strings of the format `name`; None if it is not enforced."""
    pattern = _patterns().get(name)
    # `[^~/]` of a pointer takes line ends too, and patterns are read as they are: no flag is needed.
    return None if pattern is None else full_match(pattern)
