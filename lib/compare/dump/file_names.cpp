// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "compare/dump/file_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "formats/file.hpp"
#include "formats/json.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npz.hpp"
#include "lastbit/nearest.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == '_') text.remove_prefix(1);
  while (!text.empty() && text.back() == '_') text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

/// "1_32_112_112", "00064x00064": at most eight sizes, each positive.
std::optional<Shape> shape_in(const std::string& text) {
  std::vector<std::int64_t> sizes;
  std::string word;
  for (const char c : text + "_") {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      word += c;
      continue;
    }
    const auto size = number_in(word);
    if (!size || *size == 0 || *size > 1 << 24 || sizes.size() == 8) return std::nullopt;
    sizes.push_back(*size);
    word.clear();
  }
  return Shape(std::move(sizes));
}

/// Of a name that was cut, so many characters say whose it is.
constexpr std::size_t shortest_cut = 30;

/// A tensor of the model that an operation writes, or an input, by the names that users and tools have for it.
class Names {
 public:
  explicit Names(const Model& model) : model_(model) {
    const auto add = [&](std::int32_t tensor, const std::string& name) {
      if (!name.empty()) by_name_.emplace(canonical(name), tensor);
    };
    for (const std::int32_t input : model.inputs) {
      run_time_.insert(input);
      add(input, model.tensor(input).name);
    }
    for (const Operation& operation : model.operations) {
      for (const std::int32_t output : operation.outputs) {
        run_time_.insert(output);
        add(output, model.tensor(output).name);
      }
    }
    for (const Operation& operation : model.operations) {
      const std::string key = canonical(operation.name);
      if (!operation.name.empty()) of_operations_.emplace(key, &operation);
    }
  }

  /// A tensor's own name, or that of the operation that writes it; none where it may mean several.
  [[nodiscard]] std::optional<std::int32_t> called(std::string_view name) const {
    const std::string key = canonical(name);
    if (const auto found = only(by_name_, key)) return *found;
    if (by_name_.contains(key)) return std::nullopt;
    return output_of(name, 0);
  }
  /// Output `index` of the operation of this name.
  [[nodiscard]] std::optional<std::int32_t> output_of(std::string_view operation, std::int64_t index) const {
    const auto found = only(of_operations_, canonical(operation));
    if (!found || index < 0 || index >= std::ssize((*found)->outputs)) return std::nullopt;
    return (*found)->outputs[static_cast<std::size_t>(index)];
  }
  /// The one of whose name, or its operation's, the text is the beginning: 30 characters or more, and of no other's. Numbers and words that tools
  /// put before it do not count.
  [[nodiscard]] std::optional<std::int32_t> cut(std::string_view text) const;
  /// What a tool calls by this text: a name, one with what tools add, or the beginning of one.
  [[nodiscard]] std::optional<std::int32_t> meant(std::string_view text) const {
    auto tensor = called(text);
    if (!tensor) tensor = within(text);
    return tensor ? tensor : cut(text);
  }
  /// The one of this name and index, else of this name.
  [[nodiscard]] std::optional<std::int32_t> traced(std::int32_t index, const std::string& name) const {
    const auto numbered_so = numbered(index);
    return numbered_so && model_.tensor(index).name == name ? numbered_so : called(name);
  }
  [[nodiscard]] std::optional<std::int32_t> numbered(std::int64_t index) const {
    if (index < 0 || index >= std::ssize(model_.tensors) || !run_time_.contains(static_cast<std::int32_t>(index))) return std::nullopt;
    return static_cast<std::int32_t>(index);
  }
  [[nodiscard]] std::optional<std::int32_t> model_output(std::int64_t index) const {
    if (index < 0 || index >= std::ssize(model_.outputs)) return std::nullopt;
    return model_.outputs[static_cast<std::size_t>(index)];
  }
  /// The one whose name is the longest that stands whole in `text`, where nothing else does but numbers and words that tools add.
  [[nodiscard]] std::optional<std::int32_t> within(std::string_view text) const;
  /// Whether the text begins with the tensor's name, whatever follows, or the name with the text, at the end of a word or after 30 characters.
  [[nodiscard]] bool begins(std::string_view text, std::int32_t tensor) const {
    const std::string key = canonical(text), name = canonical(model_.tensor(tensor).name);
    const std::string_view bare = trimmed(name), cut = trimmed(key);
    if ((key + "_").starts_with(std::string(bare) + "_") || (key + "_").starts_with(name + "_")) return true;
    if (cut.empty() || !bare.starts_with(cut)) return false;
    return cut.size() == bare.size() || cut.size() >= shortest_cut || bare[cut.size()] == '_';
  }
  /// The one of this shape, which no other tensor has; sizes in any order say the same.
  [[nodiscard]] std::optional<std::int32_t> only_of_shape(const Shape& shape) const;

