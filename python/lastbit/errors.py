# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, in parts."""
from __future__ import annotations

from typing import Iterable, NamedTuple


class Diagnostic(NamedTuple):
    """One mistake: its code ("shape_mismatch", "unknown_rule", …), the file, layer or rule it is about, and the value found and the value allowed."""

    code: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class Error(Exception):
    """A mistake of the user, found before any arithmetic. `diagnostics` has all that is wrong; `code`, `where` and `message` are the first one's."""

    def __init__(self, diagnostics: Iterable[tuple[str, str, str]]):
        self.diagnostics = tuple(Diagnostic(*each) for each in diagnostics)
        super().__init__("; ".join(str(each) for each in self.diagnostics))

    def __reduce__(self):
        return type(self), (self.diagnostics,)

    @property
    def code(self) -> str:
        """The kind of mistake: "shape_mismatch", "unknown_rule", …"""
        return self.diagnostics[0].code

    @property
    def where(self) -> str:
        """The file, layer, input or rule that it is about."""
        return self.diagnostics[0].where

    @property
    def message(self) -> str:
        """What was found, and what is allowed."""
        return self.diagnostics[0].message


class MemoryRefused(Error):
    """A run that set_memory_budget() does not allow."""


class InputWarning(UserWarning):
    """Real values given for codes that lie beyond what codes stand for, or look otherwise scaled than the network was trained."""


def bad_input(where: str, message: str) -> Error:
    """An error with the code "bad_input", to be raised."""
    return Error([("bad_input", where, message)])
