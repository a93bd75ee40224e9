"""The first screen on the desk: a text with the model that wrote it, live; what is opened, run, and branched from it.

The run that is shown is the session's own, live or last, or one that was recorded (`workbench/screen/recording.py`),
whichever the text begins with.  Models are loaded on the first run, in a thread.

Read on: `workbench/screen/state.py` (what is shown), `visualizers/screen.py` (the view), `frontend/src/screen.ts`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kernels_core.errors import BudgetExceededError, MaskscopeError
from kernels_core.inspect.classic import in_common
from kernels_core.locks import new_lock
from visualizers.glyphs import clip, glyph
from visualizers.screen import PLACE, ScreenView
from visualizers.tree import said_readings
from workbench.languages import Source
from workbench.languages.examples import EXAMPLES
from workbench.languages.source import SAID
from workbench.languages.telling import told_schema, told_tools
from workbench.languages.tools import tools_in
from workbench.panels.base import Desk, Message, Panel
from workbench.panels.next import tokens_of_chip
from workbench.provenance import SourcePlace
from workbench.screen.gallery import GALLERY, Entry
from workbench.screen.outcome import Outcome, ended_early, outcome, python_of
from workbench.screen.parts import FREE_TEXT, Part, parts_of, step_modes
from workbench.screen.recent import called, is_edit, note_opened, opened_last
from workbench.screen.recording import Recording, Token, model_word, recorded, tokens_of
from workbench.screen.state import here_state, matched, text_state
from workbench.session import Change, Session
from workbench.session.history import Place

if TYPE_CHECKING:
    from workbench.generation import Generation, LanguageModel, Step

MAX_TOKENS: Final = 256
MOST_TOKENS: Final = 100_000
TURN: Final = re.compile(r"^(\w+):", re.M)
WITH_FREE_TEXT: Final = ("tools", "structural_tag")
NAMES: Final = {"smollm2": "SmolLM2", "demo": "the demo model"}
TOOL_CHOICES: Final = {"auto": "if it likes (auto)", "required": "at least one (required)", "none": "none"}
"""Which calls a model may make; besides, one tool alone."""
OPENED: Final = "Ctrl+Z brings back the source and the text before"
REPLACED: Final = "Ctrl+Z brings back the text before"
_models: dict[str, LanguageModel] = {}
_loading = new_lock()


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is begun with; `grammar`: under it; `chat`: the prompt is a chat's turn in the model's template."""

    prompt: str = ""
    seed: int = 1
    temperature: float = 1.0
    grammar: bool = True
    limit: int = MAX_TOKENS
    chat: bool = True


@dataclass(slots=True)
class Ran:
    """The last run that was begun here, and how it ended: what it `made` under `document`, for a model `source`."""

    word: str
    prompt: str
    chat: bool | None
    stepped: bool
    source: Source | None = None
    begin: Sequence[int] = ()
    early: int | None = None
    trouble: str = ""
    made: Generation | None = None
    document: Source | None = None


class Memo(NamedTuple):
    """What the session keeps of the screen with its text."""

    entry: Entry | None
    recording: Recording | None
    model: str
    settings: Settings


def load(word: str) -> LanguageModel:
    """The model of that word, loaded once a kernel."""
    from workbench.generation.model import read_model

    with _loading:
        if word not in _models:
            _models[word] = read_model(word, "auto", None)
        return _models[word]


def _named(word: str) -> str:
    """What a model is called, by its word or its own name."""
    return NAMES.get(word, word)


def models() -> list[list[str]]:
    """The models that are on this machine now, word and name each, the best first."""
    return [[word, NAMES[word]] for word in dict.fromkeys((model_word(), "demo"))]


def vocabularies(session: Session) -> list[str]:
    """Those that can be chosen, by name: the session's, and the default one where that is another."""
    name = session.tokenizer.name
    return [name] if name.startswith("tekken") else [name, "tekken"]


def with_recorded(tokens: Sequence[Token], recorded: Sequence[Token]) -> Sequence[Token]:
    """The tokens of a run, with what a recorded one tells of those that were given to it and are the recorded ones."""
    same = 0
    for one, ours in zip(tokens, recorded, strict=False):
        if not one.given or one.data != ours.data:
            break
        same += 1
    return [*recorded[:same], *tokens[same:]] if same else tokens


