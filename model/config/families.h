#pragma once

#include <span>

#include "model/config/json_reader.h"
#include "model/config/model_config.h"

namespace vramfit {

/// A model family: whose config.json is read, and by what.
struct FamilyReader {
  const char* model_type;  ///< Hugging Face's
  ModelConfig (*read)(const JsonReader& json);
  bool in_step_program;  ///< vramfit's own step program has all that its blocks are made of
};

/// Every family there is.
std::span<const FamilyReader> families();

/// Whether vramfit's own step program runs the model's family.
bool runs_on_vramfit(const ModelConfig& config);

/// Throws BadInput where it does not.
void require_own_family(const ModelConfig& config);

}  // namespace vramfit
