#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <string>

#include "model/ops/arch.h"
#include "runtimes/pytorch/torch/tensor/release_rules.h"

namespace vramfit::pytorch {

/// A library's published version: 5.17.0.
struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;

  auto operator<=>(const Version&) const = default;
};

std::string text(const Version& version);  ///< "5.17.0"
/// "5.17": patches change nothing that rules ask for.
std::string short_text(const Version& version);

/// One set of libraries as people install them together; data/releases.json holds those there are.
/// Where they differ, code asks `rules` for the fact; of cuDNN, whose version PyTorch itself asks
/// for, it asks the same. A further release is a row of that file and
/// one of release_rules.cpp.
struct Release {
  std::string name;  ///< "2.11"
  /// Nobody held it against a GPU: what it says rests on PyTorch's source and on the stand-in.
  bool simulated = false;
  ReleaseRules rules;
  Version torch;
  Version transformers;
  Version peft;
  Version accelerate;
  Version bitsandbytes;
  Version cuda;               ///< that torch is built for
  Version cudnn;              ///< that torch brings
  Arch least_arch;            ///< of GPUs that torch's build has code for
  double reserved_error = 0;  ///< the worst of the peaks reserved that were measured with it
  /// The same of LLM.int8(), where they hang on which weights there are.
  double int8_reserved_error = 0;
  /// The tape of a model type, as scripts/tapes wrote it; none: there is none.
  std::function<std::optional<std::string>(const std::string& model_type)> tape;
};

}  // namespace vramfit::pytorch
