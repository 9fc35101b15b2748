#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/gemm/one_token.h"

namespace vramfit {
namespace {

using namespace gpu;

/// One block per sequence, one thread per element of its row of dqkv.
template <typename T>
__global__ void one_token_backward(const T* dout, T* dqkv, int q_width, int kv_width,
                                   int head_dim) {
  const int qkv_width = q_width + 2 * kv_width;
  const int group = q_width / kv_width;
  const T* from = dout + std::int64_t{blockIdx.x} * q_width;
  T* to = dqkv + std::int64_t{blockIdx.x} * qkv_width;
  for (int i = static_cast<int>(threadIdx.x); i < qkv_width; i += static_cast<int>(blockDim.x)) {
    float sum = 0;
    const int v = i - q_width - kv_width;
    for (int member = 0; v >= 0 && member < group; ++member) {
      sum += to_float(from[(v / head_dim * group + member) * head_dim + v % head_dim]);
    }
    to[i] = from_float<T>(sum);
  }
}

}  // namespace

void launch_one_token_backward(const AttentionBackward& op, cudaStream_t stream) {
  const AttentionShape& s = op.shape;
  expect(s.seq == 1, "one_token_backward: sequences are of one token");
  with_element(op.dout.format(), [&](auto element) {
    using T = decltype(element);
    start(
        {"one_token_backward", static_cast<unsigned>(s.batch), whole_warps(s.qkv_width()), stream},
        one_token_backward<T>, op.dout.as<T>(), op.dqkv.as<T>(), static_cast<int>(s.q_width()),
        static_cast<int>(s.kv_width()), static_cast<int>(s.head_dim));
  });
}

}  // namespace vramfit
