#include "kernels/cuda/base/dispatch.cuh"
#include "kernels/cuda/base/launch.h"
#include "kernels/cuda/layers/column_partials.h"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

using namespace gpu;

// A block takes one group of rows, of which there are at most kColumnSumGroups. It is made of
// teams of whole warps (threadIdx.y), which take the group's rows in turn; a thread
// keeps the same columns in every row, so that column sums stay in its registers.

/// Two blocks of this size, with 64 registers a thread, fill a multiprocessor, and so the groups
/// fill the GPU at once.
constexpr int kBlockThreads = 512;
constexpr int kMostTeams = 8;
constexpr int kMostTeamWarps = kBlockThreads / kWarp;

template <typename T>
struct Rows {
  const T* x;
  const float* rstd;
  const float* mean;
  const T* weight;
  const T* bias;
  T* dy;
  T* dx;
  float* partials;  ///< dweight's sums, (groups, h), then dbias's; null: nobody wants them
  std::int64_t rows;
  int packs;
  bool accumulate_dx;
};

/// Prefetched rows: a thread copies to shared memory only what it will read itself of the next
/// rows, which takes no registers and needs no barrier.
template <typename T, int N, int kPacks>
class Fetched {
 public:
  static constexpr int kStages = kPacks == 1 ? 3 : 2;
  static constexpr int kTensors = 3;  // x, dy, dx
  static constexpr std::size_t kBytesPerThread = sizeof(Pack<T, N>) * kStages * kTensors * kPacks;

  __device__ explicit Fetched(Pack<T, N>* shared)
      : own_(shared + threadIdx.y * blockDim.x + threadIdx.x),
        step_(static_cast<int>(blockDim.x * blockDim.y)) {}

  __device__ void fetch(int stage, int tensor, int k, const T* from) {
    Pack<T, N>* to = slot(stage, tensor, k);
    if constexpr (N == 1) {
      *to = Pack<T, N>::load(from);
    } else {
      copy_async(to, from);
    }
  }

  __device__ Floats<N> get(int stage, int tensor, int k) const {
    return slot(stage, tensor, k)->floats();
  }

  __device__ static int after(int stage) { return stage + 1 < kStages ? stage + 1 : 0; }

 private:
  __device__ Pack<T, N>* slot(int stage, int tensor, int k) const {
    return own_ + ((stage * kTensors + tensor) * kPacks + k) * step_;
  }

  Pack<T, N>* own_;
  int step_;
};

/// Sums over teams, the rows of a two-dimensional block of whole warps (threadIdx.y), for each of a
/// team's threads. In shared memory. One barrier a call, and none in a team of one warp: two
/// buffers in turn, and no thread comes to the next but one before all have left this one.
struct TeamSums {
  static constexpr int kAtOnce = 4;
  static_assert(kMostTeams < 16, "a team has a named barrier of its own");
  static_assert(kMostTeamWarps % kAtOnce == 0);

  alignas(16) float2 buffers[2][kMostTeams][kMostTeamWarps];

  /// All threads of the block, once: warps that a team lacks for kAtOnce count 0.
  __device__ void clear() {
    auto* values = &buffers[0][0][0];
    const int threads = static_cast<int>(blockDim.x * blockDim.y);
    for (int i = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
         i < 2 * kMostTeams * kMostTeamWarps; i += threads) {
      values[i] = {0, 0};
    }
    __syncthreads();
  }

  /// Of both, or of `a` alone. `turn` is 0 and 1 by turns.
  template <bool kBoth>
  __device__ float2 sum(float a, float b, int turn) {
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    a = warp_sum(a);
    if constexpr (kBoth) b = warp_sum(b);
    if (warps == 1) return {a, b};
    float2* buffer = buffers[turn][threadIdx.y];
    if (threadIdx.x % kWarp == 0) buffer[threadIdx.x / kWarp] = {a, b};
    named_barrier(static_cast<int>(threadIdx.y) + 1, static_cast<int>(blockDim.x));
    float2 total = {0, 0};
    const auto* pairs = reinterpret_cast<const float4*>(buffer);
#pragma unroll 1  // seldom more than four times: unrolled, it is mostly remainders
    for (int warp = 0; warp < warps; warp += kAtOnce, pairs += kAtOnce / 2) {
      const float4 first = pairs[0];
      const float4 second = pairs[1];
      total.x += (first.x + first.z) + (second.x + second.z);
      if constexpr (kBoth) total.y += (first.y + first.w) + (second.y + second.w);
    }
    return total;
  }
};

