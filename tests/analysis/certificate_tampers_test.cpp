// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Certificates of which something was changed: none that says something else holds, each that says the same does.
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "lastbit/certify.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/scratch.hpp"

namespace lastbit {
namespace {

using Json = nlohmann::json;
using Pointer = Json::json_pointer;

const Quantization data_codes{{0.05}, {3}};

/// Layers of every way to be decided: accumulators, pairs of codes, sums of windows, codes, the same rules, and open; one rests on an assumption.
Model network() {
  ModelBuilder builder("every way");
  const auto in = builder.input({"in", ElementType::int8, Shape{1, 4, 4, 2}, data_codes});
  const auto w = builder.constant<std::int8_t>("w", Shape{2, 1, 1, 2}, {3, -7, 11, 5}, {{0.013}, {0}});
  const auto b = builder.constant<std::int32_t>("b", Shape{2}, {-90, 41}, {{0.05 * 0.013}, {0}});
  const auto conv = builder.operation(OperationKind::conv2d, {in, w, b}, {"conv", ElementType::int8, Shape{1, 4, 4, 2}, {{0.021}, {-5}}});
  const auto fixed = builder.constant<std::int8_t>("fixed", Shape{1, 1, 1, 2}, {17, -60}, data_codes);
  const auto sum = builder.operation(OperationKind::add, {conv, fixed}, {"sum", ElementType::int8, Shape{1, 4, 4, 2}, {{0.07}, {2}}});
  const auto pool = builder.operation(OperationKind::average_pool2d, {sum}, {"pool", ElementType::int8, Shape{1, 2, 2, 2}, {{0.07}, {2}}},
                                      Pool2dAttributes{.filter = {2, 2}, .stride = {2, 2}, .padding = {}});
  const auto relu = builder.operation(OperationKind::leaky_relu, {pool}, {"leaky", ElementType::int8, Shape{1, 2, 2, 2}, {{0.03}, {-9}}},
                                      LeakyReluAttributes{.alpha = 0.1F});
  const auto most = builder.operation(OperationKind::max_pool2d, {relu}, {"most", ElementType::int8, Shape{1, 2, 2, 2}, {{0.03}, {-9}}},
                                      Pool2dAttributes{.filter = {1, 1}, .stride = {1, 1}, .padding = {}});
  const auto flat = builder.operation(OperationKind::reshape, {most}, {"flat", ElementType::int8, Shape{1, 8}, {{0.03}, {-9}}});
  const auto soft = builder.operation(OperationKind::softmax, {flat}, {"soft", ElementType::int8, Shape{1, 8}, {{1.0 / 256}, {-128}}});
  return builder.finished({soft});
}

/// A certificate that was changed, and what was done.
struct Tamper {
  std::string what;
  Json json;
};

/// Every place of a JSON value, containers before what they hold.
void each_place(const Json& json, const Pointer& at, const std::function<void(const Pointer&)>& visit) {
  visit(at);
  const Json& here = json.at(at);
  if (here.is_object())
    for (const auto& [key, value] : here.items()) each_place(json, at / key, visit);
  if (here.is_array())
    for (std::size_t i = 0; i < here.size(); ++i) each_place(json, at / i, visit);
}

/// Other values that could stand there, and some that could not.
std::vector<Json> other_values(const Json& value) {
  if (value.is_boolean()) return {!value.get<bool>(), nullptr};
  if (value.is_null()) return {0, false, "all"};
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    return {number + 1, number - 1, -number, 0, std::to_string(number), static_cast<double>(number) + 0.5, nullptr};
  }
  if (!value.is_string()) return {nullptr, 1};
  const auto text = value.get<std::string>();
  std::vector<Json> others{text + "x", "", text + " ", nullptr};
  if (!text.empty()) {
    others.emplace_back(text.substr(0, text.size() - 1));
    std::string last = text;
    last.back() = last.back() == '1' ? '2' : '1';
    others.emplace_back(last);
  }
  return others;
}

class Generator {
 public:
  explicit Generator(const Json& valid) : valid_(valid) {}

  std::vector<Tamper> all() {
    each_place(valid_, Pointer(), [this](const Pointer& at) {
      if (valid_.at(at).is_primitive()) change(at);
      else add_to(at);
      if (!at.empty()) remove(at);
      if (valid_.at(at).is_array()) reorder(at);
    });
    exchange_between_layers();
    give_words_of_other_places();
    lie_consistently();
    return std::move(tampers_);
  }

 private:
  void keep(const std::string& what, Json json) {
    if (json != valid_ && known_.insert(json.dump()).second) tampers_.push_back({what, std::move(json)});
  }
  void with(const std::string& what, const std::function<void(Json&)>& alter) {
    Json json = valid_;
    alter(json);
    keep(what, std::move(json));
  }

