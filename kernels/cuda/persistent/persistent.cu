#include <algorithm>

#include "kernels/cuda/persistent/persistent.h"
#include "kernels/cuda/persistent/play.cuh"
#include "kernels/cuda/small_batch/arguments.cuh"
#include "kernels/cuda/small_batch/stages_of.cuh"

namespace vramfit {

using namespace gpu;

/// A kernel that is being put together, whatever its weights' format.
class QueuedProgram {
 public:
  virtual ~QueuedProgram() = default;
  /// Return false where the op is not for it.
  virtual bool add(const RotaryAppend& op) = 0;
  virtual bool add(const AttentionDecode& op) = 0;
  virtual void start(cudaStream_t stream) = 0;
};

namespace {

/// Formats whose linears are fast enough with few warps alone want many beside the rest.
template <typename Stages>
struct ManyWarps : Stages {
  static constexpr int kWarps = kManyWarps;
};

/// That are worth a split of their own: what a unit of attention reads at once.
constexpr std::int64_t kFewestPositions = 32;

/// See wait_for_grid.
__device__ unsigned grid_arrivals = 0;

int multiprocessors() {
  static const int count = device_attribute(cudaDevAttrMultiProcessorCount);
  return count;
}

template <typename T>
CacheElements cache_elements(Format format) {
  CacheElements elements{};
  with_stored<T>(format, [&](auto stored) {
    using Stored = decltype(stored);
    elements = std::is_same_v<Stored, T>             ? CacheElements::Activations
               : std::is_same_v<Stored, std::int8_t> ? CacheElements::Int8
                                                     : CacheElements::Fp8;
  });
  return elements;
}

template <typename T, typename Stages, typename Codes>
class TypedProgram final : public QueuedProgram {
 public:
  /// As the kernel wants the row's place and the weight's.
  static bool is_for(const SmallBatch<T>& f) {
    const int slots = ceil_divide(f.stages, 2) * 2 * kStageSlots<Stages>;
    return f.packed && 16 * slots <= kRowRoom && slots <= OneRow<T, Stages, Codes>::kMostSlots;
  }

  bool add(SmallBatch<T> f, const Stages& weight) {
    if (!has_room(program_.linears, program_.linear_count)) return false;
    f.ranks = 1;
    // Steps are whole, also at the end of a row.
    f.rank_stages = ceil_divide(f.stages, 2) * 2;
    f.input.rows = 1;
    f.input.all_slots = f.stages * kStageSlots<Stages>;
    f.input.slots = f.rank_stages * kStageSlots<Stages>;
    f.input.stride = 16 * f.input.slots;
    f.input.copied = std::is_void_v<Codes> && f.input.norm_weight == nullptr;
    add_phase(PhaseKind::Linear, program_.linear_count);
    program_.linears[program_.linear_count++] = {f, weight, first_block_};
    first_block_ = (first_block_ + f.tiles) % multiprocessors();
    return true;
  }
  bool add(const RotaryAppend& op) override {
    const Frequencies frequencies(op.frequencies);
    const bool same = program_.rotate_count == 0 ||
                      std::ranges::equal(frequencies.inverse, program_.frequencies.inverse);
    if (!is_one_row(op.shape, op.qkv) || !same || !starts_at(op.starts) ||
        !has_room(program_.rotates, program_.rotate_count)) {
      return false;
    }
    add_phase(PhaseKind::Rotate, program_.rotate_count, cache_elements<T>(op.cache.keys.format()));
    program_.rotates[program_.rotate_count++] = RotaryAppended<T>(op);
    program_.frequencies = frequencies;
    return true;
  }
  bool add(const AttentionDecode& op) override {
    expect_decode(op);
    if (!is_one_row(op.shape, op.qkv) || !starts_at(op.starts) ||
        !has_room(program_.attends, program_.attend_count, 2)) {
      return false;
    }
    bool packed = false;
    int pack = 0;
    with_stored<T>(op.cache.keys.format(), [&](auto stored) {
      packed = is_packed_cache<T, decltype(stored)>(op);
      pack = kCachePack<T, decltype(stored)>;
    });
    if (!packed) return false;
    Decode<T> d(op, op.shape.heads == op.shape.kv_heads ? 1 : kUnitHeads, pack);
    d.split(op, std::int64_t{multiprocessors()} * (Stages::kWarps / kDecodeWarps),
            kFewestPositions);
    add_phase(PhaseKind::Attend, program_.attend_count, cache_elements<T>(op.cache.keys.format()));
    if (d.splits > 1) add_phase(PhaseKind::Combine, program_.attend_count);
    program_.attends[program_.attend_count++] = d;
    return true;
  }

