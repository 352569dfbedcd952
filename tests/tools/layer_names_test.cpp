// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A layer's number and name are the same in all commands, and every option that takes a layer takes each of them.
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/one_operation.hpp"
#include "support/catch.hpp"
#include "support/residual_network.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using Json = nlohmann::json;

namespace {

const std::string sides = " --a tflite_double --b tflite_double --set-b *.i8.output.chain.1.rounding=floor --input x.npy";

/// A network whose operations are not called as their outputs, on two devices that differ in many layers.
struct NamedLayers {
  NamedLayers() : network(2) {
    for (std::size_t i = 0; i < network.model.operations.size(); ++i) {
      network.model.operations[i].name = "node_" + std::to_string(i);
      names[static_cast<int>(i)] = layer_name(network.model, i);
    }
    write_json_model(shell.file("net.json"), network.model);
    write_npy(shell.file("x.npy"), network.inputs[0]);
  }
  [[nodiscard]] Json answer(const std::string& arguments) const {
    INFO(arguments);
    REQUIRE(shell.status(arguments) < 2);
    return Json::parse(shell.text("out"));
  }
  /// Of a list of layers, every one's number and name.
  void check(const std::string& command, const Json& layers, const char* number, const char* name) const {
    int seen = 0;
    for (const Json& layer : layers) {
      if (!layer.contains(number) || layer[number].is_null()) continue;
      INFO(command << ": " << layer[number] << " " << layer[name]);
      CHECK(names.at(layer[number].get<int>()) == layer[name].get<std::string>());
      ++seen;
    }
    INFO(command);
    CHECK(seen > 0);
  }

  test::Shell shell;
  test::ResidualNetwork network;
  std::map<int, std::string> names;
};

}  // namespace

TEST_CASE("numbers and names of layers are those of the model in every command") {
  const NamedLayers setting;
  const auto& names = setting.names;
  setting.check("compare", setting.answer("compare net.json" + sides + " --json")["layers"], "number", "name");
  setting.check("explain", setting.answer("explain net.json" + sides + " --json")["layers"], "number", "name");
  setting.check("prove", setting.answer("prove net.json --backend tflite_double --json")["layers"], "number", "name");
  setting.check("certify --fingerprint", setting.answer("certify net.json --a tflite_double --fingerprint --json")["layers"], "number",
                "name");
  setting.check("matrix", setting.answer("matrix net.json --backend tflite_double,vipnano_v8 --json")["pairs"][0]["layers"], "number",
                "name");
  setting.check("certify", setting.answer("certify net.json --a tflite_double --b vipnano_v8 --json")["layers"], "number", "name");
  setting.check("migrate", setting.answer("migrate net.json net.json --backend tflite_double --json")["layers"], "number", "name");
  setting.check("migrate, new", setting.answer("migrate net.json net.json --backend tflite_double --json")["layers"], "new_number",
                "new_name");
  setting.check("shrink", Json::array({setting.answer("shrink net.json" + sides + " --json")}), "number", "layer");
  setting.check("advise", setting.answer("advise net.json" + sides + " --json")["layers"], "operation", "name");
  setting.check("run", setting.answer("run net.json --backend tflite_double --input x.npy --trace dump --trace-samples 0 --json")["layers"],
                "number", "name");
  const Json trace = Json::parse(setting.shell.text("dump/trace.json"));
  setting.check("trace.json", trace["tensors"], "number", "name");
  for (std::size_t i = 0; i < trace["events"].size(); ++i) CHECK(trace["events"][i]["operation"] == names.at(static_cast<int>(i)));
  const Json sweep = setting.answer("sweep net.json --backend tflite_double,tflite_single --events --input x.npy --json")["backends"][1];
  setting.check("sweep", sweep["tensors"], "number", "name");
  setting.check("sweep --events", sweep["events"], "number", "operation");
  setting.check("compare of traces", setting.answer("compare dump dump --json")["layers"], "number", "name");
  setting.check("compare --dump", setting.answer("compare net.json --dump dump --backend tflite_double --json")["layers"], "number",
                "name");
  setting.check("replay", setting.answer("replay net.json --dump dump --backend tflite_double --json")["layers"], "number", "name");
  setting.check(
      "explain --dump",
      setting.answer("explain net.json --dump dump --backend tflite_double --set *.i8.output.chain.1.rounding=floor --json")["layers"],
      "number", "name");
  const Json skipped = setting.answer("identify net.json --dump dump --json")["skipped"];
  REQUIRE_FALSE(skipped.empty());
  for (const Json& layer : skipped) {
    const auto called = layer["name"].get<std::string>();
    const int number = std::stoi(called.substr(std::string("layer ").size()));
    CHECK(called == "layer " + std::to_string(number) + " '" + names.at(number) + "'");
  }
  CHECK(setting.shell.status("compare net.json" + sides) == 1);
  CHECK(setting.shell.text("out").find("\n   4 deep ") != std::string::npos);
}

TEST_CASE("a layer is meant by its number, its name, the operation's name, or a shortened name") {
  const NamedLayers setting;
  for (const char* command : {"explain net.json", "prove net.json", "shrink net.json", "advise net.json"}) {
    const bool proves = std::string(command).starts_with("prove");
    const std::string option = std::string(command).starts_with("advise") ? " --at " : " --layer ";
    const std::string asked = command + (proves ? " --backend tflite_double" : sides) + " --json" + option;
    const Json answer = setting.answer(asked + "4");
    for (const char* name : {"deep", "node_4", "~eep", "d~ep"}) {
      INFO(asked << name);
      CHECK(setting.answer(asked + name) == answer);
    }
    for (const auto& [wrong, meant] : {std::pair{"deap", "'deep'"}, {"node4", "'node_4'"}, {"9", "from 0 to 8"}, {"-1", "from 0 to 8"}}) {
      INFO(asked << wrong);
      CHECK(setting.shell.status(asked + wrong) == 2);
      CHECK(setting.shell.text("err").find(meant) != std::string::npos);
    }
  }
}
