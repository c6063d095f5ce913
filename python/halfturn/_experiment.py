"""Experiments as Python has them: a file, the text of one, or a dictionary; and what changes them."""

import json
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import PurePath
from typing import TypeAlias

Value: TypeAlias = "bool | int | float | str | PurePath | Sequence[Value] | Mapping[str, Value] | None"
"""What may stand behind a key. A list of values is varied; `None` leaves the key out."""

Experiment: TypeAlias = "str | PathLike[str] | Mapping[str, Value]"
"""The path of an experiment file, its text, or a dictionary of its tables."""

NAME = "experiment"
"""What errors call an experiment that is no file. Files that it names are relative to the working directory."""


def located(experiment: Experiment) -> tuple[str, str | None]:
    """The path of an experiment; and its text, where it is no file."""
    if isinstance(experiment, Mapping):
        return NAME, document(experiment)
    if isinstance(experiment, str) and "\n" in experiment:
        return NAME, experiment
    return fspath(experiment), None


def sets(changes: Mapping[str, Value] | None, overrides: Mapping[str, Value]) -> list[str]:
    """The arguments of `--set` that make these changes."""
    dotted = [f"{key}={toml(value)}" for key, value in (changes or {}).items() if value is not None]
    return dotted + [one for key, value in overrides.items() for one in _dotted(key, value)]


def _dotted(path: str, value: Value) -> list[str]:
    if isinstance(value, Mapping):
        return [one for key, inner in value.items() for one in _dotted(f"{path}.{key}", inner)]
    return [] if value is None else [f"{path}={toml(value)}"]


def document(experiment: Mapping[str, Value]) -> str:
    """The text of an experiment file that says what a dictionary does: a line for each of its tables."""
    lines = (f"{_key(key)} = {toml(value)}" for key, value in experiment.items() if value is not None)
    return "\n".join(lines) + "\n"


def toml(value: Value) -> str:
    """A value as TOML, on one line."""
    if isinstance(value, (str, PurePath)):
        # What JSON escapes TOML escapes alike.
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {toml(inner)}" for key, inner in value.items() if inner is not None)
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(toml(inner) for inner in value) + "]"
    # Of numpy and pandas: whatever it is, in Python's own types.
    if callable(plain := getattr(value, "tolist", None)):
        return toml(plain())
    # A truth is a number to Python.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    raise TypeError(f"no value of an experiment: {value!r}")


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else json.dumps(key, ensure_ascii=False)
