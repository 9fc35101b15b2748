#pragma once

#include <cstddef>
#include <cstdint>

namespace vramfit {

/// How many bytes of a range of addresses can be used, as the kernel counts them: the host's
/// counterpart to asking a card what it has lost.
std::uint64_t accessible_bytes(const std::byte* from, std::uint64_t bytes);

}  // namespace vramfit
