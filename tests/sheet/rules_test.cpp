// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every built-in backend, rule by rule: nothing here names a single rule of a device.
#include "lastbit/rules.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include "lastbit/backends/vipnano.hpp"
#include "lastbit/error.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// The values a rule may take, as the refusal of an impossible one lists them.
std::vector<std::string> allowed_values(const Backend& backend, const std::string& path) {
  Backend copy = backend;
  std::string list = message_of([&] { set_rule(copy, path, "?"); });
  list.erase(0, list.find("one of: ") + 8);
  if (list.starts_with("integers")) return {"2", "3", "16", "30"};
  std::vector<std::string> values;
  for (std::size_t end = 0; !list.empty(); list.erase(0, std::min(end, list.size() - 2) + 2)) {
    end = list.find(", ");
    values.push_back(list.substr(0, end));
    if (end == std::string::npos) break;
  }
  return values;
}

/// The backends that differ from `backend` in one rule, one for each valid value.
std::vector<Backend> neighbours(const Backend& backend, const std::string& path) {
  std::vector<Backend> changed;
  for (const std::string& value : allowed_values(backend, path)) {
    Backend copy = backend;
    try {
      set_rule(copy, path, value);
    } catch (const Error&) {  // a width that does not fit the others
      continue;
    }
    if (copy != backend) changed.push_back(copy);
  }
  return changed;
}

/// Rules that decide which other rules there are.
bool is_structural(const std::string& path) {
  const std::string name = path.substr(path.rfind('.') + 1);
  return name == "size" || name == "kind" || name == "method" || name == "domain" || name == "amount" || name == "when" || name == "bits" ||
         name == "order" || name == "normalization";
}

std::string read_error(const std::string& text) {
  return message_of([&] { static_cast<void>(backend_from_json(text, "my.json")); });
}

