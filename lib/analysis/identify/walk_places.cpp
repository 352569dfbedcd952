// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where cases stand in a layer as it is.
#include <algorithm>

#include "analysis/identify/walk_cases.hpp"
#include "engine/broadcast.hpp"
#include "engine/finisher.hpp"
#include "engine/geometry.hpp"
#include "engine/ops/window_sums.hpp"

namespace lastbit {
namespace {

/// A code's place in an input of the layer as it is.
struct CodePlace {
  std::size_t tensor = 0;  ///< among the set's
  std::int64_t element = 0;
};

/// Of every output of the layer as it is, the codes that it comes from, in the order of a case's.
class Placed {
 public:
  Placed(const LayerCases& cases, const Model& layer) : cases_(cases), layer_(layer), set_(cases.sets[0]) {
    if (set_.form == CaseForm::codes) {
      for (const std::int32_t index : set_.tensors) offsets_.push_back(broadcast_offsets(set_.layer.tensor(index).shape, output().shape));
    } else if (set_.form == CaseForm::row) {
      add_row_elements();
    }
  }

  [[nodiscard]] std::int64_t count() const { return set_.form == CaseForm::beside ? elements_beside() : output().shape.element_count(); }

  /// Where the codes of a case are put, so that its output stands in this place; nothing where it does not fit there.
  [[nodiscard]] std::vector<CodePlace> at(std::int64_t place, const CasePlace& one) const {
    const auto output = static_cast<std::size_t>(place);
    switch (set_.form) {
      case CaseForm::codes: {
        std::vector<CodePlace> places;
        for (std::size_t i = 0; i < offsets_.size(); ++i) places.push_back({i, offsets_[i][output]});
        return places;
      }
      case CaseForm::beside: {
        const auto column = static_cast<std::size_t>(one.column);
        const std::int64_t size = layer_.tensor(layer_.operations[0].inputs[column]).shape.element_count();
        return place < size ? std::vector<CodePlace>{{column, place}} : std::vector<CodePlace>{};
      }
      case CaseForm::row: {
        std::vector<CodePlace> places;
        for (const std::int64_t element : row_elements_[output]) places.push_back({0, element});
        return places;
      }
      default: return window_places(place, cases_.sets[one.set]);
    }
  }

 private:
  [[nodiscard]] const ModelTensor& output() const { return layer_.tensor(layer_.operations[0].outputs[0]); }

  [[nodiscard]] std::int64_t elements_beside() const {
    std::int64_t most = 0;
    for (const std::int32_t index : layer_.operations[0].inputs) most = std::max(most, layer_.tensor(index).shape.element_count());
    return most;
  }

  void add_row_elements() {
    const Shape& in = layer_.tensor(layer_.operations[0].inputs[0]).shape;
    const auto& axes = std::get<MeanAttributes>(layer_.operations[0].attributes).axes;
    row_elements_.resize(static_cast<std::size_t>(output().shape.element_count()));
    for (std::int64_t element = 0; element < in.element_count(); ++element) {
      std::int64_t rest = element, to = 0, stride = 1;
      for (std::size_t axis = in.rank(); axis-- > 0; rest /= in[axis]) {
        if (std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end()) continue;
        to += rest % in[axis] * stride;
        stride *= in[axis];
      }
      row_elements_[static_cast<std::size_t>(to)].push_back(element);
    }
  }

  [[nodiscard]] std::vector<CodePlace> window_places(std::int64_t place, const CaseSet& set) const {
    const ConvShape shape = pool_shape_of(layer_, layer_.operations[0]);
    const std::int64_t channel = place % shape.in_channels, pixel = place / shape.in_channels, x = pixel % shape.out_width,
                       y = pixel / shape.out_width % shape.out_height, n = pixel / shape.out_width / shape.out_height;
    const Window window = window_at(shape, y, x);
    const bool is_alike = window.count() == set.terms;
    std::vector<CodePlace> places;
    for (std::int64_t at_y = window.y0; is_alike && at_y < window.y1; ++at_y)
      for (std::int64_t at_x = window.x0; at_x < window.x1; ++at_x)
        places.push_back({0, ((n * shape.in_height + at_y) * shape.in_width + at_x) * shape.in_channels + channel});
    return places;
  }

  const LayerCases& cases_;
  const Model& layer_;
  const CaseSet& set_;
  std::vector<std::vector<std::int64_t>> offsets_;
  std::vector<std::vector<std::int64_t>> row_elements_;
};

/// What stands in the inputs of the layer as it is, and where cases have been put.
class Room {
 public:
  Room(const CaseSet& set, std::vector<Tensor>& inputs) : inputs_(inputs) {
    for (const std::int32_t index : set.tensors) {
      const ModelTensor& tensor = set.layer.tensor(index);
      const auto at = static_cast<std::size_t>(std::ranges::find(set.layer.inputs, index) - set.layer.inputs.begin());
      input_of_.push_back(tensor.constant ? nothing : at);
      std::vector<std::int64_t>& values = values_.emplace_back();
      const Tensor& held = tensor.constant ? *tensor.constant : inputs[at];
      for (std::int64_t i = 0; i < held.element_count(); ++i) values.push_back(held.integer_at(i));
      is_taken_.emplace_back(values.size(), static_cast<bool>(tensor.constant));
    }
  }

  /// False where another case, or a constant, stands in the way.
  [[nodiscard]] bool put(const std::vector<CodePlace>& places, const std::vector<std::int64_t>& codes) {
    if (places.size() != codes.size()) return false;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto [tensor, element] = places[i];
      const auto at = static_cast<std::size_t>(element);
      if (is_taken_[tensor][at] && values_[tensor][at] != codes[i]) return false;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto at = static_cast<std::size_t>(places[i].element);
      values_[places[i].tensor][at] = codes[i];
      is_taken_[places[i].tensor][at] = true;
    }
    return true;
  }

  void keep() const {
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (input_of_[i] != nothing) store(values_[i], inputs_[input_of_[i]]);
  }

 private:
  static constexpr std::size_t nothing = SIZE_MAX;
  std::vector<Tensor>& inputs_;
  std::vector<std::size_t> input_of_;  ///< of each of the set's tensors; nothing: a constant
  std::vector<std::vector<std::int64_t>> values_;
  std::vector<std::vector<bool>> is_taken_;
};

}  // namespace

std::size_t place_cases(const LayerCases& cases, const Model& layer, std::span<const CasePlace> places, std::vector<Tensor>& inputs) {
  constexpr int most_tries = 64;  // of cases in one place
  const Placed placed(cases, layer);
  Room room(cases.sets[0], inputs);
  std::vector<CasePlace> left(places.begin(), places.end());
  for (std::int64_t place = 0; place < placed.count() && !left.empty(); ++place) {
    const auto tries = std::min<std::ptrdiff_t>(std::ssize(left), most_tries);
    const auto fits = [&](const CasePlace& one) {
      return room.put(placed.at(place, one), cases.sets[one.set].case_at(one.row, one.column));
    };
    const auto found = std::find_if(left.begin(), left.begin() + tries, fits);
    if (found != left.begin() + tries) left.erase(found);
    else if (std::ssize(left) > tries) std::rotate(left.begin(), left.begin() + tries, left.end());
  }
  room.keep();
  return places.size() - left.size();
}

}  // namespace lastbit
