#include <cmath>

#include "kernels/cuda/optimizer/coded_step.cuh"
#include "kernels/cuda/optimizer/factored_step.cuh"
#include "kernels/cuda/optimizer/step.cuh"
#include "model/ops/workspaces.h"

namespace vramfit {
namespace {

using namespace gpu;

using Entry = OptimizerLauncher::Entry;
using Rule = OptimizerKind::Rule;

/// What an optimizer keeps, as types.
template <typename T_, typename Moment_, Rule kRule_, bool kMaster_, int kMoments_>
struct Kept {
  using T = T_;
  using Moment = Moment_;
  static constexpr Rule kRule = kRule_;
  static constexpr bool kMaster = kMaster_;
  static constexpr int kMoments = kMoments_;

  /// Elements a thread takes at once: 16 bytes of the widest, so that a warp's accesses have no
  /// gaps.
  static constexpr bool kWide = sizeof(T) == 4 || kMaster || (kMoments > 0 && sizeof(Moment) == 4);
  static constexpr int kSize = kWide ? 4 : 8;
};

/// Calls `body` with (where, how many as a Constant) for all of the block's elements: by packs, and
/// one by one after the last whole pack.
template <int kSize, typename Body>
__device__ void for_each_pack(const Chunk& chunk, const Body& body) {
  for (std::int64_t i = chunk.begin + std::int64_t{threadIdx.x} * kSize; i < chunk.end;
       i += kStepThreads * kSize) {
    if (i + kSize <= chunk.end) {
      body(i, Constant<kSize>{});
    } else {
      for (std::int64_t j = i; j < chunk.end; ++j) body(j, Constant<1>{});
    }
  }
}

/// N elements as loaded from memory; a state that does not exist yet has its initial value.
template <typename Keeps, int N>
struct Elements {
  using T = typename Keeps::T;
  using Moment = typename Keeps::Moment;

  Floats<N> weight;
  Floats<N> momentum{};
  Floats<N> variance{};

  __device__ Elements(const Entry& entry, std::int64_t i, bool first) {
    if (Keeps::kMaster && !first) {
      weight = Pack<float, N>::load_once(entry.master_or_scales + i).floats();
    } else {
      weight = Pack<T, N>::load_once(static_cast<const T*>(entry.parameter) + i).floats();
    }
    if (first) return;
    if constexpr (Keeps::kMoments >= 1) momentum = load_moment(entry.momentum, i);
    if constexpr (Keeps::kMoments >= 2) variance = load_moment(entry.variance, i);
  }

  __device__ void store_states(const Entry& entry, std::int64_t i) const {
    if constexpr (Keeps::kMaster) Pack<float, N>(weight).store_once(entry.master_or_scales + i);
    if constexpr (Keeps::kMoments >= 1) store_moment(entry.momentum, i, momentum);
    if constexpr (Keeps::kMoments >= 2) store_moment(entry.variance, i, variance);
  }
  __device__ void store_weight(const Entry& entry, std::int64_t i) const {
    Pack<T, N>(weight).store_once(static_cast<T*>(entry.parameter) + i);
  }

