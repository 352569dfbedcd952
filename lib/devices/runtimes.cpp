// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/runtimes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <compare>

#include "devices/open_text.hpp"
#include "lastbit/error.hpp"
#include "lastbit/nearest.hpp"
#include "lastbit/registry.hpp"

namespace lastbit {
namespace {

using Words = std::vector<std::string>;

/// Other words for a word of RuntimeCase::words; for an empty one: it says nothing.
struct Synonym {
  std::string_view word;
  std::string_view meant;
};
constexpr std::array synonyms{Synonym{"tensorflow", "tflite"},
                              Synonym{"tensorflow-lite", "tflite"},
                              Synonym{"tf", "tflite"},
                              Synonym{"tf-lite", "tflite"},
                              Synonym{"tflite-micro", "tflm"},
                              Synonym{"micro", "tflm"},
                              Synonym{"lite-rt", "litert"},
                              Synonym{"ort", "onnxruntime"},
                              Synonym{"onnx-runtime", "onnxruntime"},
                              Synonym{"onnx", "onnxruntime"},
                              Synonym{"mlas", "onnxruntime"},
                              Synonym{"torch", "pytorch"},
                              Synonym{"arm64", "aarch64"},
                              Synonym{"armv8", "aarch64"},
                              Synonym{"armv8-a", "aarch64"},
                              Synonym{"arm64-v8a", "aarch64"},
                              Synonym{"cortex-a53", "aarch64"},
                              Synonym{"cortex-a55", "aarch64"},
                              Synonym{"cortex-a72", "aarch64"},
                              Synonym{"cortex-a73", "aarch64"},
                              Synonym{"cortex-a76", "aarch64"},
                              Synonym{"armv7", "arm32"},
                              Synonym{"armv7l", "arm32"},
                              Synonym{"armhf", "arm32"},
                              Synonym{"armeabi-v7a", "arm32"},
                              Synonym{"aarch32", "arm32"},
                              Synonym{"dotprod", "sdot"},
                              Synonym{"x86", "x86-64"},
                              Synonym{"amd64", "x86-64"},
                              Synonym{"x64", "x86-64"},
                              Synonym{"avx512-vnni", "vnni"},
                              Synonym{"avx512vnni", "vnni"},
                              Synonym{"avx-vnni", "vnni"},
                              Synonym{"avxvnni", "vnni"},
                              Synonym{"webassembly", "wasm"},
                              Synonym{"tfjs", "wasm"},
                              Synonym{"osx", "macos"},
                              Synonym{"pip", "python"},
                              Synonym{"built-in", "builtin"},
                              Synonym{"optimized", "builtin"},
                              Synonym{"optimised", "builtin"},
                              Synonym{"ref", "reference"},
                              Synonym{"cmsis", "cmsis-nn"},
                              Synonym{"cmsisnn", "cmsis-nn"},
                              Synonym{"hifi4", "hifi"},
                              Synonym{"hifi5", "hifi"},
                              Synonym{"esp32s3", "esp32"},
                              Synonym{"esp32p4", "esp32"},
                              Synonym{"m0", "cortex-m0"},
                              Synonym{"m3", "cortex-m3"},
                              Synonym{"m4", "cortex-m4"},
                              Synonym{"m7", "cortex-m7"},
                              Synonym{"m33", "cortex-m33"},
                              Synonym{"m52", "cortex-m52"},
                              Synonym{"m55", "cortex-m55"},
                              Synonym{"m85", "cortex-m85"},
                              Synonym{"cortex-m4f", "cortex-m4"},
                              Synonym{"ort-enable-all", "enable-all"},
                              Synonym{"ort-enable-extended", "extended"},
                              Synonym{"ort-disable-all", "disable-all"},
                              Synonym{"ort-enable-basic", "basic"},
                              Synonym{"lite", ""},
                              Synonym{"runtime", ""},
                              Synonym{"cpu", ""},
                              Synonym{"npu", ""},
                              Synonym{"nn", ""},
                              Synonym{"cortex", ""},
                              Synonym{"on", ""},
                              Synonym{"with", ""},
                              Synonym{"the", ""},
                              Synonym{"version", ""},
                              Synonym{"delegate", ""},
                              Synonym{"kernels", ""},
                              Synonym{"default", ""}};
constexpr std::array<std::string_view, 5> runtime_words{"tflite", "litert", "tflm", "onnxruntime", "pytorch"};

Words split(std::string_view text) {
  Words words(1);
  for (const char c : text) {
    const bool between = c == ' ' || c == ',' || c == '\t' || c == '\n' || c == ';';
    if (between && !words.back().empty()) words.emplace_back();
    if (!between) words.back() += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool has(const Words& words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }

/// Of all cases.
const Words& vocabulary() {
  static const Words all = [] {
    Words found;
    for (const RuntimeCase& one : runtime_cases())
      for (std::string& word : split(one.words))
        if (!has(found, word)) found.push_back(std::move(word));
    return found;
  }();
  return all;
}

const Synonym* synonym(std::string_view word) {
  const auto found = std::ranges::find(synonyms, word, &Synonym::word);
  return found == synonyms.end() ? nullptr : &*found;
}

bool is_version(std::string_view word) {
  if (word.starts_with('v')) word.remove_prefix(1);
  const bool plain = std::ranges::all_of(word, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  return plain && !word.empty() && word.size() <= 16 && word.front() != '.' && word.back() != '.' &&
         word.find("..") == std::string_view::npos;
}

/// Its numbers; of long ones the last digits, which only a wrong version has.
std::vector<unsigned> numbers_of(std::string_view version) {
  std::vector<unsigned> numbers(1);
  for (const char c : version) {
    if (c == '.') numbers.push_back(0);
    else if (c >= '0' && c <= '9') numbers.back() = numbers.back() * 10 % 1000000 + static_cast<unsigned>(c - '0');
  }
  return numbers;
}

std::strong_ordering compared(std::string_view a, std::string_view b) {
  const std::vector<unsigned> left = numbers_of(a), right = numbers_of(b);
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i)
    if (left[i] != right[i]) return left[i] <=> right[i];
  return std::strong_ordering::equal;
}

struct Question {
  Words words;
  std::string version;
  std::vector<Chip> chips;
};

[[noreturn]] void refuse(std::string_view question, const std::string& what) {
  throw Error(ErrorCode::bad_input, "--for \"" + std::string(question) + "\"", what);
}

[[noreturn]] void unknown(std::string_view question, const std::string& word) {
  std::vector<std::string_view> known;
  for (const std::string& each : vocabulary()) known.push_back(each);
  for (const Chip& chip : chips()) known.push_back(chip.name);
  for (const Synonym& each : synonyms) known.push_back(each.word);
  refuse(question, "unknown word '" + word + "'" + did_you_mean(word, known) + "; docs/which-backend.md lists runtimes and chips");
}

/// "tflite-2.9", "tflite==2.9" or "tflite2.9": both words.
bool take_joined(Question& question, const std::string& word) {
  const std::size_t dot = word.find('.');
  std::size_t digit = std::min(dot, word.size());
  while (digit > 0 && word[digit - 1] >= '0' && word[digit - 1] <= '9') --digit;
  std::string name = word.substr(0, digit);
  while (!name.empty() && (name.ends_with('-') || name.ends_with('=') || name.ends_with('@') || name.ends_with('v'))) name.pop_back();
  if (dot == std::string::npos || !is_runtime(name) || !is_version(word.substr(digit))) return false;
  question.words.push_back(synonym(name) == nullptr ? name : std::string(synonym(name)->meant));
  question.version = word.substr(digit);
  return true;
}

/// A backend by its own name, which a chip may have: rk3588.
std::optional<Chip> backend_as_chip(std::string_view word) {
  for (const SpecSheet& sheet : builtin_backends())
    if (is_same_name(sheet.name, word)) return Chip{.name = sheet.name, .unit = sheet.title, .backends = {sheet.name}};
  return std::nullopt;
}

void take(Question& question, std::string_view text, const std::string& word) {
  const Synonym* other = synonym(word);
  const Chip* const chip = find_chip(word);
  if (chip != nullptr) question.chips.push_back(*chip);
  if (other != nullptr && !other->meant.empty()) question.words.emplace_back(other->meant);
  else if (other != nullptr) return;
  else if (has(vocabulary(), word)) question.words.push_back(word);
  else if (chip != nullptr) return;
  else if (is_version(word) && question.version.empty()) question.version = word;
  else if (is_version(word)) refuse(text, "two versions: " + question.version + " and " + word);
  else if (const std::optional<Chip> backend = backend_as_chip(word)) question.chips.push_back(*backend);
  else if (!take_joined(question, word)) unknown(text, word);
}

Question read(std::string_view text) {
  Question question;
  for (const std::string& word : split(text)) take(question, text, word);
  if (has(question.words, "tflm")) std::erase(question.words, "tflite");  // "tflite micro"
  const bool names_runtime = std::ranges::any_of(runtime_words, [&](std::string_view word) { return has(question.words, word); });
  if (!question.version.empty() && !names_runtime)
    refuse(text, "of what is " + question.version + " the version? name a runtime, such as tflite");
  if (!question.words.empty())
    for (const Chip& chip : question.chips)
      if (!chip.machine.empty() && !has(question.words, chip.machine)) question.words.emplace_back(chip.machine);
  if (question.words.empty() && question.chips.empty()) refuse(text, "name a runtime or a chip, such as \"tflite 2.9 aarch64\" or imx8mp");
  return question;
}

bool fits(const RuntimeCase& one, const Words& wanted) {
  const Words words = split(one.words);
  return std::ranges::all_of(wanted, [&](const std::string& word) { return has(words, word); });
}

[[noreturn]] void nothing_fits(std::string_view text, const Question& question) {
  std::string versions;
  for (const RuntimeCase& one : runtime_cases()) {
    const std::string range = one.versions.text();
    if (fits(one, question.words) && versions.find(range) == std::string::npos) versions += (versions.empty() ? "" : ", ") + range;
  }
  if (!versions.empty()) refuse(text, "nothing is known of version " + question.version + "; known: " + versions);
  Words suspects = question.words;  // a runtime last
  std::stable_partition(suspects.begin(), suspects.end(), [](const std::string& word) { return !is_runtime(word); });
  for (const std::string& left_out : suspects) {
    Words rest = question.words;
    std::erase(rest, left_out);
    if (!rest.empty() && std::ranges::any_of(runtime_cases(), [&](const RuntimeCase& one) { return fits(one, rest); }))
      refuse(text, "'" + left_out + "' does not go with the rest; docs/which-backend.md lists what is known");
  }
  refuse(text, "no case has all of these words; docs/which-backend.md lists what is known");
}

}  // namespace

bool VersionRange::contains(std::string_view version) const {
  return (from.empty() || std::is_gteq(compared(version, from))) && (to.empty() || std::is_lteq(compared(version, to)));
}

std::string VersionRange::text() const {
  if (from.empty() && to.empty()) return "every version";
  if (to.empty()) return std::string(from) + " and later";
  return from.empty() ? "up to " + std::string(to) : std::string(from) + " to " + std::string(to);
}

std::string why(const RuntimeRow& row) { return row.open.empty() ? std::string(row.why) : open_text(row.backend, row.open, row.program); }

RuntimeAnswer runtimes_for(std::string_view text) {
  const Question question = read(text);
  RuntimeAnswer answer{question.chips, {}};
  if (question.words.empty()) return answer;
  for (const RuntimeCase& one : runtime_cases())
    if (fits(one, question.words) && (question.version.empty() || one.versions.contains(question.version))) answer.cases.push_back(&one);
  if (answer.cases.empty()) nothing_fits(text, question);
  std::stable_partition(answer.cases.begin(), answer.cases.end(), [&](const RuntimeCase* one) {
    return one->usual && (question.version.empty() || one->usual->contains(question.version));
  });
  return answer;
}

bool is_runtime(std::string_view word) {
  const Synonym* other = synonym(word);
  return std::ranges::find(runtime_words, other == nullptr ? word : other->meant) != runtime_words.end();
}

}  // namespace lastbit
