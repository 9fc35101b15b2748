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

Asked ask(const FitOptions& options, const Environment& environment,
          const std::function<void(const std::string& json)>& told) {
  return in_typed_names(options.typed, [&]() -> Asked {
    Question question = resolve_question(options, environment);
    Told so_far;
    if (told) {
      so_far = [&](const std::vector<Answer>& answers) { told(json_text(question, answers)); };
    }
    std::vector<Answer> answers = answer(question, so_far);
    return {std::move(question), std::move(answers)};
  });
}

Asked ask(const nlohmann::json& flags, const Environment& environment) {
  return ask(options_of(flags), environment);
}

}  // namespace vramfit
