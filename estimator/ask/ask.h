#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "estimator/ask/answer.h"
#include "estimator/ask/environment.h"

// The estimator as a library: a question in, an answer out. It needs no file, no environment, no
// terminal and no GPU, and keeps nothing from one question to the next: several threads may ask.
namespace vramfit {

/// A question, and its answers: one for each card that it is about.
struct Asked {
  Question question;
  std::vector<Answer> answers;

  /// Whether it fits on at least one of them; where it was asked strictly, beyond doubt.
  bool yes() const;
  /// What `vramfit --json` prints: docs/schemas/fit.schema.json describes it.
  std::string json() const;
};

/// Throws BadInput, whose one line names flags as they were given. Where advice is asked for,
/// `told` hears meanwhile what `--json` would print of what is known so far.
Asked ask(const FitOptions& options, const Environment& environment = {},
          const std::function<void(const std::string& json)>& told = {});

/// By `fit`'s flags: {"model": "llama2-7b", "train": true, "batch": 4, "gpu": "rtx4090"}. Keys as
/// options_of() takes them.
Asked ask(const nlohmann::json& flags, const Environment& environment = {});

}  // namespace vramfit
