"""The first screen on the desk: a text with the model that wrote it, live; what is opened, run, and branched from it.

The run that is shown is the session's own, live or last, or one that was recorded (`workbench/screen/recording.py`),
whichever the text begins with.  Models are loaded on the first run, in a thread.

Read on: `workbench/screen/state.py` (what is shown), `visualizers/screen.py` (the view), `frontend/src/screen.ts`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from visualizers.glyphs import clip, glyph
from visualizers.screen import ScreenView
from workbench.languages import Source
from workbench.panels.base import Desk, Panel
from workbench.screen.gallery import GALLERY, Entry
from workbench.screen.parts import Part, parts_of
from workbench.screen.recent import note_opened, opened_last
from workbench.screen.recording import Recording, Token, model_word, recorded, tokens_of
from workbench.screen.state import here_state, matched, text_state
from workbench.session import Change

if TYPE_CHECKING:
    from workbench.generation import LanguageModel, Step

__all__ = ["ScreenPanel"]

MAX_TOKENS: Final = 160
NAMES: Final = {"smollm2": "SmolLM2", "demo": "the demo model"}
TOKENIZERS: Final = ("tekken",)
START: Final = {"prompt": "", "seed": 1, "temperature": 1.0, "grammar": True}
OPENED: Final = "Ctrl+Z brings back the source and the text before"
REPLACED: Final = "Ctrl+Z brings back the text before"
_models: dict[str, Any] = {}
_loading = threading.Lock()


def load(word: str) -> LanguageModel:
    """The model of that word, loaded once a kernel."""
    from workbench.generation.model import read_model

    with _loading:
        if word not in _models:
            _models[word] = read_model(word, "auto", None)
        model: LanguageModel = _models[word]
        return model


def _called(source: Source) -> str:
    """A source in a list: its name, else its language and how it begins."""
    return clip(f"{source.name or source.title}: {' '.join(source.text.split())}", 40)


def _cut(model: LanguageModel, pieces: Sequence[bytes]) -> list[int]:
    """The model's tokens of a text: its pieces, where each is one, else those into which its tokenizer cuts it."""
    vocab = model.tokenizer.info.decoded_vocab
    cut = [list(model.tokenizer.encode(piece)) for piece in pieces]
    if all(len(ids) == 1 and bytes(vocab[ids[0]]) == piece for ids, piece in zip(cut, pieces, strict=True)):
        return [ids[0] for ids in cut]
    return list(model.tokenizer.encode(b"".join(pieces)))


