#pragma once

#include "kernels/cuda/persistent/attend.cuh"
#include "kernels/cuda/persistent/bring_row.cuh"
#include "kernels/cuda/persistent/grid_barrier.cuh"

namespace vramfit::gpu {

/// As deep as the rest of a multiprocessor's shared memory allows, in steps of 128 neighbouring
/// bytes of each row.
template <typename Stages>
struct ProgramRing {
  static constexpr int kStages = 2;
  static constexpr int kMostShared = 227 << 10;
  static constexpr int kStatic =
      static_cast<int>(sizeof(typename RowMultiplier<Stages>::Shared)) + 4096;
  static constexpr int kStep = Stages::kWarps * kStages * kStageBytes<Stages>;
  static constexpr int kDepth = (kMostShared - kStatic - Stages::kTableBytes - kRowRoom) / kStep;
};

/// Of all that is sized at launch.
template <typename Stages>
inline constexpr int kProgramShared =
    Stages::kTableBytes + kRowRoom + kRingBytes<Stages, ProgramRing<Stages>>;

/// Before a phase: what those before wrote is there.
__device__ inline void wait_for_phase(int p, unsigned* arrivals) {
  if (p == 0) {
    wait_for_previous_kernels();
  } else {
    wait_for_grid(arrivals);
  }
}

/// Brings near what a linear reads beside its weight and nothing writes: once others compute, it
/// would come late.
template <typename T, typename Stages>
__device__ void prefetch_for(const PhaseLinear<T, Stages>& linear) {
  if (blockIdx.x == 0) prefetch_norm(linear.f.input);
  prefetch_of_rows(linear.f, ProgramLinears<T, Stages>::share_of(linear));
}

/// What a block keeps from phase to phase, in its shared memory: registers are the phases'.
template <typename T, typename Stages, typename Codes>
struct Played {
  using Linears = ProgramLinears<T, Stages>;
  using AheadOf = Ahead<Stages, ProgramRing<Stages>, true, Linears>;
  using Multiplier = RowMultiplier<Stages>;
  using Row = OneRow<T, Stages, Codes>;
  // A phase's are copied two ahead, while some warps may still be at the phase before.
  static constexpr int kKept = 4;

  Operands<T, Stages> operands[kKept];
  typename Multiplier::Shared multiplier;
  typename Row::Shared row;
  WarpStates states[Stages::kWarps / kDecodeWarps * kUnitHeads];
  float inverse_frequencies[kMostPairs];
  std::int32_t start;
  typename AheadOf::Cursor cursors[Stages::kWarps];
  typename Multiplier::Position positions[Stages::kWarps];

