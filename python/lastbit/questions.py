# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""What is asked about networks and devices; the answers are Reports, equal to the command line's --json.

Everywhere: model is a Model or the file of one; a, b, backend are what backend() takes; inputs what Emulator.run takes; board a folder or .npz of a
device's tensors, or arrays by name; threads never changes a bit; progress(done, all) is called now and then. Without the GIL while the library works;
Ctrl-C ends those with progress in between, all others when they are done. Mistakes raise Error.
"""
from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence

import numpy as np

from . import _lastbit
from .arrays import arrays_for, board_of, by_input, is_place
from .backend import Backend, backend as backend_of, backends
from .errors import bad_input
from .model import Model, model_of
from .report import Report


def _device(which):
    return backend_of(which).native


def _layer(layer) -> str | None:
    return None if layer is None else str(layer)


def info(model, backend=None) -> Report:
    """What a network is, and which backends run it (or whether this one does). Rows: "backends"."""
    model = model_of(model)
    return Report(_lastbit.info(model.native, [] if backend is None else [_device(backend)]), "backends")


def compare(model, a=None, b=None, inputs=None, *, board=None, golden: bool = False, require: str = "", layout: str = "", names=None,
            threads: int = 1) -> Report:
    """Layer by layer where two backends, or a board and a backend, differ. Differences are b - a, in LSB.

    compare(model, a, b, inputs), or compare(model, b=backend, board=tensors), where inputs are the board's own unless they are given. golden: how far
    both are from the float path as well. require: "all", "outputs" or "N%" of a board's tensors. layout, names: of a board's files.
    `report.passes`: nothing differs. `report.within(max_lsb=…)`: what a tolerance does not allow.
    """
    model = model_of(model)
    if board is None:
        if a is None or b is None or inputs is None:
            raise bad_input("compare", "two backends and inputs are needed, or a board and b")
        return Report(_lastbit.compare(model.native, model.called, _device(a), _device(b), arrays_for(model, inputs), golden, threads))
    if (a is None) == (b is None):
        raise bad_input("compare", "beside a board there is one backend: b")
    tensors = board_of(model, board, names, layout)
    return Report(_lastbit.compare_board(model.native, model.called, tensors.native, tensors.called, _device(b if a is None else a),
                                         arrays_for(model, inputs), golden, threads, require))


def compare_traces(a, b) -> Report:
    """The same of two folders that `lastbit run --trace` wrote."""
    return Report(_lastbit.compare_folders(os.fspath(a), os.fspath(b)))


def explain(model, a, b=None, inputs=None, *, board=None, layer=None, top: int = 0, layout: str = "", names=None, threads: int = 1) -> Report:
    """Which rule makes each value that differs, between two backends; or which single change of backend a computes what a board did.

    layer: only this one, its number or name. top: so many values of each layer stage by stage.
    """
    model = model_of(model)
    if (b is None) == (board is None):
        raise bad_input("explain", "either b, a backend, or a board is needed")
    if board is None:
        return Report(_lastbit.explain(model.native, model.called, _device(a), _device(b), arrays_for(model, inputs), _layer(layer), top,
                                       threads))
    tensors = board_of(model, board, names, layout)
    return Report(_lastbit.explain_board(model.native, model.called, tensors.native, tensors.called, _device(a), arrays_for(model, inputs),
                                         _layer(layer), threads))


def certify(model, a, b, inputs=None, *, input_range: str = "type", layer=None, accept_assumptions: bool = False,
            threads: int = 1, progress=None) -> Report:
    """Whether two backends compute the same for every input, decided without data. input_range: "type", or "data": what inputs show.
    `report.assumptions`: what it rests on; `report.passes` only without any, or where they are accepted."""
    model = model_of(model)
    return Report(_lastbit.certify(model.native, model.called, _device(a), _device(b), arrays_for(model, inputs), input_range, _layer(layer),
                                   accept_assumptions, threads, progress))


def check_certificate(file, model, a, b, inputs=None, *, threads: int = 1, progress=None) -> list[str]:
    """A certificate (report.json() in a file) gone through again, case by case: what does not hold, a line each; empty: it holds."""
    model = model_of(model)
    return _lastbit.check_certificate(os.fspath(file), model.native, model.called, _device(a), _device(b), arrays_for(model, inputs), threads, progress)


def prove(model, backend, inputs=None, *, input_range: str = "type", bits: int | None = None, layer=None, accept_assumptions: bool = False,
          threads: int = 1, progress=None) -> Report:
    """Which accumulators cannot overflow. bits: 2 to 64, asks about another width than the device's. `report.passes`: every sum is safe,
    and none rests on `report.assumptions` that were not accepted."""
    model = model_of(model)
    return Report(_lastbit.prove(model.native, model.called, _device(backend), arrays_for(model, inputs), input_range, bits, _layer(layer),
                                 accept_assumptions, threads, progress))


def matrix(model, devices=None, inputs=None, *, accept_assumptions: bool = False, threads: int = 1, progress=None) -> Report:
    """Each backend against each: equal for every input, or how often they are expected to differ. None: every device. Rows: "pairs"."""
    model = model_of(model)
    natives = [_device(each) for each in (devices if devices is not None else [known.name for known in backends()])]
    refuse = devices is not None  # a network of whose sums a device computes none
    if devices is None:
        natives = [device for device in natives if device.is_integer]
    return Report(_lastbit.matrix(model.native, model.called, natives, refuse, arrays_for(model, inputs), accept_assumptions, threads, progress), "pairs")


class Identification(Report):
    """A report of identify(), with the `backend` that was found, and whether the search was `decided` before its time was up."""


def identify(model, board, *, name: str = "identified", base=None, top: int = 3, max_time: float = 600, layout: str = "", names=None,
             as_is: bool = False, threads: int = 1, progress=None) -> Identification:
    """The rules of a device from what it computed. base: the backend of operations that are not found. max_time: seconds; 0: no limit.

    `report.passes`: the backend computes every value. Rows: "operations". Raises Error where the board's tensors were misread, unless they are to be
    taken as_is.
    """
    model = model_of(model)
    tensors = board_of(model, board, names, layout)
    found, device, decided = _lastbit.identify(model.native, tensors.native, name, None if base is None else _device(base), top, float(max_time), as_is,
                                               threads, progress)
    report = Identification(found, "operations")
    report.__dict__.update(backend=Backend(device), decided=decided)
    return report


class Quantization(Report):
    """A report of quantize(), with the `model` that was made."""


def quantize(model, backend, samples=None, *, options: Mapping[str, object] | None = None, ranges=None, most_samples: int = 0,
             threads: int = 1) -> Quantization:
    """A float network as a model of a device, by the vendor's rules.

    samples: to calibrate with, N in front of each input's shape, or files. options: the quantiser's. ranges: a file of ranges that take the place of
    calibration. Rows: "tensors".
    """
    model = model_of(model)
    if samples is None and ranges is None:
        raise bad_input("quantize", "samples are needed to calibrate with, or ranges")
    arrays = arrays_for(model, samples, most_samples)
    settings = {name: str(value) for name, value in (options or {}).items()}
    found, made = _lastbit.quantize(model.native, _device(backend), arrays, settings, "" if ranges is None else os.fspath(ranges), threads)
    report = Quantization(found, "tensors")
    report.__dict__.update(model=Model(made))
    return report


def sweep(model, devices: Sequence, samples, *, golden: bool = False, events: bool = False, batch: int = 0, state=None, threads: int = 1,
          progress=None) -> Report:
    """A whole data set on several backends, each against the first one. Rows: "backends".

    samples: files or folders, read a few at a time, or arrays with N samples in front. state: a file in which what is done is kept, so that the same
    call goes on from there, after Ctrl-C as well. batch: samples computed together; 0: as memory suggests.
    """
    model = model_of(model)
    natives = [_device(each) for each in devices]

    def ask(places, data):
        return Report(_lastbit.sweep(model.native, model.called, natives, places, data, golden, events, batch, "" if state is None else os.fspath(state),
                                     threads, progress), "backends")

    values = by_input(model, samples)
    if all(is_place(each) for each in values):
        return ask([os.fspath(each) for each in values], " ".join(os.fspath(each) for each in ([samples] if is_place(samples) else values)))
    with tempfile.TemporaryDirectory(prefix="lastbit") as folder:
        places = [os.path.join(folder, f"input_{number}.npy") for number in range(len(values))]
        for place, array in zip(places, arrays_for(model, samples)):
            np.save(place, array)
        return ask(places, "arrays")


def advise(model, a, b, samples, *, candidates: int = 12, objective: str = "", at: str = "", effort: float = 50, most_samples: int = 0,
           threads: int = 1, progress=None) -> Report:
    """What to do about device b that differs from a: layers to keep off it and for how much gain, scales, what users see. progress(what, share)."""
    model = model_of(model)
    wanted = "tflite_double" if isinstance(a, str) and a == "cpu" else a
    return Report(_lastbit.advise(model.native, model.called, _device(wanted), _device(b), arrays_for(model, samples, most_samples), candidates, objective,
                                  at, float(effort), threads, progress))


def equal_scales(model, a, b, *, threads: int = 1, progress=None) -> Quantization:
    """Output scales at which both compute the same, proven for every input; `report.model` is the network on them. progress(what, share)."""
    model = model_of(model)
    found, made = _lastbit.equal_scales(model.native, model.called, _device(a), _device(b), threads, progress)
    report = Quantization(found)
    report.__dict__.update(model=Model(made))
    return report


def set_memory_budget(bytes: int) -> None:
    """The most bytes that a run may need, in this process; 0: no limit. What needs more raises MemoryRefused before it begins."""
    _lastbit.set_memory_budget(bytes)


def host_path() -> str:
    """The host path in use, such as "avx2"; LASTBIT_PATH chooses another. It never changes a bit."""
    return _lastbit.host_path()
