#include "bench/process/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/support/scratch_folder.h"

namespace vramfit::bench {
namespace {

Command shell(const std::string& script, const std::vector<std::string>& environment = {}) {
  return {"/bin/sh", {"-c", script}, environment};
}

std::string answering(const Result& result) { return "echo '" + to_line(result) + "' >&3"; }

Result example() {
  Result result;
  result.counters.set("mem_allocated", 9007199254740991.0);
  result.label = "measured; peak in \"backward\"";
  result.seconds = 0.25;
  return result;
}

TEST(Child, AnswersComeBackWhole) {
  const Result result = ask(shell("echo chatter; " + answering(example())));
  EXPECT_EQ(result.counters.values(), example().counters.values());
  EXPECT_EQ(result.label, example().label);
  EXPECT_EQ(result.seconds, example().seconds);
  EXPECT_EQ(result.error, "");
}

TEST(Child, LongAnswersDoNotBlock) {
  Result result = example();
  result.label = std::string(1 << 16, 'x');
  EXPECT_EQ(ask(shell(answering(result))).label, result.label);
}

TEST(Child, AFailureIsAnAnswer) {
  EXPECT_EQ(ask(shell(answering(failure("no driver")))).error, "no driver");
}

TEST(Child, DeathIsSaid) {
  const std::string killed = ask(shell("kill -SEGV $$")).error;
  EXPECT_NE(killed.find("died of signal 11"), std::string::npos) << killed;
  const std::string left = ask(shell(answering(example()) + "; exit 5")).error;
  EXPECT_NE(left.find("exit code 5"), std::string::npos) << left;
}

/// A rank that waits for the others for ever, and notes who it is.
Command waiting(const std::filesystem::path& note) {
  return shell("echo $$ > '" + note.string() + "'; exec sleep 600");
}

/// One that goes on once all of the others wait.
Command behind(const std::vector<std::filesystem::path>& notes, const std::string& script) {
  std::string text;
  for (const auto& note : notes)
    text += "until [ -s '" + note.string() + "' ]; do sleep 0.02; done; ";
  return shell(text + script);
}

bool runs(const std::filesystem::path& note) {
  int process = 0;
  std::ifstream(note) >> process;
  EXPECT_GT(process, 0) << note;
  return kill(process, 0) == 0;
}

/// What all answer where the second of three ends by `script` while the others wait for it.
std::vector<Result> where_one_ends(const std::string& script) {
  const ScratchFolder folder;
  const std::vector<std::filesystem::path> notes = {folder.path() / "first",
                                                    folder.path() / "third"};
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<Result> results =
      ask_together({waiting(notes[0]), behind(notes, script), waiting(notes[1])});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  for (const auto& note : notes) EXPECT_FALSE(runs(note)) << note;
  return results;
}

TEST(Child, ARankThatDiesEndsTheOthers) {
  for (const Result& result : where_one_ends("kill -KILL $$")) {
    EXPECT_NE(result.error.find("rank 1: "), std::string::npos) << result.error;
    EXPECT_NE(result.error.find("died of signal 9"), std::string::npos) << result.error;
  }
}

TEST(Child, ARankThatFailsEndsTheOthersWithItsMessage) {
  for (const Result& result : where_one_ends(answering(failure("NCCL: no route")))) {
    EXPECT_EQ(result.error, "rank 1: NCCL: no route");
  }
}

TEST(Child, ARankThatIsOutOfMemoryEndsTheOthersWithHowFarItCame) {
  Result out = example();
  out.counters.set("oom", 1.0);
  const std::vector<Result> results = where_one_ends(answering(out));
  ASSERT_EQ(results.size(), 3U);
  for (const Result& result : results) {
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.counters.values(), out.counters.values());
  }
}

TEST(Child, RanksThatAllAnswerKeepTheirOrder) {
  std::vector<Command> commands;
  for (const char* rank : {"0", "1", "2"}) {
    Result result = example();
    result.label = rank;
    // The last is done first.
    commands.push_back(
        shell("sleep 0." + std::to_string(3 - std::stoi(rank)) + "; " + answering(result)));
  }
  const std::vector<Result> results = ask_together(commands);
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].label, std::to_string(i));
}

TEST(Child, SilenceAndNonsenseAreFailures) {
  for (const char* script : {"true", "echo nonsense >&3", "echo '{\"counters\":{}}' >&3",
                             "echo '{\"counters\":{\"a\":null}}' >&3"}) {
    EXPECT_NE(ask(shell(script)).error, "") << script;
  }
}

TEST(Child, EnvironmentIsOursButForWhatIsGiven) {
  ASSERT_EQ(setenv("VRAMFIT_CHILD_TEST", "ours", 1), 0);
  const std::string script = "[ \"$VRAMFIT_CHILD_TEST\" = given ] && " + answering(example());
  EXPECT_NE(ask(shell(script)).error, "");
  EXPECT_EQ(ask(shell(script, {"VRAMFIT_CHILD_TEST=given"})).error, "");
}

TEST(Child, EndsWithAParentThatIsGoneAlready) {
  const auto ask_nobody = [] {
    // The pipe's own ends are to lie elsewhere.
    int ends[2];
    if (dup2(STDERR_FILENO, 3) < 0 || pipe(ends) != 0 || dup2(ends[1], 3) < 0) _exit(9);
    close(ends[0]);
    end_with_parent();
    _exit(0);
  };
  EXPECT_EXIT(ask_nobody(), testing::ExitedWithCode(EXIT_FAILURE), "");
}

TEST(Child, AProgramThatIsNotThereIsSaid) {
  EXPECT_THROW(ask({"/no/such/program", {}, {}}), std::runtime_error);
}

}  // namespace
}  // namespace vramfit::bench
