"""The paper's definitions, checked: accepted, rejected and uncertain tokens, and the mask that they add up to.

Source: XGrammar-2, table 6 (formal definitions of the Earley parser and of masks with a cache).

Brute force (`paper_definitions.py`) is Earley's three rules over the rule automata, by item and token, with no code of
the engine.  The automata themselves are the engine's: that they mean the grammar is what the tests compare with another
recogniser.  One trial is one grammar: the states at some places of its texts, at random, under one set of options.
`engine` is the engine as it is; `plain` spells nothing out and has no counters, so that rules call each other more and
more tokens are uncertain.  Stop tokens are left out.  So are grammars that name tokens, and those that keep beside an
item which members of an object were read, as no item of table 6 does; members come in the order of the schema, where
few need that.  How many tokens are uncertain is asked of the engine in a large vocabulary as well, at the same places:
by table 6, and after a lookahead (XGrammar's context expansion) has dropped those whose rest no caller of the rule can
take.  The two differ most where a rule of blanks may end: by table 6 every token that begins with a blank is uncertain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from random import Random
from typing import Final

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments import datasets
from experiments.claims import Effect, claims_of, mean, worst
from experiments.columns import Column, Table, where
from experiments.datasets import CaseName, load_case
from experiments.figures import GREEN, RED, YELLOW
from experiments.grammar_set import GRAMMARS
from experiments.paper_definitions import Definitions, Item
from experiments.trial import NotRunError, Params
from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, Options
from kernels_core.errors import MaskscopeError
from kernels_core.grammar.tree import Unordered, walk

OPTIONS: Final[Mapping[str, Mapping[str, object]]] = {
    "engine": {},
    "plain": {"inline_limit": 0, "repetition": "compress", "lazy_lowering": False, "direct_limit": 0},
}
UNLIMITED: Final[Mapping[str, object]] = {"max_compile_ms": 0, "max_fill_ms": 0}
MOST_STATES: Final = 20_000
# By preset: schemas, places of each grammar, tokens of the vocabulary (None: all of them).
EXTENT: Final[Mapping[str, tuple[int, int, int | None]]] = {
    "smoke": (2, 2, 200),
    "quick": (8, 3, None),
    "full": (150, 10, None),
}
COUNTS: Final = ("accepted", "uncertain", "rejected")
LARGE: Final = {
    "large_uncertain": ("uncertain, large vocabulary", "share of the tokens at a state"),
    "large_looked_ahead": (
        "uncertain after lookahead, large vocabulary",
        "share that is left when those are dropped whose rest no caller can take",
    ),
}
DIFFERENT: Final = "differences between the two ways; 0 is right"


def grid(preset: str, limit: int | None = None) -> list[Params]:
    """Quick: 8 schemas, 3 places of each, all tokens of the demo model.  Full: 150 schemas, 10 places.  The grammars of
    other languages (`grammar_set.py`) come on top, but for "smoke".

    limit: take that many schemas, evenly spread, whatever the preset takes.
    """
    count, places, tokens = EXTENT[preset]
    files = ["synthetic:0"] if preset == "smoke" else datasets.default_schemas()
    sources = [asdict(case) for case in datasets.find_cases(files, limit or count)]
    if preset != "smoke":
        sources += [{"file": f"grammar:{name}", "index": 0} for name in GRAMMARS]
    large = datasets.DEMO if preset == "smoke" else "tekken"
    shared = {"places": places, "tokens": tokens, "seed": 0, "vocabulary": datasets.DEMO, "large": large}
    return [{"options": options, **source, **shared} for source in sources for options in OPTIONS]


def trial(params: Params) -> dict[str, int]:
    """Compare some places of the texts of one grammar.

    Returns how many `states` and `decisions` (a token at a state) were compared; tokens that brute force has as
    `accepted`, `uncertain`, `rejected`; and those `misplaced` (another set), `misjudged` (an uncertain token that is
    allowed here and not there) and `masks_differ` (places whose mask is not what the table's three steps give).
    `large_uncertain` of `large_decisions`: in the vocabulary `large`, by the engine; `large_looked_ahead`: those of
    them that a lookahead leaves.
    """
    grammar, texts = _source(params)
    if any(isinstance(node, Unordered) for rule in grammar.ir.rules.values() for node in walk(rule.body)):
        raise NotRunError("which members were read is kept beside an item")
    tokenizer = datasets.open_tokenizer(params["vocabulary"])
    options = Options.laboratory(**OPTIONS[params["options"]], **UNLIMITED)
    large = datasets.open_tokenizer(params["large"])
    ways = {"uncertain": options, "looked_ahead": Options.laboratory(**options.to_dict() | {"lookahead": True})}
    try:
        compiled = GrammarCompiler(tokenizer.info, options=options).compile_grammar(grammar)
        others = {name: GrammarCompiler(large.info, options=way).compile_grammar(grammar) for name, way in ways.items()}
    except MaskscopeError as error:
        raise NotRunError(f"refused: {error}") from None
    compiled.complete()
    automaton = compiled.automaton()
    if automaton.state_count() > MOST_STATES:
        raise NotRunError(f"more than {MOST_STATES:,} states: too many to draw")
    try:
        definitions = Definitions(automaton)
    except ValueError as error:
        raise NotRunError(str(error)) from None
    random = Random(f"formal {params['seed']} {params['file']} {params['index']}")
    control = {*tokenizer.info.special_token_ids, *tokenizer.info.stop_token_ids}
    ids = [number for number, token in enumerate(compiled.vocab) if token and number not in control]
    if params["tokens"] is not None:
        ids = sorted(random.sample(ids, min(params["tokens"], len(ids))))
    total: Counter[str] = Counter()
    for _ in range(params["places"]):
        text = random.choice(texts)
        matcher = GrammarMatcher(compiled)
        prefix = text[: random.randint(0, len(text))]
        if matcher.accept_string(prefix):
            total += _compared(definitions, matcher, prefix, ids)
            for name, other in others.items():
                elsewhere = GrammarMatcher(other)
                elsewhere.accept_string(prefix)
                found = elsewhere.token_sets().states
                total[f"large_{name}"] += sum(len(entry.uncertain) for entry in found)
                total["large_decisions"] += large.vocab_size * len(found) * (name == "uncertain")
    if not total["compared"]:
        raise NotRunError("the grammar takes none of its texts")
    return {name: int(total[name]) for name in (*COUNTS, *_FIXED)}


_FIXED: Final = (
    "states",
    "decisions",
    "misplaced",
    "misjudged",
    "masks_differ",
    "compared",
    "large_uncertain",
    "large_looked_ahead",
    "large_decisions",
)


def _source(params: Params) -> tuple[Grammar, list[bytes]]:
    kind, _, name = params["file"].partition(":")
    if kind == "grammar":
        found = GRAMMARS[name]
        grammar: Grammar = getattr(Grammar, f"from_{found.language}")(found.text)
        return grammar, [text.encode() for text in found.texts]
    case = load_case(CaseName(params["file"], params["index"]))
    texts = [instance.text.encode() for instance in case.instances if instance.valid]
    try:
        return Grammar.from_json_schema(case.schema, order="declared"), texts or [b""]
    except MaskscopeError as error:
        raise NotRunError(f"refused: {error}") from None


def _compared(definitions: Definitions, matcher: GrammarMatcher, text: bytes, ids: list[int]) -> Counter[str]:
    """One place: every scannable state of the frontier, then the mask."""
    sets = matcher.token_sets()
    tokens = [sets.vocab[number] for number in ids]
    at = np.array(ids)
    chart = definitions.chart(text)
    total: Counter[str] = Counter(compared=1)
    possible = np.zeros(len(ids), dtype=bool)
    for entry in sets.states:
        items = [
            Item(item.rule, item.state, item.origin, item.counter)
            for item in matcher.frontier().items
            if (item.state, 0 if item.seen is not None else item.counter) == (entry.state, entry.counter)
        ]
        if len({item.counter for item in items}) > 1:
            continue  # different members were read, and the entry does not say which
        kinds = np.array(definitions.kinds(items[0], tokens))
        uncertain = np.isin(at, entry.uncertain.ids)
        ours = np.where(np.isin(at, entry.accepted), "accepted", np.where(uncertain, "uncertain", "rejected"))
        allowed = np.any([definitions.allowed(item, chart, tokens) for item in items], axis=0)
        said = np.isin(at, entry.uncertain.ids[entry.uncertain.allowed])
        total += Counter(states=1, decisions=len(ids), misplaced=int((kinds != ours).sum()))
        total += Counter(misjudged=int((allowed[uncertain] != said[uncertain]).sum()))
        total += Counter({kind: int((kinds == kind).sum()) for kind in COUNTS})
        possible |= (kinds == "accepted") | ((kinds == "uncertain") & allowed)
    mask = np.isin(at, np.array(matcher.allowed_token_ids()))
    return total + Counter(masks_differ=int((possible != mask).any()))


def _sum(key: str, over: str = "", times: float = 1) -> Callable[[pd.DataFrame], float]:
    """The sum of a metric over the grammars, or a share of another's."""
    return lambda trials: times * trials[key].sum() / max(trials[over].sum(), 1) if over else trials[key].sum()


def _with_source(trials: pd.DataFrame) -> pd.DataFrame:
    grammars = trials["file"].str.startswith("grammar:")
    return trials.assign(source=grammars.map({True: "other grammars", False: "schemas"}))


COMPARED: Final = Table(
    "The definitions of table 6 against the engine",
    (
        Column("options", help="engine: as it is by default; plain: as the paper's"),
        Column("source", help="schemas, or grammars of other languages"),
        Column("grammars", help="how many", of=len),
        Column("places", "places", "", "of their texts", _sum("compared")),
        Column("states", "states", "", "at these places", _sum("states")),
        Column("decisions", "tokens compared", "", "a token at a state, each", _sum("decisions")),
        *(Column(name, name, "%", "share of the tokens at a state", _sum(name, "decisions", 100)) for name in COUNTS),
        *(Column(key, head, "%", said, _sum(key, "large_decisions", 100)) for key, (head, said) in LARGE.items()),
        Column("misplaced", "in another set", "", DIFFERENT, _sum("misplaced")),
        Column("misjudged", "uncertain, judged otherwise", "", DIFFERENT, _sum("misjudged")),
        Column("masks_differ", "masks that differ", "", DIFFERENT, _sum("masks_differ")),
    ),
    by=("options", "source"),
    named=_with_source,
)
TABLES: Final = (COMPARED,)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Shares of the tokens at a state, by options and source."""
    rows = COMPARED.cells(trials)
    names = rows["options"] + ", " + rows["source"]
    colours = dict(zip(COUNTS, (GREEN, YELLOW, RED), strict=True))
    figure = px.bar(rows, x=names, y=list(COUNTS), color_discrete_map=colours, range_y=[0, 100])
    return figure.update_yaxes(title="tokens at a state, %")


def _never(column: str) -> Callable[[pd.DataFrame], Effect]:
    return lambda trials: worst(trials[column], "pairs of a grammar and options")


def _uncertain(trials: pd.DataFrame) -> Effect:
    done = where(trials, options="engine")
    done = done[done["large_decisions"] > 0]
    return mean(100 * done["large_looked_ahead"] / done["large_decisions"], "grammars")


CLAIMS: Final = claims_of(
    "formal",
    {name: _never(name) for name in ("misplaced", "misjudged", "masks_differ")} | {"uncertain": _uncertain},
)
