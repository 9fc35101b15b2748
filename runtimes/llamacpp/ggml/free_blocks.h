#pragma once

#include <cstdint>
#include <vector>

namespace vramfit::llamacpp::ggml {

/// A buffer that grows at its end: ggml_dyn_tallocr. It has one chunk, since neither CUDA nor the
/// host limits a buffer's size. Offsets and sizes in bytes.
class FreeBlocks {
 public:
  explicit FreeBlocks(std::uint64_t alignment) : alignment_(alignment) {}

  /// Where `size` bytes lie from now on: in the smallest free block that holds them, the last of
  /// equals; where none does, at the end.
  std::uint64_t allocate(std::uint64_t size);
  void free(std::uint64_t offset, std::uint64_t size);
  /// The part behind the first `kept` bytes of `size` that lie at `offset`.
  void free_behind(std::uint64_t offset, std::uint64_t size, std::uint64_t kept);

  std::uint64_t max_size() const { return max_size_; }

 private:
  struct Block {
    std::uint64_t offset;
    std::uint64_t size;
  };

  std::uint64_t aligned(std::uint64_t size) const {
    return (size + alignment_ - 1) / alignment_ * alignment_;
  }

  static constexpr std::uint64_t kEndless = UINT64_MAX / 4;

  std::uint64_t alignment_;
  std::uint64_t max_size_ = 0;
  std::vector<Block> blocks_ = {{0, kEndless}};  // by offset; the last one is endless
};

}  // namespace vramfit::llamacpp::ggml
