# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Answers: the JSON of the command line as objects, with its text, as a table of pandas, and in notebooks."""
from __future__ import annotations

import html
import json


class Record(dict):
    """A JSON object whose members are attributes as well; but those called as methods of dict are ("values"), which are found by [ ] alone."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no {name!r}; there are {', '.join(map(str, self))}") from None

    def __dir__(self):
        return [*super().__dir__(), *self]

    def __reduce__(self):
        return Record, (dict(self),)


class Report(Record):
    """What a question is answered with: the same JSON as the command line's --json, as members and attributes.

    str(report) is what the command line prints. `passes` is its exit status 0: all equal, all safe, all explained. bool(report) is not defined by
    that: a report is true as a dict is.
    """

    rows = "layers"

    def __init__(self, native, rows: str = "layers"):
        super().__init__(json.loads(native.json(), object_hook=Record))
        self.__dict__.update(_native=native, rows=rows)

    @property
    def passes(self) -> bool:
        """The command's exit status 0: all equal, all safe, all explained."""
        return self._native.passes

    def __str__(self) -> str:
        return self._native.text(False)

    def __repr__(self) -> str:
        return f"<lastbit.{type(self).__name__}: {len(self.get(self.rows) or [])} {self.rows}{', passes' if self.passes else ''}>"

    def text(self, details: bool = False) -> str:
        """As the command line prints it; details: as with --details, where there are any."""
        return self._native.text(details)

    def csv(self) -> str:
        """As with --csv; empty where the command has none."""
        return self._native.csv()

    def json(self) -> str:
        """The text of the JSON."""
        return self._native.json()

    def within(self, max_lsb: int | None = None, max_share: float | None = None, min_cosine: float | None = None):
        """Of a comparison: [(layer, reason)] of what a tolerance does not allow. Every limit that is given must be kept.

        max_lsb: LSB; max_share: of a tensor's values that may differ, 0 to 1; min_cosine: -1 to 1.
        """
        from . import _lastbit

        return _lastbit.within(self._native, max_lsb, max_share, min_cosine)[0]

    def frame(self, rows: str | None = None):
        """The rows ("layers", …) as a pandas.DataFrame, members of members as "a.b". Raises ImportError without pandas."""
        import pandas

        return pandas.json_normalize(self[rows or self.rows])

    def _repr_html_(self) -> str:
        facts = ", ".join(f"{key}: {value}" for key, value in self.items() if isinstance(value, (str, int, float)) and key != "format")
        return table_of(self.get(self.rows) or [], facts)

    def __reduce__(self):
        return Record, (dict(self),)


def table_of(rows: list, title: str) -> str:
    """HTML: a title and a row for each, with the members that are plain values, and how much differs."""
    rows = [_flat(row) for row in rows]
    columns = list(dict.fromkeys(key for row in rows for key, value in row.items() if value is not None))
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(row.get(column))}</td>" for column in columns) + "</tr>" for row in rows)
    return f"<p>{html.escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _flat(row: dict) -> dict:
    flat = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat.update({f"{key} {name}": value[name] for name in ("differing", "largest_lsb") if name in value})
        elif not isinstance(value, list):
            flat[key] = value
    return flat


def _cell(value) -> str:
    return "" if value is None else html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))
