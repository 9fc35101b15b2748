#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace vramfit {

/// How ranks, a GPU each, share the training of one model.
enum class Strategy : std::uint8_t {
  None,      ///< there is one rank
  Ddp,       ///< each has all of the model and a batch of its own; gradients are summed
  Zero1,     ///< as ddp, the optimizer's states cut (Rajbhandari et al. 2020)
  Zero2,     ///< and gradients
  Fsdp,      ///< and parameters, which a unit has whole while it runs: ZeRO-3 (Zhao et al. 2023)
  Pipeline,  ///< each has some of the blocks, for micro-batches that pass through all of them
};

/// As --strategy spells it.
const char* name(Strategy strategy);

/// Throws BadInput with those there are.
Strategy parse_strategy(std::string_view text);

/// The ranks of a run, and which of them this is. One GPU is the mesh of one.
struct Mesh {
  Strategy strategy = Strategy::None;
  std::int64_t ranks = 1;
  std::int64_t rank = 0;
  /// How many blocks each rank of a pipeline has, from the first on; of other strategies empty.
  std::vector<std::int64_t> stage_blocks = {};

  bool alone() const { return ranks == 1; }
  bool pipelined() const { return !alone() && strategy == Strategy::Pipeline; }
  bool data_parallel() const { return !alone() && !pipelined(); }
  bool shards_states() const { return data_parallel() && strategy >= Strategy::Zero1; }
  bool shards_gradients() const { return data_parallel() && strategy >= Strategy::Zero2; }
  bool shards_parameters() const { return data_parallel() && strategy == Strategy::Fsdp; }
  /// How many batches there are at a time, each of other sequences.
  std::int64_t batches() const { return pipelined() ? 1 : ranks; }
};

/// Ten times what anybody trains on.
inline constexpr std::int64_t kMaxRanks = std::int64_t{1} << 17;

/// Throws BadInput where such a mesh cannot be.
void validate(const Mesh& mesh);

}  // namespace vramfit
