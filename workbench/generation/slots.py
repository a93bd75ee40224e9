"""A model that reads many texts side by side: a static key-value cache with a slot for each, all of different lengths.

`SlotRun.read` reads several tokens into one slot, or into some, `decode` one more token in each of the first `n` slots,
in one pass, and `verify` several in each, one behind the other or as a tree, of which the caller keeps (`keep`) those
that turn out to be the text's.  `graft` lets a tree of texts with one beginning grow in one slot.
What differs from `transformers`' own static cache is that every slot has its own length: a pass writes each slot at its
own place and says with a mask of attention how far each may look.  What lies beyond a slot's length is never looked at,
so a slot is shortened, or handed to another text, by forgetting its length.  The cache has room for as many slots and
tokens as are in use; it doubles when they need more, and gives back what a long text took, but for recorded passes.

Not every model can do that (some keep other things than keys and values, or number their positions themselves), so
`SlotRun` compares itself with the plain model once and raises `ModelError` if they differ.  The same comparison finds
out whether the model's logits are its output embedding on the last hidden state, and nothing else: only then are the
logits of a few tokens computed without those of all others (`SlotRun.logits_of`).
On a GPU `decode` is recorded, for so many rows and so long a view of the cache, and started as a whole (`graphs.py`).
Read on: `engine.py`, which drives it.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import torch

from workbench.generation.errors import ModelError
from workbench.generation.graphs import CudaRecorder, Recorder, rows_recorded
from workbench.generation.model import cache_name

if TYPE_CHECKING:
    from transformers import PreTrainedModel

FIRST_LENGTH: Final = 256  # tokens that slots have room for at first; doubled when a text needs more
IDLE_SHARE: Final = 4  # the cache shrinks when texts need so small a part of it
VIEW: Final = 64  # the part of the cache that a pass looks at is a multiple of this
PROBE: Final = (1, 0, 2, 1, 0)  # ids that every vocabulary has


class _Place:
    """Where the present pass writes: slots [first, past), each at its own row of `positions`; it looks at the first
    `length` places of each."""

    first = past = length = 0
    positions: torch.Tensor


class Trees(NamedTuple):
    """Whom each token that `SlotRun.verify` reads follows, on the model's device.

    depths: int64 (n, q), how many tokens of its tree stand before it.  seen: bool (n, q, q), which of the q tokens it
    looks at, itself among them.
    """

    depths: torch.Tensor
    seen: torch.Tensor


class _NotRecordedError(ModelError):
    """A pass does what no recording can hold, such as waiting for the device."""


class SlotRun:
    """A causal language model of `transformers` with `slots` texts of at most `max_length` tokens.  Not thread-safe.

    record: how passes of `decode` are recorded; "auto": as CUDA graphs on a GPU, and not at all elsewhere.  A run that
    records gives logits from `decode`, all of them: `splits` is False.

    Raises
    ------
    ModelError
        The model cannot read texts of different lengths side by side, or its passes cannot be recorded; the message
        says why.
    """

    def __init__(
        self, model: PreTrainedModel, slots: int, max_length: int, *, record: Recorder | Literal["auto"] | None = "auto"
    ) -> None:
        if slots < 1 or max_length < 2:
            raise ValueError(f"slots and max_length must be at least 1 and 2, not {slots} and {max_length}")
        self.model = model
        self.slots = slots
        self.max_length = max_length
        self.device = torch.device(model.device)
        self.lengths = [0] * slots
        self._config = model.config.get_text_config()
        self._check_kind()
        self._place = _Place()
        self._cache = _cache(self._place, self._config.num_hidden_layers, max_length)
        self._numbers = torch.arange(max_length, device=self.device)
        self._decoder: torch.nn.Module | None = model.get_decoder() if hasattr(model, "get_decoder") else None
        self._cache_names = {one: cache_name(one) for one in (model, self._decoder) if one is not None}
        self._head = model.get_output_embeddings()
        self._recorded: dict[tuple[int, int], tuple[Callable[[], object], torch.Tensor]] = {}  # by rows and view
        self._read_by_it = torch.zeros(2, slots, dtype=torch.int64, device=self.device)  # tokens, and where they go
        self._buffer: torch.Tensor | None = None
        auto = record == "auto"
        self._record = (CudaRecorder() if self.device.type == "cuda" else None) if record == "auto" else record
        with torch.inference_mode():
            try:
                self._probe()
            except _NotRecordedError as error:
                if not auto:
                    raise
                warnings.warn(f"{error}. Its kernels are started one by one, which takes longer", stacklevel=3)
                self._record = None
                self.lengths = [0] * slots
                self._probe()

    # -- reading ----------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def read(self, first: int, *texts: Sequence[int]) -> None:
        """Read `texts` into slots from `first` on, one each and behind what they hold, in one pass; no logits.

        Shorter ones are filled up with tokens that are written behind their ends, where nobody looks.
        """
        past, width = first + len(texts), max(map(len, texts))
        longest = max(self.lengths[first:past]) + width
        self.reserve(past, longest)
        place = self._place
        place.first, place.past, place.length = first, past, longest
        before = torch.tensor(self.lengths[first:past], device=self.device).unsqueeze(-1)
        place.positions = before + self._numbers[:width]
        seen = self._numbers[:longest] <= place.positions.unsqueeze(-1)
        ids = torch.tensor([[*text, *[0] * (width - len(text))] for text in texts], device=self.device)
        self._pass(ids, place.positions, seen[:, None], logits=False)
        for slot, text in enumerate(texts, start=first):
            self.lengths[slot] += len(text)

    @torch.inference_mode()
    def decode(self, tokens: torch.Tensor) -> torch.Tensor:
        """Read one token in each of the first `n` slots; `tokens` int64 (n,) on the model's device.

        Returns what `logits` and `logits_of` take: hidden states (n, hidden), or, of a model that does not split,
        logits (n, vocab), which hold until the next call.  On a GPU the call returns before they are there.
        """
        found = self.verify(tokens.unsqueeze(-1))[:, 0] if self._record is None else self._start_recorded(tokens)
        for slot in range(len(tokens)):
            self.lengths[slot] += 1
        return found

    def _start_recorded(self, tokens: torch.Tensor) -> torch.Tensor:
        """`decode` by a recorded pass over at least as many rows: those beyond `tokens` are written to behind their
        ends, where nobody looks."""
        assert self._record is not None
        count, rows = len(tokens), rows_recorded(len(tokens), self.slots)
        self.reserve(rows, max(self.lengths[:rows]) + 1)
        view = _grown(min(FIRST_LENGTH, self._room()), max(self.lengths[:count]) + 1, self._room())
        self._read_by_it[0, :count].copy_(tokens)
        lengths = torch.tensor(self.lengths[:rows])
        if self.device.type == "cuda":
            lengths = lengths.pin_memory()  # which nobody else gets before the copy is done
        self._read_by_it[1, :rows].copy_(lengths, non_blocking=True)
        if (rows, view) not in self._recorded:
            ids, positions = self._read_by_it[:, :rows].unsqueeze(-1)

            def call() -> torch.Tensor:
                place = self._place
                place.first, place.past, place.length, place.positions = 0, rows, view, positions
                seen = self._numbers[:view] <= positions.unsqueeze(-1)
                return self._pass(ids, positions, seen[:, None], logits=True)[:, 0].float()

            try:
                self._recorded[rows, view] = self._record(call)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:
                kind = type(self.model).__name__
                raise _NotRecordedError(f"a pass of {kind} cannot be recorded ({error})") from error
        start, found = self._recorded[rows, view]
        start()
        return found[:count]

    @torch.inference_mode()
    def verify(self, tokens: torch.Tensor, trees: Trees | None = None) -> torch.Tensor:
        """Read `tokens` behind each of the first `n` slots: int64 (n, q) on the model's device.

        trees: None where each token follows the one before it; otherwise whom each follows.
        Slots stay as long as they were: the caller says which of the q tokens are its text's (`keep`).
        Returns what `decode` returns, for each token: (n, q, hidden), or (n, q, vocab).
        """
        count, width = tokens.shape
        lengths = self.lengths[:count]
        longest = max(lengths) + width
        self.reserve(count, longest)
        place = self._place
        place.first, place.past, place.length = 0, count, min(-(-longest // VIEW) * VIEW, self._room())
        before = torch.tensor(lengths, device=self.device).unsqueeze(-1)
        place.positions = before + self._numbers[:width]
        if trees is None:
            seen = self._numbers[: place.length] <= place.positions.unsqueeze(-1)
            return self._pass(tokens, place.positions, seen[:, None], logits=True)
        seen = (self._numbers[: place.length] < before).unsqueeze(1).repeat(1, width, 1)
        seen.scatter_(2, place.positions.unsqueeze(1).expand(-1, width, -1), trees.seen)
        return self._pass(tokens, before + trees.depths, seen[:, None], logits=True)

    @torch.inference_mode()
    def graft(self, slot: int, ids: Sequence[int], trunk: int, branches: Sequence[Sequence[int]]) -> torch.Tensor:
        """Read `ids` into `slot` as nodes of a tree that grows there: its first `trunk` tokens are before all of them.

        branches: of each of `ids`, the places in the slot of the nodes before it, from the trunk on.  Their number is
        its depth, whatever else was read in between.  Returns what `decode` returns, for each of `ids`.
        """
        start, count = self.lengths[slot], len(ids)
        self.reserve(slot + 1, start + count)
        place = self._place
        place.first, place.past, place.length = slot, slot + 1, start + count
        place.positions = self._numbers[None, start : start + count]
        seen = torch.zeros(count, place.length, dtype=torch.bool)
        seen[:, :trunk] = True
        for row, branch in enumerate(branches):
            seen[row, list(branch)] = True
            seen[row, start + row] = True
        depths = torch.tensor([trunk + len(branch) for branch in branches], device=self.device)
        tokens = torch.tensor([list(ids)], device=self.device)
        found = self._pass(tokens, depths.unsqueeze(0), seen.to(self.device)[None, None], logits=True)[0]
        self.lengths[slot] += count
        return found

    @torch.inference_mode()
    def keep(self, kept: Sequence[Sequence[int]]) -> None:
        """Of the tokens that `verify` read behind each of the first slots, those numbered `kept[slot]` are its text's,
        in this order: the slot grows by them, and the others are forgotten."""
        slots, sources, targets = list[int](), list[int](), list[int]()
        for slot, numbers in enumerate(kept):
            length = self.lengths[slot]
            for target, number in enumerate(numbers):
                if number != target:
                    slots.append(slot)
                    sources.append(length + number)
                    targets.append(length + target)
        if slots:
            moved = torch.tensor([slots, sources, targets], device=self.device)
            for layer in self._cache.layers:
                layer.shift(*moved)
        for slot, numbers in enumerate(kept):
            self.lengths[slot] += len(numbers)

    @torch.inference_mode()
    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """All logits of rows that `decode` returned: float32 (rows, vocab), valid until the next call."""
        if not self.splits:
            return states.float()
        weight, bias = self._head.weight, self._head.bias
        if weight.dtype != torch.float32 or self.device.type != "cpu":
            found: torch.Tensor = self._head(states).float()
            return found
        # Memory that is taken anew at every step costs more than the product.
        if self._buffer is None or len(self._buffer) < len(states):
            self._buffer = torch.empty(len(states), weight.shape[0])
        into = self._buffer[: len(states)]
        if bias is None:
            return torch.mm(states, weight.t(), out=into)
        return torch.addmm(bias, states, weight.t(), out=into)

    @torch.inference_mode()
    def logits_of(self, states: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """The logits of `ids` (int64, shape (rows, k), each row its own) and of no others: float32 (rows, k)."""
        if not self.splits:
            return states.gather(-1, ids).float()
        found = torch.bmm(self._head.weight[ids], states.unsqueeze(-1)).squeeze(-1)
        if self._head.bias is not None:
            found += self._head.bias[ids]
        return found.float()

    # -- slots ------------------------------------------------------------------------------------------------------

    def clear(self, slot: int) -> None:
        """Forget the text of `slot`."""
        self.lengths[slot] = 0

    @torch.inference_mode()
    def move(self, source: int, target: int) -> None:
        """The text of slot `source` goes on in `target`; `source` is empty then."""
        if source != target:
            for layer in self._cache.layers:
                layer.move(source, target, self.lengths[source])
            self.lengths[target], self.lengths[source] = self.lengths[source], 0

    @torch.inference_mode()
    def give_back(self) -> None:
        """Shrink the cache where the texts that are there need a small part of it; one that recorded passes use stays
        where it is."""
        if self._record is not None:
            return
        layer = self._cache.layers[0]
        used = max((slot + 1 for slot, length in enumerate(self.lengths) if length), default=1)
        slots = _grown(1, used, self.slots)
        room = _grown(min(FIRST_LENGTH, self.max_length), max(self.lengths), self.max_length)
        if IDLE_SHARE * slots * room <= layer.slots * layer.room:
            self._resize(slots, room)

    @torch.inference_mode()
    def taken(self, slot: int, first: int, past: int) -> torch.Tensor:
        """A copy of the keys and values of tokens `first` to `past` of a slot: (layers, 2, heads, tokens, size)."""
        both = [kept for layer in self._cache.layers for kept in (layer.keys, layer.values)]
        copied: torch.Tensor = torch.stack([kept[slot, :, first:past] for kept in both]).unflatten(0, (-1, 2))
        return copied

    @torch.inference_mode()
    def put(self, slot: int, copied: torch.Tensor) -> None:
        """Append to a slot what `taken` gave of another that began alike."""
        start, past = self.lengths[slot], self.lengths[slot] + copied.shape[3]
        self.reserve(slot + 1, past)
        for layer, (keys, values) in zip(self._cache.layers, copied, strict=True):
            layer.keys[slot, :, start:past], layer.values[slot, :, start:past] = keys, values
        self.lengths[slot] = past

    @property
    def nbytes(self) -> int:
        """Bytes that the cache holds."""
        return sum(layer.nbytes for layer in self._cache.layers)

    # -- within -----------------------------------------------------------------------------------------------------

    def _room(self) -> int:
        return int(self._cache.layers[0].room)

    def reserve(self, slots: int, length: int) -> None:
        """Make room for texts of `length` tokens in so many slots."""
        if length > self.max_length:
            raise ModelError(f"a text of {length:,} tokens: this run has room for {self.max_length:,}")
        self._resize(
            _grown(self._cache.layers[0].slots, slots, self.slots), _grown(self._room(), length, self.max_length)
        )

    def _resize(self, slots: int, room: int) -> None:
        for layer in self._cache.layers:
            if layer.resize(slots, room):
                self._recorded.clear()  # they read and write where the cache was

    def _pass(self, ids: torch.Tensor, positions: torch.Tensor, seen: torch.Tensor, *, logits: bool) -> torch.Tensor:
        attention = seen
        if self._additive:
            lowest = torch.finfo(self.model.dtype).min
            attention = torch.where(seen, 0.0, lowest).to(self.model.dtype)
        inputs = {
            "input_ids": ids,
            "attention_mask": attention,
            "position_ids": positions,
            "use_cache": True,
        }
        if self.splits or not logits:
            states: torch.Tensor = self._read(self._decoder or self.model, inputs)[0]
            return states
        found: torch.Tensor = self._read(self.model, inputs).logits
        return found

    def _read(self, module: torch.nn.Module, inputs: Mapping[str, object]) -> Any:
        return module(**inputs, **{self._cache_names[module]: self._cache})

    def _check_kind(self) -> None:
        config, name = self._config, type(self.model).__name__
        if "position_ids" not in inspect.signature(self.model.forward).parameters:
            raise ModelError(f"{name} numbers positions itself: texts of different lengths cannot share its passes")
        attends_by = getattr(config, "_attn_implementation", None)
        if attends_by not in ("sdpa", "eager"):
            raise ModelError(f"{name} attends by {attends_by!r}: load it with 'sdpa' or 'eager'")
        self._additive = attends_by == "eager"
        kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
        window = getattr(config, "sliding_window", None) if getattr(config, "use_sliding_window", True) else None
        others = kinds - {"full_attention", "sliding_attention"}
        if others:
            raise ModelError(
                f"{name} has layers of {', '.join(sorted(others))}, which keep no keys and values by place"
            )
        if window is not None and self.max_length > window:
            raise ModelError(f"{name} looks back {window:,} tokens in some layers: take max_length up to that")

    def _probe(self) -> None:
        """Read two texts side by side and compare with the plain model; find out whether it splits."""
        ids = torch.tensor([PROBE], device=self.device)
        first, second = PROBE[:4], PROBE[1:3]
        try:
            plain = self.model(input_ids=ids).logits[0].float()
            alone = self.model(input_ids=ids[:, 1:3]).logits[0, -1].float()
            decoder = self._decoder if self._record is None and type(self._head) is torch.nn.Linear else None
            self.splits = decoder is not None
            if decoder is not None:
                hidden = decoder(input_ids=ids)[0][0]
                self.splits = bool(torch.equal(self._head(hidden).float(), plain))
            slots = min(2, self.slots)
            self.read(0, first[:-1])
            if slots == 2:
                self.read(1, second[:-1])
            tokens = torch.tensor([first[-1], second[-1]][:slots], device=self.device)
            found = self.logits(self.decode(tokens))
        except (TypeError, AttributeError, NotImplementedError, IndexError, ValueError, RuntimeError) as error:
            if isinstance(error, torch.OutOfMemoryError | ModelError):
                raise
            raise ModelError(f"{type(self.model).__name__} takes no cache of slots: {error}") from error
        expected = torch.stack([plain[3], alone])[: len(found)]
        exact = self.model.dtype in (torch.float32, torch.float64)
        allowed = (1e-3 if exact else 5e-2) * max(1.0, float(expected.abs().max()))
        apart = float((found - expected).abs().max())
        if not apart <= allowed:
            raise ModelError(
                f"{type(self.model).__name__} gives other logits when texts share a pass (by {apart:.3g}): it "
                "cannot be run in a batch"
            )
        for slot in range(self.slots):
            self.clear(slot)


def _grown(have: int, needed: int, most: int) -> int:
    """`have`, doubled until it is enough."""
    while have < needed:
        have = min(2 * have, most)
    return have


def _cache(place: _Place, layers: int, max_length: int) -> Any:
    """A `transformers` cache of layers that write where `place` says."""
    from transformers.cache_utils import Cache, CacheLayerMixin

    class SlotLayer(CacheLayerMixin):  # type: ignore[misc]
        """Keys and values of one layer, shape (slots, heads, room, size)."""

        is_sliding = False

        def __init__(self) -> None:
            self.keys: torch.Tensor
            self.values: torch.Tensor
            self.is_initialized = False
            self.slots, self.room = 1, min(FIRST_LENGTH, max_length)

        def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
            self.dtype, self.device = key_states.dtype, key_states.device
            # Zeros: what is beyond a text's end is weighed with 0, and 0 times NaN would be NaN.
            self.keys = key_states.new_zeros(self.slots, key_states.shape[1], self.room, key_states.shape[3])
            self.values = value_states.new_zeros(self.slots, value_states.shape[1], self.room, value_states.shape[3])
            self.is_initialized = True

        def update(
            self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
        ) -> tuple[torch.Tensor, torch.Tensor]:
            if not self.is_initialized:
                self.lazy_initialization(key_states, value_states)
            keys = self.keys[place.first : place.past]
            values = self.values[place.first : place.past]
            rows = torch.arange(len(keys), device=keys.device).unsqueeze(-1)
            keys[rows, :, place.positions] = key_states.transpose(1, 2)
            values[rows, :, place.positions] = value_states.transpose(1, 2)
            return keys[:, :, : place.length], values[:, :, : place.length]

        def resize(self, slots: int, room: int) -> bool:
            """Whether keys and values lie elsewhere now."""
            if (slots, room) == (self.slots, self.room):
                return False
            kept, long = min(slots, self.slots), min(room, self.room)
            self.slots, self.room = slots, room
            if self.is_initialized:
                for name in ("keys", "values"):
                    old = getattr(self, name)
                    new = old.new_zeros(slots, old.shape[1], room, old.shape[3])
                    new[:kept, :, :long] = old[:kept, :, :long]
                    setattr(self, name, new)
            return self.is_initialized

        def move(self, source: int, target: int, length: int) -> None:
            self.keys[target, :, :length] = self.keys[source, :, :length]
            self.values[target, :, :length] = self.values[source, :, :length]

        def shift(self, slots: torch.Tensor, sources: torch.Tensor, targets: torch.Tensor) -> None:
            for kept in (self.keys, self.values):
                kept[slots, :, targets] = kept[slots, :, sources]  # read before anything is written

        @property
        def nbytes(self) -> int:
            return self.keys.nbytes + self.values.nbytes if self.is_initialized else 0

        def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
            return place.length, 0

        def get_seq_length(self) -> int:
            return 0  # positions are told

        def get_max_length(self) -> int:
            return max_length

    return Cache(layers=[SlotLayer() for _ in range(layers)])
