// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "embedded.hpp"
#include "lastbit/printable.hpp"
#include "report/drawing.hpp"

namespace lastbit::tool {
namespace {

constexpr std::array<const char*, 4> standings{"", "equal", "differs", "open"};
const char* word_of(Standing standing) { return standings[static_cast<std::size_t>(standing)]; }

std::string element(const std::string& name, const std::string& text) { return "<" + name + ">" + escaped(text) + "</" + name + ">\n"; }

/// What the filter reads.
std::string item(const Subject& subject, const std::string& kind = "item") {
  return " class=\"" + kind + "\" data-name=\"" + escaped(subject.name) + "\" data-at=\"" + word_of(subject.standing) + "\"";
}

std::string cell(const Cell& each, Alignment alignment) {
  constexpr std::size_t breaks_above = 24;  // characters; what is shorter stays on one line
  std::string attributes = alignment == Alignment::right ? " class=\"r\"" : each.text.size() > breaks_above ? " class=\"long\"" : "";
  std::array<char, 64> text{};
  if (each.number) {
    std::snprintf(text.data(), text.size(), " data-n=\"%.9g\"", *each.number);
    attributes += text.data();
  }
  if (each.share && *each.share > 0) {
    std::snprintf(text.data(), text.size(), " style=\"--share:%.1f%%\"", std::max(1.0, 100 * *each.share));
    attributes += text.data();
  }
  return "<td" + attributes + ">" + escaped(each.text) + (each.bars.empty() ? "" : small_bars(each.bars)) + "</td>";
}

std::string html(const Paragraph& paragraph) { return element("p", paragraph.text); }

std::string html(const Heading& heading) { return "<h3" + item(heading.subject) + ">" + escaped(heading.text) + "</h3>\n"; }

std::string html(const List& list) {
  std::string text = "<ul>\n";
  for (const std::string& line : list.lines) text += element("li", line);
  return text + "</ul>\n";
}

std::string html(const Table& table) {
  std::string text = "<div class=\"wide\"><table class=\"sortable\"><thead><tr>";
  for (const Column& column : table.columns)
    text += std::string("<th scope=\"col\"") + (column.alignment == Alignment::right ? " class=\"r\"" : "") +
            (column.meaning.empty() ? "" : " title=\"" + escaped(column.meaning) + "\"") + ">" + escaped(column.title) + "</th>";
  text += "</tr></thead><tbody>\n";
  for (const Row& row : table.rows) {
    text += "<tr" + item(row.subject) + ">";
    for (std::size_t i = 0; i < row.cells.size(); ++i) text += cell(row.cells[i], table.columns[i].alignment);
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string html(const Figure& figure) {
  const std::string title = figure.plot.title.empty() ? "" : "<h3>" + escaped(figure.plot.title) + "</h3>";
  return "<figure" + item(figure.subject, figure.subject.name.empty() ? "chart" : "chart item") + ">" + title + "<div class=\"wide\">" +
         svg_of(figure.plot) + "</div></figure>\n";
}

std::string html(const std::vector<Histogram>& histograms) {
  std::string text = "<div class=\"many\">\n";
  for (const Histogram& histogram : histograms)
    text += "<figure" + item(histogram.subject) + "><figcaption>" + escaped(histogram.title) + "</figcaption>" + svg_of(histogram) +
            "</figure>\n";
  return text + "</div>\n";
}

std::string html(const std::vector<Grids>& pictures) {
  std::string text = legend_of_levels() + "<div class=\"many\">\n";
  for (const Grids& picture : pictures) {
    text += "<figure" + item(picture.subject) + "><figcaption>" + escaped(picture.title) + "</figcaption>";
    for (const Grid& grid : picture.grids) {
      const std::string axes = grid.row_axis.empty() ? grid.column_axis : grid.row_axis + ", " + grid.column_axis;
      text += "<div class=\"where\">" + svg_of(grid) + "<small>" + escaped(grid.title + ": " + axes) + "</small></div>";
    }
    text += "</figure>\n";
  }
  return text + "</div>\n";
}

std::string html(const Graph& graph) { return legend_of_levels() + "<div class=\"tall\">" + svg_of(graph) + "</div>\n"; }

std::string html(const Square& square) {
  std::string text = "<div class=\"wide\"><table class=\"square\"><thead><tr><td></td>";
  for (const std::string& name : square.names) text += "<th scope=\"col\"><span>" + escaped(name) + "</span></th>";
  text += "</tr></thead><tbody>\n";
  for (std::size_t row = 0; row < square.names.size(); ++row) {
    text += "<tr><th scope=\"row\">" + escaped(square.names[row]) + "</th>";
    for (const Cell& each : square.cells[row])
      text += (each.share ? "<td class=\"l" + std::to_string(level_of(*each.share)) + "\">" : "<td>") + escaped(each.text) + "</td>";
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n" + legend_of_levels();
}

std::string html(const AssumptionList& assumptions) {
  Table table{{{"of", Alignment::left}, {"rule", Alignment::left}, {"evidence", Alignment::left}, {"source", Alignment::left}}, {}};
  for (const AssumptionRow& each : assumptions)
    table.rows.push_back({{each.of + " " + each.rule, Standing::none}, {each.of, each.rule, each.level, each.source}});
  return html(table);
}

/// "where-values-differ": of a section's title.
std::string anchor(const std::string& title) {
  std::string text;
  for (const char c : title) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) text += c;
    else if (c >= 'A' && c <= 'Z') text += static_cast<char>(c - 'A' + 'a');
    else if (!text.empty() && text.back() != '-') text += '-';
  }
  return text;
}

std::string header(const Document& document) {
  std::string text = "<header>\n<h1>lastbit " + escaped(document.title) + "</h1>\n";
  text += std::string("<p class=\"verdict ") + word_of(document.standing) + "\">" + escaped(document.verdict) + "</p>\n<dl>\n";
  for (const auto& [name, value] : document.facts) text += "<dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd>\n";
  if (!document.command.empty()) text += "<dt>made by</dt><dd><code>" + escaped(document.command) + "</code></dd>\n";
  text += "</dl>\n<nav>";
  for (const Section& section : document.sections)
    text += "<a href=\"#" + anchor(section.title) + "\">" + escaped(section.title) + "</a>\n";
  return text + "</nav>\n</header>\n";
}

constexpr std::string_view tools = R"(<form id="tools" hidden="hidden">
<label>filter <input id="find" type="search" placeholder="name or operation" autocomplete="off"/></label>
<label><input id="differing" type="checkbox"/> only what differs</label>
<output id="found"></output>
</form>
)";

std::string section_html(const Section& section) {
  std::string text = "<section id=\"" + anchor(section.title) + "\">\n" + element("h2", section.title);
  if (!section.meaning.empty()) text += "<p class=\"meaning\">" + escaped(section.meaning) + "</p>\n";
  for (const Block& block : section.blocks) text += std::visit([](const auto& each) { return html(each); }, block);
  return text + "</section>\n";
}

}  // namespace

Cell share_cell(double share) {
  Cell found;
  if (std::isnan(share)) return found;
  const double percent = 100 * share;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), percent < 0.01 ? "%.1g %%" : percent < 10 ? "%.2f %%" : "%.1f %%", percent);
  found.text = share == 0 ? "0" : share == 1 ? "100 %" : percent >= 99.95 ? ">99.9 %" : text.data();
  found.number = share;
  found.share = share;
  return found;
}

