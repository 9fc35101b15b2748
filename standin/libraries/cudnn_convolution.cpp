#include "standin/libraries/cudnn_convolution.h"

#include <algorithm>

namespace vramfit::standin {
namespace {

// cudnnDataType_t.
constexpr int kFloat = 0;
constexpr int kHalf = 2;
constexpr int kBfloat16 = 9;

constexpr std::int64_t kPiece = 16;  ///< bytes that are loaded at once, and what buffers align to
constexpr int kFirstWithTf32 = 80;

/// Bytes of an element that tensor cores multiply; 0 of others.
std::int64_t element(int type, int sm) {
  if (type == kHalf || type == kBfloat16) return 2;
  return type == kFloat && sm >= kFirstWithTf32 ? 4 : 0;
}

bool channels_innermost(const CudnnTensor& tensor) {
  return tensor.strides[1] == 1 ||
         std::ranges::all_of(tensor.space(), [](std::int64_t size) { return size == 1; });
}

/// Of its copy, if there is one. A weight has the output's channels where others have the batch.
std::int64_t copied(const CudnnTensor& tensor, bool weight, std::int64_t element) {
  const std::int64_t piece = kPiece / element;
  const auto filled = [&](std::int64_t size) { return (size + piece - 1) / piece * piece; };
  const std::int64_t channels = filled(tensor.sizes[1]);
  const std::int64_t outer = weight ? filled(tensor.sizes[0]) : tensor.sizes[0];
  const bool whole = channels == tensor.sizes[1] && outer == tensor.sizes[0];
  if (whole && channels_innermost(tensor)) return 0;
  std::int64_t bytes = element * outer * channels;
  for (const std::int64_t size : tensor.space()) bytes *= size;
  return bytes;
}

}  // namespace

std::int64_t convolution_workspace(const std::array<CudnnTensor, 3>& tensors, int sm) {
  const std::int64_t bytes = element(tensors[0].type, sm);
  if (bytes == 0) return 0;
  const auto& [x, w, y] = tensors;
  const std::int64_t copies =
      copied(x, false, bytes) + copied(w, true, bytes) + copied(y, false, bytes);
  return copies == 0 ? 0 : copies + kPiece;
}

}  // namespace vramfit::standin
