#!/usr/bin/python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes the page of every command with --html, of a small network whose names are markup, and looks at each.

usage: html_reports.py LASTBIT SOURCE [CHROMIUM]

Without a browser: each page is well-formed, loads nothing, holds every layer, tells the command that made it, and no name of the network became
markup. With CHROMIUM, or "" where it is missing, which skips this (status 77): pages open without a complaint in the console, filters and sorts
work, and the page is drawn light, dark and for print.
"""
import html
import html.parser
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zlib

HOSTILE = "<script>alert('x')</script>\" onload=\"alert(2)"
LAYERS = ["depthwise1", "pointwise1", "conv2", "residual", "pool", "features", "logits", "probabilities", HOSTILE]


def commands(source):
    """Of each page: what makes it, below the folder where it is made, and what it must show."""
    images = f"--input {shlex.quote(str(source / 'examples/digits/test_images.npy'))}"
    sides = "--a tflite_double --b vipnano_v8"
    return {
        "compare": (f"compare model.json {sides} {images}", ["Network", "Layers", "LSB, same input", "Where in the tensors", "Assumptions"]),
        "golden": (f"compare model.json {sides} {images} --golden", ["Errors"]),
        "traces": ("compare trace_a trace_b", ["Layers", "Where in the tensors"]),
        "board": (f"compare model.json --dump trace_b --backend tflite_double {images}", ["Layers"]),
        "explain": (f"explain model.json {sides} {images}", ["Causes", "Values stage by stage", "Where they stand on the staircase", "Evidence"]),
        "explain_board": ("explain model.json --dump trace_b --backend tflite_double", ["Layers"]),
        "certify": (f"certify model.json {sides}", ["Network", "Layers", "Where in the channels"]),
        "sweep": (f"sweep model.json --backend tflite_double,vipnano_v8,xnnpack {images} --golden --events",
                  ["All backends", "vipnano_v8 against tflite_double", "xnnpack against float", "Events of xnnpack"]),
        "identify": ("identify model.json --dump trace_b --max-time 3", ["Assumptions"]),
        "advise": (f"advise model.json {sides} {images} --samples 20 --candidates 3", ["What users of the network see", "Layers to keep on a", "Ties", "Output scales"]),
        "quantize": (f"quantize model.json --backend vipnano_v8 {images} --samples 20", ["Tensors"]),
        "matrix": ("matrix model.json --backend tflite_double,vipnano_v8,xnnpack", ["Each against each", "Pairs", "Layers"]),
    }


class Page(html.parser.HTMLParser):
    """Elements are closed in order; what would load something, or run beside the page's one script, is a fault."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.faults, self.open, self.texts, self.scripts, self.ids, self.links = [], [], [], 0, set(), []
        self.feed(text)
        self.close()
        self.faults += [f"<{name}> is not closed" for name in self.open]
        self.faults += [f"#{link} leads nowhere" for link in self.links if link not in self.ids]
        if self.scripts != 1:
            self.faults.append(f"{self.scripts} scripts")

    def handle_starttag(self, name, attributes, closed=False):
        if not closed:
            self.open.append(name)
        self.scripts += name == "script"
        for key, value in attributes:
            if key.startswith("on") or key in ("src", "srcset", "data", "action", "poster", "xlink:href"):
                self.faults.append(f"<{name} {key}={value!r}>")
            if key == "href":
                self.links.append(value.removeprefix("#"))
                if not value.startswith("#"):
                    self.faults.append(f"a link to {value!r}")
            if key == "id" and value in self.ids:
                self.faults.append(f"two of id {value!r}")
            if key == "id":
                self.ids.add(value)

    def handle_startendtag(self, name, attributes):
        self.handle_starttag(name, attributes, closed=True)

    def handle_endtag(self, name):
        if not self.open or self.open.pop() != name:
            self.faults.append(f"</{name}> closes another element")

    def handle_data(self, text):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(text)
        elif re.search(r"url\(|@import|fetch\(|XMLHttp|import\(", text):
            self.faults.append(f"<{self.open[-1]}> loads something")


def run(lastbit, words, folder):
    return subprocess.run([lastbit, *words], cwd=folder, capture_output=True, text=True, check=False)


