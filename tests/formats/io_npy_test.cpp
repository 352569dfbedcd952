// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <numeric>

#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

/// A .npy of version 1.0 from the text of its header.
std::string npy(const std::string& header, const std::string& values) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  return text + header + values;
}

std::string dictionary(const std::string& type, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

Tensor parsed(const std::string& text) { return parse_npy(bytes_of(text), "bad.npy"); }

std::filesystem::path scratch(const std::string& name) { return std::filesystem::temp_directory_path() / ("lastbit_io_npy_test_" + name); }

}  // namespace

TEMPLATE_TEST_CASE("a tensor written is the tensor read", "", std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                   std::int64_t, float, double, bool) {
  const auto path = scratch(std::string(name_of(element_type_of<TestType>)) + ".npy");
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 1, 5}, Shape{2, 2, 2, 2, 2, 2, 2, 2}}) {
    Tensor tensor(element_type_of<TestType>, shape);
    for (std::size_t i = 0; i < tensor.values<TestType>().size(); ++i)
      tensor.values<TestType>()[i] = static_cast<TestType>(i % 2 == 0 ? 1 : 0);
    write_npy(path, tensor);
    CHECK(read_npy(path) == tensor);
    CHECK((std::filesystem::file_size(path) - tensor.bytes().size()) % 64 == 0);
  }
  std::filesystem::remove(path);
}

TEST_CASE("every seed of the fuzz target is read as NumPy wrote it") {
  for (const ElementType type : {ElementType::int8, ElementType::uint16, ElementType::int64, ElementType::float64, ElementType::boolean}) {
    const Tensor tensor = read_npy(seed_directory("npy_fuzz") / (std::string(name_of(type)) + ".npy"));
    CHECK(tensor.type() == type);
    CHECK(tensor.shape() == Shape{2, 3});
  }
  CHECK(read_npy(seed_directory("npy_fuzz") / "scalar.npy") == Tensor::from<std::int32_t>({}, std::vector<std::int32_t>{7}));
  for (const char* name : {"version2.npy", "version3.npy"})
    CHECK(read_npy(seed_directory("npy_fuzz") / name) == Tensor::from<std::int8_t>({3}, std::vector<std::int8_t>{0, 1, 2}));
}

TEST_CASE("Fortran order becomes row-major order") {
  std::vector<std::int16_t> counting(24);
  std::iota(counting.begin(), counting.end(), std::int16_t{0});
  CHECK(read_npy(seed_directory("npy_fuzz") / "fortran.npy") == Tensor::from<std::int16_t>({2, 3, 4}, counting));
}

TEST_CASE("a header may have its keys in any order and its spaces anywhere") {
  const Tensor expected = Tensor::from<std::int8_t>({2, 1}, std::vector<std::int8_t>{65, 66});
  CHECK(parsed(npy("{\"shape\":(2,1),'fortran_order':False,'descr':'|i1'}", "AB")) == expected);
  CHECK(parsed(npy("  { 'shape' : ( 2 , 1 , ) , 'fortran_order' : False , 'descr' : '<i1' , }  \n", "AB")) == expected);
}

