"""Why rows differ, by group and feature."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["REASONS"]

_ALL_COUNT = "all keywords of a schema count; XGrammar drops what stands beside the one it reads first"
_IGNORED = "respected here; XGrammar ignores the keyword"
_OPEN = "keywords without a type say nothing about other types, as the standard has it"
_STANDARD = "the standard allows it; XGrammar refuses it"
_NO_INSTANCE = "it has no instance, so it is refused when it is read"
_ANY_INSTANCE = "read as any array or object that meets it; XGrammar closes such a schema, or refuses it"
_SEARCH = "a pattern is searched, as the standard says; XGrammar matches the whole"
_JSON = "always JSON: XGrammar writes the characters as they are"
_ASSERTIONS = "assertions are honoured; XGrammar drops or refuses them"
_MORE = "read here; XGrammar refuses the notation"
_DOT = "the dot excludes line ends; there only where flags are given"
_FOLD = "the flag i folds all letters; there those of ASCII"
_NO_CALL = "a call of tools that nobody gave is no text here: the format's markers stay out of it"
_NUMBERS = "all spellings of numbers that meet the bounds"
_CONTROL = "stop tokens that were found by their name are control tokens"
_PLACE = "an error with the place, where XGrammar goes on without a word"
_SOUND = "XGrammar's answer is wrong (docs/compat-xgrammar.md)"

REASONS: Mapping[str, Mapping[str, str]] = {
    "JSON Schema: types": {
        "empty list of types": "a list of types has at least one, so it is refused",
        "true": "the standard has booleans as schemas; XGrammar reads them as JSON text alone",
        "const object": "lists and objects inside may hold blanks, as all others may",
        "enum beside type": _ALL_COUNT,
        "enum beside bounds": _ALL_COUNT,
    },
    "JSON Schema: strings": {
        "lengths and escapes": "an escape counts as the character it stands for; XGrammar allows none",
        "lengths and control characters": _JSON,
        "pattern without anchors": _SEARCH,
        "pattern and length": _ALL_COUNT,
        "pattern with a quote": _JSON,
        "pattern beyond ASCII": _JSON,
        "pattern with look-ahead": _ASSERTIONS,
        "pattern with word boundary": _ASSERTIONS,
        "pattern with a class of escapes": "an escape counts as the character it stands for; XGrammar allows none",
        "pattern and format": _ALL_COUNT,
        "lengths without a type": _OPEN,
        "pattern without a type": _OPEN,
    },
    "JSON Schema: formats": {
        "date": "only days that exist; XGrammar takes day 31 of every month",
        "date-time": "letters in either case, as RFC 3339 has it",
        "email": "last parts of one letter are names, too",
        "ipv4": "no leading zeros, which some programs read as octal (JSON Schema's test suite refuses them)",
        "uri-reference": "a URI is a reference, too",
        "idn-email": "the format is known here; XGrammar ignores it",
        "regex": "the format is known here; XGrammar ignores it",
    },
    "JSON Schema: numbers": {
        "a bound of integers that is none": _STANDARD,
        "a bound beyond 64 bits": "bounds have any size",
        "minimum of numbers": _NUMBERS,
        "maximum of numbers": _NUMBERS,
        "numbers between": _NUMBERS,
        "exclusiveMinimum as a boolean": "read as in draft 4",
        "multipleOf with one bound": _IGNORED,
        "multipleOf of numbers": _IGNORED,
        "bounds without a type": _OPEN,
    },
    "JSON Schema: arrays": {
        "minItems alone": _ANY_INSTANCE,
        "maxItems alone": _ANY_INSTANCE,
        "prefixItems that is empty": "prefixItems has at least one entry, as the standard has it",
        "prefixItems with true": _MORE,
        "items as a list": "read as in older drafts",
        "uniqueItems": _IGNORED,
        "contains": _IGNORED,
        "minContains": _IGNORED,
        "items without a type": _OPEN,
    },
    "JSON Schema: objects": {
        "required of what is not declared": _NO_INSTANCE,
        **dict.fromkeys(
            ("additionalProperties true", "not strict"),
            "where other names may come, members have no order: a declared name that comes late can be closed",
        ),
        "required alone": _ANY_INSTANCE,
        "a declared name as an additional one": "a name is the same however it is spelt",
        "patternProperties": _SEARCH,
        "minProperties alone": _ANY_INSTANCE,
        "property that is false": "the member is left out; XGrammar refuses the schema",
        "dependentRequired": _IGNORED,
        "dependentSchemas": _IGNORED,
        "properties without a type": _OPEN,
    },
    "JSON Schema: combinations": {
        "anyOf that is empty": _NO_INSTANCE,
        "anyOf beside other keywords": _ALL_COUNT,
        "anyOf of required": _ALL_COUNT,
        "oneOf that overlaps": "exact; XGrammar reads it as anyOf",
        "allOf of two": "their intersection; XGrammar takes any JSON",
        "allOf of objects": "their intersection, which is empty where each forbids what the other asks for",
        "not": _IGNORED,
        "not of a type": _IGNORED,
        "if and then": _IGNORED,
        "if, then and else": _IGNORED,
        "$ref beside other keywords": _ALL_COUNT,
        "$ref with ~1": _STANDARD,
        "$ref to an anchor": "anchors are found; XGrammar takes any JSON",
        "$ref to itself": _NO_INSTANCE,
        "$ref to another document": "a document that is not there is an error; XGrammar takes any JSON",
    },
    "JSON Schema: layout": {
        "indent and values that are open": "laid out as json.dumps does; XGrammar leaves open values on one line"
    },
    "EBNF": {
        "count without a lower bound": _MORE,
        "empty alternative": "as in llama.cpp's GBNF",
        "class with \\d": _MORE,
        "single quotes": _MORE,
        "look-ahead with a choice": "read and forgotten, as all look-aheads: masks are exact without them",
        "rule without any text": "a grammar without texts is refused",
    },
    "EBNF: macros": {
        "TagDispatch with tags inside each other": _SOUND,
        "TagDispatch with an exclude that begins a tag": "free text lacks it, and the tag is reached",
        "TagDispatch with an exclude inside a tag": "free text lacks it, and the tag is reached",
        "Regex and the dot": _DOT,
        "Regex with flag i": _FOLD,
        "Regex with look-ahead": _ASSERTIONS,
        "Regex with a word boundary": _ASSERTIONS,
        "Token of the stop token": _SOUND,
    },
    "EBNF: attributes": {
        "max_chars of a rule that calls itself": "refused: the rule is not regular; there it bounds nothing",
        "max_chars of free text with tags": "refused: the rule is not regular",
    },
    "Regular expressions": {
        "named groups of Python": _MORE,
        "the dot": "the dot excludes line ends, as in other dialects",
        "anchors in the middle": "honoured, so nothing matches and it is refused; XGrammar drops them",
        "look-ahead": _ASSERTIONS,
        "negative look-ahead": _ASSERTIONS,
        "look-behind": _ASSERTIONS,
        "word boundary": _ASSERTIONS,
        "\\p{L}": _MORE,
        "\\A and \\Z": "unknown escapes are errors; XGrammar takes them for letters",
        "flags in front": _MORE,
        "flags of a group": _MORE,
        "lone {": "a brace that begins no count is text",
    },
    "Lark": {
        "%regex with words": _MORE,
        "flag i beyond ASCII": _FOLD,
        "complement and intersection": _MORE,
        "templates": _MORE,
        "suffix": "the suffix is part of the rule; XGrammar lets free text end without it",
        "attributes on terminals": "those that work on texts are read there, too",
        "option allow_initial_skip": "known by both its names",
    },
    "Lark: captures": {
        "before a pattern that stops": "refused: a capture is cut at a text, and not yet at a pattern",
    },
    "Structural tags": {
        "repeated free text": "one text, which ends at the first end; there two pieces may hold it together",
        "triggered_tags with an exclude that begins a trigger": "free text lacks it, and the tag is reached",
        "dispatch on an empty pattern": "an error with the place",
        "misspelt key": _PLACE,
        "missing type": "a format says its type; XGrammar tries each in turn",
    },
    "Structural tags: tokens": {
        "any_tokens with max_tokens": "the limit holds for texts and masks; in XGrammar for masks alone",
        "token by its text inside repeat": _SOUND,
    },
    "Templates": {
        **dict.fromkeys(
            (
                f"{model}: no tools"
                for model in (
                    *("qwen_3", "qwen_3_5", "qwen_3_coder", "exaone", "kimi", "cohere"),
                    *("deepseek_r1", "deepseek_v3_1", "deepseek_v3_2", "deepseek_v4"),
                )
            ),
            _NO_CALL,
        ),
        **dict.fromkeys(
            ("deepseek_v3_2: a call must come", "deepseek_v4: a call must come"),
            "the two line feeds in front of a call may be left out",
        ),
        **dict.fromkeys(
            ("minimax: a call may come", "minimax: no tools", "minimax: reasoning disabled"),
            "a reasoning block that the prompt opened need not be closed first",
        ),
    },
    "Templates: tools and choices": {"no call when there is no choice": _NO_CALL},
    "TokenizerInfo": {
        "padding": _CONTROL,
        "other names of stop tokens": "the end tokens of ChatML, of Llama and of harmony are known by name, too",
        "stop tokens out of range": _PLACE,
        "special ids": _CONTROL,
    },
    "GrammarCompiler": {
        "size of what is kept": "clearing frees everything; XGrammar keeps a part",
        "stored, loaded with another vocabulary": "vocabularies are compared token by token",
        "two grammars that differ in a token's id": _SOUND,
    },
    "GrammarMatcher": {
        "mask without a stop token": "what accept_token refuses is not in the mask",
        "forced text beside a token": _SOUND,
        "forced text in mid character": "the forced text stops in front of a character that is not forced whole",
        "draft tree with a token that is refused": "rows below are empty; there they stay as they were",
        "a token that holds another": _SOUND,
        "stop token in the grammar": _SOUND,
    },
    "Bitmasks and batches": {"on logits, beyond the bitmask": "bits beyond the vocabulary are 0; there they are 1"},
    "Settings": {
        "version of what is stored": "texts of this project, which XGrammar does not read",
        "range as a regular expression": "the same texts, with one pair of brackets less",
    },
}