 private:
  template <class Value>
  static std::optional<Value> only(const std::multimap<std::string, Value>& names, const std::string& key) {
    if (names.count(key) != 1) return std::nullopt;
    return names.find(key)->second;
  }

  const Model& model_;
  std::set<std::int32_t> run_time_;
  std::multimap<std::string, std::int32_t> by_name_;
  std::multimap<std::string, const Operation*> of_operations_;
};

/// What tools add to the names of tensors: counters, types, layouts, and RKNN's own suffixes.
bool is_decoration(std::string_view words) {
  static const std::set<std::string, std::less<>> known{
      "output",  "out",       "outputs",     "tensor", "layer", "node",  "blob",  "result", "dump", "float",
      "float32", "fp32",      "float16",     "fp16",   "int8",  "uint8", "int16", "nchw",   "nhwc", "shape",
      "dtype",   "quantized", "dequantized", "rs",     "tp",    "mm",    "sw",    "pad",    "rw"};
  std::istringstream stream{std::string(words)};
  for (std::string word; std::getline(stream, word, '_');)
    if (!word.empty() && !known.contains(word) &&
        !std::ranges::all_of(word, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }))
      return false;
  return true;
}

std::optional<std::int32_t> Names::within(std::string_view text) const {
  const std::string key = canonical(text);
  std::optional<std::int32_t> best;
  std::size_t longest = 0;
  bool unique = true;
  for (const auto& [name, tensor] : by_name_) {
    const std::string_view bare = trimmed(name);
    if (bare.size() < 2 || bare.size() < longest) continue;
    for (std::size_t at = key.find(bare); at != std::string::npos; at = key.find(bare, at + 1)) {
      const std::size_t end = at + bare.size();
      const bool is_whole = (at == 0 || key[at - 1] == '_') && (end == key.size() || key[end] == '_');
      if (!is_whole || !is_decoration(key.substr(0, at)) || !is_decoration(key.substr(end))) continue;
      unique = bare.size() > longest || (unique && best == tensor);
      longest = bare.size();
      best = tensor;
      break;
    }
  }
  return unique ? best : std::nullopt;
}

std::optional<std::int32_t> Names::cut(std::string_view text) const {
  const std::string whole = canonical(text);
  std::string_view key = trimmed(whole);
  for (;;) {
    if (key.size() < shortest_cut) return std::nullopt;
    std::set<std::int32_t> found;
    for (const auto& [name, tensor] : by_name_)
      if (trimmed(name).starts_with(key)) found.insert(tensor);
    const bool is_tensor = !found.empty();
    for (const auto& [name, operation] : of_operations_)
      if (!is_tensor && !operation->outputs.empty() && trimmed(name).starts_with(key)) found.insert(operation->outputs[0]);
    if (!found.empty()) return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
    const std::size_t word = key.find('_');
    if (word == std::string_view::npos || !is_decoration(key.substr(0, word))) return std::nullopt;
    key.remove_prefix(word + 1);
  }
}

std::optional<std::int32_t> Names::only_of_shape(const Shape& shape) const {
  const auto sorted = [](const Shape& of) {
    std::vector<std::int64_t> sizes;
    std::ranges::copy_if(of.sizes(), std::back_inserter(sizes), [](std::int64_t size) { return size != 1; });
    std::ranges::sort(sizes);
    return sizes;
  };
  std::optional<std::int32_t> found;
  for (const std::int32_t tensor : run_time_) {
    if (sorted(model_.tensor(tensor).shape) != sorted(shape)) continue;
    if (found) return std::nullopt;
    found = tensor;
  }
  return found;
}

/// A file that a tool's way of naming explains: its tensor, if the model has it, and what the name says of the values.
struct Read {
  std::optional<std::int32_t> tensor;
  DumpFile file;
  bool is_input = false;  ///< what an operation read: another file's output, and no complaint
};

