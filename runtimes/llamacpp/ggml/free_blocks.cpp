#include "runtimes/llamacpp/ggml/free_blocks.h"

#include <algorithm>
#include <cstddef>

namespace vramfit::llamacpp::ggml {

// ggml_dyn_tallocr_alloc.
std::uint64_t FreeBlocks::allocate(std::uint64_t size) {
  size = aligned(size);
  std::size_t best = blocks_.size() - 1;
  for (std::size_t i = 0; i + 1 < blocks_.size(); ++i) {
    const bool smaller = best + 1 == blocks_.size() || blocks_[i].size <= blocks_[best].size;
    if (blocks_[i].size >= size && smaller) best = i;
  }
  const std::uint64_t offset = blocks_[best].offset;
  blocks_[best].offset += size;
  blocks_[best].size -= size;
  if (blocks_[best].size == 0) blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(best));
  max_size_ = std::max(max_size_, offset + size);
  return offset;
}

// ggml_dyn_tallocr_free_bytes: grows the first block that it touches, which may then touch its
// neighbour.
void FreeBlocks::free(std::uint64_t offset, std::uint64_t size) {
  size = aligned(size);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    Block& block = blocks_[i];
    if (block.offset + block.size == offset) {
      block.size += size;
      if (i + 1 < blocks_.size() && block.offset + block.size == blocks_[i + 1].offset) {
        block.size += blocks_[i + 1].size;
        blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i + 1));
      }
      return;
    }
    if (offset + size == block.offset) {
      block.offset = offset;
      block.size += size;
      if (i > 0 && blocks_[i - 1].offset + blocks_[i - 1].size == block.offset) {
        blocks_[i - 1].size += block.size;
        blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
      }
      return;
    }
  }
  const auto behind = std::find_if(blocks_.begin(), blocks_.end(),
                                   [offset](const Block& b) { return b.offset >= offset; });
  blocks_.insert(behind, {offset, size});
}

// ggml_gallocr_free_extra_space.
void FreeBlocks::free_behind(std::uint64_t offset, std::uint64_t size, std::uint64_t kept) {
  size = aligned(size);
  kept = aligned(kept);
  if (size > kept) free(offset + kept, size - kept);
}

}  // namespace vramfit::llamacpp::ggml
