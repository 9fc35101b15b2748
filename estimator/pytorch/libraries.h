#pragma once

#include <cstdint>

namespace vramfit::pytorch {

/// What driver and libraries take of a card outside the allocator, bytes: constants of a card,
/// driver and build of PyTorch, which data/gpus.json holds with their sources.
struct LibrarySizes {
  std::uint64_t context = 0;         ///< context and PyTorch's kernels, after one tiny tensor
  std::uint64_t first_blas = 0;      ///< cublasCreate on the main thread, kernels loaded with it
  std::uint64_t backward_blas = 0;   ///< the autograd thread's own handle
  std::uint64_t flash_forward = 0;   ///< code of the flash attention kernels, loaded when first run
  std::uint64_t flash_backward = 0;
};

/// Which of them a run has touched so far: the driver loads code lazily, so the card loses memory
/// as kernels are first used (CUDA_MODULE_LOADING=LAZY, the default).
class Libraries {
 public:
  explicit Libraries(const LibrarySizes& sizes) : sizes_(sizes), bytes_(sizes.context) {}

  void use_blas(bool backward_thread) {
    load(backward_thread ? backward_blas_ : first_blas_,
         backward_thread ? sizes_.backward_blas : sizes_.first_blas);
  }
  void use_flash_forward() { load(flash_forward_, sizes_.flash_forward); }
  void use_flash_backward() { load(flash_backward_, sizes_.flash_backward); }

  std::uint64_t bytes() const { return bytes_; }

 private:
  void load(bool& loaded, std::uint64_t bytes) {
    if (!loaded) bytes_ += bytes;
    loaded = true;
  }

  LibrarySizes sizes_;
  std::uint64_t bytes_;
  bool first_blas_ = false;
  bool backward_blas_ = false;
  bool flash_forward_ = false;
  bool flash_backward_ = false;
};

}  // namespace vramfit::pytorch
