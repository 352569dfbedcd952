// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a device computed, as its tools write it: a folder of files, one per tensor, read against a model.
//
// Files: .npy; .npz, whose arrays count as files, and which may stand for the folder; .bin, .raw, .dat and TIDL's .y, values without a header;
// .txt, numbers. What is found out about a file, and is not as the model has it (its layout, its type, whose name it bears), is said in
// NamedTrace::readings. docs/dumps.md has the rules and their sources.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/model.hpp"
#include "lastbit/trace.hpp"

namespace lastbit {

/// How the values of a tensor [N,H,W,C] stand in a file: nchw; nhwc, the model's own; or with channels in blocks that are filled up: nc1hwc0
/// (blocks of as many channels as the file's own axes say, else of 32 or 16), nc4hw4; nhwc4, nhwc8, nhwc16, nhwc32, nhwc64: each pixel's channels filled up to a multiple.
[[nodiscard]] const std::vector<std::string_view>& dump_layouts();

/// How the files of a dump are to be read where they do not say it.
struct DumpOptions {
  std::string layout{};  ///< of every file with several axes; empty: what its name, shape or size tells, else the model's
  std::map<std::string, std::string> names{};  ///< of files, with or without their ending: the tensor, as in a table of --names
  std::span<const Tensor> inputs{};            ///< what the board was given; empty: what the dump has of it
};

/// Lines "file,tensor". Throws Error(unreadable_file | malformed_file) naming the line.
[[nodiscard]] std::map<std::string, std::string> read_dump_names(const std::filesystem::path& csv);

/// A file is a tensor's by options.names; by the trace.json of a lastbit trace beside it; by its name ("conv1.npy"; case and every character other
/// than letters and digits do not matter) or that of the operation; by its index in the model ("tensor_012.npy", "012.npy"); as "input.npy", of the
/// only input; as the tools of vendors put either into file names; by the first 30 characters of a name or more, which no other has; and where
/// nothing fits, by values: of the tensors without a file the one whose values on the float path have the highest cosine to it, above 0.9.
/// Values are of the tensor's type: integers that hold its codes, or real values that are each within the precision of their text or type of a code's.
/// Others are real values, as float32. Throws Error where no file fits, where two files fit one tensor, and for a file that fits a tensor but not its
/// type or size.
[[nodiscard]] NamedTrace read_dump(const std::filesystem::path& folder, const Model& model, const DumpOptions& options = {});

/// A trace with codes where it holds real values of codes of integer tensors, each to a few ulps of float32, and a reading more that says so.
[[nodiscard]] NamedTrace with_codes(const Model& model, NamedTrace dump);

}  // namespace lastbit
