// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What everything else is asked about: a network, a device, a board's tensors; and the answer.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/error.hpp"
#include "lastbit/interruption.hpp"
#include "lastbit/model.hpp"
#include "lastbit/trace.hpp"

namespace lastbit::python {

namespace py = pybind11;

using ModelPointer = std::shared_ptr<Model>;

/// A device, and what a board computes beside it, which is resolved for each network.
struct Device {
  SpecSheet sheet;
  std::vector<SpecSheet> fallbacks{};
  std::vector<std::pair<std::vector<std::string>, SpecSheet>> kept{};  ///< layers by name, number or end of a name
  bool allow_float = false;                                            ///< a network of whose sums it computes none is no mistake
  /// As the command line's --fallback and --keep do. Throws Error naming a layer that there is not, and for a network that is refused.
  [[nodiscard]] SpecSheet on(const Model& model) const;
  /// The fallbacks not resolved yet.
  [[nodiscard]] SpecSheet worded_on(const Model& model) const;
  /// The same for any network.
  [[nodiscard]] SpecSheet placed_on(const Model& model) const;
  /// Why a network is refused of whose sums it computes none; nothing where it is not.
  [[nodiscard]] std::optional<Diagnostic> refusal_of(const Model& model) const;
  /// Throws it as an Error.
  void refuse_floats(const Model& model) const;
};

/// What the command line prints, made when it is asked for. `csv` may be empty.
struct Report {
  std::function<std::string()> json;
  std::function<std::string(bool details)> text;
  std::function<std::string()> csv{};
  bool passes = false;  ///< what exit status 0 says
  std::shared_ptr<const CompareReport> comparison{};
};

/// "elsewhere" among the members of a report, and its lines behind the text, where a side leaves layers to another backend.
[[nodiscard]] Report with_placements(Report report, const Model& model, const std::vector<SpecSheet>& sheets);

/// Calls a Python function with what is done, and raises what a signal handler raised (KeyboardInterrupt). For a thread without the GIL; refers to
/// `callback`, which lives longer.
class Watch {
 public:
  explicit Watch(const py::object& callback) : callback_(&callback) {}
  void operator()(std::size_t done, std::size_t all) const { tell(done, all); }
  void tell(const auto&... words) const {
    const py::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!callback_->is_none()) (*callback_)(words...);
  }

 private:
  const py::object* callback_;
};

/// Raises what a signal handler raised (KeyboardInterrupt), looked for ten times a second. For a thread without the GIL.
class SignalCheck {
 public:
  void operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    const py::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }

 private:
  std::chrono::steady_clock::time_point next_{};
};

/// Calls `work` without the GIL; Ctrl-C ends it.
template <class Work>
auto released(Work work) {
  const py::gil_scoped_release release;
  const Interruptible interruptible{SignalCheck()};
  return work();
}

void add_errors(py::module_& module);
void add_models(py::module_& module);
void add_backends(py::module_& module);
void add_runs(py::module_& module);
void add_layers(py::module_& module);
void add_comparisons(py::module_& module);
void add_proofs(py::module_& module);
void add_searches(py::module_& module);

}  // namespace lastbit::python