 private:
  __device__ static Floats<N> load_moment(const void* moment, std::int64_t i) {
    return Pack<Moment, N>::load_once(static_cast<const Moment*>(moment) + i).floats();
  }
  __device__ static void store_moment(void* moment, std::int64_t i, const Floats<N>& values) {
    Pack<Moment, N>(values).store_once(static_cast<Moment*>(moment) + i);
  }
};

template <typename Keeps>
__global__ void __launch_bounds__(kStepThreads)
    take_step(const Entry* table, int entries, StepConstants step) {
  using T = typename Keeps::T;
  const bool skips = step.scaler != nullptr && step.scaler[LossScale::kOverflow] != 0;
  if (skips && !step.first) return;
  const float inverse_scale = step.scaler == nullptr ? 1.0F : 1.0F / step.scaler[LossScale::kScale];
  const Chunk chunk = own_chunk(table, entries, blockIdx.x);
  const Entry& entry = chunk.entry;
  for_each_pack<Keeps::kSize>(chunk, [&](std::int64_t i, auto size) {
    constexpr int kSize = decltype(size)::value;
    Elements<Keeps, kSize> all(entry, i, step.first);
    if (!skips) {
      const auto* from = static_cast<const T*>(entry.gradient) + i;
      const Floats<kSize> gradient = Pack<T, kSize>::load_once(from).floats();
#pragma unroll
      for (int k = 0; k < kSize; ++k) {
        Element one = {all.weight[k], all.momentum[k], all.variance[k],
                       gradient[k] * inverse_scale};
        if constexpr (Keeps::kRule == Rule::Sgd) {
          one.sgd(step.settings, Keeps::kMoments > 0);
        } else if constexpr (Keeps::kRule == Rule::Lion) {
          one.lion(step.settings, entry.decays != 0);
        } else {
          one.adamw(step, entry.decays != 0);
        }
        all.weight[k] = one.weight;
        all.momentum[k] = one.momentum;
        all.variance[k] = one.variance;
      }
      all.store_weight(entry, i);
    }
    all.store_states(entry, i);
  });
}

/// Sets the flag where a gradient is not finite; every thread that finds one writes the same value.
template <typename T>
__global__ void __launch_bounds__(kStepThreads)
    find_overflow(const Entry* table, int entries, float* scaler) {
  const Chunk chunk = own_chunk(table, entries, blockIdx.x);
  bool finite = true;
  for_each_pack<16 / sizeof(T)>(chunk, [&](std::int64_t i, auto size) {
    constexpr int kSize = decltype(size)::value;
    const Floats<kSize> gradient =
        load_floats<T, kSize>(static_cast<const T*>(chunk.entry.gradient) + i);
#pragma unroll
    for (int k = 0; k < kSize; ++k) finite = finite && isfinite(gradient[k]);
  });
  if (!finite) scaler[LossScale::kOverflow] = 1.0F;
}

__global__ void adjust_scale(float* scaler) {
  const bool finite = scaler[LossScale::kOverflow] == 0;
  float good_steps = finite ? scaler[LossScale::kGoodSteps] + 1.0F : 0.0F;
  float scale = finite ? scaler[LossScale::kScale] : scaler[LossScale::kScale] * 0.5F;
  if (good_steps >= LossScale::kGrowthInterval) {
    scale *= 2.0F;
    good_steps = 0;
  }
  scaler[LossScale::kScale] = scale;
  scaler[LossScale::kGoodSteps] = good_steps;
}

/// Calls `body` with the Kept that the optimizer is.
template <typename T, typename Body>
void with_kept(const OptimizerKind& kind, const Body& body) {
  if (kind.rule == Rule::Sgd) {
    if (kind.master) return body(Kept<T, float, Rule::Sgd, true, 0>{});
    if (kind.moments == 0) return body(Kept<T, float, Rule::Sgd, false, 0>{});
    return body(Kept<T, float, Rule::Sgd, false, 1>{});
  }
  if (kind.rule == Rule::Lion) return body(Kept<T, float, Rule::Lion, false, 1>{});
  if (kind.master) return body(Kept<T, float, Rule::AdamW, true, 2>{});
  if (kind.stored == OptimizerKind::Stored::AsWeights)
    return body(Kept<T, T, Rule::AdamW, false, 2>{});
  return body(Kept<T, float, Rule::AdamW, false, 2>{});
}

void* data_or_null(const Tensor* tensor) { return tensor == nullptr ? nullptr : tensor->data(); }

Entry entry_of(const OptimizerKind& kind, const ParameterUpdate& update, Format format,
               std::int64_t first_chunk) {
  Entry entry{};
  entry.parameter = update.parameter->data();
  entry.gradient = update.gradient->data();
  entry.master_or_scales =
      static_cast<float*>(data_or_null(kind.has_scales() ? update.scales : update.master));
  entry.momentum = data_or_null(update.momentum);
  entry.variance = data_or_null(update.variance);
  entry.elements = update.parameter->stored().elements();
  entry.first_chunk = first_chunk;
  entry.decays = update.decays ? 1 : 0;
  expect(update.parameter->format() == format && update.gradient->format() == format,
         "optimizer: parameters and gradients are of one format");
  expect(update.gradient->stored().elements() == entry.elements,
         "optimizer: a gradient has another size than its parameter");
  expect((update.master != nullptr) == kind.master &&
             (update.scales != nullptr) == kind.has_scales() &&
             (entry.momentum != nullptr) == kind.keeps_momentum() &&
             (entry.variance != nullptr) == kind.keeps_variance(),
         "optimizer: an update has other states than its optimizer keeps");
  expect(!kind.has_scales() || kind.rule == Rule::AdamW,
         "optimizer: only AdamW's moments are codes");
  expect(is_packed<float>(4, {entry.parameter, entry.gradient, entry.master_or_scales,
                              entry.momentum, entry.variance}),
         "optimizer: tensors start at multiples of 16 bytes");
  return entry;
}

/// Parameters in the order of the table, and the chunks they are done in.
struct Table {
  std::vector<Entry> entries;
  std::int64_t chunks = 0;
};

/// Of an optimizer's step or of what comes before it.
template <typename Op>
Table table_of(const Op& op) {
  expect_workspace(op.table, optimizer_table_bytes(op.updates), "optimizer");
  const Format format = op.updates.front().parameter->format();
  Table table;
  table.entries.reserve(op.updates.size());
  for (const bool factored : {false, true}) {  // the first are take_vector_step's blocks
    for (const ParameterUpdate& update : op.updates) {
      if (is_factored(op.kind, update.parameter->shape()) != factored) continue;
      table.entries.push_back(entry_of(op.kind, update, format, table.chunks));
      table.chunks += ceil_divide(table.entries.back().elements, kChunk);
    }
  }
  return table;
}

template <typename T, typename Op>
void launch_find_overflow(const Op& op, const Tensor& scaler, std::int64_t chunks,
                          cudaStream_t stream) {
  auto* values = scaler.as<float>();
  check(cudaMemsetAsync(values + LossScale::kOverflow, 0, sizeof(float), stream), "optimizer");
  start({"optimizer: overflow", static_cast<unsigned>(chunks), kStepThreads, stream},
        find_overflow<T>, op.table.template as<Entry>(), static_cast<int>(op.updates.size()),
        values);
}

}  // namespace

HostUpdates& OptimizerLauncher::host_updates() {
  if (!host_updates_) host_updates_ = std::make_unique<HostUpdates>();
  return *host_updates_;
}

template <typename T>
void OptimizerLauncher::launch_step(const OptimizerStep& op, std::int64_t chunks,
                                    cudaStream_t stream) {
  const auto* table = op.table.as<Entry>();
  const int entries = static_cast<int>(op.updates.size());
  const auto blocks = static_cast<unsigned>(chunks);
  float* scaler = op.scaler == nullptr ? nullptr : op.scaler->as<float>();
  if (scaler != nullptr && !op.overflow_found) {
    launch_find_overflow<T>(op, *op.scaler, chunks, stream);
  }
  const double correction1 = 1 - std::pow(double{op.settings.beta1}, op.step);
  const double correction2 = 1 - std::pow(double{op.settings.beta2}, op.step);
  const StepConstants step = {op.settings,
                              static_cast<float>(op.settings.learning_rate / correction1),
                              static_cast<float>(1 / correction2), scaler, op.step == 1};
  if (op.kind.on_host) {
    host_updates().launch(op, stream);
  } else if (op.kind.rule == Rule::Adafactor) {
    launch_factored_step<T>(op, table, stream);
  } else if (op.kind.has_scales()) {
    launch_coded_step<T>(table, entries, static_cast<int>(chunks), step, stream);
  } else {
    with_kept<T>(op.kind, [&](auto kept) {
      start({"optimizer", blocks, kStepThreads, stream}, take_step<decltype(kept)>, table, entries,
            step);
    });
  }
  if (scaler != nullptr) start({"optimizer: scale", 1, 1, stream}, adjust_scale, scaler);
}

void OptimizerLauncher::launch(const FindOverflow& op, cudaStream_t stream) {
  if (op.updates.empty()) return;
  const Table table = table_of(op);
  upload(op.table, table.entries, stream);
  with_element(op.updates.front().parameter->format(), [&](auto element) {
    launch_find_overflow<decltype(element)>(op, op.scaler, table.chunks, stream);
  });
}

void OptimizerLauncher::launch(const OptimizerStep& op, cudaStream_t stream) {
  if (op.updates.empty()) return;
  const std::uint64_t sums = factor_sums_bytes(op.kind, op.updates);
  expect((op.sums != nullptr) == (sums > 0), "optimizer: sums are a factored step's");
  if (op.sums != nullptr) expect_workspace(*op.sums, sums, "optimizer");
  const Table table = table_of(op);
  upload(op.table, table.entries, stream);
  with_element(op.updates.front().parameter->format(),
               [&](auto element) { launch_step<decltype(element)>(op, table.chunks, stream); });
}

}  // namespace vramfit
