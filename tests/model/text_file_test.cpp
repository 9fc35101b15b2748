#include "model/text_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "model/errors.h"
#include "tests/support/scratch_folder.h"

namespace vramfit {
namespace {

namespace fs = std::filesystem;

class TextFile : public testing::Test {
 protected:
  static std::string message(const fs::path& path) {
    try {
      read_text_file(path, "flag", "a file", 10);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "";
  }

  const ScratchFolder folder;
};

TEST_F(TextFile, IsReadWhole) {
  std::ofstream(folder / "ten", std::ios::binary) << std::string("a\0b\n567890", 10);
  std::ofstream(folder / "none");
  EXPECT_EQ(read_text_file(folder / "ten", "flag", "a file", 10), std::string("a\0b\n567890", 10));
  EXPECT_EQ(read_text_file(folder / "none", "flag", "a file", 10), "");
}

TEST_F(TextFile, IsNoLargerThanItMayBe) {
  std::ofstream(folder / "eleven") << "12345678901";
  EXPECT_NE(message(folder / "eleven").find("it is larger than"), std::string::npos);
}

TEST_F(TextFile, IsARegularOne) {
  EXPECT_EQ(message("none"), "flag: cannot read 'none': there is none; a file");
  std::ofstream(folder / "a") << "x";
  EXPECT_NE(message((folder / "a").string() + std::string("\0b", 2)).find("none"),
            std::string::npos);
  EXPECT_EQ(message("/"), "flag: cannot read '/': it is a folder; a file");
  for (const char* device : {"/dev/null", "/dev/zero"}) {
    EXPECT_NE(message(device).find("it is no regular file"), std::string::npos) << device;
  }
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(message(pipe).find("it is no regular file"), std::string::npos)
      << "nobody writes into it, and nobody waits for that";
  fs::create_symlink(folder / "loop", folder / "loop");
  for (const fs::path& path :
       {fs::path(), folder / "loop", folder / "none" / "x", folder / std::string(5000, 'x')}) {
    EXPECT_EQ(message(path).rfind("flag: cannot read '", 0), 0U) << message(path);
  }
}

TEST_F(TextFile, ThatCannotBeReadToItsEndIsNone) {
  EXPECT_EQ(message("/proc/self/mem"), "flag: cannot read '/proc/self/mem'; a file");
}

TEST_F(TextFile, MayBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const fs::path path = folder / "secret";
  std::ofstream(path) << "x";
  fs::permissions(path, fs::perms::none);
  EXPECT_EQ(message(path).rfind("flag: cannot read '", 0), 0U);
}

}  // namespace
}  // namespace vramfit