/// What one tool writes. Sources: docs/dumps.md.
struct Tool {
  std::string name;
  std::regex pattern;
  std::function<Read(const std::smatch&, const Names&)> read;
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::optional<ElementType> type_called(std::string word) {
  word = lower(std::move(word));
  if (word == "float" || word == "bfloat16") return ElementType::float32;  // msaccucmp writes bfloat16 as float32
  return element_type_from(word);
}

/// The fields behind "output.0": a format, a shape, a type, in any number and order.
void read_fields(const std::string& fields, DumpFile& file) {
  std::istringstream stream(fields);
  for (std::string field; std::getline(stream, field, '.');) {
    if (field.empty()) continue;
    const std::string word = lower(field);
    const auto& layouts = dump_layouts();
    if (std::ranges::find(layouts, word) != layouts.end()) file.layout = word;
    else if (word == "nc1hwc0_c04") file.layout = "nc4hw4";
    else if (const auto type = type_called(word)) file.type = type;
    else if (const auto shape = std::isdigit(static_cast<unsigned char>(word[0])) != 0 ? shape_in(word) : std::nullopt;
             shape && shape->rank() > 1)
      file.shape = shape;
  }
}

const std::vector<Tool>& tools() {
  static const std::vector<Tool> all{
      {"msaccucmp", std::regex(R"(([\w-]+)\.([\w-]+)\.\d+(?:\.\d+)*\.(input|output)\.(\d+)((?:\.\w+)*))"),
       [](const std::smatch& m, const Names& names) {
         Read read{names.output_of(m.str(2), number_in(m.str(4)).value_or(-1)), {}, m.str(3) == "input"};
         if (!read.tensor && number_in(m.str(4)) == 0) read.tensor = names.meant(m.str(2));
         read_fields(m.str(5), read.file);
         return read;
       }},
      {"rknn", std::regex(R"(\d+_[A-Za-z0-9]+_(.+)_shape_(\d+(?:_\d+)*)_([a-z]+\d*))"),
       [](const std::smatch& m, const Names& names) {
         Read read{names.meant(m.str(1)), {}, false};
         read.file.shape = shape_in(m.str(2));
         read.file.type = type_called(m.str(3));
         if (read.file.shape && read.file.shape->rank() == 4) read.file.layout = "nchw";
         return read;
       }},
      {"hrt_model_exec", std::regex(R"(model_infer_(input|output)_(\d+)(?:_(.*))?)"),
       [](const std::smatch& m, const Names& names) {
         auto tensor = m.str(3).empty() ? std::nullopt : names.meant(m.str(3));
         if (!tensor && m.str(1) == "output") tensor = names.model_output(number_in(m.str(2)).value_or(-1));
         return Read{tensor, {}, m.str(1) == "input" && !tensor};
       }},
      {"hrt_model_exec", std::regex(R"(layer-\d+-.+-(input|output)-(\d+)-(.+))"),
       [](const std::smatch& m, const Names& names) {
         return Read{names.meant(m.str(3)), {}, m.str(1) == "input"};
       }},
      {"hb_verifier", std::regex(R"((.+)-to-(.+))"),
       [](const std::smatch& m, const Names& names) {
         const auto tensor = names.meant(m.str(2));
         return Read{tensor ? tensor : names.meant(m.str(1)), {}, false};
       }},
      {"ovxlib", std::regex(R"((?:.*_)?uid_\d+(?:_sub_\d+)?_t_\d+_s_(\d+(?:_\d+)*))"),
       [](const std::smatch& m, const Names& names) {
         Read read;
         if (const auto stored = shape_in(m.str(1))) {  // width first
           read.file.shape = Shape(std::vector<std::int64_t>(stored->sizes().rbegin(), stored->sizes().rend()));
           read.tensor = names.only_of_shape(*stored);
           if (stored->rank() == 4) read.file.layout = "nchw";
         }
         return read;
       }},
      {"tflite", std::regex(R"((?:tensor_)?(\d+)_(.+))"),
       [](const std::smatch& m, const Names& names) {
         const auto tensor = names.numbered(number_in(m.str(1)).value_or(-1));
         return Read{tensor && names.begins(m.str(2), *tensor) ? tensor : std::nullopt, {}, false};
       }},
  };
  return all;
}

/// TIDL names files by the numbers of its own data; layer_info.txt beside them says whose they are: "layer data name".
std::map<std::int64_t, std::string> tidl_names(const fs::path& folder) {
  std::map<std::int64_t, std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().ends_with("layer_info.txt")) continue;
    std::ifstream in(entry->path());
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::int64_t layer = 0, data = 0;
      std::string name;
      if (!(words >> layer >> data) || !std::getline(words >> std::ws, name)) continue;
      while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back())) != 0) name.pop_back();
      names.emplace(data, name);
    }
  }
  return names;
}

