#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/devices/real_device.h"
#include "bench/process/child.h"

namespace vramfit::bench {

/// The value of --row for a process that measures what driver and libraries take of the card.
inline constexpr const char* kOverheadSample = "Overhead/sample";

/// In that process: driver_reserved, context, cublaslt, cudnn and modules, in bytes.
Result sample_overhead(RealDevice& device);

/// One figure of several processes. Bytes.
struct Spread {
  double min;
  double median;
  double max;
};

Spread spread_of(std::vector<double> values);

/// The rows Overhead/…: what is gone of the card before a run allocates anything, by part, each
/// figure the median of five fresh processes. `modules:lazy` is code that a small run makes the
/// driver load; `modules:eager` the same and whatever else is loaded with
/// CUDA_MODULE_LOADING=EAGER.
class OverheadRows {
 public:
  static constexpr int kProcesses = 5;

  /// Takes samples of one kind: in a fresh process with this CUDA_MODULE_LOADING.
  using Sampler = std::function<Result(const std::string& module_loading)>;

  explicit OverheadRows(Sampler sampler) : sampler_(std::move(sampler)) {}

  static const std::vector<std::string>& names();
  Result run(const std::string& name);

  /// The profile, as estimator/profile.h reads it; `facts` are the report's context. Throws where
  /// nothing can be measured.
  std::string profile(const std::map<std::string, std::string>& facts);

 private:
  /// By part, one value a process. Measured at first use.
  using Samples = std::map<std::string, std::vector<double>>;
  const Samples& samples(const std::string& module_loading);
  std::vector<double> values(const std::string& part);

  Sampler sampler_;
  std::map<std::string, Samples> samples_;
  double seconds_ = 0;  ///< that a process took, on average
};

}  // namespace vramfit::bench
