// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whose the files of a dump are: by their names, as the tools of vendors make them, by tables, and by their values.
#include "support/dumped_run.hpp"
#include "support/zip_file.hpp"

using namespace lastbit;
using namespace lastbit::test::dumped;

TEST_CASE("msaccucmp and MindSpore: names of operations, formats and types in the name") {
  const Run run;
  const auto put = [&](const Folder& folder, const std::string& after_y, const std::string& after_z, const auto& write) {
    write(folder.path() / ("Conv2D.Conv_0.44.6.1706596912161941.output.0" + after_y), run.tensor("net/y"), 19);
    write(folder.path() / ("Conv2D.Conv_1.45.1706596912161942.output.0" + after_z), run.tensor("net/z"), 20);
    write(folder.path() / ("Conv2D.Conv_1.45.1706596912161942.input.0" + after_y), run.tensor("net/y"), 19);
    write_npy(folder.path() / "x.npy", run.tensor("x"));
  };
  const auto npy = [](const fs::path& file, const Tensor& tensor, std::int64_t c) { write_npy(file, as_nc1hwc0(tensor, c, 32)); };
  const auto flat = [](const fs::path& file, const Tensor& tensor, std::int64_t c) { write_bytes(file, as_nc1hwc0(tensor, c, 32)); };
  const auto first = [](const fs::path& file, const Tensor& tensor, std::int64_t c) { write_npy(file, as_nchw(tensor, c)); };
  const Folder whole, formatted, binary, converted;
  put(whole, ".npy", ".npy", npy);
  check_holds(run, read_dump(whole.path(), run.model));
  put(formatted, ".NC1HWC0.int8.npy", ".NC1HWC0.npy", npy);
  check_holds(run, read_dump(formatted.path(), run.model));
  put(binary, ".1120.int8.NC1HWC0.bin", ".1120.int8.NC1HWC0.bin", flat);
  check_holds(run, read_dump(binary.path(), run.model));
  put(converted, ".1x19x5x7.npy", ".1x20x5x7.npy", first);
  check_holds(run, read_dump(converted.path(), run.model));
}

TEST_CASE("msaccucmp: names that are too long stand in mapping.csv") {
  const Run run;
  const Folder folder;
  std::ofstream(folder.path() / "mapping.csv") << "1234567,Conv2D.Conv_0.44.6.1706596912161941.output.0.NC1HWC0\r\n"
                                               << "89.npy,Conv2D.Conv_1.45.1706596912161942.output.0.npy\nno pair\n";
  write_npy(folder.path() / "1234567.npy", as_nc1hwc0(run.tensor("net/y"), 19, 32));
  write_npy(folder.path() / "89.npy", run.tensor("net/z"));
  write_npy(folder.path() / "x.npy", run.tensor("x"));
  check_holds(run, read_dump(folder.path(), run.model));
}

TEST_CASE("the arrays of a .npz count as files, in a folder and instead of one") {
  const Run run;
  const auto entry = [&](const std::string& name, const Tensor& tensor) { return test::packed(name + ".npy", test::npy_text(tensor)); };
  const Folder folder;
  const std::string two =
      test::zip_text({entry("net/y", as_nchw(run.tensor("net/y"), 19)), entry("Conv2D.Conv_1.45.17.output.0", run.tensor("net/z"))});
  test::write_bytes(folder.path() / "part.npz", two);
  write_npy(folder.path() / "x.npy", run.tensor("x"));
  const NamedTrace dump = read_dump(folder.path(), run.model);
  check_holds(run, dump);
  CHECK(says(dump, "1 tensor in the order nchw: 'net/y'"));
  check_holds(run, read_dump(folder.path() / "part.npz", run.model), 2);
  test::write_bytes(folder.path() / "part.npz", test::zip_text({entry("first", run.tensor("net/z")), entry("net/y", run.tensor("net/y"))}));
  check_holds(run, read_dump(folder.path(), run.model, {.names = {{"first", "net/z"}}}));
  REQUIRE(read_dump(folder.path(), run.model).by_value.size() == 1);
  CHECK(read_dump(folder.path(), run.model).by_value[0].file == "first.npy");
  test::write_bytes(folder.path() / "part.npz", test::zip_text({entry("net/y", run.tensor("x"))}));
  CHECK_THAT(refusal(folder.path(), run.model), test::contains_text("part.npz: net/y: shape 1x5x7x3; tensor 'net/y' is 1x5x7x19"));
  test::write_bytes(folder.path() / "part.npz", test::zip_text({entry("x", run.tensor("x"))}));
  CHECK_THAT(refusal(folder.path(), run.model), test::contains_text("x.npy: fits tensor 'x' as x does"));
  test::write_bytes(folder.path() / "part.npz", two.substr(0, two.size() - 1));
  CHECK_THAT(refusal(folder.path(), run.model), test::contains_text("part.npz: not a zip file"));
}