  __device__ static std::uint8_t* table() { return dynamic_shared<std::uint8_t>(); }
  /// x, or what attention's warps leave each other.
  __device__ static std::uint8_t* room() { return table() + Stages::kTableBytes; }
  __device__ static std::uint8_t* ring(int warp) {
    return room() + kRowRoom + warp * AheadOf::kRing;
  }
};

/// A linear, after the grid's barrier. A function of its own, whose loop has all registers.
template <typename T, typename Stages, typename Codes>
__device__ __noinline__ void play_linear(const Program<T, Stages>& program,
                                         Played<T, Stages, Codes>& block, int p,
                                         unsigned* arrivals) {
  using Block = Played<T, Stages, Codes>;
  using Linears = typename Block::Linears;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const PhaseLinear<T, Stages>& linear = block.operands[p % Block::kKept].linear();
  typename Block::Row row(linear.f.input);
  wait_for_phase(p, arrivals);
  row.bring(Block::room(), block.row);

  Stages weight = linear.weight;
  if constexpr (Stages::kTableBytes > 0) {
    weight.use(reinterpret_cast<std::uint32_t*>(Block::table()));
  }
  const typename Block::AheadOf::Cursor cursor = block.cursors[warp];
  typename Block::AheadOf ahead(Linears(program, cursor.linear), cursor, Block::ring(warp));
  typename Block::Multiplier multiplier(Block::ring(warp), block.multiplier, block.positions[warp]);
  multiplier.multiply(linear.f, weight, Linears::share_of(linear), Block::room(),
                      std::is_void_v<Codes> ? nullptr : &block.row.x_scale, block.row.x_sums,
                      ahead);
  __syncwarp();
  if (threadIdx.x % kWarp == 0) {
    block.cursors[warp] = ahead.cursor();
    block.positions[warp] = multiplier.position();
  }
}

/// Plays a program: one block on each multiprocessor stays for all of it. Weights, which nothing
/// writes, are copied ahead without regard for phases; all else waits for the phase before.
/// `Codes`: what rows are quantised to; void: they are not.
template <typename T, typename Stages, typename Codes>
__global__ void __launch_bounds__(Stages::kWarps* kWarp, 1)
    play(const __grid_constant__ Program<T, Stages> program, unsigned* arrivals) {
  using Block = Played<T, Stages, Codes>;
  __shared__ Block block;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  {
    const typename Block::AheadOf ahead(typename Block::Linears(program), Block::ring(warp));
    if (threadIdx.x % kWarp == 0) {
      block.cursors[warp] = ahead.cursor();
      block.positions[warp] = {0, 0};
    }
  }
  block.multiplier.begin();
  if constexpr (Stages::kTableBytes > 0) {
    Stages::fill(reinterpret_cast<std::uint32_t*>(Block::table()));
  }
  if (threadIdx.x < kMostPairs) {
    block.inverse_frequencies[threadIdx.x] = program.frequencies.inverse[threadIdx.x];
  }
  const int count = program.phase_count;
  const auto phase_of = [&](int p) { return p < count ? program.phases[p] : Phase{}; };
  for (int p = 0; p < 2; ++p) block.operands[p].copy(program, phase_of(p));
  __syncthreads();
  auto* const floats = reinterpret_cast<float*>(Block::room());
  for (int p = 0; p < count; ++p) {
    const Phase phase = phase_of(p);
    const Operands<T, Stages>& now = block.operands[p % Block::kKept];
    block.operands[(p + 2) % Block::kKept].copy(program, phase_of(p + 2));
    if (phase.kind == PhaseKind::Linear) {
      play_linear<T, Stages, Codes>(program, block, p, arrivals);
    } else {
      wait_for_phase(p, arrivals);
    }
    if (p == 0) {
      if (threadIdx.x == 0 && program.start != nullptr) block.start = *program.start;
    } else if (phase.kind == PhaseKind::Rotate) {
      with_cache_elements<T>(phase.elements, [&](auto stored) {
        rotate_heads<decltype(stored)>(now.rotate(), &block.start, block.inverse_frequencies);
      });
    } else if (phase.kind == PhaseKind::Attend) {
      const Decode<T>& d = now.attend();
      with_cache_elements<T>(phase.elements, [&](auto stored) {
        using Stored = decltype(stored);
        if (d.group_heads == 1) {
          attend<Stored, 1>(d, &block.start, block.states, floats);
        } else {
          attend<Stored, kUnitHeads>(d, &block.start, block.states, floats);
        }
      });
    } else if (phase.kind == PhaseKind::Combine) {
      combine(now.attend(), floats);
    }
    if (p + 2 == count) start_next_kernel();
    // What nothing writes would come late beside the weights: it is brought into L2 a phase ahead.
    if (phase_of(p + 1).kind == PhaseKind::Linear) {
      prefetch_for(block.operands[(p + 1) % Block::kKept].linear());
    }
    if (p > 0 && phase_of(p + 2).kind == PhaseKind::Attend) {
      with_cache_elements<T>(phase_of(p + 2).elements, [&](auto stored) {
        prefetch_cache<decltype(stored)>(block.operands[(p + 2) % Block::kKept].attend(),
                                         block.start);
      });
    }
  }
}

}  // namespace vramfit::gpu
