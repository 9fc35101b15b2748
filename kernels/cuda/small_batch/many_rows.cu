#include <algorithm>
#include <array>

#include "kernels/cuda/small_batch/arguments.cuh"
#include "kernels/cuda/small_batch/encode_rows.cuh"
#include "kernels/cuda/small_batch/many_rows.cuh"
#include "kernels/cuda/small_batch/many_rows.h"
#include "kernels/cuda/small_batch/stages_of.cuh"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

using namespace gpu;

/// Divides the weight's tiles among blocks, and their stages, in whole steps, among the blocks of
/// clusters, so that all are on the GPU at once. `active`: how many clusters are, by their blocks.
/// Returns the number of blocks.
template <typename T>
int divide_stages(SmallBatch<T>& f, const std::array<int, kMostManyRowsRanks + 1>& active) {
  f.tile();
  const int tiles = ceil_divide(f.rows, std::int64_t{kManyRowsWarps} * f.tile_rows);
  const int steps = ceil_divide(f.stages, kStepStages);
  int ranks = std::min(kMostManyRowsRanks, steps);
  while (ranks > 1 && tiles > active[static_cast<std::size_t>(ranks)]) --ranks;
  const int rank_steps = ceil_divide(steps, ranks);
  f.ranks = ceil_divide(steps, rank_steps);
  f.rank_stages = rank_steps * kStepStages;
  return tiles * f.ranks;
}

/// `to`: where rows are arranged.
template <int kGroups, typename T, typename Stages>
void start_kernels(SmallBatch<T> f, const Stages& weight, std::uint8_t* to, cudaStream_t stream) {
  using Rings = ManyRowsRing<Stages, kGroups>;
  constexpr int kThreads = 256;
  const auto kernel = many_rows<T, Stages, kGroups>;
  const auto launch = [stream](int blocks, int ranks, bool waits) {
    return Launch{"linear",
                  static_cast<unsigned>(blocks),
                  Rings::kThreads,
                  stream,
                  static_cast<std::size_t>(Stages::kTableBytes + Rings::kBytes),
                  waits,
                  ranks};
  };
  static const auto active = [&] {
    std::array<int, kMostManyRowsRanks + 1> clusters{};
    for (int ranks = 2; ranks <= kMostManyRowsRanks; ++ranks) {
      clusters[static_cast<std::size_t>(ranks)] =
          active_clusters(launch(ranks, ranks, false), kernel);
    }
    return clusters;
  }();
  start({"linear: arrange",
         dim3(static_cast<unsigned>(ceil_divide(f.input.all_slots, kThreads)),
              static_cast<unsigned>(f.input.rows)),
         kThreads, stream, 0, true},
        arrange_rows<Stages, Rings::kRows, T>, f.input, reinterpret_cast<uint4*>(to));
  const int blocks = divide_stages(f, active);
  start(launch(blocks, f.ranks, true), kernel, f, weight, to);
}

template <typename T, typename Stages, typename Codes>
bool launch_stages(SmallBatch<T> f, const Stages& weight, const Tensor& workspace,
                   cudaStream_t stream) {
  f.stages = ceil_divide(f.row_bytes, kRowBytes);
  f.input.all_slots = ceil_divide(f.stages, kStepStages) * kStepStages * kStageSlots<Stages>;
  std::uint64_t used = 0;
  if constexpr (!std::is_void_v<Codes>) {
    if (f.input.encoded == nullptr) {
      if (f.input.all_slots > kMostEncoded * kEncodingThreads) return false;
      encode<Stages, Codes>(f, f.input.rows, workspace, stream);
      used =
          ceil_divide(f.input.rows * (std::int64_t{f.input.pitch} + 4), 128) * std::uint64_t{128};
    }
  }
  expect(f.input.norm_weight == nullptr, "linear: many rows are normalised before");
  const int groups = f.input.rows <= 2 * kColumns ? 2 : f.input.rows <= 4 * kColumns ? 4 : 8;
  const auto arranged =
      std::uint64_t{16} * static_cast<unsigned>(f.input.all_slots * groups * kColumns);
  expect_workspace(workspace, used + arranged, "linear");
  std::uint8_t* const to = workspace.as<std::uint8_t>() + used;
  if (groups == 2) {
    start_kernels<2>(f, weight, to, stream);
  } else if (groups == 4) {
    start_kernels<4>(f, weight, to, stream);
  } else {
    start_kernels<8>(f, weight, to, stream);
  }
  return true;
}

/// Whether the weight's rows are what RowPairs has.
template <typename T>
bool in_pairs(const SmallBatch<T>& f) {
  const auto aligned = [](const auto* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % (2 * sizeof(*pointer)) == 0;
  };
  return (f.gated ? f.out / 2 : f.out) % 2 == 0 && aligned(f.weight_scales) && aligned(f.bias) &&
         aligned(f.residual) && aligned(f.y) && aligned(f.act);
}

template <typename Op>
bool launch(const Op& op, cudaStream_t stream) {
  const std::int64_t rows = op.x.shape()[0];
  if (!has_warpgroups() || rows <= kColumns || rows > kDirectRows) return false;
  bool launched = false;
  with_element(format_of(op), [&](auto element) {
    using T = decltype(element);
    if constexpr (sizeof(T) == 2) {
      SmallBatch<T> f = arguments<T>(op);
      f.input.rows = static_cast<int>(rows);
      if (!f.packed || !in_pairs(f)) return;
      with_stages<T>(op.weight, op.quantized, [&](auto stages, auto codes) {
        using Stages = decltype(stages);
        constexpr bool kReads = !std::is_same_v<Stages, NoStages> &&
                                !std::is_same_v<Stages, PlainStages<T>> &&
                                !std::is_same_v<Stages, Fp8Stages>;
        if constexpr (kReads) {
          using Codes = std::remove_pointer_t<decltype(codes)>;
          launched = launch_stages<T, Stages, Codes>(f, stages, op.workspace, stream);
        }
      });
    }
  });
  return launched;
}

}  // namespace

bool launch_many_rows(const LinearForward& op, cudaStream_t stream) { return launch(op, stream); }
bool launch_many_rows(const MlpUpForward& op, cudaStream_t stream) { return launch(op, stream); }

}  // namespace vramfit
