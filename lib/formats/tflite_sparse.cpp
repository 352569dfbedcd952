// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/tflite_sparse.hpp"

#include <algorithm>
#include <utility>

#include "lastbit/shape.hpp"

namespace lastbit::tflite_format {
namespace {

using Integers = std::vector<std::int64_t>;

struct Malformed {
  std::string reason;
};
void require(bool holds, const char* reason) {
  if (!holds) throw Malformed{reason};
}

template <class Vector>
Integers values_of(const void* table) {
  require(table != nullptr && static_cast<const Vector*>(table)->values() != nullptr, "a compressed dimension lacks its indices");
  const auto& values = *static_cast<const Vector*>(table)->values();
  return {values.begin(), values.end()};
}

Integers values_of(SparseIndexVector type, const void* table) {
  switch (type) {
    case SparseIndexVector::Int32Vector: return values_of<Int32Vector>(table);
    case SparseIndexVector::Uint16Vector: return values_of<Uint16Vector>(table);
    case SparseIndexVector::Uint8Vector: return values_of<Uint8Vector>(table);
    case SparseIndexVector::NONE: break;
  }
  throw Malformed{"a compressed dimension lacks its indices"};
}

Integers values_of(const flatbuffers::Vector<std::int32_t>* vector) {
  return vector == nullptr ? Integers{} : Integers{vector->begin(), vector->end()};
}

/// A dimension on the way through the stored values.
struct Level {
  std::size_t axis;     ///< of the tensor
  std::int64_t stride;  ///< elements from one place of the level to the next
  std::int64_t size;
  bool dense;
  Integers segments = {}, indices = {};
};

class Walk {
 public:
  Walk(std::vector<Level> levels, std::size_t count) : levels_(std::move(levels)), count_(count) {}

  Integers places() {
    visit(0, 0, 0);
    require(places_.size() == count_, "it stores another number of values than its dimensions say");
    return std::move(places_);
  }

 private:
  void visit(std::size_t level, std::int64_t before, std::int64_t offset) {
    if (level == levels_.size()) {
      require(places_.size() < count_ && static_cast<std::size_t>(before) == places_.size(), "its stored values are not in order");
      places_.push_back(offset);
      return;
    }
    const Level& here = levels_[level];
    if (here.dense) {
      for (std::int64_t i = 0; i < here.size; ++i) visit(level + 1, before * here.size + i, offset + i * here.stride);
      return;
    }
    require(before + 1 < std::ssize(here.segments), "a compressed dimension has too few segments");
    const std::int64_t first = here.segments[static_cast<std::size_t>(before)], last = here.segments[static_cast<std::size_t>(before) + 1];
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t place = here.indices[static_cast<std::size_t>(i)];
      const bool rises = i == first || place > here.indices[static_cast<std::size_t>(i) - 1];
      require(place >= 0 && place < here.size && rises, "an index lies outside its dimension or out of order");
      visit(level + 1, i, offset + place * here.stride);
    }
  }

  std::vector<Level> levels_;
  std::size_t count_;
  Integers places_;
};

/// The elements between neighbours, and how many there are, of the tensor's dimensions in blocks and then of the blocks' own.
struct Dimensions {
  Integers strides, sizes;
};

Dimensions dimensions_of(const SparsityParameters& sparsity, const Shape& shape, const Integers& block_map) {
  Dimensions all{Integers(shape.rank(), 1), {shape.sizes().begin(), shape.sizes().end()}};
  for (std::size_t axis = shape.rank(); axis-- > 1;) all.strides[axis - 1] = all.strides[axis] * shape[axis];
  for (std::size_t block = 0; block < block_map.size(); ++block) {
    require(block_map[block] >= 0 && block_map[block] < std::ssize(all.sizes), "a block of a dimension that the tensor lacks");
    const auto axis = static_cast<std::size_t>(block_map[block]);
    const auto* metadata = sparsity.dim_metadata()->Get(static_cast<flatbuffers::uoffset_t>(shape.rank() + block));
    const std::int64_t size = metadata->dense_size();
    require(axis < shape.rank() && size >= 1 && all.sizes[axis] % size == 0, "blocks do not divide their dimension");
    all.sizes[axis] /= size;
    all.strides.push_back(all.strides[axis]);
    all.strides[axis] *= size;
    all.sizes.push_back(size);
  }
  return all;
}

std::vector<Level> levels_of(const SparsityParameters& sparsity, const Shape& shape) {
  const Integers order = values_of(sparsity.traversal_order()), block_map = values_of(sparsity.block_map());
  const std::size_t count = shape.rank() + block_map.size();
  require(block_map.size() <= shape.rank() && order.size() == count, "its traversal order does not fit its dimensions");
  require(sparsity.dim_metadata() != nullptr && sparsity.dim_metadata()->size() == count, "it does not describe every dimension");
  Integers sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < count; ++i)
    require(sorted[i] == static_cast<std::int64_t>(i), "its traversal order is no order of its dimensions");
  const Dimensions dimensions = dimensions_of(sparsity, shape, block_map);
  std::vector<Level> levels;
  for (std::size_t i = 0; i < count; ++i) {
    const auto dimension = static_cast<std::size_t>(order[i]);
    const auto* metadata = sparsity.dim_metadata()->Get(static_cast<flatbuffers::uoffset_t>(i));
    Level level{dimension, dimensions.strides[dimension], dimensions.sizes[dimension], metadata->format() == DimensionType::DENSE};
    if (level.dense) {
      require(metadata->dense_size() == level.size, "a dense dimension has another size than the tensor");
    } else {
      level.segments = values_of(metadata->array_segments_type(), metadata->array_segments());
      level.indices = values_of(metadata->array_indices_type(), metadata->array_indices());
      const bool rises = !level.segments.empty() && std::is_sorted(level.segments.begin(), level.segments.end());
      require(rises && level.segments.front() == 0 && level.segments.back() == std::ssize(level.indices),
              "its segments do not follow each other");
    }
    levels.push_back(std::move(level));
  }
  return levels;
}

}  // namespace

std::variant<std::vector<std::int64_t>, std::string> places_of_stored_values(const SparsityParameters& sparsity, const Shape& shape,
                                                                             std::size_t count) {
  try {
    return Walk(levels_of(sparsity, shape), count).places();
  } catch (const Malformed& problem) {
    return problem.reason;
  }
}

}  // namespace lastbit::tflite_format
