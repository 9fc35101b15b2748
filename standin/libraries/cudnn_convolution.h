#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace vramfit::standin {

/// As cuDNN is told of it: batch, channels, and up to three sizes of space.
struct CudnnTensor {
  static constexpr int kMostSizes = 5;
  int type = 0;  ///< cudnnDataType_t
  int rank = 0;
  std::array<std::int64_t, kMostSizes> sizes{};
  std::array<std::int64_t, kMostSizes> strides{};

  std::span<const std::int64_t> space() const {
    return std::span(sizes).subspan(2, rank > 2 ? static_cast<std::size_t>(rank) - 2 : 0);
  }
};

/// What cuDNN's first choice of an engine works in beside a convolution's tensors (input, weight
/// and output, or their gradients) on a card of `sm`. Bytes.
///
/// Tensor cores read channels innermost, in whole pieces of 16 bytes: what lies otherwise is
/// copied. No source tells this: cuDNN 9.19's heuristics (CUDNN_HEUR_MODE_INSTANT, which PyTorch
/// asks without torch.backends.cudnn.benchmark) were asked about cards that were described to them
/// (CUDNN_ATTR_ENGINEHEUR_DEVICEPROP), sm_75 to sm_120. Most of their choices are this to 0.2 kB;
/// some have sums of splits beside, of some MB, and those of images' three channels go their own
/// way.
std::int64_t convolution_workspace(const std::array<CudnnTensor, 3>& tensors, int sm);

}  // namespace vramfit::standin
