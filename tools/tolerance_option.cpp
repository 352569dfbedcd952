// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "tolerance_option.hpp"

#include <charconv>
#include <system_error>

#include "lastbit/error.hpp"

namespace lastbit::tool {
namespace {

double cosine_from(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= -1 && value <= 1))
    throw Error(ErrorCode::bad_input, "--min-cosine " + text, "must be a number from -1 to 1");
  return value;
}

}  // namespace

void add_tolerance_options(Command& command, ToleranceRequest& request) {
  command.option("--max-lsb", request.max_lsb, "let differences of so many LSB pass").value_name("N").not_negative();
  command.option("--max-share", request.max_share, "let so large a share of differing values pass").value_name("0.1%|0.001");
  command.option("--min-cosine", request.min_cosine, "let differences pass that leave the cosine so large").value_name("C");
  command.option("--tolerances", request.file, "the same for each layer, from a file").value_name("FILE.json");
  command.note(
      "A tolerance decides the exit status: a tensor that differs passes if it keeps every limit given, and is then said to be within, not "
      "equal.");
}

Tolerances tolerances_from(const ToleranceRequest& request) {
  Tolerances tolerances = request.file.empty() ? Tolerances{} : read_tolerances(request.file);
  if (request.max_lsb) tolerances.all.max_lsb = request.max_lsb;
  if (!request.max_share.empty()) tolerances.all.max_share = share_from(request.max_share, "--max-share");
  if (!request.min_cosine.empty()) tolerances.all.min_cosine = cosine_from(request.min_cosine);
  return tolerances;
}

Option add_junit_option(Command& command, std::string& file) {
  return command.option("--junit", file, "write the result as JUnit's XML, for a CI system").value_name("FILE.xml");
}

}  // namespace lastbit::tool
