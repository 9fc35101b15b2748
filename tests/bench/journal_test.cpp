#include "bench/process/journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "model/errors.h"

namespace vramfit::bench {
namespace {

class JournalTest : public testing::Test {
 protected:
  ~JournalTest() override { std::filesystem::remove(path_); }

  Journal resumed(const Conditions& conditions) { return {path_, conditions, true}; }

  const std::string path_ =
      std::filesystem::temp_directory_path() / ("vramfit_journal_test." + std::to_string(getpid()));
  const Conditions here_ = {{"gpu", "NVIDIA H200"}, {"driver", "580"}};
};

Result example(double bytes) {
  Result result;
  result.counters.set("mem_allocated", bytes);
  result.label = "measured";
  result.seconds = 1.5;
  return result;
}

TEST_F(JournalTest, KeepsRowsForTheNextRunOfTheSameKind) {
  Journal(path_, here_, false).add("Training/a", example(1));
  resumed(here_).add("Training/b", example(2));
  Journal journal = resumed(here_);
  ASSERT_NE(journal.find("Training/a"), nullptr);
  EXPECT_EQ(journal.find("Training/a")->counters.values(), example(1).counters.values());
  EXPECT_EQ(journal.find("Training/b")->seconds, 1.5);
  EXPECT_EQ(journal.find("Training/c"), nullptr);
}

TEST_F(JournalTest, WhatWasMeasuredElsewhereIsNotTaken) {
  Journal(path_, here_, false).add("Training/a", example(1));
  Conditions elsewhere = here_;
  elsewhere["driver"] = "590";
  EXPECT_EQ(resumed(elsewhere).find("Training/a"), nullptr);
  EXPECT_NE(resumed(here_).find("Training/a"), nullptr);
}

TEST_F(JournalTest, BeginsAnewUnlessResumed) {
  Journal(path_, here_, false).add("Training/a", example(1));
  Journal(path_, here_, false).add("Training/b", example(1));
  EXPECT_EQ(resumed(here_).find("Training/a"), nullptr);
  EXPECT_NE(resumed(here_).find("Training/b"), nullptr);
}

TEST_F(JournalTest, FailuresAreTriedAgain) {
  Journal(path_, here_, false).add("Training/a", failure("died"));
  EXPECT_EQ(resumed(here_).find("Training/a"), nullptr);
}

TEST_F(JournalTest, ALineCutShortCostsThatRowAlone) {
  Journal(path_, here_, false).add("Training/a", example(1));
  std::ofstream(path_, std::ios::app) << R"({"row": "Training/b", "condi)";
  resumed(here_).add("Training/c", example(3));
  Journal journal = resumed(here_);
  EXPECT_NE(journal.find("Training/a"), nullptr);
  EXPECT_EQ(journal.find("Training/b"), nullptr);
  EXPECT_NE(journal.find("Training/c"), nullptr);
}

TEST_F(JournalTest, IsNotNeeded) {
  Journal journal("", here_, true);
  journal.add("Training/a", example(1));
  EXPECT_EQ(journal.find("Training/a"), nullptr);
  EXPECT_THROW(Journal("/no/such/folder/x", here_, false), BadInput);
}

TEST(Conditions, FlagsCountAndSoDoesABuildThatNoCommitNames) {
  const Conditions plain = conditions_of({{"commit", "abc"}}, {"--tf32", "--speed-seconds=2"});
  EXPECT_EQ(plain, (Conditions{{"commit", "abc"}, {"flags", "--tf32 --speed-seconds=2"}}));
  EXPECT_EQ(conditions_of({{"commit", "abc-dirty"}}, {}).count("built"), 1U);
  EXPECT_EQ(conditions_of({{"commit", "unknown"}}, {}).count("built"), 1U);
}

}  // namespace
}  // namespace vramfit::bench
