#include "standin/elf/image.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "standin/elf/shell.h"

namespace vramfit::standin {
namespace {

namespace fs = std::filesystem;

class File {
 public:
  explicit File(const std::vector<std::byte>& bytes) { write(bytes); }
  ~File() { fs::remove(path); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(const std::vector<std::byte>& bytes) const {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  const fs::path path =
      fs::path(::testing::TempDir()) / ("vramfit_image_" + std::to_string(::getpid()));
};

std::vector<std::byte> bytes_of(const fs::path& path) {
  std::vector<std::byte> bytes(fs::file_size(path));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

const Wanted* wanted(const Image& image, const std::string& name) {
  const auto found = std::find_if(image.wanted.begin(), image.wanted.end(),
                                  [&name](const Wanted& symbol) { return symbol.name == name; });
  return found == image.wanted.end() ? nullptr : &*found;
}

TEST(Image, OfAProgramNamesWhatItWantsAndOfWhom) {
  const Image image = read_image(PROGRAM_OF_CUDA_12);
  EXPECT_EQ(image.needed, read_needed(PROGRAM_OF_CUDA_12));
  EXPECT_EQ(std::count(image.needed.begin(), image.needed.end(), "libcudart.so.12"), 1);
  const Wanted* symbol = wanted(image, "cudaMalloc");
  ASSERT_NE(symbol, nullptr);
  EXPECT_EQ(symbol->version, "libcudart.so.12");
  EXPECT_EQ(symbol->library, "libcudart.so.12");
  EXPECT_FALSE(symbol->data);
  EXPECT_EQ(wanted(image, "program_malloc"), nullptr) << "it has that itself";
}

TEST(Image, OfWhatIsNoSuchFileIsEmpty) {
  EXPECT_TRUE(read_image("/nowhere/at/all").needed.empty());
  EXPECT_TRUE(read_image(::testing::TempDir()).needed.empty());
  EXPECT_TRUE(read_image(File({}).path).needed.empty());
  EXPECT_TRUE(read_image(File(std::vector<std::byte>(5000)).path).needed.empty());
}

TEST(Image, OfADamagedFileIsWhateverIsLeftOfIt) {
  const std::vector<std::byte> whole = bytes_of(PROGRAM_OF_CUDA_13);
  const File file(whole);
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 97) {
    file.write({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)});
    read_image(file.path);
    read_needed(file.path);
  }
  std::mt19937 random(3);
  for (int turn = 0; turn < 300; ++turn) {
    auto damaged = whole;
    for (int i = 0; i < 8; ++i) {
      damaged[random() % std::min<std::size_t>(damaged.size(), 2048)] = std::byte(random() % 256);
    }
    file.write(damaged);
    read_image(file.path);
    read_needed(file.path);
  }
}

int answered(int number) { return number + 1; }

TEST(Shell, CarriesTheSymbolsOfAnotherLibrary) {
  const Shell shell = make_shell(
      "libof_tests.so.7",
      {{"function", "v7", 0}, {"function", "v8", 0}, {"plain", "", 0}, {"object", "", 48}});
  const File file(shell.file);
  void* handle = ::dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << ::dlerror();
  EXPECT_EQ(::dlopen("libof_tests.so.7", RTLD_NOW | RTLD_NOLOAD), handle) << "by its soname";
  link_map* map = nullptr;
  ASSERT_EQ(::dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
  auto* entries = reinterpret_cast<Shell::Entry*>(map->l_addr + shell.entries);
  ASSERT_EQ(shell.functions.size(), 3U);
  for (std::size_t i = 0; i < shell.functions.size(); ++i) {
    entries[i].target = reinterpret_cast<const void*>(&answered);
  }
  void* old = ::dlvsym(handle, "function", "v7");
  ASSERT_NE(old, nullptr);
  EXPECT_NE(::dlvsym(handle, "function", "v8"), old);
  EXPECT_EQ(::dlvsym(handle, "function", "v9"), nullptr);
  EXPECT_EQ(reinterpret_cast<int (*)(int)>(old)(6), 7);
  auto* object = static_cast<char*>(::dlsym(handle, "object"));
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(std::count(object, object + 48, 0), 48);
  std::fill_n(object, 48, 'x');
  ::dlclose(handle);
}

TEST(Shell, NeedsNothing) {
  const File file(make_shell("libof_tests.so.8", {{"function", "", 0}}).file);
  const Image image = read_image(file.path);
  EXPECT_TRUE(image.needed.empty());
  EXPECT_TRUE(image.wanted.empty());
}

}  // namespace
}  // namespace vramfit::standin
