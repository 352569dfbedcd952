// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <benchmark/benchmark.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"

namespace lastbit::bench {
namespace {

constexpr const char* row_format = "%-52s %9s %-9s %-30s %9s %7s %6s\n";

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : value >= 1 ? "%.2f" : "%.3f", value);
  return text;
}

std::string percent(double share) { return share == 0 ? "" : std::to_string(static_cast<int>(share * 100 + 0.5)) + " %"; }

}  // namespace

double in_unit(Unit unit, double work, double seconds) { return unit == Unit::milliseconds ? seconds * 1e3 : work / seconds * 1e-9; }

const char* name_of(Unit unit) {
  switch (unit) {
    case Unit::multiply_adds: return "GMAC/s";
    case Unit::values: return "Gvalue/s";
    case Unit::operations: return "Gop/s";
    case Unit::bytes: return "GB/s";
    case Unit::milliseconds: return "ms";
    default: return "MB";
  }
}

void print_machine(const Peaks& peaks) {
  const auto& cpu = benchmark::CPUInfo::Get();
  std::printf("path %s; %d cores; peaks of one thread: byte dot products %s GMAC/s, word dot products %s GMAC/s, copy in cache %s GB/s\n\n",
              std::string(host_path()).c_str(), cpu.num_cpus, number(peaks.byte_dot_product * 1e-9).c_str(),
              number(peaks.word_dot_product * 1e-9).c_str(), number(peaks.cache_copy * 1e-9).c_str());
}

void print_header() { std::printf(row_format, "name", "lastbit", "", "peer", "of peer", "ratio", "roof"); }

void print(const Result& result) {
  const std::size_t rows = std::max<std::size_t>(1, result.peers.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const PeerResult* const peer = result.peers.empty() ? nullptr : &result.peers[i];
    std::printf(row_format, i == 0 ? result.name.c_str() : "", i == 0 ? number(result.value).c_str() : "",
                i == 0 ? name_of(result.unit) : "", peer == nullptr ? "" : peer->name.c_str(),
                peer == nullptr ? "" : number(peer->value).c_str(), peer == nullptr ? "" : number(peer->ratio).c_str(),
                i == 0 ? percent(result.roof_share).c_str() : "");
  }
  std::fflush(stdout);
}

void write_json(const std::string& file, const Peaks& peaks, const std::vector<Result>& results) {
  nlohmann::ordered_json report;
  report["path"] = host_path();
  report["peaks"] = {{"byte_dot_product_macs_per_second", peaks.byte_dot_product},
                     {"word_dot_product_macs_per_second", peaks.word_dot_product},
                     {"cache_copy_bytes_per_second", peaks.cache_copy}};
  report["results"] = nlohmann::ordered_json::array();
  for (const Result& result : results) {
    nlohmann::ordered_json row{{"name", result.name}, {"unit", name_of(result.unit)}, {"value", result.value}};
    if (result.roof_share != 0) row["roof_share"] = result.roof_share;
    row["peers"] = nlohmann::ordered_json::array();
    for (const PeerResult& peer : result.peers) row["peers"].push_back({{"name", peer.name}, {"value", peer.value}, {"ratio", peer.ratio}});
    report["results"].push_back(std::move(row));
  }
  std::ofstream out(file);
  out << report.dump(1) << '\n';
  if (!out.flush()) throw Error(ErrorCode::unreadable_file, file, "cannot be written");
}

}  // namespace lastbit::bench
