#include "bench/process/journal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/support/expect_bad_input.h"
#include "tests/support/scratch_folder.h"

namespace vramfit::bench {
namespace {

class JournalTest : public testing::Test {
 protected:
  const ScratchFolder folder_;
  const std::string path_ = folder_ / "journal";
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
  Journal(path_, false).add("Training/a", here_, example(1));
  Journal(path_, true).add("Training/b", here_, example(2));
  const Journal journal(path_, true);
  ASSERT_NE(journal.find("Training/a", here_), nullptr);
  EXPECT_EQ(journal.find("Training/a", here_)->counters.values(), example(1).counters.values());
  EXPECT_EQ(journal.find("Training/b", here_)->seconds, 1.5);
  EXPECT_EQ(journal.find("Training/c", here_), nullptr);
}

TEST_F(JournalTest, WhatWasMeasuredElsewhereIsNotTaken) {
  Journal(path_, false).add("Training/a", here_, example(1));
  Conditions elsewhere = here_;
  elsewhere["driver"] = "590";
  const Journal journal(path_, true);
  EXPECT_EQ(journal.find("Training/a", elsewhere), nullptr);
  EXPECT_NE(journal.find("Training/a", here_), nullptr);
}

TEST_F(JournalTest, BeginsAnewUnlessResumed) {
  Journal(path_, false).add("Training/a", here_, example(1));
  Journal(path_, false).add("Training/b", here_, example(1));
  const Journal journal(path_, true);
  EXPECT_EQ(journal.find("Training/a", here_), nullptr);
  EXPECT_NE(journal.find("Training/b", here_), nullptr);
}

TEST_F(JournalTest, FailuresAreTriedAgain) {
  Journal(path_, false).add("Training/a", here_, failure("died"));
  EXPECT_EQ(Journal(path_, true).find("Training/a", here_), nullptr);
}

TEST_F(JournalTest, DamagedLinesCostTheirRowsAloneAndAreSaid) {
  Journal(path_, false).add("Training/a", here_, example(1));
  std::ofstream(path_, std::ios::app) << "\x01\xff\n"
                                      << R"({"row": "Training/x", "conditions": {}})"
                                      << "\n"
                                      << R"({"row": "Training/y", "conditions": {}, "result": 1})"
                                      << "\n\n"
                                      << std::string(100'000, '[') << "\n"
                                      << R"({"row": "Training/b", "condi)";
  testing::internal::CaptureStderr();
  Journal(path_, true).add("Training/c", here_, example(3));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("journal: 5 damaged lines of '" + path_ + "' skipped, from line 2 on"),
            std::string::npos)
      << said;
  const Journal journal(path_, true);
  EXPECT_NE(journal.find("Training/a", here_), nullptr);
  EXPECT_EQ(journal.find("Training/b", here_), nullptr);
  EXPECT_NE(journal.find("Training/c", here_), nullptr);
}

TEST_F(JournalTest, IsNotNeeded) {
  Journal journal("", true);
  journal.add("Training/a", here_, example(1));
  EXPECT_EQ(journal.find("Training/a", here_), nullptr);
}

TEST_F(JournalTest, IsOneRunsAtATime) {
  const Journal first(path_, false);
  expect_bad_input([&] { Journal(path_, true); }, {"journal", path_.c_str(), "another process"});
}

TEST_F(JournalTest, SaysWhereItCannotBeWritten) {
  expect_bad_input([] { Journal("/no/such/folder/x", false); }, {"journal", "/no/such/folder/x"});
  Journal full("/dev/full", false);
  EXPECT_THROW(full.add("Training/a", here_, example(1)), std::runtime_error);
  expect_bad_input([] { Journal("/dev/full", true); }, {"resume", "/dev/full"});
}

TEST(Conditions, FlagsCountAndSoDoesABuildThatNoCommitNames) {
  const Conditions plain = conditions_of({{"commit", "abc"}}, {"--tf32", "--speed-seconds=2"});
  EXPECT_EQ(plain.at("commit"), "abc");
  EXPECT_EQ(plain.at("flags"), "--tf32 --speed-seconds=2");
  EXPECT_EQ(plain.count("built"), 0U);
  EXPECT_EQ(conditions_of({{"commit", "abc-dirty"}}, {}).count("built"), 1U);
  EXPECT_EQ(conditions_of({{"commit", "unknown"}}, {}).count("built"), 1U);
}

TEST_F(JournalTest, WhatAFileHoldsIsACondition) {
  const auto noted = [this](const std::string& text) {
    std::ofstream(path_) << text;
    Conditions conditions;
    note_file(conditions, "profile", path_);
    return conditions;
  };
  EXPECT_EQ(noted("a"), noted("a"));
  EXPECT_NE(noted("a"), noted("b"));
}

TEST(Conditions, HaveTheDataThatEveryRowReads) {
  const Conditions conditions = conditions_of({{"commit", "abc"}}, {});
  for (const char* file : {"gpus.json", "releases.json", "article/claims.json"}) {
    EXPECT_EQ(conditions.count(file), 1U) << file;
  }
}

}  // namespace
}  // namespace vramfit::bench
