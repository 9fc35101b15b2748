#pragma once

#include "kernels/cuda/attention/decode_unit.cuh"
#include "kernels/cuda/attention/rotary_append.cuh"
#include "kernels/cuda/small_batch/copy_ahead.cuh"

// What the blocks of one kernel do together, phase by phase. It is among the kernel's parameters,
// so that it takes none of the GPU's memory.

namespace vramfit::gpu {

/// Of a kernel in all: CUDA C++ Programming Guide, "Function Parameters".
inline constexpr int kMostParameterBytes = 32764;

template <typename T, typename Stages>
struct PhaseLinear {
  SmallBatch<T> f;
  Stages weight;
  int first_block;  ///< has the first tile: blocks take tiles in turn, from linear to linear
};

enum class PhaseKind : std::uint8_t { None, Linear, Rotate, Attend, Combine };

/// Of a cache.
enum class CacheElements : std::uint8_t { Activations, Int8, Fp8 };

struct Phase {
  PhaseKind kind = PhaseKind::None;
  CacheElements elements = {};  ///< of Rotate and Attend
  std::uint16_t operands = 0;   ///< which of its kind's; Combine has Attend's
};

template <typename T, typename Stages>
struct Program {
  // A block of a transformer has four linears, and seven phases in all.
  static constexpr int kBlockBytes = 4 * sizeof(PhaseLinear<T, Stages>) +
                                     sizeof(RotaryAppended<T>) + sizeof(Decode<T>) +
                                     7 * sizeof(Phase);
  static constexpr int kBlocks =
      (kMostParameterBytes - static_cast<int>(sizeof(Frequencies)) - 72) / kBlockBytes;

  Frequencies frequencies;
  const std::int32_t* start = nullptr;  ///< the sequence's position; null: nothing has one
  int phase_count = 0;
  int linear_count = 0;
  int rotate_count = 0;
  int attend_count = 0;
  Phase phases[7 * kBlocks];
  PhaseLinear<T, Stages> linears[4 * kBlocks];
  RotaryAppended<T> rotates[kBlocks];
  Decode<T> attends[kBlocks];
};

/// A phase's operands in shared memory, from where all threads read them: a kernel's parameters are
/// slow where the place is not known when it is compiled.
template <typename T, typename Stages>
class Operands {
  using Linear = PhaseLinear<T, Stages>;
  using Rotate = RotaryAppended<T>;
  using Attend = Decode<T>;

 public:
  /// Copies a phase's; a barrier of the block comes before they are read.
  __device__ void copy(const Program<T, Stages>& program, const Phase& phase) {
    const auto take = [this](const auto& operands) {
      static_assert(sizeof(operands) <= kBytes && sizeof(operands) % 4 == 0);
      const auto thread = static_cast<int>(threadIdx.x);
      if (thread >= static_cast<int>(sizeof(operands)) / 4) return;
      words_[thread] = reinterpret_cast<const std::uint32_t*>(&operands)[thread];
    };
    if (phase.kind == PhaseKind::Linear) {
      take(program.linears[phase.operands]);
    } else if (phase.kind == PhaseKind::Rotate) {
      take(program.rotates[phase.operands]);
    } else if (phase.kind != PhaseKind::None) {
      take(program.attends[phase.operands]);
    }
  }
  __device__ const Linear& linear() const { return reinterpret_cast<const Linear&>(words_); }
  __device__ const Rotate& rotate() const { return reinterpret_cast<const Rotate&>(words_); }
  __device__ const Attend& attend() const { return reinterpret_cast<const Attend&>(words_); }

 private:
  static constexpr std::size_t kBytes = std::max({sizeof(Linear), sizeof(Rotate), sizeof(Attend)});
  alignas(16) std::uint32_t words_[kBytes / 4];
};

/// The linears of a program as `Ahead` goes through them.
template <typename T, typename Stages>
class ProgramLinears {
 public:
  __device__ explicit ProgramLinears(const Program<T, Stages>& program, int at = 0)
      : program_(program), at_(at) {}

  /// The block's tiles: as many apart as there are blocks.
  __device__ static Share share_of(const PhaseLinear<T, Stages>& linear) {
    const auto block = static_cast<int>(blockIdx.x);
    const auto blocks = static_cast<int>(gridDim.x);
    Share share;
    share.first_tile = block - linear.first_block + (block < linear.first_block ? blocks : 0);
    share.tile_step = blocks;
    share.end_stage = linear.f.stages;
    return share;
  }

  __device__ const SmallBatch<T>& f() const { return linear().f; }
  __device__ const Stages& weight() const { return linear().weight; }
  __device__ Share share() const { return share_of(linear()); }
  __device__ int at() const { return at_; }
  __device__ bool advance() {
    if (at_ + 1 == program_.linear_count) return false;
    ++at_;
    return true;
  }

 private:
  __device__ const PhaseLinear<T, Stages>& linear() const { return program_.linears[at_]; }

  const Program<T, Stages>& program_;
  int at_;
};

}  // namespace vramfit::gpu
