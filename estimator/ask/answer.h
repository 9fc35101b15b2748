#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "estimator/ask/advise.h"
#include "estimator/ask/question.h"
#include "estimator/formulas.h"

namespace vramfit {

/// Another choice under which the verdict is another one.
struct Change {
  std::string choice;
  Verdict verdict;
};

/// The answer for one card. Where something was searched for, the request is the largest that fits,
/// or the one with 1 where none does.
struct Answer {
  Request request;
  Estimate estimate;
  std::optional<Largest> largest;
  Band band;  ///< around the largest
  /// Of an axis of names: what the next of them takes; absent where none is larger.
  std::optional<Estimate> next;
  std::vector<Change> changes;
  std::optional<OwnChoice> own_choice;  ///< what the runtime would set by itself, where it does
  std::vector<FormulaAnswer> formulas;  ///< where they were asked for
  std::optional<Advised> advised;       ///< the same; of what fits, none

  /// Whether it fits, or a size that is searched for may; where `strict`, beyond doubt.
  bool yes(bool strict) const;
};

/// One for each of the question's requests. Where advice is asked for, `told` hears meanwhile all
/// else and what is known of that so far (`advise`).
using Told = std::function<void(const std::vector<Answer>&)>;
std::vector<Answer> answer(const Question& question, const Told& told = {});

}  // namespace vramfit
