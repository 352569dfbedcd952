#!/usr/bin/python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs what a page shows, in the page's order, and compares what is printed with what the page says.

A page's commands run in one fresh folder that looks like the root of a checkout. Read are

  ```                    `$ COMMAND` and the output that is shown for it; stderr and stdout together. A `\\` at the end, and a loop, continue a command
  ``` or four spaces     of commands without `$`: each must end with status 0 or 1, nothing is compared
  ```python              run; the page's python blocks are one program
  ```json                must parse, as one value or as several
  ```cpp, ```cmake, ```text    no commands: shown only

In an output a line `…` stands for any lines, a `…` that ends a line for any rest of it, and VARIES is what else may differ. Comments in front of
a block say what a reader supposes or cannot do:

  <!-- run: COMMAND -->         a command that the page does not show
  <!-- output of: COMMAND -->   the block is what COMMAND prints
  <!-- file: NAME -->           the block is what stands in the file NAME
  <!-- not run: REASON -->      the block stays as it is; the reason is printed

--update writes what was printed into the page: read it before you commit it, the text around it too.
"""
import argparse
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ANY = "…"
# What depends on the machine and not on the program.
VARIES = [
    (re.compile(r"\b(scalar|sse42|avx2|avxvnni|avx512vnni|amx|neon)( path|\"|$)"), r"PATH\2"),
    (re.compile(r'"seconds": [0-9.e-]+'), '"seconds": TIME'),
]
COMMANDS = ("lastbit ", "./dev ", "python3 ", "/usr/bin/python3 ", "mpirun ", "for ", "OMP_NUM_THREADS=1 ", "LASTBIT_PRESET=")
MARKER = re.compile(r"^\s*<!-- (run|output of|file|not run): (.*) -->$")
SECONDS = 600


class Block:
    """Lines of a page from `begin` to `end`, less `indent` columns; `line` is the page's number of the first."""

    def __init__(self, language, begin, indent, lines, markers):
        self.language, self.begin, self.indent, self.lines, self.markers = language, begin, indent, lines, markers
        self.end = begin + len(lines)
        self.line = begin + 1


def blocks_of(text):
    blocks, markers, at = [], [], 0
    while at < len(text):
        marker = MARKER.match(text[at])
        fence = re.match(r"^( *)```(\w*)$", text[at])
        end = at + 1
        if marker:
            markers.append((marker[1], marker[2], at + 1))
        elif fence:
            while text[end].strip() != "```":
                end += 1
            indent = len(fence[1])
            blocks.append(Block(fence[2], at + 1, indent, [line[indent:] for line in text[at + 1:end]], markers))
            markers, end = [], end + 1
        elif text[at].startswith("    ") and at and not text[at - 1].strip():
            while end < len(text) and text[end].startswith("    "):
                end += 1
            if text[at].strip().startswith(COMMANDS):
                blocks.append(Block("indented", at, 4, [line[4:] for line in text[at:end]], markers))
            elif markers:
                blocks.append(Block("text", at, 4, [], markers))
            markers = []
        elif text[at].strip() and markers and not all(kind == "run" for kind, _, _ in markers):
            raise SystemExit(f"line {at + 1}: a comment of {markers[0][0]!r} before no block")
        at = end
    if markers:
        blocks.append(Block("text", at, 0, [], markers))
    return blocks


def without_what_varies(line):
    for pattern, instead in VARIES:
        line = pattern.sub(instead, line)
    return line.rstrip()


def same_line(shown, printed):
    shown, printed = without_what_varies(shown), without_what_varies(printed)
    return shown == printed or (shown.endswith(ANY) and printed.startswith(shown[:-len(ANY)]))


