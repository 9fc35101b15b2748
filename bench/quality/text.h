#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "model/ops/device.h"

namespace vramfit::bench {

/// Tokens of a text, as scripts/corpus writes them: 16 bits each.
class Text {
 public:
  /// Throws BadInput where the file is none, or has a token that the vocabulary lacks.
  Text(const std::filesystem::path& path, std::int64_t vocab);

  /// Whole windows of `seq` tokens that each have another behind them; none reads what another
  /// does, but for that one. Throws BadInput where there is none.
  std::int64_t windows(std::int64_t seq) const;
  /// `seq` + 1 tokens.
  std::span<const std::uint16_t> window(std::int64_t number, std::int64_t seq) const;

 private:
  std::filesystem::path path_;
  std::vector<std::uint16_t> tokens_;
};

/// In which order windows are read: all, in an order that the seed and the epoch have drawn, then
/// all again.
class ReadingOrder {
 public:
  ReadingOrder(std::int64_t windows, std::uint64_t seed) : windows_(windows), seed_(seed) {}
  /// The one that is read after `number` others.
  std::int64_t operator()(std::int64_t number);

 private:
  std::int64_t windows_;
  std::uint64_t seed_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_;  ///< of the epoch
};

/// (B, T) tokens, and of each the one behind it.
struct Windows {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> following;

  void add(std::span<const std::uint16_t> window);
  void upload(Device& device, const Tensor& to_tokens, const Tensor& to_following) const;
};

}  // namespace vramfit::bench
