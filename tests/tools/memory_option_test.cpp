// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "memory_option.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "lastbit/compare.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/memory.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/sweep.hpp"
#include "support/budget.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"
#include "support/shell.hpp"

using namespace lastbit;
using test::Shell;

TEST_CASE("numbers of bytes") {
  CHECK(bytes_text(1023) == "1023 bytes");
  CHECK(bytes_text(1024) == "1.0 KiB");
  CHECK(bytes_text(std::size_t{1} << 20) == "1.0 MiB");
  CHECK(tool::bytes_from("4096") == 4096);
  CHECK(tool::bytes_from("512M") == std::size_t{512} << 20);
  CHECK(tool::bytes_from("1.5GiB") == std::size_t{3} << 29);
  CHECK(tool::bytes_from("2KB") == 2048);
  CHECK(tool::bytes_from("3T") == std::size_t{3} << 40);
  for (const char* text : {"", "0", "-1", "M", "5X", "1e3", "2 G", "0.5", "12MM", "nan", "inf", "99999999999T", "0x10"}) {
    INFO(text);
    const auto refusal = test::refusal_of([&] { (void)tool::bytes_from(text); });
    REQUIRE(refusal);
    CHECK(refusal->says("--max-memory "));
  }
}

TEST_CASE("free memory is the machine's, or what the tightest control group around the process leaves") {
  const test::Scratch root;
  const auto write = [&](const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories((root.path() / file).parent_path());
    std::ofstream(root.path() / file) << text;
  };
  CHECK(!tool::free_memory(root.path()));
  write("proc/meminfo", "MemTotal: 8000 kB\nMemFree: 10 kB\nMemAvailable: 4000 kB\n");
  CHECK(tool::free_memory(root.path()) == std::size_t{4000} * 1024);
  write("proc/self/cgroup", "4:memory:/box\n0::/user/build\n");
  CHECK(tool::free_memory(root.path()) == std::size_t{4000} * 1024);  // groups without limits
  write("sys/fs/cgroup/user/build/memory.max", "max\n");
  write("sys/fs/cgroup/user/build/memory.current", "1000\n");
  CHECK(tool::free_memory(root.path()) == std::size_t{4000} * 1024);
  write("sys/fs/cgroup/user/memory.max", "3000000\n");
  write("sys/fs/cgroup/user/memory.current", "1000000\n");
  CHECK(tool::free_memory(root.path()) == 2000000);
  write("sys/fs/cgroup/user/memory.stat", "anon 5\ninactive_file 400000\n");
  CHECK(tool::free_memory(root.path()) == 2400000);
  write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "70000\n");  // the first version's memory controller
  write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "80000\n");
  CHECK(tool::free_memory(root.path()) == 0);
}

TEST_CASE("every command that runs a model refuses one that needs more memory than it may, and names the layer or the inputs") {
  const Shell shell;
  const std::string digits = (test::source_directory() / "examples/digits").string();
  const std::string model = digits + "/model.json", input = " --input " + digits + "/test_images.npy",
                    data = " " + digits + "/test_images.npy";
  REQUIRE(shell.status("run " + model + input + " --backend tflite_double --trace trace --trace-samples 0 --max-memory 1G") == 0);
  for (const std::string& command :
       {"run " + model + input + " --backend tflite_double", "compare " + model + input + " --a tflite_double --b vipnano_v8",
        "compare " + model + " --dump trace --b vipnano_v8" + input, "replay " + model + " --dump trace --backend vipnano_v8" + input,
        "explain " + model + input + " --a tflite_double --b vipnano_v8", "explain " + model + " --a vipnano_v8 --dump trace" + input,
        "prove " + model + input + " --input-range data --backend vipnano_v8",
        "migrate " + model + " " + model + " --backend vipnano_v8" + input, "shrink " + model + input + " --a tflite_double --b vipnano_v8",
        "gen-golden " + model + input + " --backend vipnano_v8 --output stored",
        "advise " + model + " --a float --b vipnano_v8 --input" + data, "quantize " + model + " --backend vipnano_v8 --input" + data,
        "sweep " + model + " --backend tflite_double,vipnano_v8 --input" + data, "identify " + model + " --dump trace",
        "verify " + (test::source_directory() / "tests/vectors/tflite").string()}) {
    INFO(command);
    CHECK(shell.status(command + " --max-memory 3000") == 2);
    const std::string said = shell.text("err");
    const bool is_named =
        said.find("layer ") != std::string::npos || said.find("--input: the inputs alone need 22.5 KiB") != std::string::npos;
    CHECK(is_named);
    CHECK_THAT(said, test::contains_text("2.9 KiB are allowed"));
    CHECK(std::count(said.begin(), said.end(), '\n') == 1);
  }
}

TEST_CASE("what two runs need together is refused where each of them alone is not") {
  const Model model = read_model(test::source_directory() / "examples/digits/model.json");
  const Tensor images = read_npy(test::source_directory() / "examples/digits/test_images.npy");
  const SpecSheet a = find_backend("tflite_double"), b = find_backend("vipnano_v8");
  const std::size_t alone = memory_need(model, a.backend, {.keep_all = true}, images.shape()[0]).bytes;
  const test::Budget budget(alone * 3 / 2);
  CHECK_NOTHROW(run(model, a.backend, std::vector{images}, {.keep_all = true}));
  CHECK_NOTHROW(run(model, b.backend, std::vector{images}, {.keep_all = true}));
  CHECK_THROWS_AS(compare_backends(model, a, b, std::vector{images}), MemoryRefused);
  CHECK_THROWS_AS(explain_network(model, std::vector{images}, a, b), MemoryRefused);
  CHECK_THROWS_AS(Sweeper(model, {a, b}, {.batch = images.shape()[0]}), MemoryRefused);
}
