#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Every network at hand on every device: quantised from float by the device's own rules, run, and compared with float.

    python3 python/network_table.py > docs/networks.md

Runs `lastbit quantize` on each pair and prints a page in Markdown. The digits network is part of the repository; the others are looked for
in LASTBIT_MODELS_DIR (../shared/models), one folder each with model.tflite and input.npy. Without that folder only the digits are shown.
"""
import argparse
import contextlib
import difflib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Folder, what it is, whether the position of the largest output is the answer.
NETWORKS = [
    ("ad01_fc_autoencoder_int8", "MLPerf Tiny anomaly detection: fully connected autoencoder", False),
    ("hello_world_int8", "TFLite Micro hello world: a sine by three small layers", False),
    ("ic_resnet8_int8", "MLPerf Tiny image classification: ResNet-8", True),
    ("keyword_scrambled_8bit_svdf",
     "TFLite Micro keyword spotting: SVDF layers, which remember. Its weights are scrambled: where the file's int8 codes saturate, the real\n"
     "values of the float network grow to 10⁹, far beyond float16's 65,504. Devices of float16 saturate, or reach Inf and NaN, each by its\n"
     "rules; with `--set keep=auto`, which leaves in float32 what leaves float16, all five agree with the float network", True),
    ("kws_dscnn_int8", "MLPerf Tiny keyword spotting: DS-CNN", True),
    ("micro_speech_int8", "TFLite Micro speech commands", True),
    ("mnist_lstm_int8", "TFLite Micro digits by an LSTM", True),
    ("mobilenet_v2_224_int8", "MobileNetV2, 224 x 224", True),
    ("person_detect_int8", "TFLite Micro person detection: MobileNetV1 0.25", True),
    ("vww_mobilenetv1_96_int8", "MLPerf Tiny visual wake words: MobileNetV1 0.25", True),
]


def networks(models):
    yield "digits", "handwritten digits, the demo's network", True, ROOT / "examples/digits/model.json", ROOT / "examples/digits/test_images.npy"
    for folder, title, classifies in NETWORKS:
        if (models / folder / "model.tflite").exists():
            yield folder, title, classifies, models / folder / "model.tflite", models / folder / "input.npy"


def problems_of(process):
    """What the command says: one problem on its first line, or several on lines of their own, whatever does not fit indented further."""
    lines = process.stderr.rstrip().splitlines() or ["failed with status %d" % process.returncode]
    whole = []
    for line in lines:
        if whole and line.startswith("    "):
            whole[-1] += " " + line.strip()
        else:
            whole.append(line.strip().removeprefix("lastbit: "))
    return whole[1:] if re.search(r"\d+ problems$", whole[0]) else whole[:1]


def reason(problems, device):
    """The first of several reasons, long names cut; how many more there are."""
    shown = re.sub(r"'([^']{40,})'", lambda name: "'…%s'" % name[1][-36:], problems[0].removeprefix(device + ": "))
    return "does not run: " + shown + (" (and %d more)" % (len(problems) - 1) if len(problems) > 1 else "")


def number(value, places):
    return "%.*f" % (places, value) if isinstance(value, (int, float)) else str(value)


def share(part, whole):
    if not whole or not part:
        return "0"
    percent = 100 * part / whole
    return "%.2f %%" % percent if percent >= 0.005 else "< 0.01 %"


def assumed(rules):
    """The operations that they belong to, or the pattern that names them, and how many they are."""
    parts = sorted({"`%s`" % (rule if rule.startswith("*") else rule.split(".")[0]) for rule in rules})
    return "%s (%d %s)" % (", ".join(parts), len(rules), "rule" if len(rules) == 1 else "rules") if rules else "none"


def cells(report, classifies):
    """One row of a table, without the devices."""
    computed = [t for t in report["tensors"] if t["operation"] not in ("constant", "state")]
    # A device's network may end before the float network does: its last tensor then, under its name.
    output = next((t for t in computed if t["name"] == report["outputs"][0]["name"]), computed[-1])
    ends_early = "" if output["name"] == report["outputs"][0]["name"] else " (of `%s`)" % output["name"][-36:]
    values = sum(t["values"] for t in computed)
    clipped = sum(t["clipped_share"] * t["values"] for t in computed if isinstance(t["clipped_share"], (int, float)))
    outputs = sum(t["outputs"] for t in computed)
    top = report["outputs"][0]
    return (
        number(output["cosine"], 6) + ends_early,
        number(output["sqnr_db"], 1),
        "%d of %d" % (top["same_top"], top["samples"]) if classifies else "–",
        share(clipped, values),
        share(sum(t["saturated_outputs"] for t in computed), outputs),
        str(sum(t["accumulator_overflows"] for t in computed)),
        assumed([each["rule"] for each in report["assumptions"]]),
    )


def measure(tool, device, model, samples, count, timeout, settings=()):
    """The report of one pair, or why there is none."""
    command = [str(tool), "quantize", str(model), "--backend", device, "--input", str(samples), "--samples", str(count), "--json"]
    for setting in settings:
        command += ["--set", setting]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None, "not finished after %d seconds" % timeout
    if process.returncode != 0:
        return None, reason(problems_of(process), device)
    return json.loads(process.stdout), None


def table(tool, devices, network, count, timeout):
    """Devices with equal rows share one."""
    name, title, classifies, model, samples = network
    rows = {}
    for device in devices:
        print("%s on %s" % (name, device), file=sys.stderr)
        report, why = measure(tool, device, model, samples, count, timeout)
        rows.setdefault(cells(report, classifies) if report else why, []).append("`%s`" % device)
        way_out = re.search(r"option (\w+=\w+) moves it", why or "")
        if way_out:
            report, why = measure(tool, device, model, samples, count, timeout, way_out.groups())
            rows.setdefault(cells(report, classifies) if report else why, []).append("`%s` with `%s`" % (device, way_out[1]))
    print("\n## %s\n\n%s.\n" % (name, title[0].upper() + title[1:]))
    print("| devices | cosine | SQNR dB | top-1 as float | clipped | bounded | overflows | assumptions |\n|---|---|---|---|---|---|---|---|")
    for row, of in rows.items():
        names = ", ".join(of)
        print("| %s | %s |" % (names, " | ".join(row)) if isinstance(row, tuple) else "| %s | %s |||||||" % (names, row))


def devices_with_quantiser(tool):
    listed = json.loads(subprocess.run([str(tool), "quantize", "--list-options", "--json"], capture_output=True, text=True, check=True).stdout)
    of = {device: quantiser["quantizer"] for quantiser in listed for device in quantiser["backends"]}
    known = json.loads(subprocess.run([str(tool), "backends", "--json"], capture_output=True, text=True, check=True).stdout)
    known = known["backends"] if isinstance(known, dict) else known
    names = [entry["name"] for entry in known]
    return [name for name in names if name in of], [name for name in names if name not in of], of


HEAD = """# Networks on every device

