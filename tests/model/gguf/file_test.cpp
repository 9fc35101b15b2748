#include "model/gguf/file.h"

#include <gtest/gtest.h>

#include "tests/support/expect_bad_input.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace vramfit::gguf {
namespace {

constexpr const char* kName[] = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                                 "m-00003-of-00003.gguf"};

std::string part(std::uint32_t index) {
  GgufWriter writer;
  if (index == 0) writer.text("general.architecture", "llama");
  return writer.u32("split.no", index)
      .u32("split.count", 3)
      .tensor("t" + std::to_string(index), {32}, 0, 128)
      .header();
}

TEST(GgufFile, IsReadWithThoseBesideIt) {
  const ScratchFolder folder;
  for (std::uint32_t i = 0; i < 3; ++i) folder.write(kName[i], part(i));
  for (const char* named : kName) {
    const File file = read_file(folder / named, "gguf");
    EXPECT_EQ(file.metadata.text("general.architecture"), "llama");
    ASSERT_EQ(file.tensors.size(), 3U);
    EXPECT_EQ(file.tensors[2].name, "t2");
    EXPECT_EQ(file.files, (std::vector<std::size_t>{0, 1, 2}));
  }
}

TEST(GgufFile, SaysWhichOfThemIsWrong) {
  const ScratchFolder folder;
  folder.write(kName[0], part(0));
  const auto read = [&] { read_file(folder / kName[0], "gguf"); };
  expect_bad_input(read, {"gguf: '", kName[1], "there is none"});
  folder.write(kName[1], part(2));
  expect_bad_input(read, {kName[1], "split.no: 2; 1 to 1"});
  folder.write("other.gguf", part(0));
  expect_bad_input([&] { read_file(folder / "other.gguf", "gguf"); },
                   {"split.count", "-00001-of-00003.gguf"});
}

// llama_model_loader refuses both.
TEST(GgufFile, HasEachTensorInOneOfThemAndAllThatItCounts) {
  const ScratchFolder folder;
  const auto write = [&](const char* first, const char* second, std::uint32_t count) {
    std::uint32_t index = 0;
    for (const char* tensor : {first, second}) {
      GgufWriter writer;
      writer.u32("split.no", index).u32("split.count", 2).u32("split.tensors.count", count);
      folder.write("m-0000" + std::to_string(++index) + "-of-00002.gguf",
                   writer.tensor(tensor, {32}, 0, 128).header());
    }
  };
  const auto read = [&] { return read_file(folder / "m-00002-of-00002.gguf", "gguf"); };
  write("a", "b", 2);
  EXPECT_EQ(read().tensors.size(), 2U);
  write("a", "a", 2);
  expect_bad_input(read, {"m-00001-of-00002.gguf", "tensor a: two of the files have it"});
  write("a", "b", 3);
  expect_bad_input(read, {"split.tensors.count: 3; 2 to 2"});
}

TEST(GgufFile, SaysWhatItEndsBefore) {
  const ScratchFolder folder;
  std::string bytes = GgufWriter().tensor("a", {3}, 0, 12).tensor("b", {3}, 0, 12).header();
  bytes.resize((bytes.size() + 31) / 32 * 32 + 32 + 12);
  const auto lacks = [&](std::size_t cut) {
    folder.write("m.gguf", bytes.substr(0, bytes.size() - cut));
    return read_file(folder / "m.gguf", "gguf").missing_bytes;
  };
  EXPECT_EQ(lacks(0), 0U);
  EXPECT_EQ(lacks(1), 1U);
  EXPECT_EQ(lacks(40), 40U);
}

TEST(GgufFile, MayBeItsHeaderAlone) {
  const ScratchFolder folder;
  folder.write("m.gguf", GgufWriter().tensor("t", {1 << 20}, 0, 4 << 20).header());
  const File file = read_file(folder / "m.gguf", "gguf");
  EXPECT_EQ(file.tensors.front().bytes(), 4U << 20);
  EXPECT_EQ(file.missing_bytes, 4U << 20);
  expect_bad_input([&] { read_file(folder.path(), "gguf"); }, {"gguf: '", "it is a folder"});
}

}  // namespace
}  // namespace vramfit::gguf
