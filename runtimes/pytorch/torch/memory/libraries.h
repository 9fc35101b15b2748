#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtimes/gpu.h"
#include "runtimes/pytorch/torch/memory/tape.h"

namespace vramfit::pytorch {

/// What they take of a card, outside the allocator. Bytes.
struct LibrarySizes {
  std::uint64_t context = 0;        ///< with PyTorch's kernels, after one tiny tensor
  std::uint64_t blas = 0;           ///< cuBLAS's handle on the main thread, first kernels
  std::uint64_t backward_blas = 0;  ///< the autograd thread's own handle
  std::uint64_t attention = 0;      ///< fused attention in 16 bits: cuDNN's or flash's code
  std::uint64_t backward_attention = 0;
  std::uint64_t streams = 0;        ///< the pool that is made with the first one beside the default
  std::uint64_t process_group = 0;  ///< NCCL's, as it is made
  std::uint64_t collectives = 0;    ///< NCCL's channels and buffers, as something is first sent
  std::uint64_t more_communicators = 0;  ///< each of NCCL's after the first, as it is made
  std::uint64_t more_collectives = 0;    ///< of such a one, as something is first sent
};

/// On a card, under a release of PyTorch, or where nobody measured that one, under the last that
/// was measured; absent where none was.
std::optional<LibrarySizes> measured_sizes(const Overhead& overhead, std::string_view release);

/// The same. Throws BadInput where none was measured.
LibrarySizes library_sizes(const Overhead& overhead, std::string_view release);

/// Which of a card's libraries a run has touched so far: the driver loads code lazily, so the card
/// loses memory as kernels are first used (CUDA_MODULE_LOADING=LAZY, the default).
class Libraries {
 public:
  /// `tape` is told of it, and must outlive them.
  Libraries(const LibrarySizes& sizes, Tape& tape)
      : tape_(tape), sizes_(sizes), bytes_(sizes.context) {
    tape_.use_libraries(DriverCode::Other, bytes_);
  }

  /// NCCL runs one as it makes a communicator, which may be the first.
  void use_kernels() { load(kernels_, DriverCode::FirstKernel, 0); }

  /// Kernels that may report a failed assertion (Context::use_asserts).
  void use_asserts() { load(asserts_, DriverCode::Asserts, 0); }

  void use_blas(bool backward) {
    backward ? load(backward_blas_, DriverCode::BlasHandle, sizes_.backward_blas)
             : load(blas_, DriverCode::Blas, sizes_.blas);
  }
  void use_attention(bool backward) {
    backward ? load(backward_attention_, DriverCode::BackwardAttention, sizes_.backward_attention)
             : load(attention_, DriverCode::Attention, sizes_.attention);
  }

  /// bitsandbytes multiplies int8 with a handle of cuBLAS of its own, which takes what the autograd
  /// thread's does.
  void use_int8() { load(int8_, DriverCode::BlasHandle, sizes_.backward_blas); }

  /// init_process_group("nccl", device_id=…), and what the first collective maps.
  void init_process_group() { load(process_group_, DriverCode::Other, sizes_.process_group); }
  void use_collectives() { load(collectives_, DriverCode::Other, sizes_.collectives); }

  /// Memory that the driver moves to the host and back as it sees fit (cudaMallocManaged).
  void use_managed(std::uint64_t bytes) { tape_.use_managed(bytes); }

  std::uint64_t bytes() const { return bytes_; }
  /// What a generation has yet to load, and the card still has while a model is being read.
  std::uint64_t before_forward() const { return blas_ ? 0 : sizes_.blas + sizes_.attention; }

 private:
  void load(bool& loaded, DriverCode code, std::uint64_t bytes) {
    if (loaded) return;
    loaded = true;
    tape_.use_libraries(code, bytes_ += bytes);
  }

  Tape& tape_;
  LibrarySizes sizes_;
  std::uint64_t bytes_;
  bool kernels_ = false;
  bool asserts_ = false;
  bool blas_ = false;
  bool backward_blas_ = false;
  bool int8_ = false;
  bool process_group_ = false;
  bool collectives_ = false;
  bool attention_ = false;
  bool backward_attention_ = false;
};

}  // namespace vramfit::pytorch
