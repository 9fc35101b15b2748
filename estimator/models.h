#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/config/model_config.h"

namespace vramfit {

/// The models in data/models, in alphabetical order.
std::vector<std::string> model_names();
/// Those in data/more_models: of families that runtimes read themselves, llama.cpp's most of all.
std::vector<std::string> more_model_names();
/// Those of data/shapes.json, in its order.
std::vector<std::string> shape_names();

/// The name of the model that people call so: by it, by its repository on the Hugging Face hub or
/// that one's last part, by another of the same shape, by Ollama's tag ("qwen3:8b"), as it was
/// tuned ("-instruct"), or, where there is one size, without it ("qwen3-next"); nothing where there
/// is none.
std::optional<std::string> shipped_model(const std::string& called);

/// Its config.json; throws BadInput where `name` is none of them.
std::string shipped_config(const std::string& name);

/// How else a model is given, behind the refusal of an unknown name.
inline constexpr const char* kOtherModels =
    "Any other by its Hugging Face id, folder or config.json; --params 7B for a llama of its size";

/// Throws BadInput where `name` is none of them.
ModelConfig model_named(const std::string& name, const char* otherwise = kOtherModels);

}  // namespace vramfit