TEST_CASE("RKNN: the board's .npy with shapes in their names, and the toolkit's snapshot with its table") {
  const Run run;
  const Folder board, snapshot;
  write_npy(board.path() / "000_InputOperator_x_shape_1_3_5_7_int8.npy", as_nchw(run.tensor("x"), 3));
  write_npy(board.path() / "001_ConvClip_net_y_shape_1_19_5_7_int8.npy", as_nchw(run.tensor("net/y"), 19));
  write_npy(board.path() / "001_ConvClip_x_shape_1_3_5_7_int8.npy", as_nchw(run.tensor("x"), 3));  // what the layer read
  write_npy(board.path() / "002_Conv_net_z_shape_1_20_5_7_int8.npy", as_nchw(run.tensor("net/z"), 20));
  check_holds(run, read_dump(board.path(), run.model));

  fs::create_directory(snapshot.path() / "simulator");
  std::ofstream(snapshot.path() / "map_name_to_file.txt")
      << "layer_name   file_name\n-----------\nx   x.txt   \nnet/y-rs   a1.txt\nnet/z_mm  b2.txt\n";
  const std::array<std::string, 3> files{"x.txt", "a1.txt", "b2.txt"};
  for (std::size_t i = 0; i < names.size(); ++i)
    write_lines(snapshot.path() / "simulator" / files[i], run.tensor(names[i]), [](std::int8_t code) { return std::to_string(code); });
  check_holds(run, read_dump(snapshot.path() / "simulator", run.model));
}

TEST_CASE("Horizon: hrt_model_exec's outputs and layers, hb_verifier's layers") {
  const Run run;
  const Folder outputs, layers, verifier;
  write_bytes(outputs.path() / "model_infer_output_0_net_z.bin", run.tensor("net/z"));
  check_holds(run, read_dump(outputs.path(), run.model), 1);
  fs::rename(outputs.path() / "model_infer_output_0_net_z.bin", outputs.path() / "model_infer_output_0.bin");
  check_holds(run, read_dump(outputs.path(), run.model), 1);
  write_bytes(layers.path() / "layer-0-bpu-two-layers_subgraph_0-input-0-x.bin", run.tensor("x"));
  write_bytes(layers.path() / "layer-0-bpu-two-layers_subgraph_0-output-0-net_y.bin", as_nhwc_padded(run.tensor("net/y"), 19, 4));
  check_holds(run, read_dump(layers.path(), run.model), 1);
  check_holds(run, read_dump(layers.path(), run.model, {.layout = "nhwc4"}), 1);
  write_lines(verifier.path() / "Conv_0-to-net_y.txt", run.tensor("net/y"), [](std::int8_t code) { return std::to_string(code); });
  check_holds(run, read_dump(verifier.path(), run.model), 1);
}

TEST_CASE("TIDL: traces by the numbers that layer_info.txt explains, codes before real values") {
  const Run run;
  for (const std::string batch : {"", "00001_", "0001_0001_00001_"}) {
    INFO("fields: " << batch);
    const Folder folder;
    std::ofstream(folder.path() / "subgraph_0_tidl_net.bin.layer_info.txt") << "0 0 x \n1 4 net/y \n2 7 net/z \n";
    const auto put = [&](const char* data, const std::string& name, const char* channels) {
      const std::string stem = std::string("tidl_trace_subgraph_0_") + data + "_" + batch + channels + "_00007x00005";
      const Tensor values = as_nchw(run.tensor(name), channels_of(name));
      write_bytes(folder.path() / (stem + ".y"), values);
      std::vector<float> real(values.values<std::int8_t>().begin(), values.values<std::int8_t>().end());
      write_bytes(folder.path() / (stem + "_float.bin"), Tensor::from<float>(values.shape(), real));
    };
    put("0000", "x", "00003");
    put("0004", "net/y", "00019");
    put("0007", "net/z", "00020");
    write_bytes(folder.path() / "tidl_trace_subgraph_0_0004_weights_float.bin", run.tensor("x"));
    check_holds(run, read_dump(folder.path(), run.model));
  }
}

TEST_CASE("ovxlib: no names, but shapes that only one tensor has") {
  const Run run;
  const Folder folder;
  const auto put = [&](const std::string& file, const std::string& name) {
    write_lines(folder.path() / file, as_nchw(run.tensor(name), channels_of(name)), [](std::int8_t code) { return std::to_string(code); });
  };
  put("CONV2D_uid_1_t_0_s_7_5_19_1.txt", "net/y");
  put("net_CONV2D_uid_2_t_0_s_7_5_20_1.txt", "net/z");
  check_holds(run, read_dump(folder.path(), run.model), 2);
  put("DATACONVERT_uid_3_t_0_s_9_9_1_1.txt", "net/z");
  CHECK(read_dump(folder.path(), run.model).unfit == std::vector<std::string>{"DATACONVERT_uid_3_t_0_s_9_9_1_1.txt"});
}

