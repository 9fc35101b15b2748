#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/format.h"

// ggml's types and the table of formats (model/format.h).
namespace vramfit::gguf {

/// The type that files number so (ggml.h: enum ggml_type). Absent where none is, or no more.
std::optional<Format> type_of_id(std::uint32_t id);

/// The type that ggml calls so, whatever the case: "q8_0", "F16", "Q4_K".
std::optional<Format> type_named(std::string_view name);

/// ggml_type_name: "f16", "q4_K".
const char* type_name(Format type);

}  // namespace vramfit::gguf
