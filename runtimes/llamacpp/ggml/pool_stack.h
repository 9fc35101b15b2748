#pragma once

#include <algorithm>
#include <cstdint>

namespace vramfit::llamacpp::ggml {

/// Temporary buffers of one op, on each other; how high they were.
class PoolStack {
 public:
  void take(std::int64_t bytes) {
    used_ += (static_cast<std::uint64_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
    most_ = std::max(most_, used_);
  }
  std::uint64_t most() const { return most_; }

 private:
  static constexpr std::uint64_t kAlignment = 128;

  std::uint64_t used_ = 0;
  std::uint64_t most_ = 0;
};

}  // namespace vramfit::llamacpp::ggml
