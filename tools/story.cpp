// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "story.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <sstream>

#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/json_value.hpp"

namespace lastbit::tool {
namespace {

constexpr std::size_t text_width = 100;

/// Columns on a terminal: bytes that begin a character.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string wrapped(const std::string& paragraph, const std::string& first, const std::string& next) {
  std::string result, line = first;
  std::istringstream words(paragraph);
  bool empty = true;
  for (std::string word; words >> word; empty = false) {
    if (!empty && columns_of(line) + 1 + columns_of(word) > text_width) {
      result += line + "\n";
      line = next + word;
    } else {
      line += (empty ? "" : " ") + word;
    }
  }
  return result + line + "\n";
}

std::string aligned(const std::vector<std::string>& columns, const Rows& rows) {
  std::vector<std::size_t> widths;
  const auto widen = [&](const std::vector<std::string>& row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  };
  widen(columns);
  for (const auto& row : rows) widen(row);
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line = "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - columns_of(row[i]), ' ');
      line += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add(columns);
  for (const auto& row : rows) add(row);
  return text;
}

template <class Value>
const Value& figure(const std::map<std::string, Value>& figures, const std::string& name, const std::string& where) {
  const auto found = figures.find(name);
  if (found == figures.end()) throw Error(ErrorCode::malformed_file, where, "no figure is called '" + name + "'");
  return found->second;
}

std::string filled(const std::string& text, const StoryFigures& figures, const std::string& where) {
  std::string result;
  std::size_t end = 0;
  for (std::size_t open = text.find('{'); open != std::string::npos; open = text.find('{', end)) {
    result += text.substr(end, open - end);
    end = std::min(text.find('}', open), text.size() - 1) + 1;
    result += figure(figures.texts, text.substr(open + 1, end - open - 2), where);
  }
  return result + text.substr(end);
}

/// "| a | b |" as a and b.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream parts(line.substr(1));
  for (std::string part; std::getline(parts, part, '|');) {
    const std::size_t first = part.find_first_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : part.substr(first, part.find_last_not_of(' ') + 1 - first));
  }
  return cells;
}

}  // namespace

Page::Page(std::string_view text, const StoryFigures& figures, const std::string& where) {
  std::istringstream lines{std::string(text)};
  std::getline(lines, name_, ':');
  std::getline(lines >> std::ws, title_);
  bool goes_on = false;  // the last block's text, on the next line
  for (std::string line; std::getline(lines, line);) {
    const auto add = [&](Block block) {
      if (sections_.empty()) sections_.emplace_back();
      sections_.back().blocks.push_back(std::move(block));
    };
    const bool is_words =
        !line.empty() && !line.starts_with("## ") && !line.starts_with("* ") && !line.starts_with("    ") && line[0] != '|';
    if (line.starts_with("## ")) {
      sections_.push_back({filled(line.substr(3), figures, where), {}});
    } else if (line.starts_with("* ")) {
      const std::size_t colon = line.find(": ");
      add({.kind = Block::Kind::evidence, .text = filled(line.substr(colon + 2), figures, where), .level = line.substr(2, colon - 2)});
    } else if (line.starts_with("    ")) {
      add({.kind = Block::Kind::line, .text = filled(line.substr(4), figures, where)});
    } else if (line.starts_with("|")) {
      add({.kind = Block::Kind::table, .columns = cells_of(line)});
      std::getline(lines, line);
      sections_.back().blocks.back().rows = figure(figures.tables, line.substr(1, line.size() - 2), where);
    } else if (is_words && goes_on) {
      sections_.back().blocks.back().text += " " + filled(line, figures, where);
    } else if (is_words) {
      add({.kind = Block::Kind::text, .text = filled(line, figures, where)});
    }
    goes_on = is_words || line.starts_with("* ");
  }
}

