#pragma once

#include <functional>
#include <utility>

#include "model/ops/cost.h"
#include "model/ops/device.h"

namespace vramfit::bench {

/// Another device, and someone who is told of each op once it was given to it.
class WatchedDevice final : public Device {
 public:
  using Watch = std::function<void(const OpCost&)>;

  /// `device` must outlive this.
  WatchedDevice(Device& device, Watch watch) : device_(device), watch_(std::move(watch)) {}

  Arch arch() const override { return device_.arch(); }
  void upload(const Tensor& to, const void* from, std::uint64_t bytes) override {
    device_.upload(to, from, bytes);
  }
  void download(void* to, const Tensor& from, std::uint64_t bytes) override {
    device_.download(to, from, bytes);
  }
  void synchronize() override { device_.synchronize(); }

  void run(const FillNormal& op) override { pass_on(op); }
  void run(const FillTokens& op) override { pass_on(op); }
  void run(const EmbeddingForward& op) override { pass_on(op); }
  void run(const EmbeddingBackward& op) override { pass_on(op); }
  void run(const NormForward& op) override { pass_on(op); }
  void run(const NormBackward& op) override { pass_on(op); }
  void run(const RotaryEmbedding& op) override { pass_on(op); }
  void run(const LinearForward& op) override { pass_on(op); }
  void run(const LinearBackwardInput& op) override { pass_on(op); }
  void run(const LinearBackwardWeight& op) override { pass_on(op); }
  void run(const MlpUpForward& op) override { pass_on(op); }
  void run(const MlpDownBackward& op) override { pass_on(op); }
  void run(const AttentionForward& op) override { pass_on(op); }
  void run(const AttentionBackward& op) override { pass_on(op); }
  void run(const KvCacheAppend& op) override { pass_on(op); }
  void run(const AttentionDecode& op) override { pass_on(op); }
  void run(const HeadLoss& op) override { pass_on(op); }
  void run(const LastToken& op) override { pass_on(op); }
  void run(const Argmax& op) override { pass_on(op); }
  void run(const OptimizerStep& op) override { pass_on(op); }

 private:
  template <typename Op>
  void pass_on(const Op& op) {
    device_.run(op);
    if (watch_) watch_(cost(op));
  }

  Device& device_;
  Watch watch_;
};

}  // namespace vramfit::bench