std::string with_rules(const std::string& rules) {
  return R"({"format": "lastbit.backend.v1", "name": "mine", "extends": "vipnano_v8", "rules": )" + rules + "}";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("every rule has a path of its own, and setting it to its own value changes nothing") {
  for (const SpecSheet& sheet : builtin_backends()) {
    std::set<std::string> paths;
    for (const auto& [path, value] : list_rules(sheet.backend)) {
      INFO(sheet.name << " " << path);
      CHECK(paths.insert(path).second);
      Backend copy = sheet.backend;
      set_rule(copy, path, value);
      CHECK(copy == sheet.backend);
    }
  }
}

TEST_CASE("changing one rule shows as exactly that rule") {
  for (const SpecSheet& sheet : builtin_backends()) CHECK(diff_backends(sheet.backend, sheet.backend).empty());
  // One backend of every vendor, and those with parts of their own: the others are built of the same parts.
  for (const char* const name : {"tflite_double", "xnnpack", "onnxruntime", "vipnano_v7", "n2d2_double_shift", "n2d2_fixed_mult16",
                                 "ascend310", "bernoulli2", "gna3_0", "gna2_software_avx2"}) {
    const SpecSheet sheet = find_backend(name);
    for (const auto& [path, value] : list_rules(sheet.backend)) {
      const auto changed = neighbours(sheet.backend, path);
      INFO(sheet.name << " " << path);
      CHECK(!changed.empty());
      for (const Backend& other : changed) {
        const auto differences = diff_backends(sheet.backend, other);
        REQUIRE(!differences.empty());
        if (is_structural(path)) continue;
        REQUIRE(differences.size() == 1);
        CHECK(differences.front().path == path);
        CHECK(differences.front().a == value);
        CHECK(differences.front().b != value);
      }
    }
  }
}

namespace {

bool is_stated(const Backend& backend) {
  try {
    require_stated(backend);
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every built-in backend survives the way through JSON unchanged, and so does each of its neighbours") {
  for (const SpecSheet& sheet : builtin_backends()) {
    INFO(sheet.name);
    CHECK(backend_from_json(backend_to_json(sheet), sheet.name) == sheet);
  }
  SpecSheet sheet = find_backend("vipnano_v7");
  for (const RuleText& rule : list_rules(vipnano_v7)) {
    if (!rule.path.starts_with("conv.i8.") && !rule.path.starts_with("add.")) continue;  // the others are built of the same parts
    for (const Backend& other : neighbours(vipnano_v7, rule.path)) {
      sheet.backend = other;
      sheet.settings.clear();  // they may name an operation that the neighbour lacks
      INFO(rule.path);
      if (!unread_rules(other).empty() || !is_stated(other)) continue;  // such a device is refused, or is another one once read back
      REQUIRE(backend_from_json(backend_to_json(sheet), "neighbour").backend == other);
    }
  }
}

TEST_CASE("every rule has evidence with a source, and every setting offers another valid value") {
  for (const SpecSheet& sheet : builtin_backends()) {
    for (const RuleText& rule : list_rules(sheet.backend)) {
      if (rule.value == "absent" || rule.value == "0") continue;
      const Evidence* evidence = evidence_for(sheet, rule.path);
      INFO(sheet.name << " " << rule.path);
      REQUIRE(evidence != nullptr);
      CHECK(!evidence->source.empty());
    }
    for (const Setting& setting : sheet.settings) {
      INFO(sheet.name << " " << setting.rule);
      CHECK(!setting.alternatives.empty());
      for (const std::string& alternative : setting.alternatives) {
        Backend copy = sheet.backend;
        set_rule(copy, setting.rule, alternative);
        CHECK(copy != sheet.backend);
      }
    }
  }
}

TEST_CASE("a pattern replaces a rule in every operation that exists, and in no other") {
  Backend backend = vipnano_v8;
  set_rule(backend, "*.i*.per_channel", "float_scale");
  CHECK(backend.conv.i8.per_channel == PerChannelLowering::float_scale);
  CHECK(backend.fully_connected.i8.per_channel == PerChannelLowering::float_scale);
  CHECK(backend.conv.i16_bias32 == ConvArithmetic{});  // absent
  set_rule(backend, "*average_pool.padding", "included");
  CHECK(backend.average_pool.padding == PaddingCount::included);
  CHECK(backend.global_average_pool.padding == PaddingCount::included);
}

TEST_CASE("a sheet that calls an assumption a guess, as it was called, is read") {
  const SpecSheet sheet = backend_from_json(R"({"format": "lastbit.backend.v1", "name": "mine", "extends": "float",
    "evidence": [{"rule": "softmax", "level": "guess", "source": "nobody says"}]})",
                                            "mine.json");
  CHECK(evidence_for(sheet, "softmax")->level == EvidenceLevel::assumption);
  CHECK(backend_to_json(sheet).find("guess") == std::string::npos);
}

TEST_CASE("the longest evidence speaks") {
  SpecSheet sheet;
  sheet.evidence = {{"add", EvidenceLevel::assumption, "short"}, {"add.i8.output.scale", EvidenceLevel::hardware, "long"}};
  CHECK(evidence_for(sheet, "add.i8.output.scale.rounding")->source == "long");
  CHECK(evidence_for(sheet, "add.i8.output.chain.0.kind")->source == "short");
  CHECK(evidence_for(sheet, "adder") == nullptr);
  CHECK(covers("*.i8", "conv.i8.bias"));
  CHECK(covers("*pool.padding", "average_pool.padding"));
  CHECK_FALSE(covers("conv.i8.bias", "conv.i8"));
}

TEST_CASE("an operation that one backend lacks shows as one difference") {
  Backend without = vipnano_v8;
  set_rule(without, "mean.output.chain.size", "0");
  const auto differences = diff_backends(vipnano_v8, without);
  REQUIRE(differences.size() == 1);
  CHECK(differences.front().path == "mean.output.chain.size");
  CHECK(differences.front().b == "0");
}

TEST_CASE("a wrong rule is refused with what is allowed, and the backend stays as it was") {
  Backend backend = vipnano_v8;
  const auto message = [&](const char* path, const char* value) { return message_of([&] { set_rule(backend, path, value); }); };
  CHECK(message("conv.i8.output.chain.2.rounding", "half") ==
        "conv.i8.output.chain.2.rounding: 'half' is not one of: floor, ceil, "
        "toward_zero, half_up, half_down, half_away, half_toward_zero, half_even, to_odd");
  CHECK(message("conv.i8.accumulator.bits", "65") == "conv.i8.accumulator.bits: '65' is not one of: integers from 2 to 64");
  CHECK(message("conv.i8.accumulator.bits", "32x") == "conv.i8.accumulator.bits: '32x' is not one of: integers from 2 to 64");
  CHECK(message("conv.i8.output.chain.size", "13") == "conv.i8.output.chain.size: '13' is not one of: integers from 0 to 12");
  CHECK(message("conv.i8.colour", "red") ==
        "conv.i8.colour: no such rule; after 'conv.i8' may come centring, operand, accumulator, output, bias, row_multiplier, "
        "per_channel, bias_bits, bias_rounding, cross_terms");
  CHECK(contains(message("", "red"), "rules begin with domain, golden_range, coding, fusion, conv,"));
  CHECK(contains(message("*.*.*.*.*.*.*", "red"), "no such rule"));
  CHECK(contains(message("conv.i8.accumulator.when", "every_tile"), "integers from 1"));
  CHECK(contains(message("conv.i8.output.chain.2.kind", "multiply"), "conv.i8.output.chain"));
  CHECK(backend == vipnano_v8);
}

TEST_CASE("a backend file states differences from a built-in one") {
  const SpecSheet sheet = backend_from_json(with_rules(R"({"conv": {"i8": {"accumulator": {"overflow": "saturate", "bits": 24}}},
    "*.i8.per_channel": "float_scale",
    "requantize": {"chain": [{"kind": "multiply"}, {"kind": "shift_right", "rounding": "half_up"}, {"kind": "clamp"}]}})"),
                                            "my.json");
  CHECK(sheet.name == "mine");
  CHECK(sheet.backend.conv.i8.sum.accumulator ==
        AccumulatorRule{.bits = 24, .overflow = Overflow::saturate, .when = NarrowingPoint::every_add});
  CHECK(sheet.backend.depthwise_conv.i8.per_channel == PerChannelLowering::float_scale);
  CHECK(sheet.backend.requantize.chain == Chain{stage::multiply(), stage::shift_right(Rounding::half_up), stage::clamp()});
  CHECK(sheet.backend.add == vipnano_v8.add);
}

