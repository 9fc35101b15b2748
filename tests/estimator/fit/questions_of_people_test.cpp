#include "tests/estimator/fit/questions_of_people.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/estimator/fit/command.h"

namespace vramfit::fit {
namespace {

/// A name of two words has '_' between them, as names may.
std::vector<std::string> words_of(const char* line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

void expect_all(const std::vector<PeoplesQuestion>& questions) {
  for (const PeoplesQuestion& question : questions) {
    SCOPED_TRACE(question.words);
    const Outcome outcome = call_fit(words_of(question.words));
    const bool answer = question.expected == PeoplesQuestion::Expected::Answer;
    EXPECT_EQ(outcome.status < 2, answer) << outcome.err;
    const std::string& told = answer ? outcome.out : outcome.err;
    EXPECT_NE(told.find(question.part), std::string::npos) << told;
  }
}

TEST(QuestionsOfPeople, AreAnsweredAtFirstTryOrSentToWhatAnswers) {
  EXPECT_EQ(first_questions().size(), 40U);
  expect_all(first_questions());
}

TEST(QuestionsOfPeople, AfterThreadsOfOtherProjectsAreToo) {
  EXPECT_EQ(further_questions().size(), 60U);
  expect_all(further_questions());
}

}  // namespace
}  // namespace vramfit::fit
