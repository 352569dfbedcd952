// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every rule that a sheet can hold, as a page of tables: written from the types of rules, so that it cannot fall behind them.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "lastbit/rule_enumerations.hpp"
#include "sheet/rule_table.hpp"

namespace lastbit {
namespace {

using Types = std::vector<const RuleType*>;

/// "ConvArithmetic".
std::string type_name(const RuleType& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.type->name(), nullptr, nullptr, &status), std::free);
  const std::string full = status == 0 ? name.get() : type.type->name();
  return full.substr(full.rfind(':') + 1);
}

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }
std::string anchor(const RuleType& type) {
  std::string name = type_name(type);
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return "[" + type_name(type) + "](#" + name + ")";
}
std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

/// The structures from the Backend down, each behind the one that first has it.
Types structures() {
  Types found{&backend_type()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const RuleMember& member : found[i]->members) {
      const bool is_new = std::ranges::find(found, member.type) == found.end();
      if (!member.type->is_leaf() && is_new) found.push_back(member.type);
    }
  }
  found.push_back(&stage_type());
  return found;
}

bool has_member_of(const RuleType& structure, const RuleType& type) {
  return std::ranges::any_of(structure.members, [&](const RuleMember& member) { return member.type == &type; });
}

/// A structure as it is by default but for one member.
class Changed {
 public:
  explicit Changed(const RuleType& type) : bytes_(type.size) { std::memcpy(bytes_.data(), type.fresh, type.size); }
  void set(const RuleMember& member, std::size_t value) {
    member.type->store(member_address(member, static_cast<void*>(bytes_.data())), static_cast<std::int64_t>(value));
  }
  [[nodiscard]] const void* get() const { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
};

class Page {
 public:
  Page() : structures_(structures()) {
    text_ =
        "# Every rule of a sheet\n\nThe members of every structure of a [backend file](own-device.md) or a C++ constant, from the whole "
        "device down; "
        "then the values that several share. `lastbit describe --rules` writes this page.\n\n";
    for (const RuleType* const type : structures_) add_structure(*type);
    add_shared_values();
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void row(const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) text_ += "| " + cell + " ";
    text_ += "|\n";
  }
  void head(const std::vector<std::string>& cells) {
    row(cells);
    for (std::size_t i = 0; i < cells.size(); ++i) text_ += "|---";
    text_ += "|\n";
  }

  void add_structure(const RuleType& type) {
    text_ += "## " + type_name(type) + "\n\n" + std::string(type.meaning) + "\n\n";
    if (&type == &stage_type()) add_kinds(type);
    if (type.kind == RuleType::Kind::chain) {
      text_ += "A list of at most " + std::to_string(max_stages) + " stages (" + anchor(stage_type()) + ").\n\n";
      return;
    }
    head({"member", "values", "meaning"});
    for (const RuleMember& member : type.members) {
      if (&type == &stage_type() && member.name == "kind") continue;
      row({code(member.name), values(member), std::string(member.meaning) + read_with(type, member)});
    }
    text_ += "\n";
  }

  /// Every kind of stage with the members that it reads for some value of the others.
  void add_kinds(const RuleType& stage) {
    const RuleMember& kind = stage.members.front();
    head({"`kind`", "members", "what it makes of the value v"});
    for (std::size_t value = 0; value < kind.type->names.size(); ++value) {
      std::vector<std::string> members;
      for (const RuleMember& member : stage.members) {
        if (&member != &kind && can_be_read(stage, member, value)) members.push_back(code(member.name));
      }
      row({code(kind.type->names[value]), joined(members), std::string(kind.type->meanings[value])});
    }
    text_ += "\n";
  }