TEST_CASE("rounding is a matter of each operation: a delegate that rounds once beside a mean that rounds twice") {
  const std::string chain = R"([{"kind": "shift_left", "bits": 32, "overflow": "wrap"},
    {"kind": "doubling_high_multiply", "bits": 32, "rounding": "half_up"},
    {"kind": "shift_right", "rounding": "half_away", "amount": "negative_exponent"}, {"kind": "add_zero_point"}, {"kind": "clamp"}])";
  const SpecSheet mixture = backend_from_json(R"({"format": "lastbit.backend.v1", "name": "mixture", "extends": "tflite_single",
    "rules": {"mean.output.scale.max_exponent": 127, "mean.output.chain": )" +
                                                  chain + "}}",
                                              "mixture.json");
  Backend expected = find_backend("tflite_single").backend;
  expected.mean = find_backend("tflite_double").backend.mean;
  CHECK(mixture.backend == expected);
  CHECK(mixture.backend != find_backend("tflite_single").backend);
}

TEST_CASE("a wrong backend file is refused in one line that names file, key and what is allowed") {
  const std::string head = R"({"format": "lastbit.backend.v1", "name": "mine", )";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "my.json: not JSON at byte 1"},
      {head + R"("extends": "float", "extends": "xnnpack"})", "my.json: key 'extends' stands twice in one object"},
      {with_rules(R"({"conv.i8\u000a": 1})"), "my.json: 'conv.i8?' is a text with control characters"},
      {with_rules(R"({"conv.i8.bias": "\u001b[2J"})"), "my.json: '?[2J' is a text with control characters"},
      {head + R"("title": "two\nlines"})", "my.json: 'two?lines' is a text with control characters"},
      {head + R"("extends": "xnnpack", "evidence": [{"rule": "conv.i9", "level": "assumption", "source": ""}]})",
       "my.json: evidence.0.rule: no rule 'conv.i9'"},
      {"[]", "my.json: top level: must be an object"},
      {"{}", "my.json: format: must be given as a string"},
      {R"({"format": "lastbit.backend.v2"})", "my.json: format: must be \"lastbit.backend.v1\""},
      {head + R"("extends": "nowhere"})", "my.json: unknown backend 'nowhere'; lastbit backends lists them"},
      {head + R"("extends": "float", "layer_list": "somewhere"})",
       "my.json: layer_list: 'somewhere' is not one of: none, keep_dtype, run_on_cpu"},
      {head + R"("extends": "my.json"})", "must name a built-in backend"},
      {head + R"("colour": 1})", "my.json: colour: unknown key; allowed: format, name"},
      {head + R"("rules": {"quantize.division": "divide"}})", "my.json: rules: must also state quantize.rounding, quantize.zero_point"},
      {head + R"("extends": "float", "evidence": [{"rule": "add", "level": "rumour", "source": ""}]})", "evidence.0.level: must be one of"},
      {with_rules(R"({"conv": 1})"), "my.json: conv: no such rule; after 'conv' may come i8, u8, i16_bias32, i16_bias64"},
      {with_rules(R"({"conv.i8.bias": "later"})"), "'later' is not one of: accumulator_start, accumulator_end"},
      {with_rules(R"({"conv.i8.accumulator.bits": "32"})"), "a number must not be written as a string"},
      {with_rules(R"({"conv.i8.accumulator.bits": 3.5})"), "must be a name or an integer"},
      {with_rules(R"({"conv.i8.accumulator.bits": 18446744073709551615})"), "integers from 2 to 64"},
      {with_rules(R"({"conv.i8.output.chain": [{"kind": "shift_right"}]})"), "must also state conv.i8.output.chain.0.rounding"},
      {with_rules(R"({"conv.i8.output.chain": [{"kind": "relu", "bits": 8}]})"), "conv.i8.output.chain.0.bits: no such rule"},
      {with_rules(R"({"conv.i8.output.chain": [{"bits": 8}]})"), "must be an object with a kind"},
      {with_rules(R"({"conv.i8.output.chain": [1,2,3,4,5,6,7,8,9,10,11,12,13]})"), "'13' is not one of: integers from 0 to 12"},
      {with_rules(R"({"conv.i8.bias": []})"), "conv.i8.bias.size: no such rule"},
      {with_rules(R"({"*":{"*":{"*":{"*":{"*":{"*":{"*":{"*":{"*":{"*":1}}}}}}}}}})"), "nested too deeply"},
      {with_rules(R"({"as": "conv"})"), "my.json: as: no such rule"},
      {with_rules(R"({"mean": {"as": "conv"}})"), "my.json: rules.mean.as: 'conv' is no operation of the device with the same rules"},
      {with_rules(R"({"conv": {"as": "recurrent"}})"), "my.json: rules.conv.as: 'recurrent' is no operation of the device"},
      {with_rules(R"({"sub": {"as": "ad"}})"), "my.json: ad: no such rule; did you mean 'add'?"},
      {with_rules(R"({"add": {"as": "sub"}, "sub": {"as": "add"}})"), "my.json: rules.add.as: 'sub' waits for itself"},
      {with_rules(R"({"conv": {"as": "conv.i8"}})"), "my.json: rules.conv.as: 'conv.i8' waits for itself"},
      {head + R"("extends": "float", "settings": [{"rule": "add.in_float.method", "alternatives": ["magic"], "why": "?"}]})",
       "'magic' is not one of"},
      {"\xff\xfe", "my.json: "},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message = read_error(text);
    INFO(text << "\n" << message);
    CHECK(contains(message, expected));
    CHECK(is_printable(message));
    CHECK(message.starts_with("my.json: "));
  }
  CHECK(contains(read_error(std::string(1'000'000, '[')), "my.json: "));
}

