#pragma once

#include <cstdint>
#include <string>

// Sizes as people type them of a card. One without a unit and below 1,000 is in GB: "24".
namespace vramfit {

bool is_bare(const std::string& size);

/// Bytes; `flag` is named in messages. Throws BadInput.
std::uint64_t size_of(const std::string& flag, const std::string& size);

/// The same of a GPU, which is never as small as a few bytes.
std::uint64_t vram_of(const std::string& size);

}  // namespace vramfit
