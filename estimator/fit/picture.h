#pragma once

#include <string>

#include "estimator/ask/answer.h"

namespace vramfit::fit {

/// How an answer is printed.
struct Style {
  bool verbose = false;  ///< stages, steps and sources too
  bool colours = false;
};

/// The answer for one card as a picture in text: what was asked, a bar for each component, the
/// sums, the verdict, and what it rests on. At most 100 columns.
std::string picture(const Question& question, const Answer& answer, const Style& style);

}  // namespace vramfit::fit
