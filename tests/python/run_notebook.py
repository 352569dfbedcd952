#!/usr/bin/python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Executes a notebook beside itself; what its cells print must be what the file shows. With --update the file is written anew.

    run_notebook.py NOTEBOOK [--update]
"""
import os
import pathlib
import sys


def shown(cell):
    """The text of each output, whatever form it has beside it."""
    return ["".join(output.get("text") or output.get("data", {}).get("text/plain", "")) for output in cell.get("outputs", ())]


def main():
    try:
        import nbclient
        import nbformat
    except ImportError as error:
        print(f"skipped: {error}")
        return 0
    place = pathlib.Path(sys.argv[1])
    kept = nbformat.read(place, as_version=4)
    notebook = nbformat.read(place, as_version=4)
    try:
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(place.parent)}}).execute()
    except nbclient.exceptions.CellExecutionError as error:
        print(error)
        return 1
    if "--update" in sys.argv:
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # times, other ones each time
        nbformat.write(notebook, place)
        return 0
    cells = [(ours, theirs) for ours, theirs in zip(notebook.cells, kept.cells) if ours.cell_type == "code"]
    wrong = [number for number, (ours, theirs) in enumerate(cells, 1) if shown(ours) != shown(theirs)]
    for number in wrong:
        print(f"cell {number} prints\n{shown(cells[number - 1][0])}\nand the file shows\n{shown(cells[number - 1][1])}")
    print(f"{len(cells)} cells, {len(wrong)} differ from what the file shows")
    return 1 if wrong or not cells else 0


if __name__ == "__main__":
    os.environ.update(PYTHONDONTWRITEBYTECODE="1", PYDEVD_DISABLE_FILE_VALIDATION="1")
    sys.exit(main())
