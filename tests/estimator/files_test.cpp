#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "estimator/files/atomic_file.h"
#include "estimator/files/user_file.h"
#include "model/errors.h"
#include "tests/support/expect_bad_input.h"
#include "tests/support/scratch_folder.h"

namespace vramfit {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  const ScratchFolder folder_;
  const fs::path path_ = folder_ / "out.json";
};

TEST_F(Files, AreReplacedWhole) {
  std::ofstream(path_) << "what was there before, which is longer";
  AtomicFile file("benchmark_out", path_);
  EXPECT_EQ(text_of(path_), "what was there before, which is longer");
  file.replace("new");
  EXPECT_EQ(text_of(path_), "new");
  EXPECT_EQ(files(), 1U);
}

TEST_F(Files, OrNotAtAll) {
  std::ofstream(path_) << "old";
  { const AtomicFile file("benchmark_out", path_); }
  EXPECT_EQ(text_of(path_), "old");
  fs::remove(path_);
  { const AtomicFile file("benchmark_out", path_); }
  EXPECT_EQ(files(), 0U) << "what was never written leaves nothing";
}

TEST_F(Files, TakeOverWhatAKilledRunLeft) {
  std::ofstream(path_.string() + ".partial") << "half of";
  AtomicFile("benchmark_out", path_).replace("new");
  EXPECT_EQ(text_of(path_), "new");
}

TEST_F(Files, BelongToOneAtATime) {
  AtomicFile first("benchmark_out", path_);
  expect_bad_input([&] { AtomicFile("benchmark_out", path_); },
                   {"benchmark_out", path_.c_str(), "another process"});
  first.replace("first");
  AtomicFile("benchmark_out", path_).replace("second");
  EXPECT_EQ(text_of(path_), "second");
}

TEST_F(Files, KeepTheirLinksAndModes) {
  const fs::path real = folder_ / "real.json";
  std::ofstream(real) << "old";
  fs::permissions(real, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(real, path_);
  AtomicFile("benchmark_out", path_).replace("new");
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(text_of(real), "new");
  EXPECT_EQ(fs::status(real).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, OfTheSystemAreWrittenThrough) {
  for (const char* path : {"/dev/null", "/dev/full", "/dev/stdout", "/dev/fd/1"}) {
    EXPECT_TRUE(is_written_through(path)) << path;
  }
  EXPECT_FALSE(is_written_through("/dev/shm/out.json"));
  EXPECT_FALSE(is_written_through(path_));
  AtomicFile("benchmark_out", "/dev/null").replace("nothing");
  EXPECT_THROW(AtomicFile("benchmark_out", "/dev/full").replace("all"), std::runtime_error);
}

TEST_F(Files, LeaveNothingWhereASignalEndsTheProcess) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::signal(signal, SIG_DFL);  // a shell's job in the background is to ignore some
      const AtomicFile file("benchmark_out", path_);
      std::raise(signal);
      std::_Exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_EQ(files(), 0U);
  }
}

TEST_F(Files, ThatNobodyReadsAreNotWaitedFor) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  expect_bad_input([this] { AtomicFile("snapshot", path_); }, {"snapshot", "nobody reads it"});
  std::string read;
  std::thread reader([&] { read = text_of(path_); });
  for (;;) {
    try {
      AtomicFile("snapshot", path_).replace(std::string(1 << 20, 'x'));
      break;
    } catch (const BadInput&) {
      std::this_thread::yield();  // it is not there yet
    }
  }
  reader.join();
  EXPECT_EQ(read.size(), 1U << 20);
}

TEST_F(Files, MayBeReadOffAPipe) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  std::thread writer([&] {
    std::ofstream into(path_);
    into << "12345" << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    into << "67890";
  });
  EXPECT_EQ(read_user_file(path_, "config", "a file", 10), "1234567890");
  writer.join();
  expect_bad_input([&] { read_user_file(path_, "config", "a file", 10); },
                   {"config: cannot read", "nobody writes into it; a file"});
}

TEST_F(Files, AreNoPipesWithoutAnEnd) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ASSERT_EQ(::write(ends[1], "12345678901", 11), 11);
  const fs::path pipe = "/dev/fd/" + std::to_string(ends[0]);
  expect_bad_input([&] { read_user_file(pipe, "config", "a file", 10); }, {"it holds more than"});
  ::close(ends[0]);
  ::close(ends[1]);
  expect_bad_input([] { read_user_file("/dev/zero", "config", "a file", 10); },
                   {"it is no regular file"});
}

TEST_F(Files, ThatCannotBeWrittenAreSaidAtOnce) {
  expect_bad_input([] { AtomicFile("snapshot", ""); }, {"snapshot: is empty"});
  expect_bad_input([] { AtomicFile("benchmark_out", "/no/such/folder/x"); },
                   {"benchmark_out", "/no/such/folder/x'", "No such file"});
  expect_bad_input([this] { AtomicFile("benchmark_out", folder_.path()); },
                   {"benchmark_out", folder_.path().c_str(), "directory"});
}

/// Files of this process take so many bytes while one lives.
class Limit {
 public:
  explicit Limit(rlim_t bytes) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit less{bytes, limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &less);
  }
  ~Limit() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  void (*before_)(int);
  rlimit limit_{};
};

TEST_F(Files, KeepWhatWasWrittenBeforeTheDiskIsFull) {
  WritableFile file("journal", path_, path_);
  file.append("first\n");
  {
    const Limit limit(10);
    EXPECT_THROW(file.append("second, of which a part fits\n"), std::runtime_error);
  }
  EXPECT_EQ(text_of(path_), "first\n");
  file.append("third\n");
  EXPECT_EQ(text_of(path_), "first\nthird\n");
}

TEST_F(Files, AreAsTheyWereWhereTheDiskIsFull) {
  std::ofstream(path_) << "old";
  {
    const Limit limit(10);
    EXPECT_THROW(AtomicFile("benchmark_out", path_).replace("new, and too long"),
                 std::runtime_error);
  }
  EXPECT_EQ(text_of(path_), "old");
  EXPECT_EQ(files(), 1U);
}

}  // namespace
}  // namespace vramfit
