#pragma once

#include <cstdint>
#include <vector>

#include "runtimes/vllm/options.h"
#include "runtimes/vllm/shape.h"

namespace vramfit::vllm {

/// Of a model's tensors, those that are alike: what becomes of them as they are loaded.
enum class WeightKind : std::uint8_t {
  Linear,   ///< may be stored in few bits
  Experts,  ///< all of a layer's, one projection; may be, too
  Whole,    ///< in the model's own type: embeddings, norms, biases, routers, rotations
};

struct Weight {
  WeightKind kind = WeightKind::Whole;
  std::int64_t rows = 0;             ///< outputs
  std::int64_t columns = 1;          ///< inputs
  std::int64_t copies = 1;           ///< experts
  bool rotations = false;            ///< computed in fp32, and then made the model's type
  bool fp32 = false;                 ///< whatever the model's type is
  std::int64_t marlins_rows = 0;     ///< of such in the model's own type, where Marlin has it
  bool of_layer = false;             ///< and not of what is before or behind all of them
  bool taken_over = false;           ///< is let go for one that is there already
  std::vector<std::int64_t> slices;  ///< outputs of the products in it that adapters are of

  std::int64_t elements() const { return rows * columns * copies; }
};

/// Rows of an embedding, or of a head, that each rank has.
std::int64_t vocabulary_of_rank(const Shape& shape, std::int64_t ranks);
/// In the order in which vLLM makes them, of one rank: columns or rows of linears are shared out,
/// layers are where there are stages.
std::vector<Weight> weights_of(const Shape& shape, const Options& options);

/// Bytes of each tensor that it is stored in, and with padding.
std::vector<std::uint64_t> stored(const Weight& weight, const Shape& shape, const Options& options,
                                  int sm);

}  // namespace vramfit::vllm
