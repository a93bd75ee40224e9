"""Many texts side by side: each is what it would be alone, whoever comes, goes or fails beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import workbench.generation.drawing as drawing_module  # noqa: E402
from kernels_core import BatchGrammarMatcher, DeadEndError, GrammarCompiler, GrammarMatcher, TokenizerInfo  # noqa: E402
from kernels_core.errors import TokenizerError  # noqa: E402
from tests.generation.plain import draw  # noqa: E402
from workbench.generation import LanguageModel, ModelError, generate  # noqa: E402
from workbench.generation.cutting import forced_tokens  # noqa: E402
from workbench.generation.engine import Engine  # noqa: E402
from workbench.generation.graphs import CudaRecorder, rows_recorded  # noqa: E402
from workbench.generation.row import Row  # noqa: E402
from workbench.generation.sampling import Sampling, distribution  # noqa: E402
from workbench.generation.slots import SlotRun  # noqa: E402

GRAMMARS = [
    'root ::= "{" [a-z]+ (", " [0-9]+)* "}"',
    'root ::= "yes" | "no" | "perhaps"',
    None,
    'root ::= "{\\"name\\": \\"" [^"]* "\\"}"',
]
PROMPTS = ["the quick", '{"list": [1', "a", "brown fox jumps over the lazy dog", "0123"]
SETTINGS = [Sampling(), Sampling(0), Sampling(0.8, top_k=20), Sampling(1.3, top_p=0.9)]


def requests(count: int) -> list[dict[str, Any]]:
    return [
        {
            "prompt": PROMPTS[i % len(PROMPTS)],
            "grammar": GRAMMARS[i % len(GRAMMARS)],
            "sampling": SETTINGS[(i // 2) % len(SETTINGS)],
            "seed": i,
            "max_tokens": 8 + 3 * i % 17,
        }
        for i in range(count)
    ]


def admit(engine: Engine, model: LanguageModel, request: dict[str, Any], **options: Any) -> Row:
    grammar = request["grammar"]
    matcher = None if grammar is None else GrammarMatcher(model.compiler.compile_grammar(grammar))
    rest = {name: request[name] for name in ("sampling", "seed", "max_tokens")}
    return engine.admit(model.encode_prompt(request["prompt"]), matcher, **(rest | options))


class Alone(NamedTuple):
    tokens: list[int]
    text_bytes: bytes
    finish_reason: str


def alone(model: LanguageModel, request: dict[str, Any]) -> Alone:
    """The same request by itself, written down plainly: the model reads the whole text again for each token, without a
    cache, and the mask is a list of ids.  It shares the matcher with the engine, and what a setting means."""
    grammar, tokens, text, luck = request["grammar"], list[int](), b"", Random(request["seed"])
    info = model.tokenizer.info
    matcher = None if grammar is None else GrammarMatcher(model.compiler.compile_grammar(grammar))
    prompt = model.encode_prompt(request["prompt"])
    while len(tokens) < request["max_tokens"]:
        if matcher is not None and matcher.is_completed() and not matcher.possible_bytes():
            return Alone(tokens, text, "grammar_complete")
        with torch.no_grad():
            logits = model.model(torch.tensor([[*prompt, *tokens]])).logits[0, -1]
        if matcher is not None:
            forbidden = set(range(info.vocab_size)) - set(matcher.allowed_token_ids())
            logits[list(forbidden)] = -torch.inf
        token = draw(distribution(logits, request["sampling"]), luck.random())
        assert matcher is None or matcher.accept_token(token)
        tokens.append(token)
        if token in info.stop_token_ids:
            return Alone(tokens, text, "stop")
        if token not in info.special_token_ids:
            text += info.decoded_vocab[token]
    whole = matcher is not None and matcher.is_completed() and not matcher.possible_bytes()
    return Alone(tokens, text, "grammar_complete" if whole else "length")


@pytest.fixture(scope="module")
def expected(tiny: LanguageModel) -> list[Alone]:
    """What becomes of each of twelve requests by itself."""
    return [alone(tiny, request) for request in requests(12)]


@pytest.mark.parametrize("number", range(12))
def test_generate_writes_what_the_engine_writes(tiny: LanguageModel, expected: list[Alone], number: int) -> None:
    """One loop: the record of a text changes nothing of it."""
    request = requests(12)[number]
    sampling = request["sampling"]
    for record in (True, False):
        made = generate(
            tiny,
            request["prompt"],
            request["grammar"],
            seed=request["seed"],
            max_tokens=request["max_tokens"],
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            record=record,
        )
        assert (list(made.tokens), made.text_bytes, made.finish_reason) == tuple(expected[number])


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("rows", [1, 3, 16])
def test_each_text_is_what_it_is_alone(tiny: LanguageModel, expected: list[Alone], sparse: bool, rows: int) -> None:
    """More requests than rows, so that they come and go at different times; one more comes in the middle."""
    engine = Engine.of(tiny, rows=rows, max_length=128, sparse=sparse)
    asked = requests(12)
    admitted = [admit(engine, tiny, request) for request in asked[:-1]]
    texts: dict[int, bytes] = {}
    tokens: dict[int, list[int]] = {}
    for number, chunks in enumerate(engine):
        assert engine.active <= rows
        for chunk in chunks:
            texts[chunk.row.number] = texts.get(chunk.row.number, b"") + chunk.text
            tokens.setdefault(chunk.row.number, []).extend(chunk.tokens)
        if number == 4:
            admitted.append(admit(engine, tiny, asked[-1]))
    for one, row in zip(expected, admitted, strict=True):
        assert row.tokens == one.tokens == tokens.get(row.number, [])
        assert bytes(row.text) == one.text_bytes == texts.get(row.number, b"")
        assert row.finish_reason == one.finish_reason
    drawn = sum(row.drawn_from_list for row in admitted)
    assert (drawn > 0) is sparse


REPEATING = [
    'root ::= ("the quick brown fox " ){8}',
    'root ::= ("{\\"name\\": " ("1" | "2.5") "}, ")+',
    None,
    'root ::= [a-z ]+ "." [a-z ]*',
]


@pytest.mark.parametrize("options", [{}, {"sparse": False}, {"jump": "guess"}, {"jump": True}], ids=str)
@pytest.mark.parametrize("rows", [1, 4])
def test_drafts_change_the_steps_and_not_the_text(tiny: LanguageModel, rows: int, options: dict[str, Any]) -> None:
    """Texts that repeat themselves, beside some that do not; limits, stop strings and ends fall among drafts."""
    asked = requests(8)
    for number, request in enumerate(asked):
        request |= {"grammar": REPEATING[number % 4], "max_tokens": 20 + 7 * number}
        request["sampling"] = Sampling(0) if number % 3 == 0 else Sampling(0.7)
    written: dict[int, list[Any]] = {}
    steps = {}
    for drafts in (0, 5) if options else (0, 1, 5):
        engine = Engine.of(tiny, rows=rows, max_length=100, drafts=drafts, **options)
        admitted = [admit(engine, tiny, request, stop="fox the quick brown fox the") for request in asked]
        chunks = [chunk for step in engine for chunk in step]
        written[drafts] = [(row.tokens, bytes(row.text), row.finish_reason) for row in admitted]
        for row in admitted:
            assert sum((chunk.tokens for chunk in chunks if chunk.row is row), ()) == tuple(row.tokens)
            assert b"".join(chunk.text for chunk in chunks if chunk.row is row) == bytes(row.text)
            assert row.accepted <= row.drafted
            assert row.drawn_from_list <= len(row.tokens)
        accepted = sum(row.accepted for row in admitted)
        if "jump" not in options:  # what repeats under these grammars is forced: no model is asked, and no guess needed
            assert (accepted > 0) is (drafts > 0)
        steps[drafts] = sum(len(row.tokens) - row.accepted - row.forced for row in admitted)
    assert all(written[drafts] == written[0] for drafts in written)
    assert steps[5] < steps[0] or "jump" in options
    assert {reason for _, _, reason in written[0]} >= {"length"}


def test_a_failed_step_with_drafts_changes_nothing(tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = tiny.compiler.compile_grammar(REPEATING[0])
    texts = []
    for fails in (False, True):
        engine = Engine.of(tiny, rows=2, max_length=120, drafts=4)
        row = engine.admit(tiny.encode_prompt("a"), GrammarMatcher(grammar), seed=5, max_tokens=60)
        while not row.drafted:
            engine.step()
        if fails:
            with monkeypatch.context() as patched:
                patched.setattr(drawing_module, "draw_rows", _interrupt)
                with pytest.raises(KeyboardInterrupt):
                    engine.step()
            with monkeypatch.context() as patched:
                patched.setattr(tiny.model.model, "forward", _interrupt)
                with pytest.raises(KeyboardInterrupt):
                    engine.step()
        for _ in engine:
            pass
        texts.append((row.tokens, row.drafted, row.accepted))
    assert texts[0] == texts[1]
    assert texts[0][2] > 0


def _interrupt(*args: Any, **kwargs: Any) -> Any:
    raise KeyboardInterrupt


def test_masks_stay_on_the_device(tiny: LanguageModel, expected: list[Alone]) -> None:
    """The path of a GPU, whose memory is the CPU's here: the same texts, and a number a row once masks are there."""
    engine = Engine.of(tiny, rows=5, max_length=128, device_masks=True)
    assert engine.device_masks is not None
    asked = requests(12)
    for again in range(2):
        before = engine.device_masks.stats()
        admitted = [admit(engine, tiny, request) for request in asked]
        for _ in engine:
            now = engine.device_masks.stats()
            if again and now.steps > before.steps:
                assert now.last_bytes <= 4 * 5
        for one, row in zip(expected, admitted, strict=True):
            assert row.tokens == one.tokens
            assert row.finish_reason == one.finish_reason
            assert row.drawn_from_list == 0
        after = engine.device_masks.stats()
        assert after.rows > before.rows
        assert (after.mask_bytes > before.mask_bytes) is (again == 0)
    assert Engine.of(tiny, rows=2).device_masks is None


