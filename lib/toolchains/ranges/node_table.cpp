// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Node   ON   Subgraph  Type              Cosine Similarity  Threshold   DataType
// -------------------------------------------------------------------------------
// conv1  BPU  id(0)     HzSQuantizedConv  0.999909           253.879395  int8
//
// The threshold is that of the node's first input: a max pool and the layer behind it, which share a scale, show the same. "--" or nothing:
// none. Lines of a log before and behind the table are left out. Source: docs/quantize.md#ranges-from-outside.
#include <algorithm>

#include "lastbit/printable.hpp"
#include "toolchains/ranges/forms.hpp"

namespace lastbit::ranges {
namespace {

bool is_heading(std::string_view line) {
  const auto words = words_of(line);
  return words.size() >= 7 && words[0] == "Node" && words[1] == "ON" && words[2] == "Subgraph" && words[3] == "Type" &&
         std::ranges::find(words, "Threshold") != words.end();
}

bool is_rule(std::string_view line) { return trimmed(line).find_first_not_of("-=") == std::string_view::npos; }

/// Position of the threshold among the words of a row: name, ON, subgraph and type are one word each, as is the cosine.
constexpr std::size_t threshold_word = 5;

}  // namespace

bool is_node_table(std::string_view text) {
  for (const Line& line : lines_of(text))
    if (is_heading(line.text)) return true;
  return false;
}

RangeFile read_node_table(std::string_view text, const std::string& path) {
  Collector collector(path, "hb_mapper's table of nodes", true);
  bool inside = false;
  for (const Line& line : lines_of(text)) {
    if (is_heading(line.text)) {
      inside = true;
      continue;
    }
    if (!inside || (!trimmed(line.text).empty() && is_rule(line.text))) continue;
    const auto words = words_of(line.text);
    inside = words.size() >= 3 && (words[1] == "BPU" || words[1] == "CPU");
    if (!inside || words.size() <= threshold_word || words[threshold_word] == "--") continue;
    const auto threshold = number_in(words[threshold_word]);
    if (!threshold && words[1] != "BPU") continue;  // on the CPU, what follows is the type
    if (!threshold || *threshold < 0)
      collector.fail(line.number, "threshold '" + printable(words[threshold_word]) + "' is no number that is not negative");
    Collector::set_range(collector.add(std::string(words[0]), line.number, RangeOf::input), -*threshold, *threshold);
  }
  return collector.finish();
}

}  // namespace lastbit::ranges
