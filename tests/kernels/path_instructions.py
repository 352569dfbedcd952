# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""No processor meets an instruction that it lacks: what is compiled for an instruction set belongs to a path of that instruction set.

Usage: path_instructions.py NM OBJDUMP ARCHIVE PROGRAM

A file with flags of its own (<path>.cpp, finish_<path>.cpp) must define no code that the linker may take for others: each of its weak functions names the
path, or the instruction set. And in the linked program each function with an instruction beyond x86-64's first ones is one of a path; one with a dot product
or a tile one of the path that has these.
"""

import collections
import re
import subprocess
import sys

# What a weak function of a path's file must name: the path's namespace, or the instruction set of xsimd's template.
OWN = {
    "sse42": r"lastbit::kernels::sse42::|xsimd::s?sse",
    "avx2": r"lastbit::kernels::avx2::|xsimd::avx(2|, |>)",
    "avxvnni": r"lastbit::kernels::avxvnni::|xsimd::avx(2|, |>)",
    "avx512": r"lastbit::kernels::avx512::|xsimd::(types::simd_)?avx512",
    "avx512vnni": r"lastbit::kernels::avx512vnni::|xsimd::(types::simd_)?avx512",
    "amx": r"lastbit::kernels::amx::",
    "neon": r"lastbit::kernels::neon::|xsimd::neon",
}
SHARED = re.compile("__clang_call_terminate")  # the compiler's: the same two calls in every file

# Where two paths share the rest of their vectors.
OF_ONE_PATH = [(re.compile(r"vpdp\w+"), re.compile(r"lastbit::kernels::(avxvnni|avx512vnni)::")),
               (re.compile(r"tile\w+|tdp\w+|ldtilecfg"), re.compile(r"lastbit::kernels::amx::"))]
PATH_FUNCTION = re.compile(r"lastbit::kernels::(sse42|avx2|avxvnni|avx512|avx512vnni|amx)::|xsimd::")
BEYOND_BASELINE = re.compile(
    r"v(?!err|erw|mcall|mload|mrun|msave|mxo)[a-z]\w*"  # VEX and EVEX
    r"|p(abs|sign|hadd|hsub|maddubs|mulhrs|shuf)[bwds]\w*(?<!pshufd)(?<!pshufw)|palignr|pshufb"  # SSSE3
    r"|p(min|max)(sb|uw|sd|ud)|pmovs?[sz]x\w+|pmul(ld|dq)|packusdw|pblend\w+|blend\w+|ptest|round[ps][sd]|pextr[bdq]|pinsr[bdq]|dpp[sd]"
    r"|pcmpeqq|pcmpgtq|pcmp[ei]str\w|crc32\w*")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def weak_symbols(nm, archive):
    """(path, symbol) of every weak function that a path's file defines, and the paths found."""
    found, paths, path = [], set(), None
    for line in output(nm, "--demangle", "--defined-only", archive).splitlines():
        member = re.fullmatch(r"(?:.*/)?(?:(?:finish_)?(\w+)\.cpp|.*)\.o(?:bj)?:", line)
        if member:
            path = member[1] if member[1] in OWN else None
            paths |= {path} - {None}
        symbol = re.match(r"[0-9a-f]+ ([A-Za-z]) (.*)", line)
        if symbol and path and symbol[1] in "wW":
            found.append((path, symbol[2]))
    return found, paths


def functions_beyond_baseline(objdump, program):
    """How many instructions beyond the baseline each function has, and those with instructions of another path."""
    counts, misplaced = collections.Counter(), set()
    process = subprocess.Popen([objdump, "--disassemble", "--demangle", "--no-show-raw-insn", program], stdout=subprocess.PIPE, text=True)
    function = ""
    for line in process.stdout:
        if line.endswith(">:\n"):
            function = line[line.index("<") + 1:-3]
            continue
        parts = line.split("\t", 1)
        if len(parts) < 2:
            continue
        instruction = next((word for word in parts[1].split() if not word.startswith("{")), "")
        if BEYOND_BASELINE.fullmatch(instruction):
            counts[function] += 1
        misplaced |= {function for of_one, path in OF_ONE_PATH if of_one.fullmatch(instruction) and not path.search(function)}
    if process.wait() != 0:
        sys.exit(f"{objdump} failed on {program}")
    return counts, misplaced


def main(nm, objdump, archive, program):
    weak, paths = weak_symbols(nm, archive)
    wrong = [f"{path}: {symbol}" for path, symbol in weak if not re.search(OWN[path], symbol) and not SHARED.fullmatch(symbol)]
    if not paths:
        sys.exit(f"no file of a path in {archive}")
    counts, misplaced = functions_beyond_baseline(objdump, program)
    if len(counts) < 50:
        sys.exit(f"only {len(counts)} functions of {program} are compiled for an instruction set")
    wrong += [f"{program}: {name}" for name in counts if not PATH_FUNCTION.search(name)]
    wrong += [f"{program}: {name}, with instructions of another path" for name in sorted(misplaced)]
    print(f"{', '.join(sorted(paths))}: {len(weak)} weak functions, {len(counts)} functions beyond the baseline")
    if wrong:
        sys.exit("compiled for an instruction set, of no path:\n  " + "\n  ".join(wrong[:40]))


main(*sys.argv[1:])