TEST_CASE("hostile .npy files are refused with a reason") {
  struct Hostile {
    const char* name;
    std::string file;
    const char* reason;
  };
  const Hostile table[] = {
      {"empty", "", "not a .npy"},
      {"wrong magic", "PK\x03\x04 and more", "not a .npy"},
      {"version 9", std::string("\x93NUMPY\x09\x00", 8) + "\x10", "version 9"},
      {"header beyond the file", std::string("\x93NUMPY\x01\x00\xFF\xFF", 10) + "{", "does not fit"},
      {"header of 4 GB", std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF", 12) + "{", "does not fit"},
      {"big-endian", npy(dictionary(">i2", "(1,)"), "AB"), "dtype '>i2'"},
      {"objects", npy(dictionary("|O", "(1,)"), "AB"), "dtype"},
      {"control characters in dtype", npy(dictionary("\n\x1b[31m", "(1,)"), "AB"), "dtype '??[31m'"},
      {"complex", npy(dictionary("<c8", "(1,)"), "ABCDEFGH"), "dtype '<c8'"},
      {"negative size", npy(dictionary("|i1", "(-1,)"), "A"), "below 1"},
      {"size 0", npy(dictionary("|i1", "(2, 0)"), ""), "below 1"},
      {"product of 2^64", npy(dictionary("|i1", "(4294967296, 4294967296)"), ""), "too large"},
      {"product of 2^41 bytes", npy(dictionary("<i8", "(274877906944,)"), ""), "too large"},
      {"size beyond 64 bits", npy(dictionary("|i1", "(99999999999999999999,)"), ""), "no 64-bit integer"},
      {"nine dimensions", npy(dictionary("|i1", "(1,1,1,1,1,1,1,1,1)"), "A"), "8 dimensions"},
      {"shape not closed", npy("{'descr': '|i1', 'fortran_order': False, 'shape': (1", "A"), "lacks a ')'"},
      {"one value too few", npy(dictionary("<i2", "(3,)"), "ABCD"), "4 bytes of values"},
      {"one value too many", npy(dictionary("<i2", "(1,)"), "ABCD"), "4 bytes of values"},
      {"no shape", npy("{'descr': '|i1', 'fortran_order': False}", "A"), "lacks descr"},
      {"shape twice", npy("{'descr': '|i1', 'shape': (1,), 'shape': (1,), 'fortran_order': False}", "A"), "unexpected key 'shape'"},
      {"unknown key", npy("{'descr': '|i1', 'colour': (1,)}", "A"), "unexpected key 'colour'"},
      {"code instead of a value", npy("{'descr': '|i1', 'fortran_order': exit(), 'shape': (1,)}", "A"), "neither True nor False"},
      {"text after the header", npy(dictionary("|i1", "(1,)") + "A", "A"), "goes on"},
      {"no dictionary", npy("[1, 2]", "A"), "lacks a '{'"},
      {"a bool of 2", npy(dictionary("|b1", "(1,)"), "\x02"), "neither 0 nor 1"},
  };
  for (const Hostile& hostile : table) {
    INFO(hostile.name);
    const auto refusal = refusal_of([&] { parsed(hostile.file); });
    REQUIRE(refusal);
    INFO(refusal->message);
    CHECK(refusal->code == ErrorCode::malformed_file);
    CHECK(refusal->says("bad.npy: "));
    CHECK(refusal->says(hostile.reason));
    CHECK(refusal->is_one_line());
  }
}

TEST_CASE("a .npy cut anywhere is refused") {
  for (const auto& path : seeds("npy_fuzz")) {
    const std::string whole = file_text(path);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto refusal = refusal_of([&] { parsed(whole.substr(0, length)); });
      INFO(path.filename() << " cut to " << length);
      REQUIRE((refusal && refusal->is_one_line()));
    }
  }
}

TEST_CASE("what is no file is refused") {
  for (const std::filesystem::path& path :
       {std::filesystem::path("/nonexistent/a.npy"), std::filesystem::temp_directory_path(), std::filesystem::path("/dev/zero")}) {
    const auto refusal = refusal_of([&] { static_cast<void>(read_npy(path)); });
    REQUIRE(refusal);
    CHECK(refusal->code == ErrorCode::unreadable_file);
    CHECK(refusal->says(path.string()));
  }
  CHECK(refusal_of([&] { write_npy("/nonexistent/a.npy", Tensor(ElementType::int8, {1})); }));
}

TEST_CASE("rows of a file are those of the whole, in either order of the axes, and of no file that read_npy refuses") {
  const auto path = scratch("rows.npy");
  std::vector<std::int16_t> counting(60);
  std::iota(counting.begin(), counting.end(), std::int16_t{0});
  const std::string values(reinterpret_cast<const char*>(counting.data()), 2 * counting.size());
  for (const std::string order : {"False", "True"}) {
    std::ofstream(path, std::ios::binary) << npy(dictionary("<i2", "(5, 3, 4)", order), values);
    const Tensor whole = read_npy(path);
    NpyFile file(path);
    REQUIRE(file.shape() == Shape{5, 3, 4});
    REQUIRE(file.type() == ElementType::int16);
    for (std::int64_t first = 0; first < 5; ++first) {
      for (std::int64_t count = 1; first + count <= 5; ++count) {
        const auto part = whole.values<std::int16_t>().subspan(static_cast<std::size_t>(first) * 12, static_cast<std::size_t>(count) * 12);
        REQUIRE(file.rows(first, count) == Tensor::from<std::int16_t>(Shape{count, 3, 4}, part));
      }
    }
  }
  std::ofstream(path, std::ios::binary) << npy(dictionary("<i2", "(5, 3, 5)"), values);
  CHECK_THROWS_WITH(NpyFile(path), contains_text("the header promises 150"));
  std::ofstream(path, std::ios::binary) << npy(dictionary("|b1", "(4,)"), std::string("\x01\x00\x01\x02", 4));
  NpyFile bools(path);
  CHECK(bools.rows(0, 3).element_count() == 3);
  CHECK_THROWS_WITH(bools.rows(3, 1), contains_text("a bool is neither 0 nor 1"));
  std::ofstream(path, std::ios::binary) << npy(dictionary("<i4", "()"), std::string("\x07\x00\x00\x00", 4));
  CHECK(NpyFile(path).rows(0, 1) == Tensor::from<std::int32_t>({}, std::vector<std::int32_t>{7}));
  std::filesystem::remove(path);
}
