# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Devices: built-in ones, files, dicts, classes, and changed rules."""
from __future__ import annotations

import enum
import html
import json
import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from . import _lastbit
from .errors import Error

class BackendInfo(NamedTuple):
    """A built-in backend, and how well its rules are known: "hardware" best, "assumption" least."""

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


class Device:
    """A device of one's own, as a class: what a backend file says (docs/own-device.md), as attributes.

        class MyNpu(lastbit.Device):
            "A private NPU: saturates at 24 bits, ties upward"
            extends = "vipnano_v8"
            rules = {"conv.i8.accumulator": {"bits": 24, "overflow": Overflow.saturate}, "conv.i8.output.chain.2.rounding": Rounding.half_up}

    name: that of the class, where it is left out; title: the first line of its documentation. Rules of a class stand beside those of the classes that it
    is derived from, and in place of those with the same path. An instance may set any attribute in __init__: devices with parameters. The class or
    an instance goes wherever a backend does.
    """

    name: str
    title: str
    extends: str
    rules: Mapping[str, object] = {}
    evidence: Iterable[Mapping[str, str]]
    settings: Iterable[Mapping[str, object]]
    quantizer: str
    layer_list: str


def _description(device: type[Device] | Device) -> dict:
    """The backend file that says the same."""
    which = device if isinstance(device, type) else type(device)
    file: dict = {"format": "lastbit.backend.v1", "name": which.__name__}
    if which.__doc__ and which is not Device:
        file["title"] = which.__doc__.strip().splitlines()[0]
    file.update({key: getattr(device, key) for key in Device.__annotations__ if hasattr(device, key)})
    rules: dict[str, object] = {}
    for owner in (*reversed(which.__mro__), *([] if isinstance(device, type) else [device])):
        rules.update(vars(owner).get("rules", {}))
    return {**file, "rules": rules}


class Backend:
    """A device's arithmetic, and what a board computes beside it. backend() makes one."""

    def __init__(self, native: _lastbit.Device):
        self.native = native

    @property
    def name(self) -> str:
        """As --backend takes it; of a device of one's own what its file, dict or class says."""
        return self.native.name

    @property
    def title(self) -> str:
        """The device in words."""
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
        """Writes the backend file. Raises OSError."""
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


def backend(which, *, rules: Mapping[str, object] | None = None, fallback=(), keep: Mapping | None = None,
            allow_float: bool = False) -> Backend:
    """A device, to be asked about.

    which: a name ("vipnano_v8"), that of a chip ("imx8mp"), a file (.json), a dict as such a file holds, a Device, or a Backend. rules: others than its own, by
    their paths. fallback: backends that compute what the device lacks, as a board's CPU does. keep: {layer, or tuple of layers: backend} that
    another backend computes in its place; a layer is called by its name or number. allow_float: compute a network of floats although no sum of it is the
    device's; otherwise it is refused, with what to do. Raises Error.
    """
    made = _plain(which)
    if rules:
        made = made.with_rules(rules)
    fallbacks = [fallback] if isinstance(fallback, (str, os.PathLike, Mapping, Backend, Device, type)) else list(fallback)
    kept = [(_layers(layers), _plain(other).native) for layers, other in (keep or {}).items()]
    if fallbacks or kept or allow_float:
        made = Backend(made.native.with_others([_plain(each).native for each in fallbacks], kept, allow_float))
    return made


def _layers(layers) -> list[str]:
    one = isinstance(layers, (str, int)) or not isinstance(layers, Iterable)
    return [str(layer) for layer in ([layers] if one else layers)]


def _plain_value(value):
    """Of a dict what JSON does not know: numpy's numbers, paths."""
    return value.item() if hasattr(value, "item") else str(value)


def _plain(which) -> Backend:
    if isinstance(which, Backend):
        return which
    if isinstance(which, Device) or (isinstance(which, type) and issubclass(which, Device)):
        which = _description(which)
    if isinstance(which, Mapping):
        return Backend(_lastbit.parse_backend(json.dumps(which, default=_plain_value)))
    if not isinstance(which, (str, os.PathLike)):
        raise Error([("unknown_backend", repr(which), "is no name, file, dict, Device or Backend")])
    return Backend(_lastbit.find_backend(os.fspath(which)))


def describe(which=None) -> str:
    """A backend: formula per operation, evidence and source, settings. None: which rules there are, with their values and meaning."""
    return _lastbit.rules_page() if which is None else _plain(which).describe()


def diff(a, b) -> list[RuleDifference]:
    """The rules in which two backends differ."""
    return [RuleDifference(*facts) for facts in _lastbit.diff_backends(_plain(a).native, _plain(b).native)]