  static bool can_be_read(const RuleType& stage, const RuleMember& member, std::size_t kind) {
    Changed object(stage);
    object.set(stage.members.front(), kind);
    for (const RuleMember& other : stage.members) {
      if (other.name == "bits") object.set(other, 2);
      if (other.name != "amount") continue;
      for (std::size_t amount = 0; amount < other.type->names.size(); ++amount) {
        object.set(other, amount);
        if (is_read(member, object.get())) return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool is_shared(const RuleType& type) const {
    return std::ranges::count_if(structures_, [&](const RuleType* one) { return has_member_of(*one, type); }) > 1;
  }

  static std::string range(const RuleLimits& limits) { return std::to_string(limits.min) + " to " + std::to_string(limits.max); }

  /// Of a member of a stage: the range of most kinds, and the kinds that differ.
  static std::string ranges_by_kind(const RuleMember& member) {
    const RuleMember& kind = stage_type().members.front();
    std::string usual, others;
    for (std::size_t value = 0; value < kind.type->names.size(); ++value) {
      Changed object(stage_type());
      object.set(kind, value);
      if (!can_be_read(stage_type(), member, value)) continue;
      const std::string own = range(limits_of(member, object.get()));
      if (usual.empty()) usual = own;
      else if (own != usual) others += "; " + code(kind.type->names[value]) + ": " + own;
    }
    return usual + others;
  }

  [[nodiscard]] std::string values(const RuleMember& member) const {
    const RuleType& type = *member.type;
    switch (type.kind) {
      case RuleType::Kind::number: return member.limits_in == nullptr ? range(member.limits) : ranges_by_kind(member);
      case RuleType::Kind::text: return std::string(type.allowed);
      case RuleType::Kind::structure:
      case RuleType::Kind::chain: return anchor(type);
      case RuleType::Kind::enumeration: break;
    }
    if (is_shared(type)) return anchor(type);
    std::string list;
    for (std::size_t i = 0; i < type.names.size(); ++i)
      list += (i == 0 ? "" : "<br>") + code(type.names[i]) + ": " + std::string(type.meanings[i]);
    return list;
  }

  /// "; read with `method` `exact`", where a choice of the same structure decides it and more than whether there is an operation at all.
  [[nodiscard]] static std::string read_with(const RuleType& type, const RuleMember& member) {
    if (member.read_in == nullptr || member.read_in == type.present || &type == &backend_type() || type.has_only_read_members) return "";
    for (const RuleMember& choice : type.members) {
      if (&choice == &member || choice.type->kind != RuleType::Kind::enumeration) continue;
      std::vector<std::string> names;
      for (std::size_t value = 0; value < choice.type->names.size(); ++value) {
        Changed object(type);
        object.set(choice, value);
        if (is_read(member, object.get())) names.push_back(code(choice.type->names[value]));
      }
      if (!names.empty() && names.size() < choice.type->names.size()) return "; read with " + code(choice.name) + " " + joined(names);
    }
    return "";
  }

  void add_shared_values() {
    Types done;
    for (const RuleType* const structure : structures_) {
      for (const RuleMember& member : structure->members) {
        const bool is_named = member.type->kind == RuleType::Kind::enumeration && is_shared(*member.type);
        if (!is_named || std::ranges::find(done, member.type) != done.end()) continue;
        done.push_back(member.type);
        add_values(*member.type);
      }
    }
  }
  void add_values(const RuleType& type) {
    text_ += "## " + type_name(type) + "\n\n";
    head({"value", "meaning"});
    for (std::size_t i = 0; i < type.names.size(); ++i) row({code(type.names[i]), std::string(type.meanings[i])});
    text_ += "\n";
  }

  Types structures_;
  std::string text_;
};

}  // namespace

std::vector<RuleEnumeration> rule_enumerations() {
  std::vector<RuleEnumeration> found;
  Types done;
  for (const RuleType* const structure : structures()) {
    for (const RuleMember& member : structure->members) {
      if (member.type->kind != RuleType::Kind::enumeration || std::ranges::find(done, member.type) != done.end()) continue;
      done.push_back(member.type);
      found.push_back({type_name(*member.type), member.type->names, member.type->meanings});
    }
  }
  return found;
}

std::string rules_page() {
  std::string page = Page().take();
  page.pop_back();  // the empty line behind the last table
  return page;
}

}  // namespace lastbit