TEST_CASE("everything wrong with a file's rules is told in one message, each unknown name with the nearest known one") {
  CHECK(read_error(with_rules(R"({
    "conv": {"i8": {"acumulator": {"bits": 24, "overflow": "wrap"}, "bias": "later", "per_chanel": "native",
                    "output": {"chain": [{"kind": "multiply"}, {"kind": "shift_rigth", "rounding": "half_up"}, {"kind": "shift_right"}]}}},
    "averagepool": {"method": "exact"}, "maen.method": "absent"})")) ==
        "my.json: conv.i8.acumulator: no such rule; did you mean 'conv.i8.accumulator'?; my.json: conv.i8.bias: 'later' is not one of: "
        "accumulator_start, accumulator_end; my.json: conv.i8.per_chanel: no such rule; did you mean 'conv.i8.per_channel'?; "
        "my.json: conv.i8.output.chain.1.kind: 'shift_rigth' is not one of: shift_left, multiply, doubling_high_multiply, two_term_shift, "
        "shift_right, float_scale, narrow, relu, add_zero_point, clamp, table, pwl, add_half, clamp_accumulator, "
        "clamp_to_type, shift_right_with_zero_point, float_scale_with_zero_point, shift_left_by, divide, absolute, add_offset, "
        "add_converter_offset, "
        "multiply_by_converter, scale_below_zero, shift_right_by_sign, add_half_by_sign, segments; did you mean "
        "'shift_right'?; "
        "my.json: averagepool: no such rule; did you mean "
        "'average_pool'?; "
        "my.json: maen.method: no such rule; did you mean 'mean'?; my.json: rules: must also state conv.i8.output.chain.2.rounding");
}

