#include "bench/process/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

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
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], 3) < 0) _exit(9);
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