TEST_CASE("TFLite's Python: numbers and names, with what scripts put around them") {
  const Run run;
  const Folder folder;
  const std::string y = std::to_string(run.trace.find("net/y")->index);
  write_npy(folder.path() / "tensor_000_x_shape-[1 5 7 3].npy", run.tensor("x"));
  write_npy(folder.path() / (y + "_net_y.npy"), run.tensor("net/y"));
  write_npy(folder.path() / "output_net_z_0.npy", run.tensor("net/z"));
  write_npy(folder.path() / "tensor_000_net_z_old.npy", run.tensor("net/z"));  // a number and a name of two tensors
  const NamedTrace dump = read_dump(folder.path(), run.model);
  CHECK(dump.tensors.size() == 3);
  CHECK(dump.unfit == std::vector<std::string>{"tensor_000_net_z_old.npy"});
}

/// Like two_layers(), with names of a hundred characters and more.
Run with_long_names() {
  Run run;
  const std::string stem = "model/batch_normalization_2/FusedBatchNormV3;model/conv2d_2/";
  for (ModelTensor& tensor : run.model.tensors) {
    if (tensor.name == "net/y") tensor.name = stem + "BiasAdd/ReadVariableOp/resource;model/conv2d_2/BiasAdd";
    if (tensor.name == "net/z") tensor.name = stem + "Conv2D;model/conv2d_2/BiasAdd/ReadVariableOp/resource";
  }
  for (NamedTensor& tensor : run.trace.tensors) tensor.name = run.model.tensor(tensor.index).name;
  for (Operation& operation : run.model.operations) operation.name = run.model.tensor(operation.outputs[0]).name;
  return run;
}

TEST_CASE("names that were cut: with the index, and alone where thirty characters or more are no other's") {
  const Run run = with_long_names();
  const auto as_file = [](std::string name) {
    std::ranges::replace(name, ';', '_');
    return file_name(name);
  };
  const std::string y = as_file(run.trace.tensors[1].name), z = as_file(run.trace.tensors[2].name);
  const std::size_t unique = z.find("Conv2D") + 4;
  const auto index = [&](std::size_t at) { return std::to_string(run.trace.tensors[at].index); };
  const auto reads = [&](const std::string& of_y, const std::string& of_z) {
    INFO(of_y << " " << of_z);
    const Folder folder;
    write_npy(folder.path() / (of_y + ".npy"), run.trace.tensors[1].values);
    write_npy(folder.path() / (of_z + ".npy"), run.trace.tensors[2].values);
    check_holds(run, read_dump(folder.path(), run.model), 2);
  };
  reads("tensor_00" + index(1) + "_" + y.substr(0, 40), index(2) + "_" + z.substr(0, 40));  // alike but for the index
  reads(y.substr(0, unique), z.substr(0, unique));
  reads("017_" + y.substr(0, unique), "output_" + z.substr(0, unique));
  reads("Conv2D." + y.substr(0, unique) + ".44.6.17.output.0", "Conv2D." + z.substr(0, unique) + ".44.6.17.output.0");
  const Folder folder;
  write_npy(folder.path() / (y.substr(0, 40) + ".npy"), run.trace.tensors[1].values);  // two names begin so
  write_npy(folder.path() / ("tensor_00" + index(1) + "_" + z.substr(0, unique) + "x.npy"),
            run.trace.tensors[2].values);  // an index and a name
  write_npy(folder.path() / "0_x.npy", run.trace.tensors[0].values);
  const NamedTrace dump = read_dump(folder.path(), run.model, {.layout = {}, .names = {}, .inputs = {}});
  CHECK(dump.by_value.size() == 2);
}

TEST_CASE("files of other names are those tensors that their values are most like, which is said") {
  const Run run;
  const Folder folder;
  write_npy(folder.path() / "a.npy", run.tensor("net/y"));
  write_bytes(folder.path() / "b.bin", as_nchw(run.tensor("net/z"), 20));
  write_npy(folder.path() / "c.npy", Tensor(ElementType::int8, {1, 5, 7, 20}));
  CHECK(refusal(folder.path(), run.model).find("or --input what the board was given") != std::string::npos);
  const std::vector<Tensor> inputs{run.tensor("x")};
  const NamedTrace dump = read_dump(folder.path(), run.model, {.layout = {}, .names = {}, .inputs = inputs});
  CHECK(dump.find("net/y")->values == run.tensor("net/y"));
  CHECK(dump.find("net/z")->values == run.tensor("net/z"));
  REQUIRE(dump.by_value.size() == 2);
  for (const MatchedByValue& each : dump.by_value) {
    CHECK(each.tensor == (each.file == "a.npy" ? "net/y" : "net/z"));
    CHECK(each.cosine > 0.9);
  }
  CHECK(dump.unfit == std::vector<std::string>{"c.npy"});
  CHECK(says(dump, "2 files matched by the values alone: '"));
  CHECK(says(dump, "1 tensor in the order nchw: 'net/z'"));
  write_npy(folder.path() / "input.npy", run.tensor("x"));
  CHECK(read_dump(folder.path(), run.model).by_value.size() == 2);
}