  void change(const Pointer& at) {
    for (const Json& other : other_values(valid_.at(at)))
      with(at.to_string() + " is " + other.dump(), [&](Json& json) { json[at] = other; });
  }
  void remove(const Pointer& at) {
    with("without " + at.to_string(), [&](Json& json) {
      Json& above = json[at.parent_pointer()];
      if (above.is_object()) above.erase(at.back());
      else above.erase(std::stoul(at.back()));
    });
  }
  void add_to(const Pointer& at) {
    with("more in " + at.to_string(), [&](Json& json) {
      if (json[at].is_object()) json[at]["proven"] = true;
      else json[at].push_back(json[at].empty() ? Json(1) : json[at].back());
    });
  }
  void reorder(const Pointer& at) {
    for (std::size_t i = 1; i < valid_.at(at).size(); ++i)
      with(at.to_string() + " exchanged at " + std::to_string(i), [&](Json& json) { std::swap(json[at][i - 1], json[at][i]); });
    with(at.to_string() + " reversed", [&](Json& json) { std::reverse(json[at].begin(), json[at].end()); });
    with(at.to_string() + " empty", [&](Json& json) { json[at] = Json::array(); });
  }

  /// What one layer says of itself, said by the next.
  void exchange_between_layers() {
    for (std::size_t i = 1; i < valid_["layers"].size(); ++i) {
      const Json &one = valid_["layers"][i - 1], &next = valid_["layers"][i];
      for (const auto& [key, value] : one.items()) {
        if (!next.contains(key)) continue;
        with(key + " exchanged between layers " + std::to_string(i - 1) + " and " + std::to_string(i),
             [&, &name = key](Json& json) { std::swap(json["layers"][i - 1][name], json["layers"][i][name]); });
      }
      with("layers " + std::to_string(i) + " twice", [&](Json& json) { json["layers"][i - 1] = next; });
      with("layers " + std::to_string(i) + " under another number", [&](Json& json) {
        std::swap(json["layers"][i - 1], json["layers"][i]);
        std::swap(json["layers"][i - 1]["number"], json["layers"][i]["number"]);
      });
    }
    with("sides exchanged", [](Json& json) { std::swap(json["a"], json["b"]); });
    with("names of the sides exchanged", [](Json& json) { std::swap(json["a"]["name"], json["b"]["name"]); });
  }

  void give_words_of_other_places() {
    for (std::size_t i = 0; i < valid_["layers"].size(); ++i) {
      for (const char* const verdict : {"equal", "equal_if", "differs", "open"})
        with("layer " + std::to_string(i) + " " + verdict, [&](Json& json) { json["layers"][i]["verdict"] = verdict; });
      for (const char* const by : {"same_rules", "accumulators", "codes", "pairs", "window_sums", "nothing"})
        with("layer " + std::to_string(i) + " by " + by, [&](Json& json) { json["layers"][i]["decided_by"] = by; });
      for (const char* const by : {"exact", "intervals", "type", "nothing"})
        with("layer " + std::to_string(i) + " bound by " + by, [&](Json& json) { json["layers"][i]["in_network"]["by"] = by; });
    }
    for (const char* const name : {"float", "tflite_single", "vipnano_v8 --set-b x=1"})
      with(std::string("side b is ") + name, [&](Json& json) { json["b"]["name"] = name; });
    for (const char* const version : {"0.1.0", "0.3.0", "1.0.0", "0.2.0-dev", "00.2.0", "0.2"})
      with(std::string("version ") + version, [&](Json& json) { json["lastbit"] = version; });
    for (const char* const of : {"lastbit.certificate.v1", "lastbit.certificate.v3", "lastbit.golden.v1"})
      with(std::string("format ") + of, [&](Json& json) { json["format"] = of; });
  }

  static void make_equal(Json& layer) {
    layer["verdict"] = "equal";
    layer["assumptions"] = Json::array();
    layer["differing"] = 0;
    layer["largest_lsb"] = 0;
    layer["in_network"] = {{"lsb", 0}, {"by", "exact"}};
    for (const char* const key : {"shown", "why"}) layer.erase(key);
    if (layer.contains("channels"))
      for (Json& channel : layer["channels"]) channel["differing"] = channel["largest_lsb"] = 0;
  }
  static void conclude(Json& json) {
    json["equal"] = true;
    json["assumptions"] = Json::array();
    json["open"] = 0;
    for (Json& output : json["outputs"]) output = {{"name", output["name"]}, {"lsb", 0}, {"by", "exact"}};
  }

