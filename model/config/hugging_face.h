#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "model/config/model_config.h"

namespace vramfit {

/// The model a Hugging Face config.json describes: its model_type is one of
/// families(). Keys that change memory or meaning are honoured, noted or refused (keys.h): throws
/// BadInput that names the key and what would be valid. `name` goes into messages and the result.
ModelConfig parse_hugging_face(const std::string& json_text, const std::string& name);

/// No config.json is larger, nor what comes by a pipe as one. Bytes.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

/// The config.json that a path leads to: a checkpoint's folder holds it.
std::filesystem::path config_file(const std::filesystem::path& path);

/// What that file holds. Throws BadInput where it is none; `flag` gave the path.
std::string hugging_face_text(const std::filesystem::path& path, const char* flag);

/// The same from a file, or from a checkpoint's folder. Messages name it; the model is named after
/// the folder it lies in. `flag` gave the path.
ModelConfig read_hugging_face(const std::filesystem::path& path, const char* flag = "config");

}  // namespace vramfit
