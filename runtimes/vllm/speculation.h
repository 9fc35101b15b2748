#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtimes/flags.h"
#include "runtimes/vllm/options.h"

namespace vramfit::vllm {

/// What --speculative-config says of drafts.
struct Speculation {
  Drafts by = Drafts::None;
  std::int64_t tokens = 0;           ///< beside the one that is sampled; 0: as the model says
  std::optional<std::string> model;  ///< that drafts: a name, or its config's folder
  std::string typed;                 ///< all of it, JSON; empty: nothing
};

/// Throws BadInput of a method that is not predicted, or a key.
Speculation read_speculation(const Flags& flags);

/// As vLLM spells the method.
const char* name(Drafts by);

}  // namespace vramfit::vllm
