"""The ledger: one SQLite file that remembers every trial ever run, keyed by the hash of its parameters.

SQLite in WAL mode from the standard library: each result is durable the moment it is recorded, readers do not wait for
the writer, and the file opens in anything (`pandas.read_sql`, DuckDB, a database browser; `params` and `metrics` are
JSON).  Only the process that coordinates a sweep writes.  Read on: `sweep.py`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pandas as pd

from experiments.trial import Params, Status, Trial

DEFAULT_LEDGER: Final = Path("experiments.sqlite")
LAYOUT: Final = 1  # PRAGMA user_version of the files this module writes
ROW_COLUMNS: Final = ("status", "error", "seconds", "started", "load", "git", "machine")
SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS machine (digest TEXT PRIMARY KEY, description TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS trial (
    id INTEGER PRIMARY KEY,
    sweep TEXT NOT NULL,
    params_hash TEXT NOT NULL,
    params TEXT NOT NULL,
    seed INTEGER,
    status TEXT NOT NULL CHECK (status IN ('ok', 'error', 'not run')),
    metrics TEXT,
    error TEXT,
    started TEXT NOT NULL,
    seconds REAL NOT NULL,
    load REAL,
    git TEXT,
    machine TEXT NOT NULL REFERENCES machine (digest),
    UNIQUE (sweep, params_hash)
);
CREATE TABLE IF NOT EXISTS run (
    section TEXT PRIMARY KEY,
    sweep TEXT NOT NULL,
    command TEXT NOT NULL,
    keys TEXT NOT NULL
);
"""


class LedgerError(RuntimeError):
    """The ledger file cannot be used, or a trial cannot be written into it."""


def canonical_json(value: object, what: str = "parameters") -> str:
    """JSON text, equal for equal values.  `LedgerError` for what JSON cannot say (NaN, keys that are not text)."""
    _check_keys(value, what)
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise LedgerError(f"{what} must be plain JSON: {error}") from None


def params_hash(params: Params) -> str:
    """The key of a trial within its sweep: 32 hexadecimal digits."""
    return hashlib.sha256(canonical_json(dict(params)).encode()).hexdigest()[:32]


