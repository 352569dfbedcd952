#!/usr/bin/python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes one C++ file of all ```cpp blocks of the pages: whoever compiles it knows that the pages speak of the library as it is.

    documented_snippets.py FILE.cpp SOURCE PAGE…

A block that defines something stands in a namespace of its own, any other in a function that has what the pages suppose (GIVEN).
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # nothing into the source
from documented_commands import blocks_of

HEAD = """#include <lastbit/emulator.hpp>
#include <lastbit/io/model_file.hpp>
#include <lastbit/io/npy.hpp>
#include <lastbit/identify.hpp>
#include <lastbit/registry.hpp>
#include <lastbit/sweep.hpp>
#include <lastbit/testing.hpp>

#include <iostream>

#include "support/catch.hpp"

#ifndef EXPECT_TRUE  // GoogleTest's, which need not be here
#define EXPECT_TRUE(condition) static_cast<void>(static_cast<bool>(condition))
#endif

namespace documented {

struct Given {
  lastbit::Model model, layer;
  std::vector<lastbit::Tensor> inputs;
  std::vector<std::vector<lastbit::Tensor>> samples;
  std::vector<lastbit::IdentifyPair> pairs;
  lastbit::SpecSheet cpu, npu;
  lastbit::Tensor actual, expected;
  std::vector<std::int8_t> image, kernel;
  std::vector<std::int32_t> bias;
};
lastbit::Tensor compute(const char* backend, const char* tensor);
void use(const std::vector<lastbit::Tensor>& inputs);

"""
GIVEN = "(const Given& given) {\n  const auto& [model, layer, inputs, samples, pairs, cpu, npu, actual, expected, image, kernel, bias] = given;\n"
DEFINES = re.compile(r"^(int page_main|void |constexpr|TEST_CASE|[A-Z]\w* \w+\(const )", re.MULTILINE)


def snippet(number, place, lines):
    includes = [line for line in lines if line.startswith("#include")]
    code = "\n".join(line for line in lines if not line.startswith("#include")).replace("int main()", "int page_main()")
    using = "using namespace lastbit;\nusing namespace lastbit::testing;\n"
    if DEFINES.search(code):
        body = f"namespace page_{number} {{\n{using}{place}{code}\n}}\n"
    else:
        body = f"void page_{number}{GIVEN}{using}{place}{code}\n}}\n"
    return includes, body


def main():
    file, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    includes, bodies = set(), []
    for page in sys.argv[3:]:
        for block in blocks_of((source / page).read_text().split("\n")):
            if block.language == "cpp":
                needed, body = snippet(len(bodies), f'#line {block.line + sum(line.startswith("#include") for line in block.lines)} "{page}"\n',
                                       block.lines)
                includes.update(needed)
                bodies.append(body)
    if not bodies:
        sys.exit("no snippet")
    file.write_text("\n".join(sorted(includes)) + "\n" + HEAD + "\n".join(bodies) + "\n}\n")


if __name__ == "__main__":
    main()