def _ids_of(model: LanguageModel, pieces: Sequence[bytes]) -> list[int]:
    """A text that lies in pieces as tokens: the pieces themselves where each is one, else as the tokenizer cuts it."""
    info = model.tokenizer.info
    known: dict[bytes, int] = {}
    for number, token in enumerate(info.decoded_vocab):
        known.setdefault(bytes(token), number)
    ids = [known.get(piece, -1) for piece in pieces]
    usable = not set(ids) & {-1, *info.special_token_ids}
    return ids if usable else list(model.tokenizer.encode(b"".join(pieces)))


def _telling(source: Source) -> tuple[str, tuple[str, ...]]:
    """What tells a model of a source that it does not see, and of which a part in the prompt says that it was told; ""
    where the source is neither an object of JSON Schema nor tools."""
    if source.language == "json_schema":
        told = _telling_schema(source.text)
        return told, (told,)
    return _telling_tools(source.text, source.option("model")) if source.language == "tools" else ("", ())


@lru_cache(maxsize=8)
def _telling_schema(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return told_schema(value) if value else ""


@lru_cache(maxsize=8)
def _telling_tools(text: str, form: str) -> tuple[str, tuple[str, ...]]:
    from workbench.serving.calls import format_of_calls

    try:
        functions, said = tools_in(Source("tools", text).value)
        call = format_of_calls(str(said.get("model") or form), "FUNCTION").write({"ARGUMENT": "value"})
    except MaskscopeError:  # a format that takes no such name, or is not written here
        return "", ()
    return told_tools(functions, call), tuple(str(one["name"]) for one in functions)


def _turns(prompt: str) -> tuple[str, ...]:
    """Where a model that goes on a transcript would speak for another: the turns of all but the last speaker."""
    speakers = list(dict.fromkeys(TURN.findall(prompt)))
    last = TURN.findall(prompt)[-1:]
    return tuple(f"\n{name}:" for name in speakers if [name] != last)


def _tool_choices(source: Source) -> dict[str, object]:
    """In whose format calls are written, which may be chosen, [value, in words] each, and which is; nothing where the
    source has no tools."""
    tools, said = tools_in(source.value) if source.language == "tools" else ([], {})
    written = {"call_format": said.get("model") or source.option("model")} if tools else {}
    if not tools or said.get("tool_choice") is not None:  # the text says which calls it wants
        return written
    names, chosen = [f"only {one['name']}" for one in tools], source.option("tool_choice")
    return written | {
        "tool_choices": [*TOOL_CHOICES.items(), *zip(names, names, strict=True)],
        "tool_choice": chosen if isinstance(chosen, str) else f"only {chosen['function']['name']}",
    }


def _name_of(source: Source) -> str:
    """What the list of sources calls one, whatever comes into the list meanwhile."""
    return f"recent-{hash((source.language, source.text)) & 0xFFFFFFFF:08x}"


class ScreenPanel(Panel, name="screen", title="Screen", tab="", rank=10):
    """The screen that an explorer opens with."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.view: ScreenView = ScreenView()
        self._entry: Entry | None = None
        self._recording: Recording | None = None
        self._models = models()
        self._model = self._models[0][0]
        self._settings = Settings()
        self._ran: Ran | None = None
        self._plays = 0
        self._busy = ""  # what is done before a model reads
        self._task: object = None  # what it is done for; another one where that was let go of
        self._said: tuple[tuple[Step, ...], list[Token]] = ((), [])  # the last conversion of a run's steps
        self._before: tuple[Sequence[Token], bool] = (), True  # what wrote the text that a run goes on with
        self._note = ""  # what was done in place of what was there
        self._guess = False  # it tells what a text with a mistake was taken for
        self._untold = ""  # why the parts of the text have no names
        self._offer: Source | None = None  # what a paste may have meant that named no file
        self._memo: Memo | None = None
        self._parts: tuple[object, tuple[Part, ...]] = (None, ())
        self._recent = opened_last()
        self._edited: Source | None = None  # what stands among those for the source that is edited here
        self._opened_on = self.session.document.text
        actions: dict[str, Callable[[Message], object]] = {
            "open": self._open,
            "paste": self._paste,
            "run": self._go_on,
            "step": lambda message: self._run(message, begin=self.session.index, more=1),
            "branch": self._branch,
            "continue": self._continue,
            "stop": lambda _message: self._stop(),
            "choose": self._choose,
            "tell": self._tell,
            "reads": self._read,
            "offer": self._take_offer,
            "share": lambda _message: self._share(),
            "copy": lambda _message: self.view.send({"copy": self.code(), "said": "the Python of this run"}),
        }
        self.view.answers("tokens", lambda content: tokens_of_chip(self.session, content))
        self.view.answers("parses", self._count_parses)
        self.actions = {kind: self.attempt(action) for kind, action in actions.items()}
        self.actions["models"] = self._look_for_models
        if self.session.edits.memo is None:
            self._remember()

    def _remember(self) -> None:
        """Have the session keep what is opened and set here with its text: an edit that is taken back brings both."""
        self._memo = self.session.edits.memo = Memo(self._entry, self._recording, self._model, self._settings)

    def _recall(self) -> None:
        """Show what the session keeps, where an edit was taken back or another screen has opened something."""
        memo = self.session.edits.memo
        if memo is self._memo:
            return
        if not isinstance(memo, Memo):  # a source that is nobody's entry was opened
            memo = self.session.edits.memo = Memo(None, None, self._model, Settings())
        self._recent = opened_last()
        self._memo, self._note = memo, ""
        self._entry, self._recording, self._model, self._settings = memo

    # -- what is shown -----------------------------------------------------------------------------------------------

    def update(self, change: Change | None) -> None:
        session = self.session
        if session.model.is_running:
            self._busy = ""
        self._recall()
        if self._guess and session.edits.draft is None:  # the mistake was mended
            self._note, self._guess = "", False
        if change is None:  # it comes into sight: one may have been fetched meanwhile
            self._models = models()
        tokens, judged = self._tokens()
        refused = session.edits.refused
        trace = session.trace
        if trace is not None and trace.died is not None and matched(session.steps, tokens) == trace.followed:
            refused = refused or b"".join(token.data for token in tokens[trace.followed :])
        parts = self._parts_now()
        key = (session.steps, len(tokens), id(self._recording), refused, parts, session.document, judged)
        self.view.text = self.once(
            "text", key, lambda: text_state(session, tokens, parts, refused, judged=judged).plain()
        )
        asked, reading = not session.model.is_running, self.desk.reading
        ahead = change is None or self.view.pane == PLACE

        def look() -> tuple[dict[str, Any], tuple[SourcePlace, ...]]:
            here, forbids = here_state(session, tokens, asked=asked, judged=judged, reading=reading, ahead=ahead)
            return asdict(here), forbids

        what = "here and ahead" if ahead else "here"
        of = session.trace, len(tokens), self._recording, judged
        if not asked:  # while a model writes, no place lasts
            seen = look()
        elif reading is None:
            seen = self.at_place(what, of, look)
        else:  # what was typed belongs to the end alone: other places are kept beside it
            text = session.inspect.compiled, session.document, session.steps
            seen = self.once(f"{what}, typed", (*text, *of, reading), look)
        here, self.desk.forbids = seen
        self.view.here = {**here, "parses": self._parses_known().get(session.place)}
        self._tell_bar()

    def _parses_known(self) -> dict[Place, str]:
        """How many parses the text has, in words, at those of its places where they were counted."""
        session = self.session
        return self.once("parses", (session.inspect.compiled, session.document, session.steps), dict)

    def _count_parses(self, _content: Message) -> Message:
        """Count the parses of the text, which may take longer than a step: the browser asks when the place is drawn."""
        session = self.session
        with session.inspect.held():
            try:
                found = session.inspect.derivation()
                told = said_readings(found.whole, apart=found.apart)
            except BudgetExceededError:
                told = ""
            self._parses_known()[session.place] = told
            if self.view.here.get("place") == session.index:
                self.view.here = {**self.view.here, "parses": told}
        return {}

    def _tell_bar(self) -> None:
        self.view.bar = self.once("bar", self._told_of(), self._bar)

    def _look_for_models(self, _message: Message) -> None:
        """Somebody is about to choose one."""
        with self.session.inspect.held():
            self._models = models()
            self._tell_bar()

    def _tokens(self) -> tuple[Sequence[Token], bool]:
        """The run that wrote the text: the live one, the last, or the recorded one, whichever says more of it; and
        whether the grammar in it, if any, is the source in use."""
        session = self.session
        run, trace, here = session.model.current, session.trace, session.document.text
        found: list[tuple[Sequence[Token], bool]] = []
        if run is not None:
            found += [(self._convert(run.stream.steps), True), self._before]
        elif trace is not None:
            made, length, count = trace.generation, 0, 0
            while count < len(made.steps) and length <= len(made.text_bytes):  # up to a stop string
                length += 0 if made.steps[count].is_special else len(made.steps[count].token)
                count += length <= len(made.text_bytes)
            ran = self._ran_of(made)
            same = ran is None or ran.document is None or ran.document.key == session.document.key
            judged = trace.source == here and same
            found.append((self._convert(made.steps[:count]), judged))
            if judged and ran is not None and self._before[1]:  # what the run went on with keeps its colours
                found.append(self._before)
        if self._recording is not None and self._entry is not None:
            found.append((self._recording.tokens, self._entry.source.key == session.document.key))
        best, judged = max(found, key=lambda one: matched(session.steps, one[0]), default=((), True))
        for other, _ in found:
            best = best if other is best else with_recorded(best, other)
        return best, judged

    def _beginning(self) -> int:
        """How many steps are a beginning that a person made, from which a model goes on: those up to the last one that
        was typed, and all of a run of which the end was taken away; none of a text that a model wrote."""
        session = self.session
        steps, tokens = [step for step in session.steps if not step.stop], self._tokens()[0]
        same = matched(steps, tokens)
        free = session.trace is not None and session.trace.died is not None
        if same == len(steps) and not free and any(one.data for one in tokens[same:]):
            return same
        return max((n + 1 for n in range(len(steps)) if n >= same or tokens[n].given), default=0)

    def _convert(self, steps: Sequence[Step]) -> Sequence[Token]:
        """Steps as the screen shows them; those that were converted before are kept."""
        before, known = self._said
        same = in_common(before, tuple(steps))
        tokens = [*known[:same], *tokens_of(steps[same:], self._special())]
        self._said = tuple(steps), tokens
        return tokens

    def _ran_of(self, made: Generation) -> Ran | None:
        """How `made` was begun here; None for a run of a cell, or of before."""
        return self._ran if self._ran is not None and self._ran.made is made else None

    def _special(self) -> frozenset[int]:
        return frozenset(self.session.tokenizer.info.special_token_ids)

    def _parts_now(self) -> tuple[Part, ...]:
        """The parts of the whole text, found where the session stands at its end and kept for places before it."""
        session = self.session
        key = (session.document, session.steps)
        if self._parts[0] != key or session.index > sum(part.count for part in self._parts[1]):
            modes = step_modes(session)
            self._untold = f"free text and tags are not told apart: {modes}" if isinstance(modes, Exception) else ""
            self._parts = key, parts_of(session)
        return self._parts[1]

    def _told_of(self) -> tuple[object, ...]:
        """What the bar tells of, which is not the place."""
        session, desk, ran = self.session, self.desk, self._ran
        run = session.model.current, session.trace, None if ran is None else ran.made
        text = session.document, session.edits.draft, session.steps, session.tokenizer, desk.reading
        chosen = self._entry, self._recording, self._model, self._models, self._settings
        opened = self._recent, self._plays, self._offer
        return (*run, *text, *chosen, *opened, self._doing(), self._note, self._untold, self.message or desk.trouble)

    def _doing(self) -> str:
        """What is going on, in words; "" where nothing is."""
        run = self.session.model.current
        if run is None:
            return self._busy
        steps = run.stream.steps
        reads = not steps or steps[-1].given
        return f"{_named(self._model)} {'reads the prompt' if reads else 'writes'}"

    def _bar(self) -> dict[str, Any]:
        session, trace, run = self.session, self.session.trace, self.session.model.current
        draft, speaker, look = session.edits.draft, "", ""
        shown = session.document if draft is None else draft.source
        if run is None and trace is not None and matched(session.steps, self._convert(trace.generation.steps)):
            made = trace.generation
            ran = self._ran_of(made)
            speaker = f"{_named(made.model if ran is None else ran.word)} wrote this"
            if made.constrained and trace.source != session.document.text:
                speaker += ", under another source: Run lets it write under this one"
            elif session.model.replaced:
                speaker += f", in its own vocabulary ({session.tokenizer.name})"
        elif run is None and self._recording is not None and matched(session.steps, self._recording.tokens):
            speaker = f"a recorded run of {_named(self._recording.model)}, in its own tokens"
            speaker += f"; bars are of {session.tokenizer.name}"
            look = "" if self._entry is None else self._entry.look
        entry, recording = self._entry, self._recording
        return {
            "gallery": [[entry.name, entry.title] for entry in GALLERY],
            "recent": [[_name_of(source), called(source)] for source in self._recent],
            "entry": "" if entry is None else entry.name,
            "title": shown.name or shown.title,
            "models": self._models,
            "model": self._model,
            "tokenizers": vocabularies(session),
            "tokenizer": session.tokenizer.name,
            "speaker": speaker,
            "look": look,
            **asdict(self._settings),
            "running": session.model.is_running,
            "busy": self._doing(),
            "message": self.message or self.desk.trouble,
            "note": self._note or self._untold,
            "back": bool(self._note),
            "offer": "" if self._offer is None else "read it as a regular expression",
            **(self.once("calls", session.document, lambda: _tool_choices(session.document)) if draft is None else {}),
            "plays": self._plays,
            "rests": recording.place_before(entry.rests) if recording and entry else 0,
            "edited": draft is not None,
            "outcome": None if (ended := self._outcome()) is None else asdict(ended),
            "untold": self._untold_here(),
        }

    def _untold_here(self) -> str:
        """What the prompt does not tell the model of the source yet: "schema", "tools", or nothing; nothing also while
        what was typed has a mistake, for nothing is run then."""
        source = self.session.document
        if self.session.edits.draft is not None:
            return ""
        told, marks = _telling(source)
        named = "tools" if source.language == "tools" else "schema"
        return named if told and not any(mark in self._settings.prompt for mark in marks) else ""

    def _outcome(self) -> Outcome | None:
        """How the run ended that wrote the text; None where it still writes, or somebody else wrote the text."""
        session, trace = self.session, self.session.trace
        if trace is None or session.model.current is not None or not self._writes_all():
            return None
        if trace.generation.constrained and trace.source != session.document.text:
            return None  # whether it is whole is said of the source in use
        ran = self._ran_of(trace.generation)
        if ran is None:  # a cell's run is not the screen's
            ended = outcome(trace.generation)
        else:
            ended = outcome(trace.generation, early=ran.early, trouble=ran.trouble, stepped=ran.stepped)
        # It may write that it calls nothing, which is not what one had the tools for.
        tools = session.document.language == "tools"
        if tools and ended.kind == "complete" and {part.name for part in self._parts_now()} <= {FREE_TEXT, ""}:
            ended = replace(ended, told=f"{ended.told}, and no tool was called")
        return ended

    def _writes_all(self) -> bool:
        """Whether the last run wrote the text that is shown, and nothing else is in it."""
        trace, reading = self.session.trace, self.desk.reading
        if trace is None or (reading is not None and not reading.ok):
            return False
        steps, written = self.session.steps, trace.generation.text_bytes
        shown = b"".join(step.data for step in steps)
        # It was refused, or a person went elsewhere: then the token that was being drawn is not in the text.
        short = bool(trace.reason) and len(steps) == trace.followed
        return shown == written or (short and written.startswith(shown))

    def text(self) -> bytes:
        """The whole text that is shown: also behind the place, and what a run wrote that the grammar refuses."""
        trace = self.session.trace
        if trace is not None and trace.died is not None and self._writes_all():
            return trace.generation.text_bytes
        return b"".join(step.data for step in self.session.steps) + self.session.edits.refused

    def code(self) -> str:
        """The Python that makes the run that is shown; `ValueError` where no run of a model is."""
        trace = self.session.trace
        ran = None if trace is None or not self._writes_all() else self._ran_of(trace.generation)
        if trace is None or ran is None or ran.source is None:
            raise ValueError("there is no run of a model to make again: press Run first")
        return python_of(ran.source, trace.generation, ran.word, ran.prompt, chat=ran.chat, begin=ran.begin)

    # -- what a person does ------------------------------------------------------------------------------------------

    def received(self, content: Message) -> None:
        kind = content.get("kind")
        if kind not in self.actions:
            self.message = ""
        if kind in ("prefix", "text", "token", "choose", "undo", "redo"):
            self._note = ""
        if kind not in ("offer", "models"):
            self._offer = None
        super().received(content)

    def _open(self, message: Message) -> None:
        self._hear(message)
        self.open(str(message.get("name")))

    def open(self, name: str) -> None:
        """Open an entry of the gallery, with its recorded run where there is one, which plays; or, by `recent-` and its
        mark, what a person opened before."""
        if name.startswith("recent-"):
            found = [one for one in (*self._recent, *opened_last()) if _name_of(one) == name]
            if not found:
                raise ValueError("this source has left the list: five are kept")
            self._take(found[0])
            return
        entry = next((one for one in GALLERY if one.name == name), None)
        if entry is None:
            raise ValueError(f"the gallery has no {name!r}: {', '.join(one.name for one in GALLERY)}")
        session = self.session
        self._let_go()
        first = not session.steps and not session.edits.can_undo
        with session.inspect.held(), self.view.hold_sync(), session.edits.as_one():  # one message for all, and one edit
            self._entry, self._recording, self._edited = entry, recorded(entry.name), None
            self._settings = replace(
                self._settings, prompt=entry.prompt, seed=entry.seed, grammar=True, chat=entry.chat
            )
            self._note = "" if first else OPENED
            session.edits.begin_anew()
            session.set_grammar(entry.source)
            self.lay()
            self._remember()
        if first:  # there is nothing to come back to
            session.edits.watch(afresh=True)

    def lay(self) -> None:
        """Put the recorded run into the session, at its beginning; it plays, and rests where there is most to see."""
        if self._recording is None:
            return
        session = self.session
        for token in self._recording.tokens:
            if token.data:
                session.step(token.data)
        session.edits.remember()
        self._parts_now()
        session.goto(0)
        self._plays += 1
        recording = self._recording
        self._settings = replace(self._settings, seed=recording.seed, temperature=recording.temperature)

    def _hear(self, message: Message) -> Settings:
        """What stands in the fields, which the browser tells with what it asks for."""
        now = self._settings
        self._settings = settings = Settings(
            str(message.get("prompt", now.prompt) or ""),
            int(message.get("seed", now.seed) or 0),
            float(message.get("temperature", now.temperature) or 0.0),
            bool(message.get("grammar", now.grammar)),
            max(1, min(MOST_TOKENS, int(message.get("limit", now.limit) or MAX_TOKENS))),
            bool(message.get("chat", now.chat)),
        )
        self._remember()
        return settings

    def _paste(self, message: Message) -> None:
        text = str(message.get("text") or "")
        self._hear(message)
        try:
            self._take(Source.of(text).spread())
        except FileNotFoundError:
            self._offer = Source("regex", text.strip())
            raise FileNotFoundError(
                f"there is no file {clip(text, 60)!r}; a file of your own machine is chosen under paste / open"
            ) from None

    def _take_offer(self, message: Message) -> None:
        self._hear(message)
        offer, self._offer = self._offer, None
        if offer is not None:
            self._take(offer)

    def note_source(self) -> None:
        """Have a source that was edited here among those that a person opened, in place of what it was before."""
        with self.session.inspect.held():
            source, edited = self.session.document, self._edited
            known = {one.text for one in (*opened_last(), *(entry.source for entry in GALLERY))}
            if source.text in known | {self._opened_on, *EXAMPLES.values()}:
                self._edited = source
                return
            note_opened(source, edited if edited is not None and is_edit(edited, source) else None)
            self._recent, self._edited = opened_last(), source
            self._tell_bar()

    def _take(self, source: Source) -> None:
        self._let_go()
        note_opened(source)
        self._recent, self._edited = opened_last(), source
        self._settings, self._note = replace(self._settings, prompt=self._own_prompt()), OPENED
        self._entry = self._recording = None
        self._memo = memo = Memo(None, None, self._model, self._settings)
        self.desk.do("open", text=source.text, language=source.language, options=dict(source.options), memo=memo)
        self._guess = self.session.edits.draft is not None
        if self._guess:  # who pasted something else sees what it was taken for
            why = f": {source.why}" if source.why != SAID else ""
            self._note = f"Read as {source.title}{why}. {OPENED}"

    def _own_prompt(self) -> str:
        """What a person asks, without what it tells of this source; "" where an entry of the gallery asks it."""
        told = _telling(self.session.document)[0]
        prompt = self._settings.prompt.removesuffix(told).rstrip() if told else self._settings.prompt
        return "" if any(prompt == entry.prompt for entry in GALLERY) else prompt

    def _tell(self, message: Message) -> None:
        """Put the schema or the tools into the prompt: a model sees nothing of a grammar."""
        told = f"{self._hear(message).prompt}\n\n{_telling(self.session.document)[0]}".lstrip()
        self._settings = replace(self._settings, prompt=told)

    def _read(self, message: Message) -> None:
        """Tell the prompt as the model reads it, with what its chat template adds."""
        if self.session.model.is_running or self._busy:
            raise ValueError("wait until the run has ended, or stop it")
        word, asked = self._model, self._hear(message)
        task = self._occupy(word)

        def work() -> None:
            model = load(word)
            ids = model.encode_prompt(asked.prompt, chat=None if asked.chat else False)
            told = model.tokenizer.decode(ids, skip_special=False)
            if self._task is task:
                self.view.send({"reads": told})

        self.begin(work, lambda: self._idle(task))

    def _occupy(self, word: str) -> object:
        """A model is about to be asked, and is loaded first if it was not: until `_idle` of what this returns."""
        self._busy = f"{_named(word)} {'begins' if word in _models else 'loads'}"
        task = self._task = object()
        return task

    def _idle(self, task: object) -> None:
        if self._task is task:
            self._busy = ""

    def _let_go(self) -> None:
        """Something else is opened: what was begun before is not waited for."""
        self._task, self._busy = None, ""
        self.session.model.leave()

    def _stop(self) -> None:
        """End the run, or let go of a model before it is loaded."""
        if self.session.model.is_running:
            self.session.model.stop()
        else:
            self._let_go()
            self._note = ""

    def _choose(self, message: Message) -> None:
        if message.get("model") in NAMES:
            self._model = str(message["model"])
            self._remember()
        if isinstance(message.get("chat"), bool):
            self._settings = replace(self._settings, chat=message["chat"])
            self._remember()
        if message.get("tokenizer") in vocabularies(self.session):
            self.session.set_tokenizer(message["tokenizer"])
        if isinstance(message.get("tool_choice"), str):
            word, source = message["tool_choice"], self.session.document
            one = {"type": "function", "function": {"name": word.removeprefix("only ")}}
            options = {**source.options, "tool_choice": word if word in TOOL_CHOICES else one}
            self.desk.do("source", text=source.text, language=source.language, options=options)

    def _go_on(self, message: Message) -> None:
        """Let the model write from the beginning, or from where a person's text ends."""
        refused = b"" if self._wrote_refused() else self.session.edits.refused
        if refused and message.get("grammar", True):
            shown = clip(glyph(refused), 24)
            raise ValueError(f"the grammar refuses {shown}: take it away, or let the model write without the grammar")
        if refused:
            self._run(message, begin=len(self.session.steps), then=refused)
        else:
            self._run(message, begin=self._beginning())

    def _wrote_refused(self) -> bool:
        """Whether a model wrote what is refused at the end of the text, under another grammar: nobody will miss it."""
        trace, text = self.session.trace, self.session.text + self.session.edits.refused
        written = [] if trace is None else [trace.generation.text_bytes]
        if self._recording is not None:
            written.append(b"".join(token.data for token in self._recording.tokens))
        return any(one.startswith(text) for one in written)

    def _branch(self, message: Message) -> None:
        """Let the model go on with what it wanted here and was refused, free of the grammar."""
        (tokens, _), index = self._tokens(), self.session.index
        wish = next((one for one in tokens[index].options if not one.allowed), None) if index < len(tokens) else None
        if wish is None:
            raise ValueError("nothing was refused here")
        self._run(message, begin=index, then=wish.data, free=True)

    def _continue(self, message: Message) -> None:
        """Let the run that was cut go on from where it is, for as many tokens again."""
        ended = self._outcome()
        if ended is None or not ended.goes_on:
            raise ValueError("there is no run to go on with: press Run")
        trace = self.session.trace
        assert trace is not None
        self._run(message, begin=[step for step in trace.generation.steps if not step.is_stop])

    def _run(
        self,
        message: Message,
        *,
        begin: int | Sequence[Step] = 0,
        more: int | None = None,
        then: bytes = b"",
        free: bool = False,
    ) -> None:
        """Let the model write, after the first `begin` steps of the text, or after steps of the run that wrote it, and
        then `then`; in a thread, with the screen following.  `free`: without the grammar.

        Under a grammar the text is whole within the limit, but for `more`, so many tokens.
        """
        session = self.session
        if session.model.is_running or self._busy:
            raise ValueError("wait until the run has ended, or stop it")
        constrained = bool(message.get("grammar", True)) and not free
        if constrained and session.edits.draft is not None:
            session.edits.draft.refuse()
        kept = begin if isinstance(begin, int) else len(begin)
        with session.edits.as_one():  # the settings of before belong to the text of before
            self._note = REPLACED if len(session.steps) > kept or session.edits.refused not in (b"", then) else ""
        settings = self._hear(message)
        word, trace = self._model, session.trace
        known = () if trace is None else trace.generation.steps
        given = self._given(begin, known)
        chat = None if settings.chat else False
        stop = _turns(settings.prompt) if chat is False else ()
        if constrained and session.document.language not in WITH_FREE_TEXT:
            stop = ()
        wrote = "" if trace is None else trace.generation.model
        task = self._occupy(word)
        self._before = self._tokens()
        ran = Ran(word, settings.prompt, chat, more is not None)

        def work() -> None:
            model = load(word)
            if self._task is not task:
                return
            self._ran = ran
            first = given
            if not all(isinstance(one, bytes) for one in given) and wrote != model.name:
                first = [one if isinstance(one, bytes) else one.token for one in given]
            if first and all(isinstance(one, bytes) for one in first):
                first = _ids_of(model, first)
            first = [*first, *_ids_of(model, [then])] if then else first
            ran.source = session.document.for_a_model()
            ran.begin = [one if isinstance(one, int) else one.token_id for one in first]
            made = session.run(
                model,
                settings.prompt,
                constrained=constrained,
                seed=settings.seed,
                temperature=settings.temperature,
                max_tokens=len(first) + (more or settings.limit),
                begin=first,
                chat=chat,
                stop=stop,
                complete=constrained and more is None,
            ).generation
            with session.inspect.held():
                if self._task is task and made.finish_reason == "stop" and not (made.steps and made.steps[-1].is_stop):
                    session.edits.shorten(len(made.text_bytes))
            ran.early = ended_early(made, len(first))

        def ended() -> None:
            ran.trouble = self.message
            if self._task is task and session.trace is not None and session.trace is not trace:
                ran.made, ran.document = session.trace.generation, session.document
            self._idle(task)

        self.begin(work, ended)

    @property
    def is_recorded(self) -> bool:
        """Whether the text is that of a recorded run, and nobody's own."""
        found = self._recording
        return found is not None and matched(self.session.steps, found.tokens) >= len(self.session.steps)

    def _given(self, begin: int | Sequence[Step], known: Sequence[Step]) -> list[Any]:
        """What a run begins with: steps of the run that wrote the text, else the bytes of the text."""
        if not isinstance(begin, int):
            return list(begin)
        steps = self.session.steps[:begin]
        if begin and known and matched(steps, self._convert(known)) == begin:
            return list(known[:begin])
        return [step.data for step in steps if not step.stop]

    def take(self, other: Panel) -> None:
        if isinstance(other, ScreenPanel):
            self._entry, self._recording, self._model = other._entry, other._recording, other._model
            self._settings = other._settings
            self.view.hood, self.view.pane = other.view.hood, other.view.pane

    def _share(self) -> None:
        """Send the page that `save` writes to the browser, which keeps it as a file."""
        self.view.send({"save": "maskscope.html", "text": self.desk.page()})
