"""What a module offers, as a table of short texts: names, parameters with their kinds and defaults, fields of models.

`surface.toml` is such a table of XGrammar 0.2.8.  Write it anew, where XGrammar is installed, with

    python -m tests.compat.surface > tests/compat/surface.toml
"""

from __future__ import annotations

import importlib
import inspect
from enum import Enum
from types import ModuleType
from typing import Any

MODULES = {
    "": None,  # None: the names in __all__
    "config": None,
    "exception": None,
    "tokenizer_info": ("TokenizerInfo", "VocabType"),
    "grammar": ("Grammar",),
    "compiler": ("CompiledGrammar", "GrammarCompiler"),
    "matcher": (
        "BatchGrammarMatcher",
        "GrammarMatcher",
        "allocate_token_bitmask",
        "apply_token_bitmask_inplace",
        "bitmask_dtype",
        "get_bitmask_shape",
        "reset_token_bitmask",
    ),
    "structural_tag": None,
    "openai_tool_call_schema": None,
    "builtin_structural_tag": (
        "get_builtin_structural_tag",
        "get_model_structural_tag",
        "normalize_tool_choice",
        "register_model_structural_tag",
    ),
    "testing": None,
    "contrib.hf": None,
}
LEFT_OUT = {"register_error"}  # how XGrammar's C++ raises Python's errors


def module(package: str, name: str) -> ModuleType:
    """`package`'s module `name`, or the package itself."""
    return importlib.import_module(f"{package}.{name}" if name else package)


def names(package: str, name: str) -> list[str]:
    """What the table has of a module: what is listed above, else `__all__`, else what the module itself defines."""
    listed = MODULES[name]
    found = module(package, name)
    if listed is not None:
        return sorted(listed)
    if not name:
        return sorted(found.__all__)
    own = [key for key, value in vars(found).items() if getattr(value, "__module__", None) == found.__name__]
    return sorted(set(own) - LEFT_OUT)


def described(value: Any) -> dict[str, str]:
    """What there is to say of a value; a class has a line for each public member, under its name."""
    if inspect.ismodule(value):
        return {"": "module"}
    if not inspect.isclass(value):
        return {"": signature(value) if callable(value) else "value"}
    if hasattr(value, "model_fields"):
        lines = {"": "model " + ", ".join(map(field, value.model_fields.items()))}
    elif issubclass(value, Enum):
        return {"": "enum " + ", ".join(f"{item.name}={item.value}" for item in value)}
    elif issubclass(value, Exception):
        return {"": "RuntimeError" if issubclass(value, RuntimeError) else "Exception"}
    else:
        lines = {"": "class " + (signature(value.__init__) if "__init__" in vars(value) else "")}
    for key, member in vars(value).items():
        if not key.startswith("_") and not key.startswith("model_"):
            lines[key] = described_member(value, key, member)
    return {key: line.strip() for key, line in lines.items()}


def described_member(owner: type, key: str, member: Any) -> str:
    """A property, a static method or a method."""
    if isinstance(member, property):
        return "property"
    kind = "static " if isinstance(member, staticmethod | classmethod) else ""
    return kind + signature(getattr(owner, key))


def signature(function: Any) -> str:
    """Parameters with kinds and defaults, without `self` and without types."""
    parameters = [
        item.replace(annotation=inspect.Parameter.empty)
        for item in inspect.signature(function).parameters.values()
        if item.name != "self"
    ]
    return str(inspect.Signature(parameters))


def field(item: tuple[str, Any]) -> str:
    """A field of a pydantic model, under the name callers write."""
    name, info = item
    name = info.alias or name
    return name if info.is_required() else f"{name}={info.get_default(call_default_factory=True)!r}"


def surface(package: str) -> dict[str, dict[str, str]]:
    """Of each module, `name` or `name.member` to its line."""
    table: dict[str, dict[str, str]] = {}
    for name in MODULES:
        lines = table[name or "xgrammar"] = {}
        for key in names(package, name):
            value = getattr(module(package, name), key)
            if MODULES[name] is None and not name and inspect.isclass(value):
                lines[key] = "class"  # its members stand under its own module
                continue
            for member, line in described(value).items():
                lines[f"{key}.{member}" if member else key] = line
    return table


def main() -> None:
    """Print XGrammar's table as TOML."""
    import json

    print("# XGrammar 0.2.8: public names, parameters, defaults. Written by tests/compat/surface.py")
    for name, lines in surface("xgrammar").items():
        print(f"\n[{json.dumps(name)}]")
        for key, line in sorted(lines.items()):
            print(f"{json.dumps(key)} = {json.dumps(line)}")


if __name__ == "__main__":
    main()