class ScreenPanel(Panel):
    """The screen that an explorer opens with."""

    name = "screen"
    title = "Screen"
    dock = "screen"
    rank = 10

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: ScreenView = ScreenView()
        self._entry: Entry | None = None
        self._recording: Recording | None = None
        self._model = model_word()
        self._settings: dict[str, Any] = dict(START)
        self._plays = 0
        self._message = ""
        self._busy = ""
        self._said: dict[str, Any] = {}  # the last conversion of a run's steps
        self._note = ""  # what was done in place of what was there
        self._memo: object = None
        self._parts: tuple[Any, tuple[Part, ...]] = (None, ())
        self._shown: Any = None  # what the text was drawn from
        self._here: tuple[Any, Any] = (None, None)
        self._recent = opened_last()
        self._thread: threading.Thread | None = None
        if self.session.edits.memo is None:
            self._remember()

    def _remember(self) -> None:
        """Have the session keep what is opened and set here with its text: an edit that is taken back brings both."""
        kept = (self._entry, self._recording, self._model, dict(self._settings))
        self._memo = self.session.edits.memo = kept

    def _recall(self) -> None:
        """Show what the session keeps, where an edit was taken back or another screen has opened something."""
        memo: Any = self.session.edits.memo
        if memo is self._memo or memo is None:
            return
        self._memo, self._note = memo, ""
        self._entry, self._recording, self._model, settings = memo
        self._settings = dict(settings)

    # -- what is shown -----------------------------------------------------------------------------------------------

    def update(self, change: Change | None) -> None:
        session = self.session
        self._recall()
        tokens = self._tokens()
        refused = session.edits.refused
        trace = session.trace
        if trace is not None and trace.died is not None and matched(session.steps, tokens) == trace.followed:
            refused = refused or b"?"
        parts = self._parts_now()
        key = (session.steps, len(tokens), id(self._recording), refused, parts, session.document)
        if key != self._shown:
            self._shown = key
            self.view.text = text_state(session, tokens, parts, refused).plain()
        where = (session.place, session.document, session.steps, len(tokens), self._recording, self.desk.reading)
        if where != self._here[0] or session.model.is_running:
            asked = not session.model.is_running
            self._here = where, here_state(session, tokens, asked=asked, reading=self.desk.reading)
        here, self.desk.forbids = self._here[1]
        self.view.here = here.plain()
        self.view.bar = self._bar()

    def _tokens(self) -> Sequence[Token]:
        """The run that wrote the text: the live one, the last, or the recorded one, whichever says more of it."""
        session = self.session
        run, trace = session.model.current, session.trace
        found: list[Sequence[Token]] = []
        if run is not None:
            found.append(self._convert(run.stream.steps))
        elif trace is not None:
            found.append(self._convert(trace.generation.steps))
        if self._recording is not None:
            found.append(self._recording.tokens)
        best = max(found, key=lambda tokens: matched(session.steps, tokens), default=())
        for other in found:  # a run that goes on from another was given what the other wrote
            same = 0
            for one, given in zip(other, best, strict=False):
                if one.data != given.data or not given.given:
                    break
                same += 1
            if other is not best and same:
                best = [*other[:same], *best[same:]]
        return best

    def _beginning(self) -> int:
        """How many steps are a beginning that a person made, from which a model goes on: those up to the last one that
        was typed, and all of a run of which the end was taken away; none of a text that a model wrote."""
        session = self.session
        steps, tokens = [step for step in session.steps if not step.stop], self._tokens()
        same = matched(steps, tokens)
        free = session.trace is not None and session.trace.died is not None
        if same == len(steps) and not free and any(one.data for one in tokens[same:]):
            return same
        return max((n + 1 for n in range(len(steps)) if n >= same or tokens[n].given), default=0)

    def _convert(self, steps: Sequence[Step]) -> Sequence[Token]:
        """Steps as the screen shows them; those that were converted before are kept."""
        known: list[Token] = self._said.get("tokens", [])
        before: Sequence[Step] = self._said.get("steps", ())
        same = 0
        while same < min(len(before), len(steps)) and before[same] is steps[same]:
            same += 1
        self._said = {"steps": tuple(steps), "tokens": [*known[:same], *tokens_of(steps[same:], self._special())]}
        tokens: list[Token] = self._said["tokens"]
        return tokens

    def _special(self) -> frozenset[int]:
        return frozenset(self.session.tokenizer.info.special_token_ids)

    def _parts_now(self) -> tuple[Part, ...]:
        """The parts of the whole text, found where the session stands at its end and kept for places before it."""
        session = self.session
        key = (session.document, session.steps)
        if self._parts[0] != key or session.index > sum(part.count for part in self._parts[1]):
            self._parts = key, parts_of(session)
        return self._parts[1]

    def _bar(self) -> dict[str, Any]:
        session, trace, run, reading = self.session, self.session.trace, self.session.model.current, self.desk.reading
        look = ""
        if run is not None or (trace is not None and matched(session.steps, self._convert(trace.generation.steps))):
            speaker = (
                f"{NAMES.get(self._model, self._model)} speaks"
                if run is not None
                else f"{NAMES.get(self._model, self._model)} wrote this"
                f"{'' if trace is None or trace.generation.constrained else ', without the grammar'}"
            )
        elif self._recording is not None and matched(session.steps, self._recording.tokens):
            speaker = f"a recorded run of {NAMES.get(self._recording.model, self._recording.model)}"
            look = "" if self._entry is None else self._entry.look
        else:
            speaker = ""
        return {
            "gallery": [[entry.name, entry.title] for entry in GALLERY],
            "recent": [[f"recent-{number}", _called(source)] for number, source in enumerate(self._recent)],
            "entry": "" if self._entry is None else self._entry.name,
            "title": session.document.name or session.document.title,
            "models": [[word, NAMES[word]] for word in dict.fromkeys((model_word(), "demo"))],
            "model": self._model,
            "tokenizers": list(dict.fromkeys((session.tokenizer.name, *TOKENIZERS))),
            "tokenizer": session.tokenizer.name,
            "speaker": speaker,
            "look": look,
            **self._settings,
            "running": session.model.is_running,
            "busy": self._busy,
            "message": self._message or self.desk.trouble,
            "note": self._note,
            "plays": self._plays,
            "edited": session.edits.draft is not None,
        }

    # -- what a person does ------------------------------------------------------------------------------------------

    def received(self, content: Any) -> None:
        kind = content.get("kind") if isinstance(content, dict) else None
        actions: dict[str, Callable[[dict[str, Any]], None]] = {
            "open": lambda message: self.open(str(message.get("name"))),
            "paste": lambda message: self._paste(str(message.get("text") or "")),
            "run": self._go_on,
            "step": lambda message: self._run(message, begin=self.session.index, more=1),
            "branch": self._branch,
            "choose": lambda message: self._choose(message),
            "share": lambda message: self._share(),
        }
        action = actions.get(kind or "")
        self._message = ""
        if action is None:
            if kind in ("prefix", "text", "undo", "redo"):
                self._note = ""
            super().received(content)
            return
        try:
            action(content)
        except Exception as error:  # shown where it was asked for
            self._message = str(error) or type(error).__name__
        self.desk.do("select")

    def open(self, name: str) -> None:
        """Open an entry of the gallery, with its recorded run where there is one, which plays; or, by `recent-` and its
        number, what a person opened before."""
        if name.startswith("recent-"):
            self._take(self._recent[int(name.removeprefix("recent-"))])
            return
        entry = next((one for one in GALLERY if one.name == name), None)
        if entry is None:
            raise ValueError(f"the gallery has no {name!r}: {', '.join(one.name for one in GALLERY)}")
        session = self.session
        session.model.stop()
        first = not session.steps and not session.edits.can_undo
        with session.inspect.held(), self.view.hold_sync(), session.edits.as_one():  # one message for all, and one edit
            self._entry, self._recording = entry, recorded(entry.name)
            self._settings |= {"prompt": entry.prompt, "seed": entry.seed, "grammar": True}
            self._note = "" if first else OPENED
            session.edits.begin_anew()
            session.set_grammar(entry.source)
            self.lay()
            self._remember()
        if first:  # there is nothing to come back to
            session.edits.watch(afresh=True)

    def lay(self) -> None:
        """Put the recorded run into the session, at its beginning, and let it play."""
        if self._recording is None:
            return
        session = self.session
        for token in self._recording.tokens:
            if token.data:
                session.step(token.data)
        self._parts_now()
        session.goto(0)
        self._plays += 1
        self._settings |= {"seed": self._recording.seed, "temperature": self._recording.temperature}

    def _paste(self, text: str) -> None:
        self._take(Source.of(text))

    def _take(self, source: Source) -> None:
        note_opened(source)
        self._recent = opened_last()
        self._entry = self._recording = None
        self._settings |= START
        self._note = OPENED
        kept = (None, None, self._model, dict(self._settings))
        self._memo = kept
        self.desk.do("open", text=source.text, language=source.language, options=dict(source.options), memo=kept)

    def _choose(self, message: dict[str, Any]) -> None:
        if message.get("model") in NAMES:
            self._model = str(message["model"])
            self._remember()
        if message.get("tokenizer") in (*TOKENIZERS, self.session.tokenizer.name):
            self.session.set_tokenizer(message["tokenizer"])

    def _go_on(self, message: dict[str, Any]) -> None:
        """Let the model write from the beginning, or from where a person's text ends."""
        refused = self.session.edits.refused
        if refused and message.get("grammar", True):
            shown = clip(glyph(refused), 24)
            raise ValueError(f"the grammar refuses {shown}: take it away, or let the model write without the grammar")
        if refused:
            self._run(message, begin=len(self.session.steps), then=refused)
        else:
            self._run(message, begin=self._beginning())

    def _branch(self, message: dict[str, Any]) -> None:
        """Let the model go on with what it wanted here and was refused, free of the grammar."""
        tokens, index = self._tokens(), self.session.index
        wish = next((one for one in tokens[index].options if not one.allowed), None) if index < len(tokens) else None
        if wish is None:
            raise ValueError("nothing was refused here")
        self._run(message, begin=index, then=wish.data, free=True)

    def _run(
        self, message: dict[str, Any], *, begin: int = 0, more: int = MAX_TOKENS, then: bytes = b"", free: bool = False
    ) -> None:
        """Let the model write, after the first `begin` steps of the text and `then`; in a thread, with the screen
        following.  `free`: without the grammar."""
        session = self.session
        if session.model.is_running or self._busy:
            raise ValueError("wait until the run has ended, or stop it")
        with session.edits.as_one():  # the settings of before belong to the text of before
            self._note = REPLACED if len(session.steps) > begin or session.edits.refused not in (b"", then) else ""
        self._settings = {
            "prompt": str(message.get("prompt") or ""),
            "seed": int(message.get("seed") or 0),
            "temperature": float(message.get("temperature") or 0.0),
            "grammar": bool(message.get("grammar", True)),
        }
        word, kept = self._model, [step.data for step in session.steps[:begin] if not step.stop]
        trace = session.trace
        known = () if trace is None else trace.generation.steps
        same = matched(session.steps[:begin], self._convert(known)) if known else 0
        chat = None if self._entry is None or self._entry.chat else False
        settings, constrained = dict(self._settings), bool(self._settings["grammar"]) and not free
        self._remember()
        self._busy = f"loading {NAMES[word]}" if word not in _models else ""

        def work() -> None:
            try:
                model = load(word)
                self._busy = ""
                given: list[Any] = (
                    list(known[:begin])
                    if begin and same == begin and trace and trace.generation.model == model.name
                    else _cut(model, kept)
                ) + _cut(model, [then])
                session.run(
                    model,
                    settings["prompt"],
                    constrained=constrained,
                    seed=settings["seed"],
                    temperature=settings["temperature"],
                    max_tokens=len(given) + more,
                    begin=given,
                    chat=chat,
                )
            except Exception as error:
                self._message = str(error) or type(error).__name__
            finally:
                self._busy = ""
            self.desk.do("select")

        self._thread = threading.Thread(target=work, name="maskscope-screen", daemon=True)
        self._thread.start()

    @property
    def is_recorded(self) -> bool:
        """Whether the text is that of a recorded run, and nobody's own."""
        found = self._recording
        return found is not None and matched(self.session.steps, found.tokens) >= len(self.session.steps)

    def wait(self) -> None:
        """Wait until the run that was begun last has ended."""
        if self._thread is not None:
            self._thread.join()

    def take(self, other: Panel) -> None:
        if isinstance(other, ScreenPanel):
            self._entry, self._recording, self._model = other._entry, other._recording, other._model
            self._settings = dict(other._settings)
            self.view.face, self.view.pane = other.view.face, other.view.pane

    def _share(self) -> None:
        """Send the page that `save` writes to the browser, which keeps it as a file."""
        self.view.send({"save": "maskscope.html", "text": self.desk.page()})
