// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Blind: recorded layers with their tensors and scales, but without a word on the device. The rules that are documented must be found, or a
// class of combinations that holds them and says what cannot be told.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/identify/conv_data.hpp"
#include "analysis/identify/space.hpp"
#include "formats/file.hpp"
#include "formats/json_model.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace lastbit {
namespace {

namespace fs = std::filesystem;

/// What one device computed, by the settings it was recorded under; its rules are known to the test alone.
struct Device {
  SpecSheet documented;
  std::vector<IdentifyPair> pairs;
};

Tensor tensor_of(const Json& json, const fs::path& folder) {
  return json.is_object() ? tensor_from_json(JsonView(json, "tensor")) : read_npy(folder / json.get<std::string>());
}

Tensor first_of(const Json& tensors, const fs::path& folder) {
  return tensor_of(tensors.is_array() ? tensors[0] : *tensors.begin(), folder);
}

SpecSheet documented_by(const Json& one) {
  SpecSheet sheet = find_backend(one["backend"].get<std::string>());
  const Json settings = one.value("settings", Json::object());
  for (const auto& [path, value] : settings.items()) {
    set_rule(sheet.backend, path, value.get<std::string>());
    sheet.name += " " + value.get<std::string>();
  }
  return sheet;
}

std::map<std::string, Device> devices_of(const std::string& suite) {
  const fs::path folder = test::source_directory() / "tests/vectors" / suite;
  const Json file = parse_json(read_text_file(folder / "cases.json"), suite);
  std::map<std::string, Device> devices;
  for (const Json& one : file["cases"]) {
    if (!one.contains("model")) continue;
    SpecSheet sheet = documented_by(one);
    IdentifyPair pair{one["name"].get<std::string>(), parse_json_model(one["model"].dump(), folder, "model"), {}, {}};
    if (pair.layer.operations.size() != 1) continue;
    pair.inputs.push_back(first_of(one["inputs"], folder));
    pair.inputs[0].reshape(pair.layer.tensor(pair.layer.inputs[0]).shape);
    pair.output = first_of(one["expected"], folder);
    Device& device = devices[sheet.name];
    device.documented = std::move(sheet);
    device.pairs.push_back(std::move(pair));
  }
  return devices;
}

bool holds(const RuleClass& found, const std::vector<Coordinate>& documented) {
  return std::all_of(documented.begin(), documented.end(), [&](const Coordinate& each) {
    if (each.rule == "zero point" && each.value == "none") return true;  // the device has none, and the layers' are 0
    const auto rule = std::find_if(found.rules.begin(), found.rules.end(), [&](const RuleValues& one) { return one.rule == each.rule; });
    const bool known = rule == found.rules.end() || std::find(rule->values.begin(), rule->values.end(), each.value) != rule->values.end();
    if (!known) UNSCOPED_INFO(each.rule + ": " + each.value);
    return known;
  });
}

/// Every rule of the documented device is among those of the class.
bool documented_rules_found(const OperationIdentification& found, const Device& device) {
  const auto pair = std::find_if(device.pairs.begin(), device.pairs.end(), [&](const IdentifyPair& one) {
    if (!found.rules.starts_with(one.layer.operations[0].kind == OperationKind::depthwise_conv2d ? "depthwise_conv." : "conv."))
      return false;
    const bool wide =
        one.layer.operations[0].inputs.size() > 2 && one.layer.tensor(one.layer.operations[0].inputs[2]).type == ElementType::int64;
    return wide == found.rules.ends_with("bias64");
  });
  if (pair == device.pairs.end() || !is_conv_layer(pair->layer.operations[0].kind)) return true;
  const ConvArithmetic& documented = *arithmetic_in(pair->layer, device.documented.backend);
  return holds(found.best(), coordinates_of(sum_rules_of(documented))) && holds(found.best(), coordinates_of(documented.sum.output));
}

std::string open_rules(const RuleClass& one) {
  std::string text;
  for (const RuleValues& rule : one.rules) {
    if (!rule.settled())
      text += (text.empty() ? "" : ", ") + rule.rule + " " + std::to_string(rule.values.size()) + "/" + std::to_string(rule.possible);
  }
  return text;
}

void identify_suite(const std::string& suite) {
  // What is proven of a class is other tests' affair.
  const IdentifyOptions options{.most_proof_outputs = std::int64_t{1} << 22, .progress = {}};
  for (auto& [name, device] : devices_of(suite)) {
    INFO(suite << ", documented as " << name);
    const Identification found = identify(device.pairs, options);
    for (const SkippedPair& skipped : found.skipped) INFO("skipped " << skipped.name << ": " << skipped.reason);
    CHECK(found.skipped.empty());
    for (const OperationIdentification& one : found.operations) {
      INFO(one.rules);
      CHECK(one.exact());
      CHECK(documented_rules_found(one, device));
      const bool named =
          std::find(one.best().backends.begin(), one.best().backends.end(), device.documented.name) != one.best().backends.end();
      const bool is_builtin = device.documented.name.find(' ') == std::string::npos;
      CHECK((named || !is_builtin));
      std::printf("%-26s %-28s %-24s %4lld %7lld %8lld %7lld  %s\n", suite.c_str(), name.c_str(), one.rules.c_str(),
                  static_cast<long long>(one.pairs), static_cast<long long>(one.values), static_cast<long long>(one.combinations),
                  static_cast<long long>(one.best().combinations), open_rules(one.best()).c_str());
    }
  }
}

TEST_CASE("blind: the documented rules are found from tensors and scales alone") {
  std::printf("%-26s %-28s %-24s %4s %7s %8s %7s  %s\n", "suite", "documented as", "rules", "case", "values", "walked", "class",
              "cannot be told (values left / values of the space)");
  for (const char* const suite :
       {"vipnano/a311d_v7_cmodel", "vipnano/imx8mp_v8_cmodel", "vipnano/stm32mp2_v7_cmodel", "tflite/conv2d_s8", "tflite/conv2d_u8",
        "tflite/conv2d_s16", "onnxruntime/qlinearconv", "n2d2/conv", "n2d2/conv_nb4", "n2d2/conv_nb16", "gna/conv1d", "gna/conv2d",
        "gna/conv1d_pool_pwl", "gna/conv2d_fused", "nvdla/conv2d_s8", "gap/fully_connected_sq8"})
    identify_suite(suite);
}

}  // namespace
}  // namespace lastbit