TEST_CASE("the name that a stage had in version 0.1 brings its new one") {
  for (const auto& [old, now] : {std::pair("clip", "clamp_accumulator"), std::pair("saturate", "clamp_to_type")}) {
    const std::string chain = R"({"conv": {"i8": {"output": {"chain": [{"kind": ")" + std::string(old) + R"("}]}}}})";
    CHECK(contains(read_error(with_rules(chain)), "did you mean '" + std::string(now) + "'?"));
  }
}

TEST_CASE("an operation of a file starts as a copy of another, wherever that one stands, and states what differs") {
  const SpecSheet sheet = backend_from_json(with_rules(R"({
    "depthwise_conv": {"as": "conv", "i8": {"accumulator": {"bits": 20}}},
    "recurrent": {"i8": {"as": "depthwise_conv.i8"}},
    "matmul": {"as": "conv"},
    "conv.i8.accumulator.overflow": "saturate",
    "sub": {"as": "add"}})"),
                                            "my.json");
  Backend expected = vipnano_v8;
  expected.conv.i8.sum.accumulator.overflow = Overflow::saturate;
  expected.depthwise_conv = expected.conv;
  expected.depthwise_conv.i8.sum.accumulator.bits = 20;
  expected.recurrent.i8 = expected.depthwise_conv.i8;
  expected.matmul = {.i8 = {expected.conv.i8.sum}};
  expected.sub = expected.add;
  CHECK(sheet.backend == expected);
}

TEST_CASE("an unknown backend is refused with the nearest ones") {
  const std::string message = message_of([] { static_cast<void>(find_backend("vipnano_v9")); });
  CHECK(message.starts_with("unknown backend 'vipnano_v9'; did you mean 'vipnano_v8'"));
  CHECK(message.ends_with("; lastbit backends lists them, and a file's name ends in .json"));
  CHECK(contains(message_of([] { static_cast<void>(find_backend("nowhere/npu.json")); }), "nowhere/npu.json: cannot be read"));
}

TEST_CASE("every built-in chain makes of an accumulator what its ratio says") {
  for (const SpecSheet& sheet : builtin_backends()) {
    INFO(sheet.name);
    CHECK(chains_off_their_ratios(sheet.backend).empty());
  }
}

