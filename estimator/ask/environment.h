#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "estimator/budget.h"
#include "model/config/model_config.h"
#include "model/gguf/file.h"

namespace vramfit {

/// What a file of samples holds, in tokens.
struct SampleLengths {
  std::int64_t samples = 0;
  std::int64_t longest = 0;
};

/// What a caller may know of its machine. The estimator itself looks at none: each is asked where a
/// question needs it, and left empty there is no such thing.
struct Environment {
  /// Where no card is named; without one all cards are answered for.
  std::function<std::optional<Budget>()> gpu = {};
  /// A model that is not shipped, by what --model says. Throws BadInput.
  std::function<std::optional<ModelConfig>(const std::string& called)> model = {};
  /// The model of a config.json or its folder, by its path. Throws BadInput.
  std::function<ModelConfig(const std::string& path)> config = {};
  /// The header of a GGUF file, by its path. Throws BadInput.
  std::function<gguf::File(const std::string& path)> gguf = {};
  /// The text of a run that was recorded, by its path. Throws BadInput.
  std::function<std::string(const std::string& path)> tape = {};
  /// Of a .jsonl file, by its path. Throws BadInput.
  std::function<SampleLengths(const std::string& path)> sample_lengths = {};
};

}  // namespace vramfit
