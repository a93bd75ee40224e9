"""What the heads of columns mean, for the legends under tables.

A head is explained by the first pattern that matches all of it, without the blanks that keep equal heads apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["VERDICT_HEADS", "meaning", "meanings"]

VERDICT_HEADS: Final = {
    "compiled": "inputs that the engine took",
    "refused": "inputs that it refused by its own word",
    "failed": "crash, time limit or other error while compiling",
    "wrong inputs": "inputs with at least one wrong verdict on a text",
    "valid refused": "valid texts that it refused; blank where none was tried",
    "invalid accepted": "invalid texts that it accepted; blank where none was tried",
    "unjudged": "texts that were cut short, so that nothing is known of their end",
    "engine errors": "texts on which the engine failed while reading",
    "mask too narrow": "tokens that its mask forbids although it accepts them",
    "mask too wide": "tokens that its mask allows although it then refuses them",
}
"""The heads of the tables that count right and wrong verdicts on texts."""

_UNIT: Final = r"(?:ms|us|s|MB|%|bytes)"
_TIME: Final = r"(?:ms|us|s)"
_HEADS: Final[tuple[tuple[str, str], ...]] = (
    *((re.escape(head), said) for head, said in VERDICT_HEADS.items()),
    # claims
    ("claim", "what should come out"),
    ("verdict", "held, refuted or undecided (a number on one side of its bound, with its interval, or not)"),
    ("number", "the number that decides"),
    ("ours", "as measured here; in tables of steps: added to a free token, microseconds"),
    ("95 %", "the interval of the number, bootstrapped over the units of n"),
    ("n", "how many values, or independent units, it was measured on"),
    ("must be", "the bound of the claim; always: no unit may be beyond it"),
    ("paper.*", "the paper's number for the same"),
    ("why they differ", "why ours is not the paper's"),
    # who and what
    ("engine", "whose numbers; ours / best peer: below 1 ours is less, the best peer taken column by column"),
    (
        "metric",
        "what was timed; first visits: a parser state for the first time; seen before: the second pass over the texts",
    ),
    ("step|left out|mechanism|mechanisms|variant|options|series", "what was switched on, left out or varied"),
    ("form", "tag: calls in free text; harmony: in OpenAI's channels; schema: exactly one call as JSON"),
    ("setting", "static: the same tools in every request; dynamic: drawn anew"),
    ("kind|source|part|case|way|pass|workload|vocabulary|size in", "what was measured"),
    (
        "model|prompts|of them to be called",
        "which model answers; how many requests, and how many of them ask for a call",
    ),
    ("tools|tags|rows|size|count|tokens before|width", "how many"),
    ("file|index|text|set", "where it is: file, place in it, number of the text or of the set"),
    ("taken", "tokens taken, of those of the text"),
    ("status|reason|trials", "what became of trials, why, and how many of them"),
    # statistics
    ("avg|mean", "the average"),
    ("p50|median", "half of the values are at most this"),
    (r"p(\d+(?:\.\d+)?)", "quantile: this percentage of the values are at most this"),
    ("max", "the greatest value"),
    # times
    (rf"first request, {_TIME}", "compiling the first request of a process"),
    (rf"later ones, average, {_TIME}", "compiling one of the others"),
    (rf"p(\d+(?:\.\d+)?), {_UNIT}", "quantile: this percentage of the values are at most this"),
    (rf"model at 10 ms a call, {_TIME}", "the calls of the model that remain, at 10 ms each"),
    (rf"a request, {_TIME}", "compiling, masks and the model together"),
    (rf"(?:.*, )?(?:median|average), {_TIME}", "the median, or the average"),
    (
        rf"preprocessing(?: p90)?, {_UNIT}",
        "compiling, and masks made ahead of time; >= where inputs were refused",
    ),
    (rf"(?:compile|compiling).*, {_UNIT}", "from the text of the input to something that can be asked for masks"),
    (
        rf"(?:time to )?first mask.*, {_UNIT}",
        "compiling and the first mask; beside compiling: the mask alone",
    ),
    (rf"(?:mask (?:\+|and) )?accept.*, {_TIME}", "taking a token; with a mask: making its mask as well"),
    (rf"masks of a text, {_TIME}", "all masks of one text"),
    (rf"mask(?:s)?(?:[ ,].*)?, {_TIME}", "making one mask"),
    (rf"time to first token, {_UNIT}", "compiling the grammars of the batch, and the first step"),
    (rf"a token, .*, {_UNIT}", "a step of the batch, states seen for the first time"),
    (rf"free, {_UNIT}", "a token without any grammar"),
    (rf"explore, {_UNIT}", "opening the explorer"),
    (
        rf"(?:ours|xgrammar|llguidance|processor|accept and mask).*, {_TIME}",
        "this engine's, or part's, time of a step",
    ),
    (rf"(?:static|dynamic).*, {_UNIT}", "compiling one request of this setting"),
    (rf"process grew, {_UNIT}|.*resident.*|bytes each.*", "memory of the whole process"),
    (
        r"(?:ours holds|held.*|budget|held by the grammar), (?:MB|bytes)",
        "what the engine itself counts: held, and allowed",
    ),
    ("ours, all logits|xgrammar|llguidance|ours, .*", "added to a free token, microseconds"),
    ("tokens a second|requests a second", "all rows of a batch, or all threads, together"),
    ("seconds|threads|matchers|requests", "how long, and how many"),
    ("must never be", "errors that are not documented, and tokens of a mask that were refused; 0 is right"),
    ("of unconstrained, %", "tokens a second, as a share of those without a grammar"),
    # on a device
    ("device", "where the model and its logits are"),
    ("type", "of the logits"),
    ("model alone, ms", "the model's pass of a step, on the device's own clock"),
    (r"free, ms", "a step without a grammar, the middle one"),
    (r"[a-z]+, % more", "added to the free step of the same text, the middle of all steps"),
    (r"[a-z]+, 99th of 100, ms", "the step that one of a hundred exceeds"),
    ("steps", "how many were measured"),
    ("bytes a step|most", "for masks, of this batch: the mean of the steps, and the greatest"),
    ("as rows of bits", "bytes that a step would send if each row's mask were sent"),
    (rf"(?:auto|torch) .*, {_UNIT}", "one call of this kernel for all rows"),
    (rf"floor, {_UNIT}", "copying as many bytes as the kernel has to read and write, at this device's own speed"),
    # the service
    (
        r"to the first token, p\d+, ms",
        "from sending a request to the first of its answer, compiling and waiting included",
    ),
    (r"per token, p\d+, ms", "from the first token to the last of an answer, for each"),
    ("not right", "requests without the answer that had to come"),
    ("clients|requests", "how many"),
    ("ended|finish|why", "what became of it: answered, refused, left by its client, an error, lost; its finish_reason"),
    ("requests a second", "all clients together"),
    ("memory at the end, MB|kB a request, second half", "memory of the server's process, and how it still grows"),
    ("temperature", "of the draw; blank where the request says nothing of it"),
    (
        "answers|(?:finished|valid|right) answers",
        "how many: all; that no limit cut; that are instances of what was asked for; and are what was asked for",
    ),
    (r"gap, p50, ms|longest gap, ms", "between two pieces of the stream"),
    ("kept when idle, MB", "keys and values of the model that the server keeps when nothing runs"),
    (r"(?:constrained|free), tokens/s", "sixteen rows together, the reading of prompts included"),
    ("still counted", "requests that the server counts as running when all clients are gone; 0 is right"),
    ("tokens, average", "of an answer"),
    ("cut off by the limit, %", "answers that ended with their limit of tokens, of all requests"),
    # ratios
    (r"before / now|paper, before / now", "the row before over this one; above 1 the step pays"),
    (r"times slower without", "without / with, where the gain is clearest of the error"),
    ("most anywhere", "the greatest ratio of all places, however uncertain"),
    (r"at least|at most", "the ends of its interval, at which all the places looked at count as one look"),
    (
        r"nothing left out, off by",
        "how far from 1, on either side, that interval reaches where nothing was left out",
    ),
    (r"x .*", "without the mechanism / with it; above 1 it pays"),
    ("of them made", "tools that come from the generator, because the data folder has no more"),
    ("text, kB", "of the tools as one structural tag"),
    ("schemas that either took", "the others say nothing about either"),
    (r"ratio.*|.*, ratio|.* / .*", "the first over the second; below 1 the first is less"),
    (r".*, exponent", "slope of log(cost) over log(size) over the largest sizes: 1 linear, 0 constant"),
    (r".* is", "what growth with this exponent is called"),
    # counts
    (
        "schemas|masks|inputs|texts|tokens|grammars|places|states|sets|lines|calls|panels in sight|not run",
        "how many",
    ),
    (r"refused, .*", "inputs that this one refused; they count as at least as slow as their refusal"),
    ("tokens compared", "a token at a state, each"),
    ("uncertain after lookahead, .*, %", "share that is left when those are dropped whose rest no caller can take"),
    ("(?:accepted|uncertain|rejected)(?:, .*)?, %", "share of the tokens at a state (table 6)"),
    (
        "in another set|uncertain, judged otherwise|masks that differ|texts that differ",
        "differences between two ways; 0 is right",
    ),
    ("total length", "characters of all tags"),
    ("AC states|AC edges", "of the Aho-Corasick automaton; edges: of its trie, and failure links"),
    ("EBNF, symbols|EBNF, characters|with failure links, symbols", "size of the written grammar"),
    ("texts wrong with failure links, %", "texts that the short grammar takes wrongly, of those sampled"),
    ("TagDispatch, nodes|its states", "of the grammar as one TagDispatch: nodes as written, states of its automaton"),
    ("rules, plain|states, plain", "of the plain grammar in our engine"),
    (r"(?:rules|states|grammars)(?:, .*)?, %", "share that was known before, by this definition"),
    (
        r"(?:perfect|partial|missed|found in use.*), %",
        "share of token sets: found, found and filtered, made",
    ),
    ("there|worth it|within 60 / 120", "where the gain is, and whether it passes"),
    (
        "no call where none is asked, %|cut short, %",
        "share of the answers to requests that no tool is for; of those that the budget of tokens ended",
    ),
    (
        "valid of those that call, %",
        "share of the answers with a call whose calls can all be run",
    ),
    (
        "masks, % of the time|again, %|correct calls, %|(?:call|valid|right).*, %",
        "share of the time, or of the answers",
    ),
)


def meaning(head: str) -> str | None:
    """What a column's head means; None where nobody says."""
    for pattern, said in _HEADS:
        if re.fullmatch(pattern, head.strip()):
            return said
    return None


def meanings(heads: Iterable[str]) -> dict[str, str]:
    """Those of `heads` that are explained."""
    return {head.strip(): said for head in heads if (said := meaning(head)) is not None}