/// Data, then perhaps batch, and two further axes, channels, WIDTHxHEIGHT; of real values "_float".
std::optional<Read> read_tidl(const std::string& stem, const std::map<std::int64_t, std::string>& data, const Names& names) {
  static const std::array patterns{
      std::regex(R"((?:.*\D)?(\d{4,})_(\d{4,})_(\d{4,})_(\d{5,})_(\d{5,})_(\d{5,})x(\d{5,})(_float)?)"),
      std::regex(R"((?:.*\D)?(\d{4,})_(\d{5,})_(\d{5,})_(\d{5,})x(\d{5,})(_float)?)"),
      std::regex(R"((?:.*\D)?(\d{4,})_(\d{5,})_(\d{5,})x(\d{5,})(_float)?)"),
  };
  std::smatch m;
  const bool is_trace =
      !data.empty() && std::ranges::any_of(patterns, [&](const std::regex& pattern) { return std::regex_match(stem, m, pattern); });
  if (!is_trace) return std::nullopt;
  const std::size_t width = m.size() - 3, channels = width - 1;  // groups; the data's is 1
  std::string sizes;
  for (std::size_t i = 2; i < channels; ++i) {
    const bool is_batch = i == 2;
    if (is_batch || number_in(m.str(i)) != 1) sizes += m.str(i) + "_";
  }
  Read read;
  if (const auto found = data.find(number_in(m.str(1)).value_or(-1)); found != data.end()) read.tensor = names.meant(found->second);
  read.file.shape = shape_in(sizes + m.str(channels) + "_" + m.str(width + 1) + "_" + m.str(width));
  if (!m.str(m.size() - 1).empty()) read.file.type = ElementType::float32;
  read.file.layout = "nchw";
  return read;
}

/// A lastbit trace says in trace.json whose its files are.
struct TraceNames {
  struct Entry {
    std::int32_t index = 0;
    std::string name;
  };
  std::map<std::string, Entry> files{};
};

TraceNames trace_names(const fs::path& folder) {
  TraceNames names;
  std::error_code error;
  if (!fs::is_regular_file(folder / "trace.json", error)) return names;
  try {
    const std::string file = (folder / "trace.json").string();
    const Json json = parse_json(read_text_file(file), file);
    const JsonView view(json, file), tensors = view["tensors"];
    if (view["format"].text() != "lastbit.trace.v1") return names;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const JsonView tensor = tensors.at(i);
      names.files.emplace(tensor["file"].text(),
                          TraceNames::Entry{static_cast<std::int32_t>(tensor["index"].integer()), tensor["name"].text()});
    }
  } catch (const Error&) {
    return {};  // another program's
  }
  return names;
}

/// RKNN's accuracy_analysis says in map_name_to_file.txt, beside the folder or in it, which layer a file is: "layer file".
std::map<std::string, std::string> rknn_names(const fs::path& folder) {
  std::map<std::string, std::string> names;
  for (const fs::path& place : {folder, folder / "..", folder / ".." / ".."}) {
    std::ifstream in(place / "map_name_to_file.txt");
    for (std::string line, layer, file; std::getline(in, line);) {
      std::istringstream words(line);
      if (words >> layer >> file && layer != "layer_name" && !layer.starts_with("---"))
        names.emplace(fs::path(file).stem().string(), layer);
    }
    if (!names.empty()) break;
  }
  return names;
}

bool has_data_ending(const fs::path& file) {
  static constexpr std::array<std::string_view, 6> endings{".npy", ".bin", ".raw", ".dat", ".txt", ".y"};
  return std::ranges::find(endings, lower(file.extension().string())) != endings.end();
}

/// Of names that are too long for a disk, msaccucmp writes others, and into mapping.csv, in the folder, whose they are: "file,name".
std::map<std::string, std::string> long_names(const fs::path& folder) {
  std::map<std::string, std::string> names;
  std::ifstream in(folder / "mapping.csv");
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t comma = line.find(',');
    if (comma != std::string::npos && comma > 0) names.emplace(line.substr(0, comma), line.substr(comma + 1));
  }
  return names;
}

bool is_data(const fs::path& file) {
  const std::string name = file.filename().string();
  const bool is_index = name.ends_with("layer_info.txt") || name == "map_name_to_file.txt" || name == "error_analysis.txt";
  return !is_index && !name.ends_with("_weights_float.bin") && !name.ends_with("_bias_float.bin") && has_data_ending(file);
}