TEST_CASE("the files of a lastbit trace are whose trace.json says, whatever their numbers are in the model") {
  const Run run;
  const Folder folder;
  NamedTrace shifted = run.trace;
  const std::int32_t before = shifted.tensors[1].index;
  std::swap(shifted.tensors[1].index, shifted.tensors[2].index);
  write_trace(folder.path(), shifted);
  CHECK(read_npy(folder.path() / ("tensor_00" + std::to_string(before) + ".npy")) == run.tensor("net/z"));
  check_holds(run, read_dump(folder.path(), run.model));
  std::ofstream(folder.path() / "trace.json") << "{\"of\": \"another program\"}";
  CHECK(refusal(folder.path(), run.model).find("tensor 'net/z' is 1x5x7x20: cut, 19 of 20") != std::string::npos);
}

TEST_CASE("input.npy is the input of a network that has one") {
  const Run run;
  const Folder folder;
  write_npy(folder.path() / "input.npy", run.tensor("x"));
  check_holds(run, read_dump(folder.path(), run.model), 1);
  write_npy(folder.path() / "x.npy", run.tensor("x"));
  CHECK(read_dump(folder.path(), run.model).unfit == std::vector<std::string>{"input.npy"});
}

TEST_CASE("a table says whose files are, before their names do") {
  const Run run;
  const Folder folder, tables;
  write_npy(folder.path() / "a.npy", run.tensor("net/y"));
  write_npy(folder.path() / "net_z.npy", run.tensor("net/z"));
  const auto table = [&](const std::string& text) {
    std::ofstream(tables.path() / "names.csv") << text;
    return read_dump_names(tables.path() / "names.csv");
  };
  CHECK(read_dump(folder.path(), run.model).unfit == std::vector<std::string>{"a.npy"});
  check_holds(run, read_dump(folder.path(), run.model, {.names = table("file,tensor\r\na.npy,net/y\r\n")}), 2);
  check_holds(run, read_dump(folder.path(), run.model, {.names = table("# of the board\n\na,Conv_0\n")}), 2);
  CHECK(refusal(folder.path(), run.model, {.names = table("b.npy,net/y\n")}).find("has no file 'b.npy'") != std::string::npos);
  const std::string unknown = refusal(folder.path(), run.model, {.names = table("a,net/yy\n")});
  CHECK(unknown.find("no tensor 'net/yy'") != std::string::npos);
  CHECK(unknown.find("net/y") != std::string::npos);
  for (const char* wrong : {"a.npy\n", ",x\n", "a,\n", "a,x\na,net/y\n"}) CHECK_THROWS_AS(table(wrong), Error);
  CHECK_THROWS_AS(read_dump_names(tables.path() / "absent.csv"), Error);
}

TEST_CASE("files that hold no tensor are refused with what is wrong and where") {
  const Run run;
  const Folder folder;
  const auto refused = [&](const std::string& file, const std::string& content) {
    const fs::path path = folder.path() / file;
    std::ofstream(path, std::ios::binary) << content;
    const std::string message = refusal(folder.path(), run.model);
    fs::remove(path);
    CHECK(std::ranges::count(message, '\n') == 0);
    return message;
  };
  CHECK(refused("net_y.txt", "1\n2 three\n").find("'three', value 2, is no number") != std::string::npos);
  CHECK(refused("net_y.txt", "1 \x1b[2J\x13").find("'?[2J?', value 1, is no number") != std::string::npos);
  CHECK(refused("net_y.txt", " \n").find("holds no number") != std::string::npos);
  CHECK(refused("net_y.txt", "1 2 3\n").find("tensor 'net/y' is 1x5x7x19") != std::string::npos);
  CHECK(refused("net_y.bin", "").find("0 bytes") != std::string::npos);
  CHECK(refused("net_y.bin", std::string(100, 'x')).find("tensor 'net/y' is 1x5x7x19") != std::string::npos);
  CHECK(refused("net_y.npy", "no array").find("net_y.npy") != std::string::npos);
  CHECK(refused("unknown.bin", "12").find("no file of values is named after a tensor") != std::string::npos);
  CHECK(refused("1_A_net_y_shape_99999999999999_1_int8.npy", "x").find("npy") != std::string::npos);
  CHECK(refused("Conv2D.Conv_0.1.2.3.output.99999999999999999999.npy", "x").find("no file of values") != std::string::npos);
}
