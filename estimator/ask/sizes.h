#pragma once

#include <cstdint>
#include <optional>
#include <string>

// Sizes as people type them of a card. One without a unit and below 1,000 is in GB: "24".
namespace vramfit {

bool is_bare(const std::string& size);

/// "24G", which is 24GiB: what a card sold as 24 GB has.
bool is_short(const std::string& size);

/// Bytes of a card that is called by no more than what it is sold with: "24GB" is 24GiB here, too.
/// Nothing where `text` is no such size.
std::optional<std::uint64_t> sold_as(const std::string& text);

/// Bytes; `flag` is named in messages. Throws BadInput.
std::uint64_t size_of(const std::string& flag, const std::string& size);

/// The same of a GPU, which is never as small as a few bytes.
std::uint64_t vram_of(const std::string& size);

}  // namespace vramfit