def test_stop_strings_are_held_back_and_left_out(tiny: LanguageModel) -> None:
    grammar = 'root ::= "one two three four"'
    matcher = GrammarMatcher(tiny.compiler.compile_grammar(grammar))
    engine = Engine.of(tiny, rows=2)
    row = engine.admit(tiny.encode_prompt("a"), matcher, stop=["two thr", "zzz"], seed=1)
    shown = b""
    for chunks in engine:
        shown += b"".join(chunk.text for chunk in chunks)
        assert not shown.endswith(b"t")
    assert bytes(row.text) == shown == b"one "
    assert row.finish_reason == "stop"


def test_cancelling_frees_the_row(tiny: LanguageModel, expected: list[Alone]) -> None:
    engine = Engine.of(tiny, rows=2, max_length=64)
    rows = [admit(engine, tiny, request) for request in requests(4)]
    engine.step()
    engine.cancel(rows[0])
    engine.cancel(rows[3])  # still waiting
    for _ in engine:
        pass
    assert rows[0].finish_reason == rows[3].finish_reason == "interrupted"
    assert len(rows[0].tokens) == 1
    assert not rows[3].tokens
    assert [row.tokens for row in rows[1:3]] == [one.tokens for one in expected[1:3]]
    engine.cancel(rows[1])
    assert engine.step() == []
    assert rows[1].finish_reason != "interrupted"


