#!/usr/bin/python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""What the pages name is there: files and headings behind relative links, files and --options in `backticks`, the operators of .tflite, backends,
the numbers of recorded cases; every page with commands is among PAGES, those that documented_commands.py runs; and every page of the site is in the
navigation of mkdocs.yml. That pages lead where they should is checked here, with headings, as mkdocs itself looks for files alone.

    documented_names.py SOURCE LASTBIT PAGE…
"""
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # nothing into the source
from documented_commands import blocks_of

# In backticks, and no file of the repository: what is built, what commands write, and vendors' files.
ELSEWHERE = re.compile(r"^(bench/lastbit_bench|(small/)?test_(catch2|googletest)\.cpp|build/.*|src/.*|tensorflow/.*|include/gemmini_params\.h|"
                       r"izer/simulate\.py|tests/requant_model\.h|out-cvt-converter\.md|lib/Support/\w+\.cpp|CNN_Activation_SQ8\.c|dl_\w+\.[ch]pp|quant_util\.h|(scaling|weight_compressor|register_command_stream_generator|high_level_command_to_npu_op)\.py|hbir\.hpp|ptq_process\.md|note\.md)$")
# Options of other programs; attributes of `lastbit layer`, which takes those of every operation, and one that the guide mistypes.
OTHER_OPTIONS = {"--allow-run-as-root", "--enable-recovery", "--install", "--prefix", "--list", "--select", "--against", "--benchmark"} | {
    "--activation", "--axis", "--filter", "--padding", "--stride", "--strid", "--allow-signed", "--level", "--profile", "--resume"}
HISTORY = ("CHANGELOG.md",)  # speaks of files that are gone


def pages_of(source):
    return sorted(page for page in source.rglob("*.md") if page.relative_to(source).parts[0] not in ("build", ".git"))


def prose(text):
    """Without what stands between fences; as many lines."""
    inside, lines = False, []
    for line in text.split("\n"):
        fence = re.match(r"^ *```", line)
        lines.append("" if inside or fence else line)
        inside ^= bool(fence)
    return lines


def anchors(page):
    """Of headings that stand once: the names of others differ from one reader of pages to the next."""
    names = []
    for line in prose(page.read_text()):
        heading = re.match(r"^#+ (.*)$", line)
        if not heading:
            continue
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
        names.append(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return {name for name in names if names.count(name) == 1}


def link_fault(page, target):
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.is_file():  # a folder is no page of the site
        return f"no file {path}"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return f"no heading #{anchor} in {file.name}"
    return None


def entries_of(source):
    """Every file and folder of the repository."""
    entries = []
    for folder, folders, files in os.walk(source):
        if pathlib.Path(folder) == source:
            folders[:] = [name for name in folders if name not in ("build", ".git")]
        entries += [os.path.relpath(os.path.join(folder, name), source) for name in folders + files]
    return entries


def is_there(entries, word):
    """A path may begin in any folder; <…> and … stand for any name."""
    pattern = re.sub(r"<[^>]*>|…", "*", word).rstrip("/")
    return any(fnmatch.fnmatchcase("/" + entry, "*/" + pattern) for entry in entries)


def names_a_file(source, word):
    if ELSEWHERE.match(word) or not re.fullmatch(r"[\w.*<>…/-]+", word) or "//" in word:
        return False
    folders = {entry.name for entry in source.iterdir() if entry.is_dir()} | {"lastbit"}
    first = word.split("/")[0]
    return "/" in word and first in folders or bool(re.search(r"\.(cpp|hpp|inc|py|md|cmake|fbs)$", word))


def options_of(lastbit):
    def help_of(*command):
        return subprocess.run([lastbit, *command, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout

    commands = re.findall(r"^  ([a-z][a-z-]*) ", help_of().split("Subcommands:")[1], re.MULTILINE)
    return set(re.findall(r"--[a-z][a-z-]*", help_of() + "".join(map(help_of, commands)))) | OTHER_OPTIONS


def unknown_options(text, options):
    return [option for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text) if option not in options]


def faults_of(source, entries, options, page):
    former = False
    for number, line in enumerate(prose(page.read_text()), 1):
        former = "still understood" in line or former and bool(line)  # to the end of the paragraph
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            fault = None if re.match(r"[a-z]+:", target) else link_fault(page, target)
            if fault:
                yield number, fault
        if page.name in HISTORY:
            continue
        for word in re.findall(r"`([^`]+)`", line):
            if names_a_file(source, word) and not is_there(entries, word):
                yield number, f"no file `{word}`"
            for option in unknown_options(word, options):
                if not former and "cmake" not in word:
                    yield number, f"no command has {option}"
    for block in blocks_of(page.read_text().split("\n")):  # what is run, and what is not
        for number, line in enumerate(block.lines, block.line):
            for option in unknown_options(line.partition("lastbit ")[2], options):
                yield number, f"no command has {option}"


def has_commands(page):
    return any(block.language in ("", "indented", "json", "python") for block in blocks_of(page.read_text().split("\n")))


def operators_fault(source):
    guide = (source / "docs/user-guide.md").read_text()
    named = re.search(r"Of `\.tflite` these operators:\n\n((?:    .*\n)+)", guide)[1]
    read = re.findall(r"\{BuiltinOperator::(\w+), read_", (source / "lib/formats/tflite_operations.cpp").read_text())
    wrong = set(re.findall(r"\w+", named)) ^ set(read) - {"CUSTOM"}  # custom operators have names of their own
    return f"docs/user-guide.md: of these operators of .tflite one is read and not named, or named and not read: {sorted(wrong)}" if wrong or not read else None


def suites_faults(source):
    """The number of committed cases of each suite, the last column of docs/vectors.md."""
    for suite, count in re.findall(r"^\| `(\w+/\w+)` \|.*\| (\d+|none) \|$", (source / "docs/vectors.md").read_text(), re.MULTILINE):
        file = source / "tests/vectors" / suite / "cases.json"
        cases = str(len(json.loads(file.read_text())["cases"])) if file.exists() else "none"
        if cases != count:
            yield f"docs/vectors.md: {suite} has {cases} cases, not {count}"


def backends_faults(source, lastbit):
    listed = subprocess.run([lastbit, "backends", "--markdown"], stdout=subprocess.PIPE, text=True, check=True).stdout
    index = (source / "docs/README.md").read_text()
    names = re.findall(r"^\| `(\w+)` ", listed, re.MULTILINE)
    if not names:
        yield "no backend"
    for name in names:
        if f"`{name}`" not in index and not name.startswith("n2d2_simulator_"):  # said as one
            yield f"docs/README.md: no page for {name}"


def navigation_faults(source, pages):
    listed = re.findall(r"(\S+\.md)$", (source / "mkdocs.yml").read_text().partition("\nnav:\n")[2], re.MULTILINE)
    shown = [name for name in map(str, (page.relative_to(source) for page in pages)) if name.startswith(("docs/", "examples/")) or "/" not in name]
    for name in sorted(set(shown) ^ set(listed)):
        yield f"mkdocs.yml: {name} " + ("is in no part of the navigation" if name in shown else "is no page")
    yield from (f"mkdocs.yml: {name} is twice in the navigation" for name in set(listed) if listed.count(name) > 1)


def main():
    source, options, listed = pathlib.Path(sys.argv[1]).resolve(), options_of(sys.argv[2]), set(sys.argv[3:])
    pages, entries, faults = pages_of(source), entries_of(source), 0
    for page in pages:
        name = str(page.relative_to(source))
        for number, fault in faults_of(source, entries, options, page):
            print(f"{name}, line {number}: {fault}")
            faults += 1
        if has_commands(page) and name not in listed:
            print(f"{name}: has commands or JSON, and is not in the list of pages in tests/tools/CMakeLists.txt")
            faults += 1
    others = [fault for fault in [operators_fault(source)] if fault] + [*suites_faults(source), *backends_faults(source, sys.argv[2]), *navigation_faults(source, pages)]
    faults += len(others)
    print("\n".join(others), end="\n" if others else "")
    print(f"{len(pages)} pages, {faults} faults")
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