def same(shown, printed):
    """Whether all of `printed` is as shown. Segments between lines of … are looked for from the front, the last one at the end."""
    segments = [[]]
    for line in shown:
        if line.strip() == ANY:
            segments.append([])
        else:
            segments[-1].append(line)

    def stands_at(segment, place):
        return place + len(segment) <= len(printed) and all(map(same_line, segment, printed[place:]))

    if len(segments) == 1:
        return len(shown) == len(printed) and stands_at(shown, 0)
    if not stands_at(segments[0], 0):
        return False
    place = len(segments[0])
    for segment in segments[1:-1]:
        while place < len(printed) and not stands_at(segment, place):
            place += 1
        place += len(segment)
    last = len(printed) - len(segments[-1])
    return last >= place and stands_at(segments[-1], last)


def opened(lines):
    """Whether a loop is begun and not done."""
    words = re.findall(r"[\w$({]+", " ".join(lines))
    return words.count("do") > words.count("done")


def likeness(shown, printed):
    def words(line):
        return re.sub(r"[-+]?[0-9.]+%?", "#", line).split()

    return difflib.SequenceMatcher(None, words(shown), words(printed)).ratio()


def updated(shown, printed):
    """What was printed, abridged where the page abridges it."""
    if same(shown, printed):
        return shown
    if not shown:
        return printed
    result, place, at = [], 0, 0
    while at < len(shown):
        if shown[at].strip() == ANY:
            result.append(shown[at])
            at += 1
            continue
        end = at
        while end < len(shown) and shown[end].strip() != ANY:
            end += 1
        if at == 0 and end == len(shown):
            return printed
        places = range(place, max(place, len(printed) - (end - at)) + 1)
        if at == 0:
            places = [0]
        elif end == len(shown):
            places = [max(place, len(printed) - (end - at))]
        best = max(places, key=lambda each: sum(map(likeness, shown[at:end], printed[each:])))
        for old, new in zip(shown[at:end], printed[best:]):
            cut = old.endswith(ANY) and not new.rstrip().endswith(ANY)
            result.append(old if same_line(old, new) else new[:len(old) - len(ANY)] + ANY if cut else new)
        place, at = best + (end - at), end
    return result


def files_below(folders):
    return {os.path.join(folder, name) for each in folders for folder, _, names in os.walk(each) for name in names
            if not folder.endswith("__pycache__")}


