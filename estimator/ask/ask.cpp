#include "estimator/ask/ask.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/ask/answer_json.h"
#include "estimator/ask/spellings.h"
#include "model/errors.h"

namespace vramfit {

bool Asked::yes() const {
  return std::any_of(answers.begin(), answers.end(),
                     [&](const Answer& answer) { return answer.yes(question.strict); });
}

std::string Asked::json() const { return json_text(question, answers); }

Asked ask(const Options& options, const Surroundings& surroundings) {
  return in_typed_names(options.typed, [&]() -> Asked {
    Question question = understand(options, surroundings);
    std::vector<Answer> answers = answer(question);
    return {std::move(question), std::move(answers)};
  });
}

Estimate estimate(const Options& options, const Surroundings& surroundings) {
  return in_typed_names(options.typed, [&] {
    const Question question = understand(options, surroundings);
    if (question.search != nullptr) {
      throw BadInput("max-" + std::string(question.search->name) +
                     ": not of many; each run has its size");
    }
    if (question.every_card)
      throw BadInput("gpu: missing; --gpu or --vram names the card of a run");
    return estimate(question.requests.front(), WhereItEnds::Untold);
  });
}

Asked ask(const nlohmann::json& flags, const Surroundings& surroundings) {
  return ask(options_of(flags), surroundings);
}

}  // namespace vramfit
