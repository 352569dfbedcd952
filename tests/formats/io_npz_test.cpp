// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/io/npz.hpp"

#include <numeric>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"
#include "support/zip_file.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

Tensor counted(Shape shape) {
  Tensor tensor(ElementType::int16, std::move(shape));
  auto values = tensor.values<std::int16_t>();
  std::iota(values.begin(), values.end(), std::int16_t{-7});
  return tensor;
}

struct Npz {
  Scratch folder;
  std::filesystem::path file = folder.path() / "a.npz";

  explicit Npz(const std::string& text) { write_bytes(file, text); }
  /// Of all that the file holds.
  [[nodiscard]] std::optional<Refusal> refusal() const {
    return refusal_of([&] {
      const NpzFile arrays(file);
      for (const std::string& name : arrays.names()) static_cast<void>(arrays.read(name));
    });
  }
};

/// The text with `bytes` at `at`.
std::string changed(std::string text, std::size_t at, const std::string& bytes) { return text.replace(at, bytes.size(), bytes); }

}  // namespace

TEST_CASE("the arrays of a .npz are read by name, stored or deflated, whole or row by row") {
  const Tensor x = counted({4, 3}), y = counted({40000});
  ZipEntry wide = packed("wide.npy", npy_text(y));
  wide.wide = true;
  const Npz npz(zip_text({stored("x.npy", npy_text(x)), packed("net/y:0.npy", npy_text(y)), stored("notes.txt", "no array"), wide}));
  const NpzFile arrays(npz.file);
  CHECK(arrays.names() == std::vector<std::string>{"x", "net/y:0", "wide"});
  CHECK(arrays.read("x") == x);
  CHECK(arrays.read("net/y:0") == y);
  CHECK(arrays.read("wide") == y);
  for (const char* name : {"net/y:0", "wide"}) {
    NpyFile file = arrays.open(name);
    for (const std::int64_t first : {39990, 0, 20000, 19999}) {  // forwards and back
      const Tensor rows = file.rows(first, 10);
      for (std::size_t i = 0; i < 10; ++i)
        REQUIRE(rows.values<std::int16_t>()[i] == y.values<std::int16_t>()[static_cast<std::size_t>(first) + i]);
    }
  }
  CHECK_THROWS_WITH(arrays.read("z"), contains_text("a.npz: holds no array 'z'"));
}

TEST_CASE("every seed of the fuzz target of archives is read as NumPy wrote it") {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const NpzFile arrays(seed_directory("npz_fuzz") / name);
    CHECK(arrays.names() == std::vector<std::string>{"x", "net/y:0"});
    CHECK(arrays.read("x") == Tensor::from<std::int8_t>({6}, std::vector<std::int8_t>{0, 1, 2, 3, 4, 5}));
    CHECK(arrays.read("net/y:0") == Tensor(ElementType::float32, {3, 2}));
  }
  CHECK(NpzFile(seed_directory("npz_fuzz") / "unnamed.npz").names() == std::vector<std::string>{"arr_0"});
}

TEST_CASE("a .npz of one array stands for the array") {
  const Npz one(zip_text({stored("anything.npy", npy_text(counted({2, 2})))}));
  CHECK(read_array(one.file) == counted({2, 2}));
  write_bytes(one.file, zip_text({stored("a.npy", npy_text(counted({2}))), stored("b.npy", npy_text(counted({2})))}));
  CHECK_THROWS_WITH(read_array(one.file), contains_text("a.npz: holds 2 arrays; one is needed"));
}

TEST_CASE("a .npz that was cut off anywhere is refused in one line") {
  const std::string text = zip_text({stored("x.npy", npy_text(counted({5}))), packed("y.npy", npy_text(counted({5})))});
  const Npz npz(text);
  REQUIRE_FALSE(npz.refusal());
  for (std::size_t size = 0; size < text.size(); ++size) {
    write_bytes(npz.file, text.substr(0, size));
    const auto refusal = npz.refusal();
    REQUIRE(refusal);
    REQUIRE(refusal->is_one_line());
  }
}

TEST_CASE("a .npz with any byte changed is read or refused in one line, and its values are never others") {
  const Tensor x = counted({6});
  const std::string text = zip_text({packed("x.npy", npy_text(x))});
  const Npz npz(text);
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const int flip : {1, 0x80, 0xFF}) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      write_bytes(npz.file, damaged);
      const auto refusal = refusal_of([&] {
        const NpzFile arrays(npz.file);
        for (const std::string& name : arrays.names()) {
          const Tensor read = arrays.read(name);
          REQUIRE(read == x);
        }
      });
      if (refusal) REQUIRE(refusal->is_one_line());
    }
  }
}

TEST_CASE("what a .npz promises is not believed") {
  const std::string array = npy_text(counted({5}));
  const auto says = [](const std::vector<ZipEntry>& entries, const std::string& reason) {
    const auto refusal = Npz(zip_text(entries)).refusal();
    INFO(reason);
    REQUIRE(refusal);
    INFO(refusal->message);
    CHECK(refusal->says(reason));
    CHECK(refusal->is_one_line());
  };
  ZipEntry bomb = packed("x.npy", array);
  bomb.size = 0xFFFFFFF0;
  says({bomb}, "x.npy: " + std::to_string(bomb.packed.size()) + " bytes cannot make the 4294967280 that they promise");
  ZipEntry longer = packed("x.npy", array);
  longer.size += 1;
  says({longer}, "makes fewer bytes than it promises");
  ZipEntry shorter = packed("x.npy", array + "ab");
  shorter.size -= 2;
  says({shorter}, "makes other bytes than it promises");
  ZipEntry wrong = stored("x.npy", array);
  wrong.crc ^= 1;
  says({wrong}, "its checksum is another one");
  ZipEntry unequal = stored("x.npy", array);
  unequal.size += 5;
  says({unequal}, "cannot make");
  ZipEntry encrypted = stored("x.npy", array);
  encrypted.flags = 1;
  says({encrypted}, "x.npy: is encrypted");
  ZipEntry other = stored("x.npy", array);
  other.method = 12;
  says({other}, "packed by method 12");
  says({stored("x.npy", array), stored("x.npy", array)}, "two members are called x.npy");
  says({stored("x\n\x1b.npy", "no array")}, "x??.npy: not a .npy file");
}

TEST_CASE("a directory that lies is refused") {
  const std::string text = zip_text({stored("x.npy", npy_text(counted({5})))});
  const std::size_t end = text.size() - 22, directory = text.find("PK\x01\x02");
  const auto says = [](const std::string& damaged, const std::string& reason) {
    const auto refusal = Npz(damaged).refusal();
    REQUIRE(refusal);
    INFO(refusal->message);
    CHECK(refusal->says(reason));
  };
  says(changed(text, end + 16, little_endian(0x7FFFFFFF, 4)), "lies outside of the zip file");
  says(changed(text, end + 10, little_endian(9, 2)), "the directory of the zip file");
  says(changed(text, end + 4, little_endian(1, 2)), "one of several parts");
  says(changed(text, directory + 42, little_endian(3, 4)), "is not where the directory says");
  says(changed(text, directory + 20, little_endian(0xFFFFFFFF, 4)), "lie upon each other, or outside");
  says(text + "more", "not a zip file");
}