def make(lastbit, source, folder):
    """The pages, by name, and how each command ended."""
    digits = source / "examples/digits/model.json"
    text = digits.read_text().replace('"conv1"', json.dumps(HOSTILE))
    (folder / "model.json").write_text(text)
    images = shlex.quote(str(source / "examples/digits/test_images.npy"))
    for side, backend in (("a", "tflite_double"), ("b", "vipnano_v8")):
        subprocess.run([lastbit, *shlex.split(f"run model.json --backend {backend} --input {images} --trace trace_{side} --trace-samples 20")],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
    ends = {}
    for name, (command, _) in commands(source).items():
        ends[name] = done = run(lastbit, [*shlex.split(command), "--html", f"{name}.html"], folder)
        wanted = (0, 1, 2) if name == "identify" else (0, 1)  # 2: undecided in so short a time
        assert done.returncode in wanted and (folder / f"{name}.html").exists(), f"{command}: {done.returncode}: {done.stderr}"
    return {name: folder / f"{name}.html" for name in ends}, ends


def look_at(name, file, command, headings):
    text = file.read_text()
    faults = Page(text).faults
    texts = Page(text).texts
    pictures = re.findall(r"<svg.*?</svg>", text, re.S)
    for picture in pictures:
        xml.etree.ElementTree.fromstring(picture)
    words = shlex.split(next(each for each in texts if each.startswith("lastbit ") and "--html" in each))
    if words != ["lastbit", *shlex.split(command), "--html", f"{name}.html"]:
        faults.append(f"made by {words}")
    faults += [f"no section {heading!r}" for heading in headings if heading not in texts]
    if name not in ("matrix", "identify", "advise", "quantize", "explain_board"):
        shown = [layer for layer in LAYERS if name != "explain" or layer != "features"]  # of layers without arithmetic nothing is explained
        faults += [f"no row of {layer!r}" for layer in shown if layer not in texts]
    if text.count("<script") != 1:
        faults.append("a name became markup")
    if not text.startswith("<!-- lastbit"):
        faults.append("does not begin as what lastbit writes")
    return faults, len(pictures)


def without_browser(lastbit, source):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        pages, ends = make(lastbit, source, folder)
        for name in ("compare", "explain"):
            without = run(lastbit, shlex.split(commands(source)[name][0]), folder)
            assert (without.stdout, without.returncode) == (ends[name].stdout, ends[name].returncode), f"{name} prints something else with --html"
        failed = 0
        for name, file in pages.items():
            command, headings = commands(source)[name]
            faults, pictures = look_at(name, file, command, headings)
            print(f"{name}: {file.stat().st_size} bytes, {pictures} pictures", *faults, sep="\n  ")
            failed += bool(faults)
        broken = Page("<p><b>x</p><img src='http://a/'/><a href='#none'>y</a>").faults
        assert len(broken) >= 4, f"this test would not notice: {broken}"
    return failed


class Browser:
    def __init__(self, program, folder):
        self.words = [program, "--headless", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--window-size=1280,1600",
                      f"--user-data-dir={folder}/profile"]
        if os.geteuid() == 0:
            self.words.append("--no-sandbox")  # which it needs where it runs as root, as in a container

    def run(self, address, *options):
        """What it prints, and the lines of its console."""
        done = subprocess.run([*self.words, *options, address], capture_output=True, text=True, timeout=240, check=False)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def rows(page):
    """The names in the first table of the page, those that are shown, in order."""
    table = re.search(r'<table class="sortable">.*?</table>', page, re.S)[0]
    return [html.unescape(name) for name, hidden in re.findall(r'<tr class="item" data-name="([^"]*)" data-at="[^"]*"( hidden="")?>', table)
            if not hidden]


def first_colour(picture):
    """Of the upper left corner of a PNG: the first pixel of the first row is stored as it is, whatever the filter."""
    data, at, parts = picture.read_bytes(), 8, b""
    assert data.startswith(b"\x89PNG"), picture
    while at < len(data):
        size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        parts += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    return tuple(zlib.decompress(parts)[1:4])


def with_browser(lastbit, source, chromium):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        pages, _ = make(lastbit, source, folder)
        browser = Browser(chromium, folder)
        address = f"file://{pages['compare']}"

        (folder / "broken.html").write_text("<script>undefined_name()</script>")
        assert browser.run(f"file://{folder}/broken.html", "--dump-dom")[1], "this test would not notice an error"
        frames = "".join(f'<iframe src="{name}.html#find=conv&amp;sort=2"></iframe>' for name in pages)
        (folder / "all.html").write_text(frames)
        complaints = browser.run(f"file://{folder}/all.html", "--dump-dom")[1]
        assert not complaints, complaints

        everything, complaints = browser.run(address, "--dump-dom")
        assert not complaints, complaints
        names = rows(everything)
        assert len(names) == 10 and any(HOSTILE in name for name in names), names
        assert 'id="tools" hidden' not in everything
        found = rows(browser.run(f"{address}#find=CONV2D&differing", "--dump-dom")[0])
        assert found and found == [name for name in names if "conv2d" in name], found
        by_name = rows(browser.run(f"{address}#sort=-2", "--dump-dom")[0])
        assert sorted(by_name) == sorted(names) and by_name != names, by_name
        assert [name.split()[0] for name in by_name][:3] == ["residual", "probabilities", "pool"], by_name

        for scheme, colour in ((1, (255, 255, 255)), (0, (0x14, 0x19, 0x1f))):
            picture = folder / f"scheme{scheme}.png"
            browser.run(address, f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={picture}")
            assert first_colour(picture) == colour, (scheme, first_colour(picture))
            assert picture.stat().st_size > 50_000, "an empty picture"
        browser.run(address, f"--print-to-pdf={folder}/page.pdf")
        assert (folder / "page.pdf").read_bytes().startswith(b"%PDF")
        print(f"{len(pages)} pages without a complaint; filtered to {len(found)} of {len(names)} rows, sorted, light, dark, printed")
    return 0


def main():
    lastbit, source = sys.argv[1], pathlib.Path(sys.argv[2])
    if len(sys.argv) == 3:
        return without_browser(lastbit, source)
    if not sys.argv[3]:
        print("skipped: chromium is not installed (Debian package chromium)")
        return 77
    return with_browser(lastbit, source, sys.argv[3])


if __name__ == "__main__":
    sys.exit(main())
