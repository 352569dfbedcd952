// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whether the tensors of a dump are those that the model names, before anything is concluded from them.
//
// Every layer whose inputs and output the dump holds is computed in float from the dump's own inputs. Whatever the rules of a device are, its
// output is near that, or it is far and nothing brings it near. An output that is far as it is read, and near once its axes are exchanged or its
// sign bit is inverted, was misread. Where an offset is taken away, or another tensor or sample stands in its place, that is a fact only if a
// built-in backend then computes every value. Everything else is a suspicion: values that stand elsewhere, backwards, in another scale, or are
// all one. Nothing is said of what a built-in backend, or one with one rule changed, computes as it is. A layer behind such a tensor is judged
// by what it should have read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lastbit/model.hpp"
#include "lastbit/trace.hpp"

namespace lastbit {

struct CompareReport;

/// suspected: it may as well be the device's rules, or what is wrong is not known exactly.
enum class Certainty : std::uint8_t { certain, suspected };

/// A tensor of a dump that is not what the model calls by its name, and how that shows.
struct Misread {
  std::string tensor;
  std::string cause;  ///< "its values stand in the order NCHW, the model's in NHWC"
  Certainty certainty = Certainty::certain;
};

/// In the order of computation, one per tensor; empty: nothing speaks against the dump.
[[nodiscard]] std::vector<Misread> find_misread(const Model& model, const NamedTrace& dump);

/// Of them, those that the shapes of their files tell: in another order of axes, or cut.
[[nodiscard]] std::vector<Misread> find_misshapen(const Model& model, const NamedTrace& dump);

[[nodiscard]] std::string text_of(const Misread& misread);  ///< "tensor 'y': its values stand in the order NCHW, the model's in NHWC"

/// Facts and suspicions, each where the report has them.
void add_misread(CompareReport& report, const std::vector<Misread>& list);

/// Throws Error(bad_input) naming the first tensor that was certainly misread, its cause, and how many others there are.
void require_well_read(const Model& model, const NamedTrace& dump);
/// The same of what has been found.
void require_well_read(std::vector<Misread> list);

}  // namespace lastbit
