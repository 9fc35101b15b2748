#pragma once

#include <cstdint>

#include "model/ops/arch.h"
#include "model/ops/attention_ops.h"
#include "model/ops/elementary_ops.h"
#include "model/ops/head_ops.h"
#include "model/ops/linear_ops.h"
#include "model/ops/optimizer_ops.h"

namespace vramfit {

/// How ops run. Each op is a struct that states its contract: inputs, outputs, what it overwrites
/// and the workspace it is given. A device may split an op or fuse within it, and chooses its own
/// algorithms; it allocates nothing, and fails loudly where the given workspace does not suffice.
/// Ops run in the order of their calls; only `download` and `synchronize` wait for them.
class Device {
 public:
  virtual ~Device() = default;

  virtual Arch arch() const = 0;

  /// Copies `bytes` bytes between the host and the start of a tensor. `upload` may return before
  /// the device has read the tensor's new contents, but not before it has read `from`.
  virtual void upload(const Tensor& to, const void* from, std::uint64_t bytes) = 0;
  virtual void download(void* to, const Tensor& from, std::uint64_t bytes) = 0;
  virtual void synchronize() = 0;

  virtual void run(const FillNormal&) = 0;
  virtual void run(const FillTokens&) = 0;
  virtual void run(const EmbeddingForward&) = 0;
  virtual void run(const EmbeddingBackward&) = 0;
  virtual void run(const NormForward&) = 0;
  virtual void run(const NormBackward&) = 0;
  virtual void run(const RotaryEmbedding&) = 0;
  virtual void run(const LinearForward&) = 0;
  virtual void run(const LinearBackwardInput&) = 0;
  virtual void run(const LinearBackwardWeight&) = 0;
  virtual void run(const MlpUpForward&) = 0;
  virtual void run(const MlpDownBackward&) = 0;
  virtual void run(const AttentionForward&) = 0;
  virtual void run(const AttentionBackward&) = 0;
  virtual void run(const KvCacheAppend&) = 0;
  virtual void run(const AttentionDecode&) = 0;
  virtual void run(const HeadLoss&) = 0;
  virtual void run(const LastToken&) = 0;
  virtual void run(const Argmax&) = 0;
  virtual void run(const OptimizerStep&) = 0;
};

}  // namespace vramfit