Cell number_cell(double value, int digits) {
  Cell found;
  if (std::isnan(value)) return found;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  found.text = text.data();
  found.number = value;
  return found;
}

Cell lsb_cell(const std::vector<std::int64_t>& counts) {
  Cell found;
  found.bars = counts;
  found.bars[counts.size() / 2] = 0;
  found.number = 0;
  for (const std::int64_t count : found.bars) *found.number += static_cast<double>(count);
  if (*found.number == 0) found.bars.clear();
  return found;
}

void Document::add(std::string heading, std::string meaning, std::vector<Block> blocks) {
  const auto is_empty = [](const Block& block) {
    return std::visit(
        []<class Kind>(const Kind& each) {
          if constexpr (std::is_same_v<Kind, Table>) return each.rows.empty();
          else if constexpr (std::is_same_v<Kind, Graph>) return each.nodes.empty();
          else if constexpr (std::is_same_v<Kind, List>) return each.lines.empty();
          else if constexpr (std::is_same_v<Kind, Square>) return each.names.empty();
          else if constexpr (std::is_same_v<Kind, Paragraph> || std::is_same_v<Kind, Heading>) return each.text.empty();
          else if constexpr (std::is_same_v<Kind, Figure>) return each.plot.series.empty();
          else return each.empty();
        },
        block);
  };
  std::erase_if(blocks, is_empty);
  if (!blocks.empty()) sections.push_back({std::move(heading), std::move(meaning), std::move(blocks)});
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : harmless(text)) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string html_of(const Document& document) {
  std::string text = "<!-- lastbit report -->\n<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n";
  text +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src "
      "'unsafe-inline'\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n";
  text += "<title>lastbit " + escaped(document.title) + "</title>\n<style>" + std::string(page_style) + "</style>\n</head>\n<body>\n";
  text += header(document) + std::string(tools) + "<main>\n";
  for (const Section& section : document.sections) text += section_html(section);
  text += "</main>\n<footer>lastbit " + escaped(document.version) + "</footer>\n<script>" + std::string(page_script) + "</script>\n";
  return text + "</body>\n</html>\n";
}

}  // namespace lastbit::tool