class Ledger:
    """A ledger file, made when it is missing.  Use it as a context manager, or `close` it.

    Several processes may read while one writes; two writers take turns.  A ledger object belongs to one thread.
    """

    def __init__(self, path: str | Path = DEFAULT_LEDGER) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise LedgerError(f"no folder {self.path.parent} to put the ledger in")
        self._db = sqlite3.connect(self.path, timeout=30)
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise LedgerError(f"{self.path} is not a ledger: {error}") from None
        except LedgerError:
            self._db.close()
            raise

    def _prepare(self) -> None:
        (layout,) = self._db.execute("PRAGMA user_version").fetchone()
        if layout != LAYOUT and layout != 0:
            age = "a newer" if layout > LAYOUT else "another"
            raise LedgerError(f"{self.path} was written by {age} version (layout {layout}, known: {LAYOUT})")
        if layout == 0 and self._db.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
            raise LedgerError(f"{self.path} is not a ledger: it is a database of something else")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")  # with WAL: a crash of the process loses nothing
        self._db.executescript(SCHEMA)
        self._db.execute(f"PRAGMA user_version = {LAYOUT}")
        self._db.commit()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file.  Closing twice does nothing."""
        self._db.close()

    # -- writing --------------------------------------------------------------------------------------------------

    def record(self, sweep: str, trial: Trial) -> None:
        """Write one trial, durably; it replaces what was known of the same parameters.

        `LedgerError`, and nothing written, when parameters or metrics are not JSON or use a reserved or double name.
        """
        names = [*trial.params, *(trial.metrics or ())]
        bad = {name for name in names if name in ROW_COLUMNS} | {name for name in names if names.count(name) > 1}
        if bad:
            raise LedgerError(f"these names are reserved, or both parameter and metric: {', '.join(sorted(bad))}")
        params = canonical_json(dict(trial.params))
        metrics = None if trial.metrics is None else canonical_json(dict(trial.metrics), "metrics")
        description = canonical_json(trial.machine.to_dict(), "the machine")
        digest = hashlib.sha256(description.encode()).hexdigest()[:16]
        seed = trial.params.get("seed")
        row = {
            **{"sweep": sweep, "params_hash": params_hash(trial.params), "params": params, "metrics": metrics},
            **{name: getattr(trial, name) for name in ROW_COLUMNS if name != "machine"},
            **{"seed": seed if isinstance(seed, int) else None, "machine": digest},
        }
        columns, places = ", ".join(row), ", ".join(f":{name}" for name in row)
        with self._db:
            self._db.execute("INSERT OR IGNORE INTO machine VALUES (?, ?)", (digest, description))
            self._db.execute(f"INSERT OR REPLACE INTO trial ({columns}) VALUES ({places})", row)

    def record_run(self, section: str, sweep: str, command: str, keys: Sequence[str]) -> None:
        """Remember which trials a finished run was made of, under the name of its section, in place of the one before.

        keys: hashes of parameters, in the order of the grid.
        """
        with self._db:
            row = (section, sweep, command, json.dumps(list(keys)))
            self._db.execute("INSERT OR REPLACE INTO run VALUES (?, ?, ?, ?)", row)

    def forget(self, sweep: str, hashes: Iterable[str]) -> int:
        """Remove a sweep's trials of `hashes`; returns how many there were."""
        with self._db:
            pairs = [(sweep, key) for key in hashes]
            return self._db.executemany("DELETE FROM trial WHERE sweep = ? AND params_hash = ?", pairs).rowcount

    # -- reading --------------------------------------------------------------------------------------------------

    def statuses(self, sweep: str) -> dict[str, Status]:
        """What became of each recorded trial, by the hash of its parameters."""
        return dict(self._db.execute("SELECT params_hash, status FROM trial WHERE sweep = ?", (sweep,)).fetchall())

    def runs(self) -> list[dict[str, Any]]:
        """The last run of each section (`section`, `sweep`, `command`, `keys`), as far as all its trials are there."""
        found = []
        for section, sweep, command, keys in self._db.execute("SELECT * FROM run ORDER BY section"):
            hashes = json.loads(keys)
            if set(hashes) <= self.statuses(sweep).keys():
                found.append({"section": section, "sweep": sweep, "command": command, "keys": hashes})
        return found

    def frame(self, sweep: str, hashes: Sequence[str] | None = None) -> pd.DataFrame:
        """One row a trial: its parameters, its metrics, then `status`, `error`, `seconds`, `started`, `load`, `git`,
        `machine` (digest).  In the order of recording, or of `hashes`, which must all be recorded."""
        query = "SELECT params_hash, params, metrics, " + ", ".join(ROW_COLUMNS) + " FROM trial WHERE sweep = ?"
        rows: dict[str, dict[str, object]] = {}
        for key, params, metrics, *rest in self._db.execute(query + " ORDER BY id", (sweep,)):
            values = json.loads(params) | (json.loads(metrics) if metrics else {})
            rows[key] = values | dict(zip(ROW_COLUMNS, rest, strict=True))
        if hashes is not None:
            absent = [key for key in hashes if key not in rows]
            if absent:
                raise LedgerError(f"{len(absent)} trials of {sweep!r} are not in {self.path}")
            rows = {key: rows[key] for key in hashes}
        if not rows:
            return pd.DataFrame(columns=list(ROW_COLUMNS))
        found = pd.DataFrame(list(rows.values()))
        return found[[name for name in found.columns if name not in ROW_COLUMNS] + list(ROW_COLUMNS)]

    def machines(self) -> dict[str, dict[str, Any]]:
        """Descriptions by digest."""
        found = self._db.execute("SELECT digest, description FROM machine").fetchall()
        return {digest: json.loads(description) for digest, description in found}

    def export(self, sweep: str, path: str | Path) -> Path:
        """Write `frame(sweep)` to a file: `.csv` or `.parquet`.  Nested values, and columns that hold values of several
        kinds, are written as JSON text."""
        path = Path(path)
        found = self.frame(sweep)
        if found.empty:
            raise LedgerError(f"{self.path} holds no trials of {sweep!r}")
        for name in found.columns:
            column = found[name]
            if column.dtype == object and not column.dropna().map(lambda value: isinstance(value, str)).all():
                found[name] = column.map(json.dumps, na_action="ignore")
        if path.suffix == ".csv":
            found.to_csv(path, index=False)
        elif path.suffix == ".parquet":
            try:
                found.to_parquet(path, index=False)
            except ImportError:
                raise LedgerError(
                    "writing parquet needs pyarrow. Run: pip install pyarrow (or export to .csv)"
                ) from None
        else:
            raise LedgerError(f"cannot export to {path.name}: the name must end in .csv or .parquet")
        return path


def _check_keys(value: object, where: str) -> None:
    """`json` would turn other keys into text in silence, and two trials could become one."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise LedgerError(f"{where}: key {key!r} is not text")
            _check_keys(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_keys(inner, where)
