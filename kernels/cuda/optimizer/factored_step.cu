#include <cfloat>
#include <cmath>

#include "kernels/cuda/optimizer/factored_step.cuh"
#include "model/ops/factor_sums.h"

// A matrix takes four passes, one after the other, of which three read its gradient: squares are
// summed up; the sums of all blocks become means; the update's squares are summed up; the update is
// taken. None of them writes as much as the matrix. A vector takes one block of one pass.

namespace vramfit {
namespace {

using namespace gpu;

using Entry = OptimizerLauncher::Entry;

constexpr int kWarps = kStepThreads / kWarp;
constexpr int kTile = static_cast<int>(FactorSums::kTile);
constexpr int kOwn = kTile / kWarp;  // elements of a row that a lane has
constexpr int kVectorThreads = 512;
static_assert(FactorSums::kRowsABlock == kStepThreads);

/// What v is stored in has this epsilon.
constexpr float kEps = FLT_EPSILON;

/// What all parameters' steps have in common.
struct FactoredStep {
  OptimizerSettings settings;
  float share;          ///< 1 − β2: the gradient's, of what v becomes
  float rate;           ///< of a step that is relative to its parameter's RMS
  const float* scaler;  ///< null: gradients are not scaled
  bool first;           ///< v is not there yet

  __device__ bool skips() const { return scaler != nullptr && scaler[LossScale::kOverflow] != 0; }
  __device__ float inverse_scale() const {
    return scaler == nullptr ? 1.0F : 1.0F / scaler[LossScale::kScale];
  }
  __device__ float moved(float before, float now) const {
    return first ? now : before + (now - before) * share;
  }
  /// By what an update is multiplied, from the sums of the parameter's and of the update's squares.
  __device__ float scale(float weights, float updates, float elements) const {
    const float size = fmaxf(settings.least_rms, sqrtf(weights / elements));
    return size * rate / fmaxf(1.0F, sqrtf(updates / elements) / settings.clipping);
  }
  __device__ float kept(bool decays) const {
    return decays ? 1.0F - settings.learning_rate * settings.weight_decay : 1.0F;
  }
};

template <typename T>
struct FactoredMatrix {
  T* parameter;
  const T* gradient;
  float* column_means;
  float* row_means;
  float* sums;  ///< OptimizerStep::sums
  FactorSums where;
  std::int64_t stored_rows;  ///< padding included
  bool decays;

  __device__ float elements() const { return static_cast<float>(where.rows * where.columns); }
};

/// A block's part of a matrix: the lane's elements of a row are packs of kPack, a warp's side by
/// side; a warp's rows are every kWarps-th of the block's.
template <int kPack>
struct Part {
  int lane = static_cast<int>(threadIdx.x) % kWarp;
  int warp = static_cast<int>(threadIdx.x) / kWarp;
  std::int64_t tile = blockIdx.x;
  std::int64_t group = blockIdx.y;
  FactorSums where;

  __device__ explicit Part(const FactorSums& sums) : where(sums) {}

  __device__ std::int64_t block() const { return group * where.tiles() + tile; }

