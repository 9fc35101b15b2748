#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/fit/question.h"
#include "estimator/largest.h"

namespace vramfit::fit {

/// The answer for one card. Where something was searched for, the request is the largest that fits,
/// or the one with 1 where none does.
struct Answer {
  Request request;
  Estimate estimate;
  std::optional<Largest> largest;

  bool yes() const { return estimate.fits; }
};

/// One for each of the question's requests.
std::vector<Answer> answer(const Question& question);

/// For programs: one object.
std::string json_text(const Question& question, const std::vector<Answer>& answers);

}  // namespace vramfit::fit