  void start(cudaStream_t stream) override {
    unsigned* arrivals = nullptr;
    check(cudaGetSymbolAddress(reinterpret_cast<void**>(&arrivals), grid_arrivals), "decode");
    gpu::start({"decode", static_cast<unsigned>(multiprocessors()), Stages::kWarps * kWarp, stream,
                kProgramShared<Stages>, true},
               play<T, Stages, Codes>, program_, arrivals);
  }

 private:
  template <typename Operands>
  bool has_room(const Operands& operands, int count, int phases = 1) const {
    return count < static_cast<int>(std::size(operands)) &&
           program_.phase_count + phases <= static_cast<int>(std::size(program_.phases));
  }
  static bool is_one_row(const AttentionShape& shape, const Tensor& qkv) {
    bool same = false;
    with_element(qkv.format(), [&](auto element) { same = std::is_same_v<decltype(element), T>; });
    return same && shape.batch == 1;
  }
  /// A program's ops have one position.
  bool starts_at(const Tensor& starts) {
    if (program_.start == nullptr) program_.start = integers_of(&starts);
    return program_.start == integers_of(&starts);
  }
  void add_phase(PhaseKind kind, int operands, CacheElements elements = {}) {
    program_.phases[program_.phase_count++] = {kind, elements,
                                               static_cast<std::uint16_t>(operands)};
  }

  Program<T, Stages> program_{};
  int first_block_ = 0;
};

}  // namespace

PersistentOps::PersistentOps(Arch arch) : possible_(arch.sm >= 90) {}
PersistentOps::~PersistentOps() = default;

template <typename Op>
bool PersistentOps::queue_linear(const Op& op, cudaStream_t stream) {
  if (!possible_ || op.x.shape()[0] != 1 || !is_16_bit(op.x.format())) return false;
  bool queued = false;
  with_element(op.x.format(), [&](auto element) {
    using T = decltype(element);
    with_stages<T>(op.weight, op.quantized.quantizes_x, [&](auto stages, auto codes) {
      if constexpr (sizeof(T) == 2 && !std::is_same_v<decltype(stages), NoStages>) {
        using Stages = ManyWarps<decltype(stages)>;
        using Typed = TypedProgram<T, Stages, std::remove_pointer_t<decltype(codes)>>;
        const SmallBatch<T> f = arguments<T>(op);
        if (!Typed::is_for(f)) return;
        auto* program = dynamic_cast<Typed*>(program_.get());
        if (program == nullptr || !program->add(f, Stages{stages})) {
          launch(stream);
          auto next = std::make_unique<Typed>();
          next->add(f, Stages{stages});
          program_ = std::move(next);
        }
        queued = true;
      }
    });
  });
  return queued;
}

bool PersistentOps::queue(const LinearForward& op, cudaStream_t stream) {
  return queue_linear(op, stream);
}
bool PersistentOps::queue(const MlpUpForward& op, cudaStream_t stream) {
  return queue_linear(op, stream);
}
bool PersistentOps::queue(const RotaryAppend& op, cudaStream_t /*stream*/) {
  return program_ && program_->add(op);
}
bool PersistentOps::queue(const AttentionDecode& op, cudaStream_t /*stream*/) {
  return program_ && program_->add(op);
}

void PersistentOps::launch(cudaStream_t stream) {
  if (const auto program = std::move(program_)) program->start(stream);
}

}  // namespace vramfit