  /// Certificates that contradict nothing in themselves.
  void lie_consistently() {
    with("nothing assumed", [](Json& json) {
      json["assumptions"] = Json::array();
      for (Json& layer : json["layers"]) {
        layer["assumptions"] = Json::array();
        if (layer["verdict"] == "equal_if") layer["verdict"] = "equal";
      }
    });
    for (std::size_t i = 0; i < valid_["layers"].size(); ++i)
      with("layer " + std::to_string(i) + " equal, all through", [&](Json& json) { make_equal(json["layers"][i]); });
    with("everything equal", [](Json& json) {
      for (Json& layer : json["layers"]) make_equal(layer);
      conclude(json);
    });
    with("everything by the same rules", [](Json& json) {
      for (Json& layer : json["layers"]) {
        make_equal(layer);
        layer.erase("channels");
        layer["decided_by"] = "same_rules";
        layer["cases"] = 0;
      }
      conclude(json);
    });
    with("the layers that are equal alone", [](Json& json) {
      std::erase_if(json["layers"].get_ref<Json::array_t&>(), [](const Json& layer) { return layer["verdict"] != "equal"; });
      conclude(json);
    });
    with("no layers, and equal", [](Json& json) {
      json["layers"] = Json::array();
      conclude(json);
    });
    with("no layers and outputs, and equal", [](Json& json) {
      json["layers"] = json["outputs"] = Json::array();
      conclude(json);
    });
    with("as if of one layer that is equal", [](Json& json) {
      std::erase_if(json["layers"].get_ref<Json::array_t&>(), [](const Json& layer) { return layer["verdict"] != "equal"; });
      json["layers"].erase(json["layers"].begin() + 1, json["layers"].end());
      json["layers"][0].erase("in_network");
      json["outputs"] = Json::array();
      conclude(json);
    });
    with("of the range of the data", [](Json& json) {
      json["input_range"] = "data";
      json["data"] = "fnv1a64:0000000000000000";
    });
  }

  const Json& valid_;
  std::vector<Tamper> tampers_;
  std::set<std::string> known_;
};

/// The form of before: without the layer that was asked for, the data, the inputs of examples, and assumptions.
Json first_form(Json json) {
  json["format"] = "lastbit.certificate.v1";
  for (const char* const key : {"layer", "assumptions"}) json.erase(key);
  for (Json& layer : json["layers"]) {
    if (layer.contains("shown")) layer["shown"].erase("inputs");
    layer.erase("assumptions");
    if (layer["verdict"] == "equal_if") layer["verdict"] = "equal";
  }
  return json;
}

class Checked {
 public:
  Checked() : model_(network()), a_(find_backend("tflite_double")), b_(find_backend("vipnano_v8")) {
    b_.open = {{"max_pool", LayerCondition::always, "nobody knows", ""}, {"conv", LayerCondition::always, "nor here", ""}};
  }

  [[nodiscard]] Json certificate(const CertifyOptions& options = {}) const {
    return Json::parse(to_json(certify(model_, a_, b_, {}, options)));
  }
  [[nodiscard]] CertificateCheck check(const std::string& text, const CertifyOptions& options = {}) const {
    write_text_file(folder_.path() / "c.json", text);
    return check_certificate(folder_.path() / "c.json", model_, a_, b_, {}, options);
  }
  [[nodiscard]] bool holds(const std::string& text, const CertifyOptions& options = {}) const {
    try {
      return check(text, options).holds();
    } catch (const Error&) {
      return false;
    }
  }
  /// One of so many tampers, each of which must be refused. Returns how many that were.
  int refuse_one_of(std::size_t several, const Json& valid) const {
    const std::vector<Tamper> tampers = Generator(valid).all();
    int count = 0;
    for (std::size_t i = 0; i < tampers.size(); i += several) {
      INFO(tampers[i].what);
      CHECK_FALSE(holds(tampers[i].json.dump()));
      ++count;
    }
    return count;
  }

 private:
  test::Scratch folder_;
  Model model_;
  SpecSheet a_, b_;
};

/// Members in the opposite order.
nlohmann::ordered_json turned(const nlohmann::ordered_json& json) {
  nlohmann::ordered_json other = json;
  if (json.is_object()) {
    other = nlohmann::ordered_json::object();
    for (auto member = json.rbegin(); member != json.rend(); ++member) other[member.key()] = turned(member.value());
  } else if (json.is_array()) {
    for (auto& element : other) element = turned(element);
  }
  return other;
}

}  // namespace