TEST_CASE("a chain that is off its ratio is named with the accumulator, what comes out and what should") {
  const SpecSheet base = find_backend("vipnano_v8");
  const auto off = [&](const ScaleEncoding& scale, const Chain& chain) {
    Backend backend = base.backend;
    backend.conv.i8.sum.output.scale = scale;
    backend.conv.i8.sum.output.chain = chain;
    return chains_off_their_ratios(backend);
  };
  ScaleEncoding encoding = base.backend.conv.i8.sum.output.scale;
  const std::vector<Chain> right{
      {stage::multiply(), stage::shift_right(Rounding::half_even), stage::clamp()},
      {stage::multiply(8, Rounding::floor), stage::shift_right(Rounding::floor), stage::clamp()},
      {stage::narrow_to(12, Overflow::wrap), stage::multiply(), stage::shift_right(Rounding::floor),
       stage::clamp()},  // an overflow is none of it
      {stage::multiply(), stage::narrow_to(32, Overflow::wrap), stage::shift_right(Rounding::floor), stage::clamp()},
  };
  for (const Chain& chain : right) CHECK(off(encoding, chain).empty());
  const std::vector<Chain> wrong{
      {stage::shift_right(Rounding::half_up), stage::clamp()},  // a multiplier that nothing reads
      {stage::multiply(), stage::clamp()},
      {stage::multiply(), stage::multiply(), stage::shift_right(Rounding::half_up), stage::clamp()},
      {stage::shift_right_by(1, Rounding::floor), stage::multiply(), stage::shift_right(Rounding::half_up), stage::clamp()},
      {stage::multiply(), stage::shift_right_by(20, Rounding::half_up), stage::clamp()},
      {stage::doubling_high_multiply(32, Rounding::half_up), stage::shift_right_by_exponent(Rounding::half_up),
       stage::clamp()},  // of a multiplier of 24 bits
      {stage::multiply(), stage::add_half(64, Overflow::wrap), stage::shift_right(Rounding::half_up), stage::clamp()},  // rounded up twice
  };
  for (const Chain& chain : wrong) {
    INFO("chain " << &chain - wrong.data());
    CHECK(off(encoding, chain).size() == 1);
  }
  encoding.form = MultiplierForm::power_of_two;
  encoding.rounding = Rounding::half_up;
  encoding.normalization = Normalization::one_to_two;
  const Chain lone_shift{stage::shift_right(Rounding::half_up), stage::clamp()};
  CHECK(off(encoding, lone_shift).empty());
  encoding.normalization = Normalization::half_to_one;
  const std::vector<Diagnostic> found = off(encoding, lone_shift);
  REQUIRE(found.size() == 1);
  CHECK(found[0].where == "conv.i8.output");
  CHECK(found[0].message.starts_with("of the accumulator "));
  CHECK(contains(found[0].message, "but it times the ratio in*weight/out = "));
}

TEST_CASE("a sum whose scale lies elsewhere is judged as a whole") {
  Backend backend = find_backend("tflite_double").backend;
  CHECK(chains_off_their_ratios(backend).empty());  // its operands are 20 places up
  backend.add.i8.output.by.exponent = static_cast<std::int8_t>(backend.add.i8.output.by.exponent - 1);
  const std::vector<Diagnostic> found = chains_off_their_ratios(backend);
  REQUIRE(found.size() == 1);
  CHECK(found[0].where == "add.i8.operand");
}

TEST_CASE("a backend file with a chain that is off its ratio is refused, by its name and the rule") {
  SpecSheet sheet = find_backend("vipnano_v8");
  sheet.name = "off";
  sheet.backend.conv.i8.sum.output.chain = {stage::multiply(), stage::shift_right_by(20, Rounding::half_up), stage::clamp()};
  const std::string file = (std::filesystem::temp_directory_path() / "lastbit_off_its_ratio.json").string();
  std::ofstream(file) << backend_to_json(sheet);
  const std::string message = message_of([&] { static_cast<void>(find_backend(file)); });
  std::filesystem::remove(file);
  CHECK(message.starts_with(file + ": conv.i8.output: of the accumulator "));
}

}  // namespace lastbit
