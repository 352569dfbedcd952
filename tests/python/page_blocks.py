#!/usr/bin/python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the ```py blocks of a page as one program, in a folder that looks like the root of a checkout: what stands behind >>> prints what the page shows.

    page_blocks.py PAGE        LASTBIT_SOURCE_DIR is the checkout
"""
import doctest
import os
import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing into the source


def main():
    source = pathlib.Path(os.environ["LASTBIT_SOURCE_DIR"])
    text = (source / sys.argv[1]).read_text()
    names, runner = {}, doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    blocks = list(re.finditer(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    with tempfile.TemporaryDirectory(prefix="lastbit") as folder:
        os.chdir(folder)
        os.symlink(source / "examples", "examples")
        for block in blocks:
            line = text.count("\n", 0, block.start(1))
            if ">>>" not in block[1]:
                exec(compile(block[1], sys.argv[1], "exec"), names)  # pylint: disable=exec-used
                continue
            test = doctest.DocTestParser().get_doctest(block[1], names, sys.argv[1], sys.argv[1], line)
            runner.run(test, clear_globs=False)
            names = test.globs
        if "test_board" in names:
            names["test_board"](lambda name, arrays: None)
        os.chdir("/")
    print(f"{len(blocks)} blocks, {runner.tries} examples, {runner.failures} failures")
    return 1 if runner.failures or not runner.tries else 0


if __name__ == "__main__":
    sys.exit(main())