/// What may be a tensor: a file, or an array of a .npz.
struct Candidate {
  fs::path path;
  std::string member;  ///< empty: the file
  fs::path name;       ///< by which it is matched: the file's, or the array's with its ending
};

void add_arrays(const fs::path& npz, std::vector<Candidate>& found) {
  const NpzFile arrays(npz);
  for (const std::string& array : arrays.names()) {
    std::string name = array;
    std::ranges::replace(name, '/', '_');
    found.push_back({npz, array, name + ".npy"});
  }
}

std::vector<Candidate> candidates_in(const fs::path& place) {
  std::vector<Candidate> found;
  if (is_npz(place) && !fs::is_directory(place)) {
    add_arrays(place, found);
    return found;
  }
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error)) files.push_back(entry->path());
  if (error) throw Error(ErrorCode::unreadable_file, place.string(), error.message());
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    if (is_npz(file)) add_arrays(file, found);
    else if (is_data(file)) found.push_back({file, {}, file.filename()});
  }
  return found;
}

class Matcher {
 public:
  Matcher(const fs::path& folder, const Model& model, const DumpOptions& options)
      : folder_(folder),
        model_(model),
        options_(options),
        names_(model),
        tidl_(tidl_names(folder)),
        rknn_(rknn_names(folder)),
        trace_(trace_names(folder)),
        long_(long_names(folder)) {}

  MatchedFiles match() {
    const std::vector<Candidate> candidates = candidates_in(folder_);
    require_known(candidates);
    std::vector<const Candidate*> inputs;
    for (const Candidate& candidate : candidates) {
      const std::optional<Read> read = tensor_of(whole_name(candidate.name));
      const bool fits = read && (read->tensor || read->is_input);
      if (!fits && model_.inputs.size() == 1 && lower(candidate.name.stem().string()) == "input") inputs.push_back(&candidate);
      else if (!fits) add_open(candidate, read ? read->file : DumpFile{});
      else if (!read->is_input) assign(*read->tensor, candidate, read->file);
    }
    for (const Candidate* const input : inputs) {  // where no file has its name
      if (matched_.by_tensor.contains(model_.inputs[0])) add_open(*input, {});
      else assign(model_.inputs[0], *input, {});
    }
    return std::move(matched_);
  }

 private:
  /// What the file would be called, were there no longest name.
  [[nodiscard]] fs::path whole_name(const fs::path& name) const {
    auto found = long_.find(name.string());
    if (found == long_.end()) found = long_.find(name.stem().string());
    if (found == long_.end()) return name;
    std::string whole = found->second;
    std::ranges::replace(whole, '/', '_');
    return has_data_ending(whole) ? whole : whole + name.extension().string();
  }

  [[nodiscard]] std::optional<std::int32_t> named_by_user(const fs::path& file) const {
    for (const std::string& key : {file.filename().string(), file.stem().string()}) {
      const auto found = options_.names.find(key);
      if (found != options_.names.end()) return tensor_called(found->second);
    }
    return std::nullopt;
  }
  [[nodiscard]] std::int32_t tensor_called(const std::string& name) const {
    if (const auto tensor = names_.called(name)) return *tensor;
    if (const auto number = number_in(name))
      if (const auto tensor = names_.numbered(*number)) return *tensor;
    std::vector<std::string_view> known;
    for (const ModelTensor& tensor : model_.tensors) known.push_back(tensor.name);
    throw Error(ErrorCode::bad_input, "--names", "the model computes no tensor '" + name + "'" + did_you_mean(name, known));
  }

  void require_known(const std::vector<Candidate>& candidates) const {
    for (const auto& [name, tensor] : options_.names) {
      const bool is_there = std::ranges::any_of(
          candidates, [&, &name = name](const Candidate& each) { return each.name == name || each.name.stem() == name; });
      if (!is_there)
        throw Error(ErrorCode::bad_input, folder_.string(), "has no file '" + name + "', which --names calls '" + tensor + "'");
      static_cast<void>(tensor_called(tensor));
    }
  }