def test_a_waiting_row_that_is_cancelled_while_the_last_one_ends_is_told(
    tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine.of(tiny, rows=1)
    rows = [admit(engine, tiny, request, max_tokens=1) for request in requests(3)[::2]]
    decode = engine._run.decode

    def meanwhile(tokens: Any) -> Any:
        engine.cancel(rows[1])
        return decode(tokens)

    monkeypatch.setattr(engine._run, "decode", meanwhile)
    told = [(chunk.row, chunk.finish_reason) for chunks in engine for chunk in chunks]
    assert told == [(rows[0], "length"), (rows[1], "interrupted")]


def test_an_error_of_one_row_is_its_own(tiny: LanguageModel) -> None:
    """A grammar that the vocabulary cannot write, beside one that it can."""
    vocabulary = list(tiny.tokenizer.info.decoded_vocab)
    info = TokenizerInfo(
        [token if b"z" not in token else b"" for token in vocabulary],
        stop_token_ids=tiny.tokenizer.info.stop_token_ids,
        special_token_ids=tiny.tokenizer.info.special_token_ids,
    )
    compiler = GrammarCompiler(info)
    engine = Engine(tiny.model, info, rows=4)
    dead = engine.admit([5, 6], GrammarMatcher(compiler.compile_grammar('root ::= "az"')))
    good = engine.admit([5, 6], GrammarMatcher(compiler.compile_grammar('root ::= "ab"')))
    for _ in engine:
        pass
    assert dead.finish_reason == "error"
    assert isinstance(dead.error, DeadEndError)
    assert good.finish_reason == "grammar_complete"
    assert bytes(good.text) == b"ab"


def test_a_failed_step_changes_nothing(
    tiny: LanguageModel, expected: list[Alone], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of memory in the pass, interruptions in the wait for masks behind it and in the draw: the step is made
    again."""
    engine = Engine.of(tiny, rows=3, max_length=64, threads=0)
    rows = [admit(engine, tiny, request) for request in requests(5)]
    engine.step()
    failures: Iterator[BaseException] = iter(
        [torch.OutOfMemoryError("no memory"), KeyboardInterrupt(), KeyboardInterrupt()]
    )

    def failing(*args: Any, **kwargs: Any) -> Any:
        raise next(failures)

    with monkeypatch.context() as patched:
        patched.setattr(tiny.model, "forward", failing)
        patched.setattr(tiny.model.model, "forward", failing)
        with pytest.raises(torch.OutOfMemoryError):
            engine.step()
    for owner, name in ((BatchGrammarMatcher, "read_masks"), (drawing_module, "draw_rows")):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, failing)
            with pytest.raises(KeyboardInterrupt):
                engine.step()
    for _ in engine:
        pass
    assert [row.tokens for row in rows] == [one.tokens for one in expected[:5]]


def test_forced_text_is_written_without_the_model(tiny: LanguageModel) -> None:
    grammar = 'root ::= "{\\"quick brown\\": \\"" ("fox" | "dog") "\\", \\"list\\": " [0-9] "}"'
    compiled = tiny.compiler.compile_grammar(grammar)
    rows = {}
    for jump in (False, True):
        engine = Engine.of(tiny, rows=1, jump=jump)
        rows[jump] = engine.admit(tiny.encode_prompt("a"), GrammarMatcher(compiled), seed=3, sampling=Sampling(0))
        steps = sum(1 for _ in engine)
        assert rows[jump].finish_reason in ("stop", "grammar_complete")
        assert len(rows[jump].tokens) - rows[jump].forced <= steps
    assert rows[False].forced == 0
    assert rows[True].forced > 5
    reader = GrammarMatcher(compiled)
    assert reader.accept_string(bytes(rows[True].text))
    assert reader.is_completed()


def test_forced_text_is_guessed(tiny: LanguageModel) -> None:
    """A call's head, which a tag forces: fewer passes, and the same tokens, whatever stands behind it."""
    content = {"type": "regex", "pattern": '"name": "quick brown", "list": "[a-z]{5}"'}
    tag = {"type": "tag", "begin": "<tool>{", "content": content, "end": "}</tool>"}
    compiled = tiny.compiler.compile_structural_tag({"type": "structural_tag", "format": tag})
    found: dict[Any, tuple[list[Row], int]] = {}
    for jump in (False, "guess", True):
        engine = Engine.of(tiny, rows=2, jump=jump)
        rows = [
            engine.admit(tiny.encode_prompt(prompt), GrammarMatcher(compiled), seed=seed, max_tokens=most)
            for seed, (prompt, most) in enumerate([("a", 90), ("fox", 90), ("the", 7)])
        ]
        found[jump] = rows, sum(1 for _ in engine)
    plain, guessed, written = (found[jump][0] for jump in (False, "guess", True))
    assert [(row.tokens, row.finish_reason) for row in guessed] == [(row.tokens, row.finish_reason) for row in plain]
    assert found["guess"][1] < found[False][1]
    assert all(row.accepted > 0 and row.forced == 0 for row in guessed)
    assert written[2].tokens[:3] == tiny.tokenizer.encode('<tool>{"name": "quick brown", "list": "')[:3]
    assert written[2].forced == 7  # from the beginning on
    with pytest.raises(ValueError, match="jump is True, False or"):
        Engine.of(tiny, jump="draft")


def test_forced_text_is_cut_as_the_tokenizer_cuts_it(tiny: LanguageModel) -> None:
    """Up to the token that may go on with what is not forced."""
    vocabulary = tiny.tokenizer.info.decoded_vocab
    matcher = GrammarMatcher(tiny.compiler.compile_grammar('root ::= "{\\"list\\": " [0-9]+'))
    found = forced_tokens(matcher, tiny.tokenizer.encode, vocabulary)
    assert found
    written = b"".join(vocabulary[token] for token in found)
    assert b'{"list": '.startswith(written)
    assert found == tiny.tokenizer.encode('{"list": ')[: len(found)]
    assert matcher.num_steps == 0
    choice = GrammarMatcher(tiny.compiler.compile_grammar('root ::= "yes" | "no"'))
    assert forced_tokens(choice, tiny.tokenizer.encode, vocabulary) == []
    assert forced_tokens(matcher, tiny.tokenizer.encode, vocabulary, limit=1) == found[:1]


def test_limits(tiny: LanguageModel) -> None:
    engine = Engine.of(tiny, rows=2, max_length=20)
    row = engine.admit([7] * 15, max_tokens=100, seed=0, sampling=Sampling(0.1))
    for _ in engine:
        pass
    assert row.finish_reason == "stop" or (row.finish_reason == "length" and len(row.tokens) == 5)
    for prompt, reason in (([], "no tokens"), ([1] * 20, "at most 20"), ([10**6], "not in the vocabulary")):
        with pytest.raises(ModelError, match=reason):
            engine.admit(prompt)
    with pytest.raises(ValueError, match="max_tokens"):
        engine.admit([1], max_tokens=0)
    with pytest.raises(ValueError, match="stop string"):
        engine.admit([1], stop="")
    other = GrammarCompiler(TokenizerInfo([b"a", b"b"], stop_token_ids=[1])).compile_grammar('root ::= "a"')
    with pytest.raises(TokenizerError, match="another vocabulary"):
        engine.admit([1], GrammarMatcher(other))
    with pytest.raises(TokenizerError, match="scores"):
        Engine(tiny.model, other.tokenizer_info)
    with pytest.raises(ValueError, match="drafts must be at least 1"):
        Engine(tiny.model, tiny.tokenizer.info, drafts=-1)
    with pytest.raises(ValueError, match="encode"):
        Engine(tiny.model, tiny.tokenizer.info, jump=True)
    assert engine.step() == []


SIZES = {"vocab_size": 300, "bos_token_id": 0, "eos_token_id": 1}
LLAMA = SIZES | {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.4,
    "pad_token_id": 0,
}
GPT2 = SIZES | {"n_embd": 32, "n_layer": 2, "n_head": 4, "initializer_range": 0.4}


@pytest.mark.parametrize(
    ("kind", "sizes", "splits", "attention"),
    [
        ("Llama", LLAMA, True, "sdpa"),
        ("Llama", LLAMA, True, "eager"),
        ("Qwen2", LLAMA, True, "sdpa"),
        ("GPT2", GPT2, True, "sdpa"),
        ("Gemma2", LLAMA | {"head_dim": 8}, False, "eager"),
    ],
)
def test_models_of_many_kinds(kind: str, sizes: dict[str, Any], splits: bool, attention: str) -> None:
    """Slots of different lengths, moved about: logits are those of the text read alone, all of them or a few."""
    config = getattr(transformers, f"{kind}Config")(**sizes)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention).eval()
    run = SlotRun(model, 3, 300)
    assert run.splits is splits
    texts = [[5, 6, 7, 8], [9], [250, 3, 3, 3, 3, 3, 3, 11]]
    for slot, text in enumerate(texts):
        if text[:-1]:
            run.read(slot, text[:-1])
    run.decode(torch.tensor([text[-1] for text in texts]))
    run.move(2, 0)
    texts = [texts[2], texts[1]]
    for token in range(40, 300):  # over the first size of the cache
        states = run.decode(torch.tensor([token, token + 1 if token < 299 else 0]))
        for place, text in enumerate(texts):
            text.append(token + place if token < 299 else [299, 0][place])
    ids = torch.tensor([[3, 299], [0, 17]])
    few = run.logits_of(states, ids)
    found = run.logits(states)
    for row, text in enumerate(texts):
        with torch.no_grad():
            expected = model(input_ids=torch.tensor([text])).logits[0, -1].float()
        assert torch.allclose(found[row], expected, atol=1e-3 * float(expected.abs().max()))
        assert torch.allclose(few[row], expected[ids[row]], atol=1e-3 * float(expected.abs().max()))
    # Several tokens behind each, of which one text keeps two and the other one.
    run.lengths[:2] = [len(text) - 40 for text in texts]
    texts = [text[:-40] for text in texts]
    ahead = [[4, 9, 250], [17, 3, 3]]
    logits = run.logits(run.verify(torch.tensor(ahead)).flatten(0, 1)).clone()
    for row, text in enumerate(texts):
        with torch.no_grad():
            expected = model(input_ids=torch.tensor([text + ahead[row]])).logits[0, -3:].float()
        assert torch.allclose(logits[3 * row : 3 * row + 3], expected, atol=1e-3 * float(expected.abs().max()))
    for row, kept in enumerate((2, 1)):
        run.lengths[row] += kept
        texts[row] += [*ahead[row][:kept], 8]
    found = run.logits(run.decode(torch.tensor([8, 8])))
    for row, text in enumerate(texts):
        with torch.no_grad():
            expected = model(input_ids=torch.tensor([text])).logits[0, -1].float()
        assert torch.allclose(found[row], expected, atol=1e-3 * float(expected.abs().max()))


class Recordings:
    """Records passes as `graphs.CudaRecorder` does, by calling them anew into memory that stays where it is."""

    def __init__(self) -> None:
        self.made = self.started = 0

    def __call__(self, call: Callable[[], torch.Tensor]) -> tuple[Callable[[], object], torch.Tensor]:
        self.made += 1
        found = torch.zeros_like(call())

        def start() -> None:
            self.started += 1
            found.copy_(call())

        return start, found


class CountedGraphs(Recordings):
    """`graphs.CudaRecorder`, counted."""

    def __init__(self) -> None:
        super().__init__()
        self.record = CudaRecorder()

    def __call__(self, call: Callable[[], torch.Tensor]) -> tuple[Callable[[], object], torch.Tensor]:
        self.made += 1
        replay, found = self.record(call)

        def start() -> None:
            self.started += 1
            replay()

        return start, found


GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
@pytest.mark.parametrize(("kind", "attention"), [("Llama", "sdpa"), ("Gemma2", "eager")])
def test_recorded_passes(kind: str, attention: str, device: str) -> None:
    """Texts that come, grow and go in recorded passes have the logits of each read alone; a step is one start."""
    config = getattr(transformers, f"{kind}Config")(**LLAMA)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention).eval().to(device)
    recordings = Recordings() if device == "cpu" else CountedGraphs()
    run = SlotRun(model, 7, 400, record=recordings)
    assert not run.splits
    random = Random(3)
    texts: list[list[int]] = []
    for step in range(330):
        if len(texts) < 7 and random.random() < 0.1:
            texts.append([random.randrange(300) for _ in range(1 + random.randrange(30))])
            if texts[-1][:-1]:
                run.read(len(texts) - 1, texts[-1][:-1])
        elif len(texts) > 1 and random.random() < 0.05:
            gone = random.randrange(len(texts))
            run.clear(gone)
            run.move(len(texts) - 1, gone)
            texts[gone] = texts[-1]
            texts.pop()
            run.give_back()
        if not texts:
            continue
        # The last text may be one that still reads its prompt: the pass leaves it alone.
        count = len(texts) - (len(texts) > 1 and step % 3 == 0)
        started = recordings.started
        found = run.logits(run.decode(torch.tensor([text[-1] for text in texts[:count]], device=device)))
        assert recordings.started == started + 1
        assert run.lengths[: len(texts)] == [len(text) - (row >= count) for row, text in enumerate(texts)]
        row = random.randrange(count)
        if step % 10 == 0:
            with torch.no_grad():
                expected = model(input_ids=torch.tensor([texts[row]], device=device)).logits[0, -1]
            assert torch.allclose(found[row], expected, atol=1e-3 * float(expected.abs().max())), step
        for text in texts[:count]:
            text.append(random.randrange(300))
        texts = [text if len(text) < 390 else text[:1] for text in texts]
        for slot, text in enumerate(texts):
            if len(text) == 1:
                run.clear(slot)
    assert recordings.made < 20 < 200 < recordings.started


