#pragma once

#include <cstdint>
#include <vector>

#include "model/ops/attention_ops.h"
#include "model/ops/device.h"
#include "model/ops/op_context.h"

namespace vramfit {

struct ModelConfig;

/// Keys and values of every position so far, for each layer, and how many each sequence has.
/// Allocated whole: for as many positions as a sequence will get.
class KvCache {
 public:
  /// `prompts`: tokens of each sequence's. `most`: positions that the longest will have. `block`:
  /// positions of a block, of which each sequence then has as many as it needs; 0: each has room
  /// for the longest.
  KvCache(OpContext& context, const ModelConfig& config, const std::vector<std::int64_t>& prompts,
          std::int64_t most, std::int64_t block);

  KvBlocks layer(int layer) const;

  /// (B), int32: positions that each sequence has filled; before that, those that its prompt will.
  const Tensor& lengths() const { return lengths_; }
  /// Whether prompts are in it.
  bool filled() const { return filled_; }
  void fill() { filled_ = true; }

  /// Positions that each sequence may still fill.
  std::int64_t room() const { return room_; }
  /// Each sequence has filled so many more positions, or forgets as many: what the host knows of
  /// it, which throws std::logic_error beyond either end, and what the device does.
  void count(std::int64_t by);
  void advance(Device& device, std::int64_t by) { device.run(Advance{lengths_, by}); }

 private:
  void fill_table(Device& device, const std::vector<std::int64_t>& blocks);

  bool filled_ = false;
  std::int64_t shortest_;  ///< positions of the sequence that has fewest
  std::int64_t room_;
  Tensor lengths_;
  Tensor table_;              ///< (B, blocks of the longest), int32
  std::vector<Tensor> keys_;  ///< (blocks, positions of a block, k, d) each
  std::vector<Tensor> values_;
  std::vector<Tensor> key_scales_;  ///< (blocks, positions of a block, k) each; 8 bits only
  std::vector<Tensor> value_scales_;
};

}  // namespace vramfit
