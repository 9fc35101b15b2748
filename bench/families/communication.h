#pragma once

#include "bench/rows/counters.h"

namespace vramfit::bench {

/// pred_sent: bytes that a rank sends the others in a training step, as rings of them do: of a sum
/// of B bytes that all get 2 (n − 1) / n · B, of one that is scattered or of a whole that is
/// gathered half of that (Thakur et al. 2005).
void count_communication(Counters& counters, const ModelConfig& config, Arch arch,
                         const TrainingOptions& options);

}  // namespace vramfit::bench