def test_a_recording_that_fails_is_told() -> None:
    model = transformers.AutoModelForCausalLM.from_config(transformers.LlamaConfig(**LLAMA)).eval()

    def fails(call: Callable[[], torch.Tensor]) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    with pytest.raises(ModelError, match="a pass of LlamaForCausalLM cannot be recorded"):
        SlotRun(model, 2, 64, record=fails)


def test_sizes_that_are_recorded() -> None:
    sizes = {rows_recorded(rows, 200) for rows in range(1, 201)}
    assert all(rows <= rows_recorded(rows, 200) <= max(rows + 1, 1.5 * rows) for rows in range(1, 201))
    assert len(sizes) == 16
    assert max(sizes) == 200


def test_models_that_cannot_are_named() -> None:
    bloom = transformers.BloomForCausalLM(transformers.BloomConfig(**SIZES, hidden_size=32, n_layer=1, n_head=2))
    with pytest.raises(ModelError, match="numbers positions itself"):
        SlotRun(bloom.eval(), 2, 64)
    short = LLAMA | {"sliding_window": 16}
    mistral = transformers.MistralForCausalLM(transformers.MistralConfig(**short)).eval()
    with pytest.raises(ModelError, match="looks back 16 tokens"):
        SlotRun(mistral, 2, 64)
    SlotRun(mistral, 2, 16)
    with pytest.raises(ValueError, match="at least 1 and 2"):
        SlotRun(mistral, 0, 16)


