# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""For pytest: a board against what is expected, and golden arrays. In conftest.py: pytest_plugins = ["lastbit.pytest_plugin"].

    def test_conv1(lastbit_golden):
        assert_matches(board, lastbit.run(model, "vipnano_v8", x, keep_all=True), max_lsb=1, max_share=1e-3)
        lastbit_golden("conv1", board)
"""
from __future__ import annotations

import pathlib
from collections.abc import Mapping

import numpy as np

from .errors import Error
from .questions import explain
from .running import Trace

__all__ = ["assert_matches"]


def pytest_addoption(parser):
    parser.getgroup("lastbit").addoption("--lastbit-update", action="store_true", help="write the golden arrays of lastbit_golden anew")


def _named(values) -> dict[str, np.ndarray]:
    if isinstance(values, Mapping):
        return {name: np.asarray(array) for name, array in values.items()}
    return {"values": np.asarray(values)}


def _fault(name: str, board: np.ndarray, expected: np.ndarray, max_lsb: int, max_share: float) -> str | None:
    """Why an array does not match, or None."""
    if board.size != expected.size:
        return f"{name}: shape {list(board.shape)}, expected {list(expected.shape)}"
    if board.dtype.kind != expected.dtype.kind and "f" in (board.dtype.kind, expected.dtype.kind):
        return f"{name}: {board.dtype}, expected {expected.dtype}"
    board = board.reshape(expected.shape)
    if expected.dtype.kind == "f":
        differs = ~((board == expected) | (np.isnan(board) & np.isnan(expected)))
        if differs.any():
            return f"{name}: {differs.sum()} of {differs.size} values differ; floats are compared exactly\n{_first(differs, board, expected)}"
        return None
    difference = board.astype(np.int64) - expected.astype(np.int64)
    differs = difference != 0
    worst, share = (int(np.abs(difference).max()), float(differs.mean())) if difference.size else (0, 0.0)
    if worst <= max_lsb and share <= max_share:
        return None
    counts = ", ".join(f"{value:+d}: {count}" for value, count in zip(*np.unique(difference[differs], return_counts=True)) if abs(value) <= 3)
    return (f"{name}: {differs.sum()} of {differs.size} values differ ({share:.3%}; {max_share:.3%} allowed), by at most {worst} LSB ({max_lsb} allowed)\n"
            f"  board - expected: {counts or 'beyond 3'}\n{_first(differs, board, expected)}")


def _first(differs: np.ndarray, board: np.ndarray, expected: np.ndarray) -> str:
    at = tuple(int(index) for index in np.argwhere(differs)[0])
    return f"  first at {list(at)}: board {board[at]}, expected {expected[at]}"


def _explained(model, backend, board, inputs) -> str:
    """Which rule parts the board from the backend, or why that cannot be said."""
    try:
        return str(explain(model, backend, board=board, inputs=inputs))
    except Error as error:
        return f"no explanation: {error}"


def assert_matches(board, expected, max_lsb: int = 1, max_share: float = 1e-3, *, model=None, backend=None, inputs=None) -> None:
    """Fails where arrays differ by more than max_lsb LSB, or in a larger share of their values than max_share (0 to 1).

    board, expected: arrays, dicts of arrays by tensors' names, or a Trace; names that only `expected` has are not asked for. Integers are codes,
    floats are compared exactly. The failure says which rule parts them, where it is known what computed `expected`: a Trace says so itself, arrays with
    model and backend (and inputs, where the board lacks them).
    """
    __tracebackhide__ = True
    mine, wanted = _named(board), _named(expected)
    if list(mine) == ["values"] != list(wanted) and len(wanted) == 1:
        mine = {next(iter(wanted)): mine["values"]}
    missing = [name for name in mine if name not in wanted]
    faults = [f"{name}: not among what is expected" for name in missing]
    faults += [fault for name in mine if name in wanted and (fault := _fault(name, mine[name], wanted[name], max_lsb, max_share))]
    if not mine:
        faults.append("nothing was compared")
    if not faults:
        return
    if isinstance(expected, Trace):
        model, backend, inputs = expected.model, expected.device, expected.inputs if inputs is None else inputs
    if model is not None and backend is not None:
        faults.append(_explained(model, backend, board, inputs))
    raise AssertionError("\n".join(faults))


try:
    import pytest
except ImportError:  # assert_matches serves without it
    pass
else:

    @pytest.fixture
    def lastbit_golden(request):
        """golden(name, arrays, max_lsb=0, max_share=0): against the file golden/NAME.npz beside the test, which --lastbit-update writes."""
        folder = pathlib.Path(request.path).parent / "golden"

        def golden(name: str, arrays, max_lsb: int = 0, max_share: float = 0) -> None:
            __tracebackhide__ = True
            file = folder / f"{name}.npz"
            if request.config.getoption("--lastbit-update"):
                folder.mkdir(exist_ok=True)
                np.savez_compressed(file, **_named(arrays))
                return
            if not file.exists():
                pytest.fail(f"{file} is not there; pytest --lastbit-update writes it", pytrace=False)
            with np.load(file, allow_pickle=False) as kept:
                assert_matches(_named(arrays), dict(kept), max_lsb, max_share)

        return golden