  template <typename Body>
  __device__ void for_each_row(const Body& body) const {
    const std::int64_t end = min((group + 1) * where.group_rows(), where.rows);
    for (std::int64_t row = group * where.group_rows() + warp; row < end; row += kWarps) body(row);
  }
  /// The column of the lane's element i.
  __device__ std::int64_t column(int i, int of_lane) const {
    return tile * kTile + i / kPack * (kWarp * kPack) + of_lane * kPack + i % kPack;
  }
  /// Calls `body` with which of the lane's elements a pack begins with, and its column.
  template <typename Body>
  __device__ void for_each_pack(const Body& body) const {
#pragma unroll
    for (int i = 0; i < kOwn; i += kPack) {
      if (column(i, lane) < where.columns) body(i, column(i, lane));
    }
  }
};

/// In a fixed order; every thread gets it. `shared`: as block_sum has it.
__device__ float sum_of(const float* values, std::int64_t count, float* shared) {
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += values[i];
  return block_sum(sum, shared);
}

/// The sums of a block's columns over its warps.
template <int kPack>
__device__ void add_up_columns(const Part<kPack>& part, const float (&own)[kOwn], float* to) {
  __shared__ float all[kWarps][kTile];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) all[part.warp][i * kWarp + part.lane] = own[i];
  __syncthreads();
  for (int at = static_cast<int>(threadIdx.x); at < kTile; at += kStepThreads) {
    float sum = 0;
    for (int warp = 0; warp < kWarps; ++warp) sum += all[warp][at];
    const std::int64_t column = part.column(at / kWarp, at % kWarp);
    if (column < part.where.columns) to[part.group * part.where.columns + column] = sum;
  }
}

template <typename T, int kPack>
__global__ void __launch_bounds__(kStepThreads)
    sum_squares(const FactoredMatrix<T> m, const FactoredStep step) {
  __shared__ float shared[kMaxWarps];
  if (step.skips()) return;
  const float inverse_scale = step.inverse_scale();
  const Part<kPack> part(m.where);
  float columns[kOwn] = {};
  float weights = 0;
  part.for_each_row([&](std::int64_t row) {
    float sum = 0;
    part.for_each_pack([&](int own, std::int64_t column) {
      const std::int64_t at = row * m.where.columns + column;
      const Floats<kPack> gradient = load_floats<T, kPack>(m.gradient + at);
      const Floats<kPack> weight = load_floats<T, kPack>(m.parameter + at);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const float g = gradient[i] * inverse_scale;
        sum += g * g;
        columns[own + i] += g * g;
        weights += weight[i] * weight[i];
      }
    });
    sum = warp_sum(sum);
    if (part.lane == 0) m.sums[m.where.of_rows() + part.tile * m.where.rows + row] = sum;
  });
  add_up_columns(part, columns, m.sums + m.where.of_columns());
  weights = block_sum(weights, shared);
  if (threadIdx.x == 0) m.sums[m.where.of_weights() + part.block()] = weights;
}

/// The first blocks end the means of kWarp columns each, the others of kStepThreads rows.
template <typename T>
__global__ void __launch_bounds__(kStepThreads)
    move_means(const FactoredMatrix<T> m, const FactoredStep step) {
  __shared__ float shared[kMaxWarps];
  __shared__ float all[kWarps][kWarp];
  const FactorSums& where = m.where;
  const bool skips = step.skips();
  if (skips && !step.first) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t column_blocks = (where.columns + kWarp - 1) / kWarp;
  if (blockIdx.x < column_blocks) {
    const std::int64_t column = std::int64_t{blockIdx.x} * kWarp + lane;
    float sum = 0;
    if (column < where.columns && !skips) {
      for (std::int64_t group = warp; group < where.groups(); group += kWarps) {
        sum += m.sums[where.of_columns() + group * where.columns + column];
      }
    }
    all[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || column >= where.columns) return;
    for (int other = 1; other < kWarps; ++other) sum += all[other][lane];
    const float mean = sum / static_cast<float>(where.rows);
    m.column_means[column] = step.moved(m.column_means[column], mean);
    return;
  }
  const std::int64_t block = blockIdx.x - column_blocks;
  const std::int64_t row = block * kStepThreads + threadIdx.x;
  float moved = 0;
  if (row < where.rows) {
    float sum = 0;
    for (std::int64_t tile = 0; tile < where.tiles() && !skips; ++tile) {
      sum += m.sums[where.of_rows() + tile * where.rows + row];
    }
    moved = step.moved(m.row_means[row], sum / static_cast<float>(where.columns));
  }
  if (row < m.stored_rows) m.row_means[row] = moved;
  if (block >= where.row_blocks()) return;
  moved = block_sum(moved, shared);
  if (threadIdx.x == 0) m.sums[where.of_row_means() + block] = moved;
}

