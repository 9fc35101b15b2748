#pragma once

#include <cstdint>
#include <optional>

namespace vramfit::pytorch {

/// attn_implementation.
enum class AttentionKind : std::uint8_t { Sdpa, Eager };

}  // namespace vramfit::pytorch
