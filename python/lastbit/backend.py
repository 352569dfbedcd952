# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Devices: built-in ones, files, dicts, and changed rules."""
from __future__ import annotations

import enum
import html
import json
import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from . import _lastbit
from .errors import Error

Rounding = enum.Enum("Rounding", {name: name for name in _lastbit.roundings}, type=str, module=__name__)
Rounding.__doc__ = "Roundings, as values of rules; the name states what becomes of a tie."
Overflow = enum.Enum("Overflow", {name: name for name in _lastbit.overflows}, type=str, module=__name__)
Overflow.__doc__ = "What becomes of a sum that leaves its width, as a value of rules."


class BackendInfo(NamedTuple):
    """A built-in backend, and how well its rules are known: "hardware" best, "guess" least."""

    name: str
    title: str
    strongest_evidence: str
    weakest_evidence: str


class Rule(NamedTuple):
    """One rule: its path ("conv.i8.output.chain.2.rounding"), its value, and what it is known by (None: the sheet says nothing of it)."""

    path: str
    value: str
    evidence: str | None
    source: str


class RuleDifference(NamedTuple):
    """A rule in which two backends differ; "" where one of them has no such rule."""

    path: str
    a: str
    b: str


class Backend:
    """A device's arithmetic, and what a board computes beside it. backend() makes one."""

    def __init__(self, native: _lastbit.Device):
        self.native = native

    @property
    def name(self) -> str:
        return self.native.name

    @property
    def title(self) -> str:
        return self.native.title

    @property
    def rules(self) -> dict[str, str]:
        """Every rule that decides a result, by its path."""
        return {rule.path: rule.value for rule in self.evidence}

    @property
    def evidence(self) -> list[Rule]:
        """The same with what each is known by."""
        return [Rule(*facts) for facts in self.native.rules()]

    def with_rules(self, rules: Mapping[str, object]) -> Backend:
        """Another backend with these rules set: {"*.i8.per_channel": "float_scale"}, as --set. Raises Error naming the path, or the values allowed."""
        return Backend(self.native.with_rules([(path, _word(value)) for path, value in rules.items()]))

    def describe(self) -> str:
        """Formula per operation, evidence and source, settings."""
        return self.native.describe()

    def problems(self, model) -> list[tuple[str, str]]:
        """What keeps it from running a network: [(where, message)]; empty: it can run."""
        from .model import model_of

        return self.native.problems(model_of(model).native)

    def to_json(self) -> str:
        """A backend file."""
        return self.native.json()

    def save(self, path) -> None:
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            file.write(self.to_json())

    def __repr__(self) -> str:
        return f"<lastbit.Backend {self.name!r}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.describe())}</pre>"


def _word(value) -> str:
    return str(value.value) if isinstance(value, enum.Enum) else str(value)


def backends() -> list[BackendInfo]:
    """The built-in ones."""
    return [BackendInfo(*facts) for facts in _lastbit.backends()]


def backend(which, *, rules: Mapping[str, object] | None = None, fallback=(), keep: Mapping | None = None) -> Backend:
    """A device, to be asked about.

    which: a name ("vipnano_v8"), that of a chip ("imx8mp"), a file (.json), a dict as such a file holds, or a Backend. rules: others than its own, by
    their paths. fallback: backends that compute what the device lacks, as a board's CPU does. keep: {layer, or tuple of layers: backend} that
    another backend computes in its place; a layer is called by its name or number. Raises Error.
    """
    made = _plain(which)
    if rules:
        made = made.with_rules(rules)
    fallbacks = [fallback] if isinstance(fallback, (str, Mapping, Backend)) else list(fallback)
    kept = [(_layers(layers), _plain(other).native) for layers, other in (keep or {}).items()]
    if fallbacks or kept:
        made = Backend(made.native.with_others([_plain(each).native for each in fallbacks], kept))
    return made


def _layers(layers) -> list[str]:
    one = isinstance(layers, (str, int)) or not isinstance(layers, Iterable)
    return [str(layer) for layer in ([layers] if one else layers)]


def _plain(which) -> Backend:
    if isinstance(which, Backend):
        return which
    if isinstance(which, Mapping):
        return Backend(_lastbit.parse_backend(json.dumps(which)))
    if not isinstance(which, (str, os.PathLike)):
        raise Error([("unknown_backend", repr(which), "is no name, file, dict or Backend")])
    return Backend(_lastbit.find_backend(os.fspath(which)))


def describe(which=None) -> str:
    """A backend: formula per operation, evidence and source, settings. None: which rules there are, with their values and meaning."""
    return _lastbit.rules_page() if which is None else _plain(which).describe()


def diff(a, b) -> list[RuleDifference]:
    """The rules in which two backends differ."""
    return [RuleDifference(*facts) for facts in _lastbit.diff_backends(_plain(a).native, _plain(b).native)]