  [[nodiscard]] std::optional<Read> tensor_of(const fs::path& file) const {
    if (const auto tensor = named_by_user(file)) {
      Read read = by_tool(file, OfNoTensor::too).value_or(Read{});
      read.tensor = tensor;
      read.is_input = false;
      return read;
    }
    if (const auto traced = trace_.files.find(file.string()); traced != trace_.files.end())
      return Read{names_.traced(traced->second.index, traced->second.name), {}, false};
    const std::string stem = file.stem().string();
    if (const auto tensor = names_.called(stem)) return Read{tensor, {}, false};
    const std::string_view digits = std::string_view(stem).starts_with("tensor_") ? std::string_view(stem).substr(7) : stem;
    if (const auto number = number_in(digits)) {
      if (const auto tensor = names_.numbered(*number)) return Read{tensor, {}, false};
    }
    if (auto read = by_tool(file)) return read;
    if (const auto tensor = names_.within(stem)) return Read{tensor, {}, false};
    if (const auto tensor = names_.cut(stem)) return Read{tensor, {}, false};
    return by_tool(file, OfNoTensor::too);
  }

  enum class OfNoTensor : std::uint8_t { no, too };

  /// `too`: what the name tells of the values, though not whose they are.
  [[nodiscard]] std::optional<Read> by_tool(const fs::path& file, OfNoTensor wanted = OfNoTensor::no) const {
    const std::string stem = file.stem().string();
    if (auto read = read_tidl(stem, tidl_, names_)) {
      read->file.tool = "tidl";
      return read;
    }
    if (const auto layer = rknn_.find(stem); layer != rknn_.end()) {
      return Read{names_.meant(layer->second), {.path = {}, .tool = "rknn"}, false};
    }
    for (const Tool& tool : tools()) {
      std::smatch match;
      if (!std::regex_match(stem, match, tool.pattern)) continue;
      Read read = tool.read(match, names_);
      if (!read.tensor && !read.is_input && wanted == OfNoTensor::no) continue;
      read.file.tool = tool.name;
      return read;
    }
    return std::nullopt;
  }

  void add_open(const Candidate& candidate, DumpFile file) {
    file.path = candidate.path;
    file.member = candidate.member;
    matched_.unfit.push_back(candidate.name.string());
    matched_.open.push_back(std::move(file));
  }

  void assign(std::int32_t tensor, const Candidate& candidate, DumpFile file) {
    file.path = candidate.path;
    file.member = candidate.member;
    const auto [at, fresh] = matched_.by_tensor.emplace(tensor, file);
    if (fresh) return;
    if (!file.tool.empty() && at->second.tool == file.tool) return choose(at->second, file);
    const DumpFile& other = at->second;
    throw Error(ErrorCode::bad_input, candidate.path.string() + (file.member.empty() ? "" : ": " + printable(file.member)),
                "fits tensor '" + model_.tensor(tensor).name + "' as " +
                    (other.member.empty() ? other.path.filename().string() : printable(other.member)) + " does");
  }

  /// A tool writes a tensor again where it is read, or as text, codes and real values: codes are kept, or what came first.
  static void choose(DumpFile& kept, const DumpFile& other) {
    const auto is_codes = [](const DumpFile& file) { return !file.type && lower(file.path.extension().string()) != ".txt"; };
    if (is_codes(other) && !is_codes(kept)) kept = other;
  }

  const fs::path& folder_;
  const Model& model_;
  const DumpOptions& options_;
  Names names_;
  std::map<std::int64_t, std::string> tidl_;
  std::map<std::string, std::string> rknn_;
  TraceNames trace_;
  std::map<std::string, std::string> long_;
  MatchedFiles matched_;
};

}  // namespace

std::string canonical(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) text += static_cast<char>(std::tolower(byte));
    else if (text.empty() || text.back() != '_') text += '_';
  }
  return text;
}

MatchedFiles match_files(const fs::path& folder, const Model& model, const DumpOptions& options) {
  return Matcher(folder, model, options).match();
}

std::map<std::string, std::string> read_dump_names(const fs::path& csv) {
  std::ifstream in(csv);
  if (!in) throw Error(ErrorCode::unreadable_file, csv.string(), "cannot be read");
  std::map<std::string, std::string> names;
  std::int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#') || line == "file,tensor") continue;
    const std::size_t comma = line.find(',');
    const bool is_pair = comma != std::string::npos && comma > 0 && comma + 1 < line.size();
    if (!is_pair || !names.emplace(line.substr(0, comma), line.substr(comma + 1)).second)
      throw Error(ErrorCode::malformed_file, csv.string() + ": line " + std::to_string(number),
                  is_pair ? "the file is named twice" : "must be a file and a tensor, such as conv1.npy,net/conv1");
  }
  return names;
}

}  // namespace lastbit
