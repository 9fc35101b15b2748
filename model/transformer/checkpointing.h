#pragma once

#include <cstdint>
#include <string_view>

namespace vramfit {

/// Activation checkpointing: what of a block stays from forward to backward. What does not is
/// computed again, from the same values to the same values, so that gradients are the same.
enum class Checkpoint : std::uint8_t {
  None,       ///< all of SavedActivations
  Selective,  ///< all but what the MLP's first half wrote: nearly half of it, for one GEMM
  Full,       ///< the block's input (Chen et al. 2016)
};

/// Throws BadInput.
Checkpoint parse_checkpoint(std::string_view text);
const char* name(Checkpoint checkpoint);

/// Which blocks do it: one of every `every`, from the first on. The others keep all they have.
struct Checkpointing {
  Checkpoint kind = Checkpoint::None;
  std::int64_t every = 1;

  Checkpoint of(int layer) const { return layer % every == 0 ? kind : Checkpoint::None; }
};

}  // namespace vramfit
