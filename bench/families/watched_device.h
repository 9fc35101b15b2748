#pragma once

#include <functional>
#include <utility>

#include "model/ops/cost.h"
#include "model/ops/each_op.h"

namespace vramfit::bench {

/// Passes each op on to another device, and tells a watcher once it was issued.
class WatchedDevice final : public EachOp<WatchedDevice> {
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

  template <typename Op>
  void each(const Op& op) {
    device_.run(op);
    if (watch_) watch_(cost(op));
  }

 private:
  Device& device_;
  Watch watch_;
};

}  // namespace vramfit::bench