/// Adds up the teams' column sums, in order, and writes the group's. `shared`: a row of floats.
template <int N, int kPacks>
__device__ void write_group(const Floats<N> (&sums)[kPacks], int packs, float* shared, float* to) {
  const int team = static_cast<int>(threadIdx.y);
  const int teams = static_cast<int>(blockDim.y);
  for (int turn = teams - 1; turn >= 0; --turn) {
    __syncthreads();
    if (team != turn) continue;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int p = static_cast<int>(threadIdx.x) + k * static_cast<int>(blockDim.x);
      if (p >= packs) continue;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        // Element by element: neighbouring threads are neighbours in `shared`.
        float& shelf = shared[i * packs + p];
        const float sum = turn == teams - 1 ? sums[k][i] : sums[k][i] + shelf;
        if (turn > 0) {
          shelf = sum;
        } else {
          to[p * N + i] = sum;
        }
      }
    }
  }
}

template <typename T, int N, int kPacks, bool kLayerNorm>
__global__ void __launch_bounds__(kBlockThreads, kPacks == 1 ? 2 : 1)
    norm_backward(const Rows<T> rows) {
  using Rowset = Fetched<T, N, kPacks>;
  enum : int { kX, kDy, kDx };
  __shared__ TeamSums team_sums;
  Rowset fetched(dynamic_shared<Pack<T, N>>());
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int teams = static_cast<int>(blockDim.y);
  const std::int64_t width = std::int64_t{rows.packs} * N;
  const float inverse_width = 1.0F / static_cast<float>(width);
  const auto groups = static_cast<int>(gridDim.x);
  const auto group = static_cast<int>(blockIdx.x);
  const auto end = static_cast<int>((group + 1) * rows.rows / groups);
  auto row = static_cast<int>(group * rows.rows / groups) + static_cast<int>(threadIdx.y);
  const std::int64_t stride = teams * width;
  std::int64_t at = row * width + thread * N;  // this thread's first element of the row
  const auto inside = [&](int k) { return thread + k * threads < rows.packs; };
  const int next_pack = threads * N;
  const auto fetch = [&](int stage, int ahead) {
    if (row + ahead * teams < end) {
      const std::int64_t from = at + ahead * stride;
#pragma unroll
      for (int k = 0; k < kPacks; ++k) {
        if (!inside(k)) continue;
        fetched.fetch(stage, kX, k, rows.x + from + k * next_pack);
        fetched.fetch(stage, kDy, k, rows.dy + from + k * next_pack);
        if (rows.accumulate_dx) fetched.fetch(stage, kDx, k, rows.dx + from + k * next_pack);
      }
    }
    commit_copies();
  };

  team_sums.clear();
  constexpr int kAhead = Rowset::kStages - 1;
#pragma unroll
  for (int stage = 0; stage < kAhead; ++stage) fetch(stage, stage);
  Pack<T, N> weight[kPacks];
#pragma unroll
  for (int k = 0; k < kPacks; ++k) {
    if (inside(k)) weight[k] = Pack<T, N>::load(rows.weight + thread * N + k * next_pack);
  }
  Floats<N> dweight[kPacks] = {};
  Floats<N> dbias[kPacks] = {};
  float next_rstd = row < end ? rows.rstd[row] : 0.0F;
  float next_mean = kLayerNorm && row < end ? rows.mean[row] : 0.0F;

  int stage = 0;
  int fetching = kAhead;
  for (int turn = 0; row < end; turn ^= 1, row += teams, at += stride) {
    fetch(fetching, kAhead);
    const float rstd = next_rstd;
    const float mean = next_mean;
    if (row + teams < end) {
      next_rstd = rows.rstd[row + teams];
      if constexpr (kLayerNorm) next_mean = rows.mean[row + teams];
    }
    wait_for_copies<kAhead>();

    // z is the normalized x, dz its gradient.
    Floats<N> z[kPacks];
    Floats<N> dz[kPacks];
    float along_z = 0;
    float along_mean = 0;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      if (!inside(k)) continue;
      z[k] = fetched.get(stage, kX, k);
      dz[k] = fetched.get(stage, kDy, k);
      const Floats<N> scale = weight[k].floats();
#pragma unroll
      for (int i = 0; i < N; ++i) {
        z[k][i] = (z[k][i] - mean) * rstd;
        dweight[k][i] += dz[k][i] * z[k][i];
        if constexpr (kLayerNorm) dbias[k][i] += dz[k][i];
        dz[k][i] *= scale[i];
        along_z += dz[k][i] * z[k][i];
        if constexpr (kLayerNorm) along_mean += dz[k][i];
      }
    }
    const float2 along = team_sums.sum<kLayerNorm>(along_z, along_mean, turn);
    along_z = along.x * inverse_width * rstd;
    along_mean = along.y * inverse_width * rstd;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      if (!inside(k)) continue;
      Floats<N> dx{};
      if (rows.accumulate_dx) dx = fetched.get(stage, kDx, k);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if constexpr (kLayerNorm) dx[i] -= along_mean;
        dx[i] = fmaf(rstd, dz[k][i], fmaf(-along_z, z[k][i], dx[i]));
      }
      store_floats<T, N>(rows.dx + at + k * next_pack, dx);
      const Floats<N> scale = weight[k].floats();
      Floats<N> y{};
      if constexpr (kLayerNorm) y = load_floats<T, N>(rows.bias + thread * N + k * next_pack);