Made by `python3 python/network_table.py > docs/networks.md`; each line is one `lastbit quantize MODEL --backend DEVICE --input
input.npy --samples %d --json`. The networks are int8 files. What their codes stand for, real values, is taken as the float network; so
it lies on a grid that is near to that of int8 devices. Each device quantises this float network anew by its own rules and runs it in its
own arithmetic. The result is compared with the float network over the same samples.

- **cosine**, **SQNR**: of the (first) output, over all samples. **top-1 as float**: samples whose largest output stands where the float
  network's does; only where that is the network's answer.
- **clipped**: share of all values that lie beyond their tensor's codes by more than half a step.
- **bounded**: share of computed outputs moved by the bounds of type or activation: relu does that to every negative value, where it is no
  step of its own before (VIPNano). **overflows**: sums that left the accumulator.
- **assumptions**: of which operations rules were used that rest on no published evidence; `lastbit describe DEVICE` has the reasons.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", type=Path, default=ROOT / "build/release/tools/lastbit", help="the command line")
    parser.add_argument("--models", type=Path, default=Path(os.environ.get("LASTBIT_MODELS_DIR", ROOT / "../shared/models")))
    parser.add_argument("--samples", type=int, default=12, help="of each network, so many samples at most")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for one network on one device")
    parser.add_argument("--devices", nargs="*", help="only these")
    parser.add_argument("--networks", nargs="*", help="only these")
    parser.add_argument("--page", type=Path, help="print nothing: this page must begin so")
    options = parser.parse_args()
    if options.page is None:
        page(options)
        return 0
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        page(options)
    lines = printed.getvalue().splitlines()
    shown = options.page.read_text().splitlines()[:len(lines)]
    sys.stdout.writelines(line + "\n" for line in difflib.unified_diff(shown, lines, str(options.page), "made now", lineterm="", n=0))
    return 0 if shown == lines and lines else 1


def page(options):
    devices, without, quantiser_of = devices_with_quantiser(options.tool)
    devices = [device for device in devices if not options.devices or device in options.devices]
    print(HEAD % options.samples)
    for quantiser in sorted(set(quantiser_of.values())):
        print("- Quantiser `%s`: %s" % (quantiser, ", ".join("`%s`" % d for d in devices if quantiser_of[d] == quantiser)))
    print("- No quantiser, not in the tables: %s" % ", ".join("`%s`" % device for device in without))
    for network in networks(options.models):
        if not options.networks or network[0] in options.networks:
            table(options.tool, devices, network, options.samples, options.timeout)


if __name__ == "__main__":
    sys.exit(main())