/// Calls `body` with all rows of a block, by what factor the columns' means make v of it; and
/// before that keeps the lane's columns' means.
template <typename T, int kPack>
struct Variance {
  const FactoredMatrix<T>& m;
  float of_rows;  ///< 1 / the mean of all
  float columns[kOwn] = {};

  __device__ Variance(const FactoredMatrix<T>& matrix, const Part<kPack>& part, float* shared)
      : m(matrix) {
    const FactorSums& where = m.where;
    const float sum = sum_of(m.sums + where.of_row_means(), where.row_blocks(), shared);
    of_rows = 1.0F / fmaxf(sum / static_cast<float>(where.rows), kEps);
    part.for_each_pack([&](int own, std::int64_t column) {
#pragma unroll
      for (int i = 0; i < kPack; ++i) columns[own + i] = m.column_means[column + i];
    });
  }

  __device__ float of_row(std::int64_t row) const { return m.row_means[row] * of_rows; }
  /// What an update is divided by, squared.
  __device__ float at(float of_row, int own) const {
    return fmaxf(of_row * columns[own], kEps * kEps);
  }
};

template <typename T, int kPack>
__global__ void __launch_bounds__(kStepThreads)
    sum_updates(const FactoredMatrix<T> m, const FactoredStep step) {
  __shared__ float shared[2][kMaxWarps];
  if (step.skips()) return;
  const float inverse_scale = step.inverse_scale();
  const Part<kPack> part(m.where);
  const Variance<T, kPack> variance(m, part, shared[0]);
  float updates = 0;
  part.for_each_row([&](std::int64_t row) {
    const float of_row = variance.of_row(row);
    part.for_each_pack([&](int own, std::int64_t column) {
      const Floats<kPack> gradient =
          load_floats<T, kPack>(m.gradient + row * m.where.columns + column);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const float g = gradient[i] * inverse_scale;
        updates += g * g * reciprocal(variance.at(of_row, own + i));
      }
    });
  });
  updates = block_sum(updates, shared[1]);
  if (threadIdx.x == 0) m.sums[m.where.of_updates() + part.block()] = updates;
}

template <typename T, int kPack>
__global__ void __launch_bounds__(kStepThreads)
    take_factored_step(const FactoredMatrix<T> m, const FactoredStep step) {
  __shared__ float shared[3][kMaxWarps];
  if (step.skips()) return;
  const float inverse_scale = step.inverse_scale();
  const FactorSums& where = m.where;
  const Part<kPack> part(where);
  const Variance<T, kPack> variance(m, part, shared[0]);
  const float weights = sum_of(m.sums + where.of_weights(), where.blocks(), shared[1]);
  const float updates = sum_of(m.sums + where.of_updates(), where.blocks(), shared[2]);
  const float scale = step.scale(weights, updates, m.elements()) * inverse_scale;
  const float kept = step.kept(m.decays);
  part.for_each_row([&](std::int64_t row) {
    const float of_row = variance.of_row(row);
    part.for_each_pack([&](int own, std::int64_t column) {
      const std::int64_t at = row * where.columns + column;
      const Floats<kPack> gradient = Pack<T, kPack>::load_once(m.gradient + at).floats();
      Floats<kPack> weight = Pack<T, kPack>::load_once(m.parameter + at).floats();
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        weight[i] = weight[i] * kept -
                    scale * gradient[i] * reciprocal(square_root(variance.at(of_row, own + i)));
      }
      Pack<T, kPack>(weight).store_once(m.parameter + at);
    });
  });
}

