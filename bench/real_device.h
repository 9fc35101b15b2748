#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "model/ops/device.h"
#include "model/transformer/run.h"

namespace vramfit::bench {

/// Seconds that each stage of each step took, micro-batches added up.
using StageSeconds = std::map<std::pair<Stage, int>, double>;

/// What a run on a real device took.
struct Measurement {
  RunReport report;
  StageSeconds seconds;
};

/// A device that runs ops, and so has something to measure.
class RealDevice {
 public:
  using Run = std::function<RunReport(Device&, Ledger&)>;

  virtual ~RealDevice() = default;

  virtual std::string name() const = 0;  ///< "cpu", "cuda:0 NVIDIA H200"
  virtual Arch arch() const = 0;
  /// Versions and the like, for the context of every report.
  virtual std::map<std::string, std::string> facts() const { return {}; }
  /// Throws BadInput where a model of so many parameters is out of the question.
  virtual void check(std::int64_t parameters) const = 0;
  /// Calls `run` on a pool of its own.
  virtual Measurement measure(const Run& run) = 0;
};

/// The device of that name; for "" the default, or null where that is a virtual one. Throws
/// BadInput.
std::unique_ptr<RealDevice> open_real_device(const std::string& name);

std::unique_ptr<RealDevice> make_cpu();

}  // namespace vramfit::bench
