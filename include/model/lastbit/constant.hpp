// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Values that a model holds: its copies share them until one of them changes them.
#pragma once

#include <memory>
#include <optional>

#include "lastbit/tensor.hpp"

namespace lastbit {

/// As a std::optional<Tensor>, but a copy costs nothing and what is read is never written: edit() first makes values of its own.
class Constant {
 public:
  Constant() = default;
  Constant(std::nullopt_t) {}
  Constant(Tensor values);

  [[nodiscard]] bool has_value() const { return values_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] const Tensor& operator*() const { return *values_; }
  [[nodiscard]] const Tensor* operator->() const { return values_.get(); }
  /// Throws std::bad_optional_access.
  [[nodiscard]] const Tensor& value() const;
  /// The values, to be changed; only where there are any.
  [[nodiscard]] Tensor& edit();
  void reset() { values_.reset(); }

  /// The same values, wherever they lie.
  friend bool operator==(const Constant& a, const Constant& b);

 private:
  std::shared_ptr<Tensor> values_;
};

}  // namespace lastbit