std::string Page::to_text() const {
  std::string text = name_ + ": " + title_ + "\n";
  for (const Section& section : sections_) {
    text += "\n";
    if (!section.heading.empty()) text += section.heading + "\n";
    for (const Block& block : section.blocks) {
      switch (block.kind) {
        case Block::Kind::text: text += wrapped(block.text, "", ""); break;
        case Block::Kind::line: text += "    " + block.text + "\n"; break;
        case Block::Kind::table: text += aligned(block.columns, block.rows); break;
        case Block::Kind::evidence:
          text += wrapped(block.text, "  " + block.level + std::string(15 - std::min<std::size_t>(15, block.level.size()), ' '),
                          std::string(17, ' '));
          break;
      }
    }
  }
  return text;
}

std::string Page::to_json() const {
  JsonValue json{{"demo", name_}, {"title", title_}, {"sections", JsonValue::array()}};
  for (const Section& section : sections_) {
    JsonValue part{{"heading", section.heading}, {"blocks", JsonValue::array()}};
    for (const Block& block : section.blocks) {
      if (block.kind == Block::Kind::table) part["blocks"].push_back({{"columns", block.columns}, {"rows", block.rows}});
      else if (block.kind == Block::Kind::evidence) part["blocks"].push_back({{"evidence", block.level}, {"what", block.text}});
      else part["blocks"].push_back({{block.kind == Block::Kind::text ? "text" : "line", block.text}});
    }
    json["sections"].push_back(std::move(part));
  }
  return json.text(2) + "\n";
}

int Page::show(const StoryOptions& options, const std::optional<Plot>& plot) const {
  if (!options.plot.empty()) {
    if (!plot) throw Error(ErrorCode::bad_input, "--plot", "the demo " + name_ + " has no plot");
    draw(*plot, options.plot);
  }
  std::cout << (options.json ? to_json() : to_text());
  return 0;
}

int tell(const Story& story, const StoryOptions& options) {
  if (story.print != nullptr) return story.print(options);
  const std::filesystem::path file = options.data / story.name / "page.txt";
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || text.empty()) throw Error(ErrorCode::unreadable_file, file.string(), "what the demo says cannot be read");
  const StoryFigures figures = story.figures(options.data);
  return Page(text, figures, file.string()).show(options, figures.plot);
}

Digits read_digits(const std::filesystem::path& data) {
  Digits digits{read_model(data / "model.json"), read_npy(data / "test_images.npy"), read_npy(data / "test_labels.npy")};
  const bool fits = digits.labels.type() == ElementType::int64 && digits.images.shape().rank() > 0 &&
                    digits.labels.element_count() == digits.images.shape()[0] && digits.model.outputs.size() == 1;
  if (!fits) throw Error(ErrorCode::bad_input, (data / "test_labels.npy").string(), "one int64 label per image is needed");
  return digits;
}

std::vector<Tensor> samples_of(const Tensor& batch, const Shape& shape, std::size_t count) {
  std::vector<Tensor> samples(count, Tensor(batch.type(), shape));
  const std::size_t size = samples.at(0).bytes().size();
  if (batch.bytes().size() < count * size)
    throw Error(ErrorCode::shape_mismatch, "batch of " + batch.shape().text(),
                std::to_string(count) + " times " + shape.text() + " is needed");
  for (std::size_t i = 0; i < count; ++i) std::ranges::copy(batch.bytes().subspan(i * size, size), samples[i].bytes().begin());
  return samples;
}

double largest_magnitude(const Tensor& real) {
  const auto [low, high] = std::ranges::minmax(real.values<float>());
  return std::max(-double{low}, double{high});
}

double share_equal(const std::vector<std::int64_t>& answers, const std::vector<std::int64_t>& right) {
  const auto hits = std::inner_product(answers.begin(), answers.end(), right.begin(), std::int64_t{0}, std::plus<>(),
                                       [](std::int64_t a, std::int64_t b) { return std::int64_t{a == b}; });
  return static_cast<double>(hits) / static_cast<double>(right.size());
}

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string scientific(double value, int digits) {
  std::ostringstream text;
  text << std::scientific << std::setprecision(digits) << value;
  return text.str();
}

std::string percent(double share) { return fixed(100 * share, 2) + " %"; }

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const double position = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {at(0.5), at(0.05), at(0.95)};
}

}  // namespace lastbit::tool