class Run:
    """One page in its folder."""

    def __init__(self, arguments, folder):
        self.folder, self.source = folder, arguments.source
        self.python = []
        self.ran, self.compared, self.parsed, self.left, self.faults = 0, 0, 0, [], []
        self.changes = []  # (begin, end, lines)
        self.linked = [entry for entry in self.source.iterdir() if entry.name not in ("build", ".git", "dev", "examples")]
        self.there = files_below(self.linked)
        programs = folder / ".programs"
        programs.mkdir()
        (programs / "lastbit").symlink_to(arguments.lastbit)
        self.root = folder / "lastbit"
        self.root.mkdir()
        shutil.copytree(self.source / "examples", self.root / "examples")
        for entry in self.linked:
            (self.root / entry.name).symlink_to(entry)
        # ./dev run, ./dev demo: what they build is what is tested here.
        dev = self.root / "dev"
        dev.write_text('#!/bin/sh\ncase "$1" in run) shift; exec lastbit "$@";; demo) exec lastbit demo "${2-digits}";; esac\nexit 2\n')
        dev.chmod(0o755)
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1",
                            "PATH": f"{programs}:{arguments.examples}:/usr/bin:/bin"}
        self.environment.pop("COLUMNS", None)
        self.place = self.root

    def run(self, command):
        place = self.folder / ".place"
        script = f"cd '{self.place}'\n{command}\nstatus=$?\npwd >'{place}'\nexit $status\n"
        done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=SECONDS,
                              env=self.environment, check=False)
        self.place = pathlib.Path(place.read_text().strip())
        self.ran += 1
        # A slow machine is told more often how far a command is.
        printed = [line for line in done.stdout.decode().split("\n") if not line.startswith("progress: ")]
        while printed and not printed[-1].strip():
            printed.pop()
        return done.returncode, printed

    def must_work(self, command, line):
        status, printed = self.run(command)
        if status not in (0, 1):
            self.faults.append(f"line {line}: {command}\nends with status {status}:\n" + "\n".join(printed))

    def compare(self, command, shown, begin, block):
        _, printed = self.run(command)
        while shown and not shown[-1].strip():
            shown = shown[:-1]
        self.compared += 1
        if same(shown, printed):
            return
        new = updated(shown, printed)
        difference = difflib.unified_diff(shown, new, "shown", "printed", lineterm="", n=1)
        self.faults.append(f"line {begin + 1}: {command}\n" + "\n".join(difference))
        self.changes.append((begin, begin + len(shown), [(" " * block.indent + line).rstrip() for line in new]))

    def console(self, block):
        lines, at = block.lines, 0
        while at < len(lines) and not lines[at].startswith("$ "):
            at += 1
        if at:
            self.faults.append(f"line {block.line}: lines in front of the first command")
        while at < len(lines):
            begin = at
            while lines[at].endswith("\\") or lines[at + 1:at + 2] and lines[at + 1].startswith("  ") and opened(lines[begin:at + 1]):
                at += 1
            at += 1
            end = at
            while end < len(lines) and not lines[end].startswith("$ "):
                end += 1
            self.compare("\n".join(lines[begin:at])[2:], lines[at:end], block.begin + at, block)
            at = end

    def block(self, block):
        own = {}
        for kind, text, line in block.markers:
            if kind == "run":
                self.must_work(text, line)
            else:
                own[kind] = text
        if "not run" in own:
            commands = sum(line.startswith("$ ") or line.startswith(COMMANDS) for line in block.lines)
            self.left.append(f"line {block.line}: {max(commands, 1)} not run: {own['not run']}")
            return
        if "file" in own:
            (self.place / own["file"]).write_text("\n".join(block.lines) + "\n")
        if "output of" in own:
            self.compare(own["output of"], block.lines, block.begin, block)
        elif block.language == "python":
            self.python += block.lines
            (self.folder / "page.py").write_text("\n".join(self.python) + "\n")
            self.must_work(f"{sys.executable} {self.folder}/page.py", block.line)
        elif block.language == "json":
            self.parse(block)
        elif any(line.startswith("$ ") for line in block.lines):
            self.console(block)
        elif block.language in ("", "indented"):
            self.plain(block)

    def parse(self, block):
        self.parsed += 1
        text = "\n".join(block.lines).strip()
        try:
            while text:
                _, end = json.JSONDecoder().raw_decode(text)
                text = text[end:].strip()
        except json.JSONDecodeError as error:
            self.faults.append(f"line {block.line}: {error}")

    def nothing_in_the_source(self):
        for file in sorted(files_below(self.linked) - self.there):
            self.faults.append(f"a command wrote {file}: outputs belong elsewhere")

    def plain(self, block):
        for number, line in enumerate(block.lines):
            if line.startswith(COMMANDS):
                self.must_work(line, block.line + number)
            elif block.language != "indented":
                self.faults.append(f"line {block.line + number}: no command; say what it is: {line}")
                return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--lastbit", type=pathlib.Path, required=True)
    parser.add_argument("--examples", required=True, help="where the built examples lie")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    page = arguments.source / arguments.page
    text = page.read_text().split("\n")
    with tempfile.TemporaryDirectory() as folder:
        run = Run(arguments, pathlib.Path(folder).resolve())
        for block in blocks_of(text):
            run.block(block)
        run.nothing_in_the_source()
    for fault in run.faults:
        print(f"{arguments.page}, {fault}\n")
    print(f"{arguments.page}: {run.ran} commands run, {run.compared} outputs compared, {run.parsed} JSON texts read, {len(run.left)} blocks left out")
    for left in run.left:
        print(f"  {left}")
    if arguments.update:
        for begin, end, lines in reversed(run.changes):
            text[begin:end] = lines
        page.write_text("\n".join(text))
    return 1 if run.faults else 0


if __name__ == "__main__":
    sys.exit(main())
