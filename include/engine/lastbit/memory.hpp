// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a run needs of the machine's memory, known before anything is allocated for it; and a limit to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "lastbit/device.hpp"
#include "lastbit/emulator.hpp"

namespace lastbit {

/// An upper bound, from shapes, types and options alone. In bytes.
struct MemoryNeed {
  std::size_t bytes = 0;  ///< of the model's constants, what is prepared from them, inputs, kept tensors, and the largest operation's share
  std::size_t operation = 0;  ///< index of the operation at which most is in use
};

/// Of `samples` samples on `backend`: the tensors that live at the same time, and what each operation works in (rows of input that a kernel
/// reads, sums of a tile, weights in the kernels' order), on all threads. What the process holds besides is not in it.
[[nodiscard]] MemoryNeed memory_need(const Model& model, const Device& device, const RunOptions& options = {}, std::int64_t samples = 1);

/// The most bytes that a run in this process may need; 0, as it begins: no limit. Emulators check it before they prepare, and before they run, and throw
/// MemoryRefused.
void set_memory_budget(std::size_t bytes) noexcept;
[[nodiscard]] std::size_t memory_budget() noexcept;

/// A run that the budget does not allow. check() throws it too: it is nothing that a backend cannot do.
class MemoryRefused : public Error {
 public:
  using Error::Error;
};

/// Throws MemoryRefused naming the layer that needs most where runs of the model that are held at the same time need more than the budget.
void require_memory(const Model& model, std::span<const MemoryNeed> needs);

/// The same for runs of the inputs, or of so many samples, on each of the backends, with every tensor kept.
void require_memory(const Model& model, std::span<const Backend* const> backends, std::int64_t samples, int threads = 1);
void require_memory(const Model& model, std::span<const Backend* const> backends, std::span<const Tensor> inputs, int threads = 1);

/// "1.5 GiB".
[[nodiscard]] std::string bytes_text(std::size_t bytes);

}  // namespace lastbit