/// A vector a block. Each thread comes back to its own elements.
template <typename T>
__global__ void __launch_bounds__(kVectorThreads)
    take_vector_step(const Entry* table, const FactoredStep step) {
  __shared__ float shared[2][kMaxWarps];
  const bool skips = step.skips();
  if (skips && !step.first) return;
  const Entry entry = table[blockIdx.x];
  const float inverse_scale = step.inverse_scale();
  T* const parameter = static_cast<T*>(entry.parameter);
  const T* const gradient = static_cast<const T*>(entry.gradient);
  auto* const v = static_cast<float*>(entry.variance);
  const auto for_each = [&](const auto& body) {
    for (std::int64_t i = threadIdx.x; i < entry.elements; i += kVectorThreads) {
      body(i, to_float(gradient[i]) * inverse_scale, to_float(parameter[i]));
    }
  };
  const auto at = [&](std::int64_t i) { return fmaxf(v[i], kEps * kEps); };
  if (skips) {
    for_each([&](std::int64_t i, float, float) { v[i] = 0; });
    return;
  }
  float weights = 0;
  float updates = 0;
  for_each([&](std::int64_t i, float g, float weight) {
    v[i] = step.moved(v[i], g * g);
    weights += weight * weight;
    updates += g * g * reciprocal(at(i));
  });
  weights = block_sum(weights, shared[0]);
  updates = block_sum(updates, shared[1]);
  const float scale = step.scale(weights, updates, static_cast<float>(entry.elements));
  const float kept = step.kept(entry.decays != 0);
  for_each([&](std::int64_t i, float g, float weight) {
    parameter[i] = from_float<T>(weight * kept - scale * g * reciprocal(square_root(at(i))));
  });
}

template <typename T>
void launch_matrix(const ParameterUpdate& update, float* sums, const FactoredStep& step,
                   cudaStream_t stream) {
  const Shape& shape = update.parameter->shape();
  auto* const means = update.variance->as<float>();
  const FactoredMatrix<T> m{update.parameter->as<T>(),
                            update.gradient->as<const T>(),
                            means,
                            means + shape[1],
                            sums,
                            {shape[0], shape[1]},
                            update.parameter->stored()[0],
                            update.decays};
  const dim3 grid(static_cast<unsigned>(m.where.tiles()), static_cast<unsigned>(m.where.groups()));
  const Launch launch{"optimizer", grid, kStepThreads, stream};
  const int column_blocks = ceil_divide(shape[1], kWarp);
  const int row_blocks = ceil_divide(m.stored_rows, kStepThreads);
  with_pack<T>(is_packed<T>(shape[1], {m.parameter, m.gradient}), [&](auto size) {
    constexpr int kPack = decltype(size)::value;
    start(launch, sum_squares<T, kPack>, m, step);
    start({"optimizer", static_cast<unsigned>(column_blocks + row_blocks), kStepThreads, stream},
          move_means<T>, m, step);
    start(launch, sum_updates<T, kPack>, m, step);
    start(launch, take_factored_step<T, kPack>, m, step);
  });
}

}  // namespace

template <typename T>
void launch_factored_step(const OptimizerStep& op, const Entry* table, cudaStream_t stream) {
  const double number = op.step;
  const FactoredStep step{
      op.settings, static_cast<float>(std::pow(number, double{op.settings.beta2_decay})),
      static_cast<float>(std::min(double{op.settings.learning_rate}, 1 / std::sqrt(number))),
      op.scaler == nullptr ? nullptr : op.scaler->as<float>(), op.step == 1};
  auto* const sums = op.sums == nullptr ? nullptr : op.sums->as<float>();
  unsigned vectors = 0;
  for (const ParameterUpdate& update : op.updates) {
    if (is_factored(op.kind, update.parameter->shape())) {
      launch_matrix<T>(update, sums, step, stream);
    } else {
      ++vectors;
    }
  }
  if (vectors > 0) {
    start({"optimizer", vectors, kVectorThreads, stream}, take_vector_step<T>, table, step);
  }
}

template void launch_factored_step<float>(const OptimizerStep&, const Entry*, cudaStream_t);
template void launch_factored_step<__half>(const OptimizerStep&, const Entry*, cudaStream_t);
template void launch_factored_step<__nv_bfloat16>(const OptimizerStep&, const Entry*, cudaStream_t);

}  // namespace vramfit