TEST_CASE("no certificate that says something else holds: hundreds of tampers") {
  const Checked checked;
  const Json valid = checked.certificate();
  REQUIRE(checked.check(valid.dump()).wrong == std::vector<std::string>{});
  std::set<std::string> verdicts, decided_by;
  for (const Json& layer : valid["layers"]) {
    verdicts.insert(layer["verdict"]);
    decided_by.insert(layer["decided_by"]);
  }
  CHECK(verdicts == std::set<std::string>{"equal", "equal_if", "differs", "open"});
  CHECK(valid["assumptions"].size() >= 2);
  CHECK(decided_by == std::set<std::string>{"accumulators", "codes", "nothing", "pairs", "same_rules"});
  CHECK(checked.refuse_one_of(5, valid) >= 200);
}

TEST_CASE("no tamper of any key and value holds", "[.every]") {
  const Checked checked;
  for (const Json& valid : {checked.certificate(), first_form(checked.certificate())}) CHECK(checked.refuse_one_of(1, valid) >= 1000);
}

TEST_CASE("the first form of certificates is held to all that it states") {
  const Checked checked;
  const Json valid = first_form(checked.certificate());
  CHECK(checked.check(valid.dump()).wrong == std::vector<std::string>{});
  CHECK(checked.refuse_one_of(11, valid) >= 90);
  Json path = valid;
  path["model"] = "nets/every way";
  CHECK_FALSE(checked.holds(path.dump()));
  CHECK(checked.holds(path.dump(), {.called = "here/nets/every way"}));
  CHECK_FALSE(checked.holds(path.dump(), {.called = "here/every way"}));
  const Json one = first_form(checked.certificate({.layer = "sum"}));
  CHECK_THROWS_WITH(checked.check(one.dump()), test::contains_text("name the layer by --layer NAME"));
  CHECK(checked.holds(one.dump(), {.layer = "sum"}));
  CHECK_FALSE(checked.holds(one.dump(), {.layer = "conv"}));
}

TEST_CASE("a certificate of one layer says so, and holds for that one") {
  const Checked checked;
  const Json valid = checked.certificate({.layer = "sum"});
  CHECK(valid["layer"] == 1);
  const CertificateCheck check = checked.check(valid.dump());  // the convolution in front of it reaches 128 codes, the constant has two
  CHECK(check.holds());
  CHECK_THAT(to_text(check), test::contains_text("the certificate holds: 1 layer, layer 1 'sum' alone, 256 cases computed one"));
  CHECK(checked.holds(valid.dump(), {.layer = "1"}));
  CHECK_THROWS_WITH(checked.check(valid.dump(), {.layer = "conv"}), test::contains_text("it is of layer 1, not of layer 0 alone"));
  CHECK_THROWS_WITH(checked.check(checked.certificate().dump(), {.layer = "conv"}),
                    test::contains_text("it is of all layers, not of layer 0 alone"));
  for (const Tamper& tamper : Generator(checked.certificate({.layer = "flat"})).all()) {
    INFO(tamper.what);
    CHECK_FALSE(checked.holds(tamper.json.dump()));
  }
}

TEST_CASE("a certificate that is only written otherwise holds") {
  const Checked checked;
  const Json valid = checked.certificate();
  CHECK(checked.holds(valid.dump()));
  CHECK(checked.holds(valid.dump(7)));
  CHECK(checked.holds(valid.dump(-1, ' ', true)));
  CHECK(checked.holds(turned(nlohmann::ordered_json::parse(valid.dump())).dump(2)));
  std::string text = valid.dump();
  text.replace(text.find("\"accumulators\""), 14, "\"acc\\u0075mulators\"");
  CHECK(checked.holds("\n\t " + text + " \r\n"));
  text = valid.dump();
  text.insert(text.find("\"equal\""), "\"equal\":true,");  // twice
  CHECK_FALSE(checked.holds(text));
}

TEST_CASE("a certificate within the range of data says of which") {
  const test::Scratch folder;
  const Model model = network();
  const SpecSheet a = find_backend("tflite_double"), b = find_backend("vipnano_v8");
  const auto filled = [](std::int8_t first) {
    std::vector<std::int8_t> codes(32, 5);
    codes[0] = first;
    return std::vector{Tensor::from<std::int8_t>(Shape{1, 4, 4, 2}, codes)};
  };
  const std::vector<Tensor> inputs = filled(-20), others = filled(-21);
  write_text_file(folder.path() / "c.json", to_json(certify(model, a, b, inputs, {.range = InputRange::data})));
  CHECK(check_certificate(folder.path() / "c.json", model, a, b, inputs).holds());
  CHECK_THROWS_WITH(check_certificate(folder.path() / "c.json", model, a, b, others), test::contains_text("the checksum of the data is"));
  CHECK_THROWS_WITH(check_certificate(folder.path() / "c.json", model, a, b, {}),
                    test::contains_text("the range of the data needs inputs"));
}

}  // namespace lastbit
