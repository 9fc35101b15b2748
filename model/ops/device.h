#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "model/ops/arch.h"
#include "model/ops/ops.h"

namespace vramfit {

/// Ops that a device was given once and runs again, on the same memory. Until the last time nothing
/// else may have the memory of tensors that lived and died among them.
class RecordedOps {
 public:
  virtual ~RecordedOps() = default;
  virtual void run() = 0;
};

/// Of a device that has no way of its own: issues them again.
class RepeatedOps final : public RecordedOps {
 public:
  explicit RepeatedOps(std::function<void()> ops) : ops_(std::move(ops)) {}
  void run() override { ops_(); }

 private:
  std::function<void()> ops_;
};

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

  /// Runs `ops`, which issues ops and does nothing else, and returns what runs them again.
  virtual std::unique_ptr<RecordedOps> record(const std::function<void()>& ops) {
    ops();
    return std::make_unique<RepeatedOps>(ops);
  }

#define VRAMFIT_RUN(Op) virtual void run(const Op&) = 0;
  VRAMFIT_OPS(VRAMFIT_RUN)
#undef VRAMFIT_RUN
};

/// For devices that have a way of their own for each op.
#define VRAMFIT_OVERRIDE_RUN(Op) void run(const Op&) override;

}  // namespace vramfit
