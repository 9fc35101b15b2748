#pragma once

#include <span>
#include <string>

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

/// The model_types in a line: "llama, mistral".
std::string family_list();

/// Whether vramfit's own step program runs the model's family.
bool runs_on_vramfit(const ModelConfig& config);

/// Throws BadInput where it does not.
void require_own_family(const ModelConfig& config);

}  // namespace vramfit
