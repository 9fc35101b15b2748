#include "estimator/fit/hub_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>

#include "tests/support/scratch_folder.h"

namespace vramfit::fit {
namespace {

class HubCache : public testing::Test {
 protected:
  HubCache() {
    for (const char* name : {"HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"}) unsetenv(name);
  }
  void is_in(const char* name, const std::filesystem::path& value) {
    setenv(name, value.c_str(), 1);
  }

  const ScratchFolder folder_;
};

TEST_F(HubCache, LiesWhereHuggingFacesProgramsLookForIt) {
  is_in("HOME", "/home/me");
  EXPECT_EQ(hub_cache(), "/home/me/.cache/huggingface/hub");
  is_in("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(hub_cache(), "/cache/huggingface/hub");
  is_in("HF_HOME", "/hf");
  EXPECT_EQ(hub_cache(), "/hf/hub");
  is_in("HF_HUB_CACHE", "/elsewhere");
  EXPECT_EQ(hub_cache(), "/elsewhere");
}

TEST_F(HubCache, HasTheConfigOfTheMainRevision) {
  is_in("HF_HUB_CACHE", folder_.path());
  const std::filesystem::path model = "models--Qwen--Qwen3-4B";
  EXPECT_EQ(cached_config("Qwen/Qwen3-4B"), std::nullopt);
  folder_.write(model / "snapshots/older/tokenizer.json", "{}");
  EXPECT_EQ(cached_config("Qwen/Qwen3-4B"), std::nullopt);
  const auto other = folder_.write(model / "snapshots/other/config.json", "{}");
  EXPECT_EQ(cached_config("Qwen/Qwen3-4B"), other) << "there is no other";
  const auto newer = folder_.write(model / "snapshots/newer/config.json", "{}");
  last_write_time(other, last_write_time(newer) - std::chrono::hours(1));
  EXPECT_EQ(cached_config("Qwen/Qwen3-4B"), newer);
  last_write_time(other, last_write_time(newer) + std::chrono::hours(1));
  folder_.write(model / "refs/main", "1a2b\n");
  EXPECT_EQ(cached_config("Qwen/Qwen3-4B"), other) << "that one was never fetched";
  const auto main = folder_.write(model / "snapshots/1a2b/config.json", "{}");
  EXPECT_EQ(cached_config("Qwen/Qwen3-4B"), main);
}

TEST_F(HubCache, ReadsNoBranchWithoutEnd) {
  is_in("HF_HUB_CACHE", folder_.path());
  const std::filesystem::path model = "models--Qwen--Qwen3-4B";
  const auto config = folder_.write(model / "snapshots/1a2b/config.json", "{}");
  const auto main = folder_.write(model / "refs/main", "");
  resize_file(main, 1 << 30);
  EXPECT_EQ(cached_config("Qwen/Qwen3-4B"), config);
  remove(main);
  ASSERT_EQ(mkfifo(main.c_str(), 0600), 0);
  EXPECT_EQ(cached_config("Qwen/Qwen3-4B"), config);
}

TEST_F(HubCache, AnIdHasAnOwnerAndAName) {
  for (const char* id : {"Qwen/Qwen3-4B", "a/b", "me.too/x_y-1.5"})
    EXPECT_TRUE(is_hub_id(id)) << id;
  for (const char* id :
       {"", "/", "a", "a/", "/a", "a/b/c", "a b/c", "../x", "./x", "a/b\n", "~/x"}) {
    EXPECT_FALSE(is_hub_id(id)) << id;
  }
}

}  // namespace
}  // namespace vramfit::fit
