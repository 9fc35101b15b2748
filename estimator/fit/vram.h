#pragma once

#include <cstdint>
#include <string>

namespace vramfit::fit {

/// Whether a size has no unit and is too small for bytes: "24", which people say of a 24 GB card.
bool is_bare(const std::string& size);

/// A GPU's size in bytes. What is bare is in GB. Throws BadInput.
std::uint64_t vram_of(const std::string& size);

}  // namespace vramfit::fit
