"""From a key to all panels painted: how long a step of the desk takes in a real JupyterLab.

Source: design of the workbench, the table of what a newcomer saw (tiny grammar to 1,000 states).

One trial is one case: JupyterLab, a headless Chromium of 1440 x 900, one notebook with the panel (or two that follow
each other), the arrow keys pressed through a text once forward (places never seen), once back (places seen), with a
pause of 200 ms before each key, as a reader makes it: the step before is over, and nothing but this one is timed.  A
step begins when the browser got the key and is over when the frame in which every panel in sight shows the new place
has been drawn; a second explorer that is scrolled away is brought up to date when it comes into sight.  `open_ms` is
the time that `explore` took in the kernel.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from experiments.claims import Effect, claims_of, worst
from experiments.columns import Column, Table
from experiments.jupyter import chromium_page, open_notebook, run_all, serving, write_notebook
from experiments.synthetic_schemas import NOUNS, VERBS, make_wide
from experiments.trial import Params
from workbench.json_values import JsonObject

if TYPE_CHECKING:
    from playwright.sync_api import Page

STEPS: Final = {"smoke": 3, "quick": 10, "full": 60}
RUNS: Final = {"smoke": 1, "quick": 1, "full": 2}  # of each case, each in a JupyterLab of its own
SIZE: Final = {"width": 1440, "height": 900}
LIMIT_MS: Final = 20_000
SMALLEST, LARGEST = "tiny EBNF", "1,000 states"
PAUSE_MS: Final = 200
STATES: Final = 1_000
LIMITS: Final = {"p50": 60, "p90": 120}

# Presses nothing by itself: it times what the next key does.  A host says in the last animation callback of a frame
# that all in sight shows another place (`data-place`): that frame is then drawn, and the task after it has run.
WATCH: Final = """() => {
  const seen = (host) => {
    const box = host.getBoundingClientRect();
    return Math.min(box.bottom, innerHeight) - Math.max(box.top, 0) >= 40;
  };
  const hosts = [...document.querySelectorAll(".ms-host[data-ready]")].filter(seen);
  const before = hosts.map((host) => host.dataset.place);
  window.timed = new Promise((done, fail) => {
    let start = null;
    const fresh = (host, at) => host.dataset.place !== before[at];
    const look = () => {
      if (start === null || !hosts.every(fresh)) return;
      observer.disconnect();
      setTimeout(() => done(performance.now() - start));
    };
    const observer = new MutationObserver(look);
    for (const host of hosts) observer.observe(host, { attributes: true, attributeFilter: ["data-place"] });
    document.addEventListener("keydown", (event) => { start = event.timeStamp; }, { capture: true, once: true });
    setTimeout(() => fail(new Error("no answer")), LIMIT);
  });
  return hosts.length;
}""".replace("LIMIT", str(LIMIT_MS))


def _tiny() -> tuple[str | JsonObject, str]:
    return 'root ::= "[" (word ("," word)*)? "]"\nword ::= [a-z]+\n', "[" + ",".join(NOUNS[:30]) + "]"


def _calls() -> tuple[str | JsonObject, str]:
    from workbench.explorer import EXAMPLE_GRAMMAR

    return EXAMPLE_GRAMMAR, "call add(" + ", ".join(f'{n}, "{noun}"' for n, noun in enumerate(NOUNS[:16])) + ")"


def _ambiguous() -> tuple[str | JsonObject, str]:
    grammar = 'root ::= e\ne ::= e "+" e | e "*" e | "(" e ")" | [0-9]+\n'
    return grammar, "+".join(f"({n}*{n + 7}+{n * n})" for n in range(12))


def _tags() -> tuple[str | JsonObject, str]:
    tags: list[JsonObject] = [
        {
            "type": "tag",
            "begin": f"<tool={name}>",
            "content": {
                "type": "json_schema",
                "json_schema": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                    "required": ["city"],
                    "additionalProperties": False,
                },
            },
            "end": "</tool>",
        }
        for name in ("get_weather", "get_forecast")
    ]
    tag: JsonObject = {
        "type": "structural_tag",
        "format": {"type": "triggered_tags", "triggers": ["<tool="], "tags": tags},
    }
    text = (
        'Let me look. <tool=get_weather>{"city": "Lund", "days": 3}</tool> And then <tool=get_forecast>{"city": "Oslo"}'
    )
    return tag, text


def _schema() -> tuple[str | JsonObject, str]:
    made = make_wide(0, 40)
    return made["schema"], json.dumps(made["tests"][0]["data"])


def _states() -> tuple[str | JsonObject, str]:
    phrases = [f"{verb} the {noun} " for verb in VERBS for noun in NOUNS][: STATES // 8]
    choice = " | ".join(f'"{phrase}"' for phrase in phrases)
    return f"root ::= phrase+\nphrase ::= {choice}\n", "".join(phrases[::7])


CASES: Final[Mapping[str, Callable[[], tuple[str | JsonObject, str]]]] = {
    "tiny EBNF": _tiny,
    "two synchronised explorers, call grammar": _calls,
    "ambiguous, left-recursive": _ambiguous,
    "two tags and free text": _tags,
    "JSON Schema, 40 properties": _schema,
    "1,000 states": _states,
}


def grid(preset: str) -> list[Params]:
    """Smoke: 3 steps of two cases.  Quick: 10 steps of the smallest and the largest case, as each starts a JupyterLab.
    Full: 60 steps of all, or as many as the text has, twice."""
    some = {"smoke": (SMALLEST, "two tags and free text"), "quick": (SMALLEST, LARGEST)}
    names = some.get(preset, tuple(CASES))
    shared = {"steps": STEPS[preset], "vocabulary": "tekken"}
    return [{"case": name, "run": run, **shared} for run in range(RUNS[preset]) for name in names]


def trial(params: Params) -> dict[str, object]:
    """`forward_ms` and `back_ms`: milliseconds of each step; `open_ms`: of `explore`; `panels`: those in sight."""
    grammar, text = CASES[params["case"]]()
    shown = (
        "explorer"
        if "two synchronised" not in params["case"]
        else "display(explorer, wb.explore(session).under_the_hood())"
    )
    cell = (
        "import json, time, workbench as wb\n"
        f"session = wb.Session(json.loads({json.dumps(grammar)!r}), {params['vocabulary']!r})\n"
        f"assert session.read({text!r}).ok\n"
        "begin = time.perf_counter()\n"
        "explorer = wb.explore(session).under_the_hood()\n"
        "open_ms = 1e3 * (time.perf_counter() - begin)\n"
        "session.goto(0)\n"
        f"{shown}"
    )
    with tempfile.TemporaryDirectory() as folder, chromium_page("look at the desk with", viewport=SIZE) as page:
        home = Path(folder)
        (home / "notebooks").mkdir()
        with serving(home, home / "notebooks") as lab:
            said = "print(open_ms, len(session.steps))"
            open_notebook(page, lab, write_notebook(lab, "desk.ipynb", cell, said))
            run_all(page)
            page.wait_for_selector(".ms-host[data-ready]", timeout=60_000)
            desk = page.locator(".ms-first").first
            desk.focus()
            panels = desk.locator(".ms-slot:not([hidden])").count()
            opened, there = page.locator(".jp-OutputArea-output pre").last.inner_text().split()
            steps = min(params["steps"], int(there))
            forward = [_step(page, "ArrowRight") for _ in range(steps)]
            back = [_step(page, "ArrowLeft") for _ in range(steps)]
    return {"forward_ms": forward, "back_ms": back, "open_ms": float(opened), "panels": panels}


def _step(page: Page, key: str) -> float:
    page.wait_for_timeout(PAUSE_MS)
    page.evaluate(WATCH)
    page.keyboard.press(key)
    return round(float(page.evaluate("() => window.timed")), 1)


def _steps(trials: pd.DataFrame) -> pd.DataFrame:
    """One row a step: case, run, direction, ms."""
    rows = [
        {"case": row["case"], "run": row.get("run", 0), "step": step, "ms": value}
        for row in trials.to_dict("records")
        for step, key in (("to a new place", "forward_ms"), ("back to a place seen", "back_ms"))
        for value in row[key]
    ]
    return pd.DataFrame(rows, columns=["case", "run", "step", "ms"])


def _within(steps: pd.DataFrame) -> str:
    kept = steps["ms"].median() <= LIMITS["p50"] and steps["ms"].quantile(0.9) <= LIMITS["p90"]
    return "yes" if kept else "no"


CASE: Final = Column("case", help="what was opened")
PAINTED: Final = Table(
    "From the key to all panels painted, ms",
    (
        CASE,
        Column("step", help="where the key leads"),
        Column("n", help="how many steps", of=len),
        Column("median", help="half of the steps take at most this", of=lambda steps: steps["ms"].median()),
        Column("p90", help="90 % of the steps take at most this", of=lambda steps: steps["ms"].quantile(0.9)),
        Column("max", help="the slowest step", of=lambda steps: steps["ms"].max()),
        Column("within", "within 60 / 120", help="whether median and p90 are within these", of=_within),
    ),
    by=("case", "step"),
    named=_steps,
)
TABLES: Final = (
    PAINTED,
    Table(
        "Opening",
        (
            CASE,
            Column("panels", "panels in sight", help="how many"),
            Column("open_ms", "explore", "ms", "opening the explorer"),
        ),
    ),
)


def plot(trials: pd.DataFrame) -> go.Figure:
    """Each case's steps as boxes, in milliseconds."""
    figure = px.box(_steps(trials), x="case", y="ms", color="step", labels={"ms": "ms from key to paint"})
    figure.add_hline(y=LIMITS["p50"], line_dash="dot", annotation_text="60 ms")
    return figure.update_yaxes(rangemode="tozero")


def _of_cases(key: str, trials: pd.DataFrame) -> Effect:
    return worst(PAINTED.cells(trials)[key], "cases, forward and back")


def _returning(trials: pd.DataFrame) -> Effect:
    found = _steps(trials).groupby(["case", "run", "step"])["ms"].median().unstack()
    return worst(found["back to a place seen"] / found["to a new place"], "runs of a case")


CLAIMS: Final = claims_of(
    "panel-latency", {"median": partial(_of_cases, "median"), "p90": partial(_of_cases, "p90"), "back": _returning}
)