#pragma unroll
      for (int i = 0; i < N; ++i) y[i] = fmaf(z[k][i], scale[i], y[i]);
      store_floats<T, N>(rows.dy + at + k * next_pack, y);
    }
    stage = Rowset::after(stage);
    fetching = Rowset::after(fetching);
  }

  if (rows.partials == nullptr) return;
  auto* shared = dynamic_shared<float>();
  float* to = rows.partials + blockIdx.x * width;
  write_group(dweight, rows.packs, shared, to);
  if constexpr (kLayerNorm) write_group(dbias, rows.packs, shared, to + groups * width);
}

/// Calls `body` with the packs a thread keeps, as a Constant: the fewest that will do.
template <int N, typename Body>
void with_packs(std::int64_t packs, const Body& body) {
  constexpr int kMost = N == 1 ? 16 : 4;
  if (packs <= kBlockThreads) {
    body(Constant<1>{});
  } else if (packs <= kBlockThreads * 2) {
    body(Constant<2>{});
  } else if (packs <= kBlockThreads * kMost) {
    body(Constant<kMost>{});
  } else {
    throw BadInput(
        "norm_backward: a row is too long; at most 8192 elements, or 16384 in 16 bits "
        "where their number is a multiple of 8");
  }
}

template <typename T>
T* data_or_null(const Tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->as<T>();
}

template <typename T, int N>
void launch_rows(const NormBackward& op, cudaStream_t stream) {
  const std::int64_t count = op.x.shape()[0];
  const bool layer_norm = op.kind == NormKind::LayerNorm;
  const Rows<T> rows = {op.x.as<T>(),
                        op.rstd.as<float>(),
                        data_or_null<float>(op.mean),
                        op.weight.as<T>(),
                        data_or_null<T>(op.bias),
                        op.dy.as<T>(),
                        op.dx.as<T>(),
                        data_or_null<float>(op.partials),
                        count,
                        static_cast<int>(op.x.shape()[1] / N),
                        op.accumulate_dx};
  with_packs<N>(rows.packs, [&](auto packs) {
    constexpr int kPacks = decltype(packs)::value;
    const int team = whole_warps(ceil_divide(rows.packs, kPacks), kBlockThreads);
    const int teams = std::min(kMostTeams, kBlockThreads / team);
    const auto kernel =
        layer_norm ? norm_backward<T, N, kPacks, true> : norm_backward<T, N, kPacks, false>;
    // Once all rows are read, the same memory holds a row of sums in fp32: with three tensors and
    // two stages or more of each team's row it is larger than that in any dtype.
    const std::size_t shared =
        Fetched<T, N, kPacks>::kBytesPerThread * static_cast<std::size_t>(team * teams);
    start({"norm_backward", static_cast<unsigned>(column_sum_groups(count)),
           dim3(static_cast<unsigned>(team), static_cast<unsigned>(teams)), stream, shared},
          kernel, rows);
  });
}

}  // namespace

void launch(const NormBackward& op, cudaStream_t stream) {
  const std::int64_t count = op.x.shape()[0];
  const std::int64_t width = op.x.shape()[1];
  const bool layer_norm = op.kind == NormKind::LayerNorm;
  expect((op.bias != nullptr) == layer_norm && (op.mean != nullptr) == layer_norm &&
             (op.dbias != nullptr) == (layer_norm && op.dweight != nullptr),
         "norm_backward: LayerNorm, and it alone, has bias and mean");
  expect(
      op.dweight == nullptr || op.partials->shape() == norm_partials_shape(op.kind, count, width),
      "norm_backward: partials are not norm_partials_shape");
  with_element(op.x.format(), [&](auto element) {
    using T = decltype(element);
    const bool packed = is_packed<T>(width, {op.x.data(), op.weight.data(),
                                             data_or_null<T>(op.bias), op.dy.data(), op.dx.data()});
    with_pack<T>(packed, [&](auto size) { launch_rows<T, decltype(size)::value>(op, stream); });
  });
  if (op.dweight == nullptr) return;
  sum_partials(op.partials->as<float>(), column_sum_groups(count),
               {op.dweight, op.accumulate_dweight}, {op.dbias, op.accumulate_dbias}, stream);
}

}  // namespace vramfit