# -- prompts ----------------------------------------------------------------------------------------------------------

LONG = [7 + i % 200 for i in range(150)]


def read_by(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the pieces that are read from now on."""
    found: list[int] = []
    read = engine._run.read

    def counted(first: int, *texts: Any) -> None:
        found.extend(map(len, texts))
        read(first, *texts)

    monkeypatch.setattr(engine._run, "read", counted)
    return found


def texts_of(engine: Engine, prompts: list[list[int]], **options: Any) -> list[list[int]]:
    rows = [engine.admit(prompt, **({"seed": number} | options)) for number, prompt in enumerate(prompts)]
    for _ in engine:
        pass
    return [row.tokens for row in rows]


def test_a_long_prompt_lets_those_that_run_go_on(tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine.of(tiny, rows=3, prompt_piece=16)
    pieces = read_by(engine, monkeypatch)
    running = engine.admit([5, 6], max_tokens=40, seed=1)
    engine.step()
    long = engine.admit(LONG, max_tokens=3, seed=2)
    engine.admit([9, 10, 11], max_tokens=3, seed=3)
    steps = 0
    while not long.tokens:
        before = len(running.tokens)
        engine.step()
        steps += 1
        assert len(running.tokens) == before + 1
    assert steps == 10
    assert pieces == [1, *[16] * 9, 5, 2]  # one prompt after the other
    for _ in engine:
        pass
    whole = Engine.of(tiny, rows=3, prompt_piece=1000)
    again = whole.admit(LONG, max_tokens=3, seed=2)
    for _ in whole:
        pass
    assert again.tokens == long.tokens


def test_prompts_that_come_together_are_read_in_one_pass(tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = [[5, 6, 7, 8], LONG[:12], [9], [3, 4], LONG[:40], LONG[20:31], [8, 9, 10]]
    expected = texts_of(Engine.of(tiny, rows=4, prompt_piece=16), prompts, max_tokens=5)
    engine = Engine.of(tiny, rows=4, prompt_piece=16, prompts_together=True)
    passes: list[list[int]] = []
    read = engine._run.read

    def counted(first: int, *texts: Any) -> None:
        passes.append([first, *map(len, texts)])
        read(first, *texts)

    monkeypatch.setattr(engine._run, "read", counted)
    assert texts_of(engine, prompts, max_tokens=5) == expected
    assert passes[0] == [0, 3, 11]  # a prompt of one token has nothing to read, and ends the pass
    assert sum(sum(one[1:]) for one in passes) == sum(len(prompt) - 1 for prompt in prompts)
    assert max(len(one) - 1 for one in passes) <= 4


def test_prompts_read_together_are_cut_where_they_would_hold_up_others(tiny: LanguageModel) -> None:
    engine = Engine.of(tiny, rows=8, prompt_piece=16, prompts_together=True)
    running = engine.admit([5, 6], max_tokens=30, seed=1)
    engine.step()
    rows = [engine.admit(LONG[at : at + 9], max_tokens=2, seed=at) for at in range(6)]
    engine.step()
    assert [bool(row.tokens) for row in rows] == [True] * 2 + [False] * 4  # two of eight tokens are a piece
    for _ in engine:
        pass
    assert len(running.tokens) == 30
    assert all(len(row.tokens) == 2 for row in rows)


def test_a_row_that_leaves_while_a_prompt_is_read(tiny: LanguageModel) -> None:
    alone = [texts_of(Engine.of(tiny), [LONG], max_tokens=9)[0]]
    engine = Engine.of(tiny, rows=4, prompt_piece=16)
    short = [engine.admit([5 + i], max_tokens=3 + i, seed=9) for i in range(3)]
    engine.step()
    long = engine.admit(LONG, max_tokens=9, seed=0)
    for _ in engine:
        pass
    assert [len(row.tokens) for row in short] == [3, 4, 5]
    assert [long.tokens] == alone
    gone = engine.admit(LONG[::-1], max_tokens=9, seed=0)
    other = engine.admit([5], max_tokens=3, seed=9)
    engine.step()
    engine.cancel(gone)
    for _ in engine:
        pass
    assert (gone.finish_reason, gone.tokens) == ("interrupted", [])
    assert other.tokens == short[0].tokens


def test_texts_that_begin_alike_read_it_once(tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = [LONG, LONG, LONG[:100] + [3, 4, 5], LONG[::-1]]
    anew = Engine.of(tiny, rows=2, prompt_piece=16, prefix_bytes=0)
    expected = texts_of(anew, prompts, max_tokens=6)
    assert anew._prefixes.nbytes == 0
    engine = Engine.of(tiny, rows=2, prompt_piece=16)
    pieces = read_by(engine, monkeypatch)
    assert texts_of(engine, prompts, max_tokens=6) == expected
    # 149, then 149 - 9 * 16, then 102 - 6 * 16, then all of another.
    assert sum(pieces) == 149 + 5 + 6 + 149
    block = engine._prefixes.nbytes // 18
    few = Engine.of(tiny, rows=2, prompt_piece=16, prefix_bytes=3 * block)
    assert texts_of(few, prompts, max_tokens=6) == expected
    assert few._prefixes.nbytes == 3 * block
    # Of a text that has no room its beginning is kept, so that it is found again.
    pieces = read_by(few, monkeypatch)
    assert texts_of(few, [LONG, LONG], max_tokens=6) == [
        texts_of(anew, [LONG], seed=n, max_tokens=6)[0] for n in (0, 1)
    ]
    assert sum(pieces) == 149 + 149 - 3 * 16
    none = Engine.of(tiny, rows=2, prompt_piece=16, prefix_bytes=block - 1)
    assert texts_of(none, prompts, max_tokens=6) == expected
    assert none._prefixes.nbytes == 0


def test_memory_is_given_back(tiny: LanguageModel) -> None:
    engine = Engine.of(tiny, rows=16, prefix_bytes=0)
    texts_of(engine, [[5]], max_tokens=2)
    least = engine.cache_bytes
    for number in range(9):
        engine.admit([5 + number], max_tokens=4 + number)
    engine.step()
    assert engine.cache_bytes == 8 * least  # of two rows
    for _ in engine:
        pass
    assert engine.cache_bytes <= least


def test_memory_of_a_long_text_is_given_back() -> None:
    config = transformers.LlamaConfig(**LLAMA, max_position_embeddings=2000)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    run = SlotRun(model, 4, 2000)
    run.read(0, [5, 6, 7])
    run.read(1, [9])
    run.give_back()
    least = run.nbytes
    run.read(2, [5 + i % 200 for i in range(900)])
    assert run.nbytes == 2 * 4 * least  # as many slots again, and each has room for 1,024
    run.give_back()
    assert run.nbytes == 2 * 4 * least
    run.clear(2)
    run.give_back()
    assert run.nbytes == least
    states = run.logits(run.decode(torch.tensor([8, 8])))
    with torch.no_grad():
        expected = model(input_ids=torch.tensor([[5, 6, 7, 8]])).logits[0, -1]
    assert torch.allclose(states[0], expected, atol=1e-3 * float(expected.abs().max()))


@pytest.mark.parametrize(("threads", "order"), [("auto", ["masks", "pass"]), (0, ["pass", "masks"])])
def test_masks_are_begun_before_a_pass_that_blocks_and_behind_one_that_does_not(
    tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch, threads: Any, order: list[str]
) -> None:
    engine, seen = Engine.of(tiny, threads=threads), list[str]()
    row = admit(engine, tiny, requests(1)[0])

    def noted(owner: Any, name: str, what: str) -> None:
        called = getattr(owner, name)

        def call(*given: Any) -> Any:
            seen.append(what)
            return called(*given)

        monkeypatch.setattr(owner, name, call)

    noted(BatchGrammarMatcher, "start_masks", "masks")
    noted(BatchGrammarMatcher, "read_masks", "masks")
    noted(SlotRun, "decode", "pass")
    engine.step()
    assert seen == order
    assert len(row.tokens) == 1
