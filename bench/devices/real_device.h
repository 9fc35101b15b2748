#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/devices/launch.h"
#include "estimator/cards.h"
#include "model/ops/device.h"
#include "model/transformer/run.h"

namespace vramfit::bench {

/// The card that is meant where none is named, and whose workspaces the CPU's runs have.
inline constexpr const char* kDefaultCard = "h200";

/// What a run on a real device took.
struct Measurement {
  RunReport report;
  /// Bytes the card had lost to the process as each stage ended; empty where there is no card.
  std::vector<std::uint64_t> device_used;
  /// Of them what was gone before the run began, by part: "context", "cublaslt", "cudnn".
  std::map<std::string, std::uint64_t> beside = {};
};

/// Times what a device does, by the device's own clock where it has one.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  /// Notes when the work given to the device so far is done; does not wait for it.
  virtual void lap() = 0;
  /// Seconds between one lap and the next, since this was last asked. Waits for the last.
  virtual std::vector<double> laps() = 0;
  /// From here on the device notes how long its ops wait for what it does together with others.
  virtual void note_waits() {}
  /// Seconds of all such waits, since they are noted. Waits for the last.
  virtual double waited() { return 0; }
};

/// What a device can do at most: what the time of its ops is held against.
struct Rates {
  double bytes_per_second = 0;  ///< of a large copy, read and written
  double flops_per_second = 0;  ///< of a large GEMM on random data
};

/// How rows are to be measured. Flags say so, and a row's own process is told the same.
struct MeasuringOptions {
  double speed_seconds = 2;     ///< to spend on timing each kind of step; 0: memory only
  bool shared_gpu = false;      ///< measure beside other processes on the GPU
  bool tf32 = false;            ///< fp32 GEMMs through tensor cores
  std::string gemm_algorithms;  ///< a file that keeps tuned GEMMs for the next process; "" for none
  std::optional<Launched> rank = {};              ///< of several GPUs that run a row together
  std::vector<std::int64_t> correspondents = {};  ///< of its ranks: see model/parallel/pipeline.h
};

/// A device that runs ops, and so has something to measure. Opening it takes none of its memory.
class RealDevice {
 public:
  using Run = std::function<RunReport(Device&, Ledger&)>;
  using Work = std::function<void(Device&, Ledger&)>;
  using TimedRun = std::function<void(Device&, Ledger&, Stopwatch&)>;

  explicit RealDevice(MeasuringOptions measuring) : measuring_(std::move(measuring)) {}
  virtual ~RealDevice() = default;

  const MeasuringOptions& measuring() const { return measuring_; }

  virtual std::string name() const = 0;  ///< "cpu", "cuda:0 NVIDIA H200"
  virtual std::string flag() const = 0;  ///< what --device has to say to open it
  virtual Arch arch() const = 0;
  virtual int multiprocessors() const = 0;
  /// The card it is, with what is known of its overhead; absent where it is none.
  virtual std::optional<Card> card() const { return std::nullopt; }
  /// What it is when it is told to have only so many bytes.
  virtual Card card_of(const std::string& name, std::uint64_t vram) const = 0;
  /// Whether it can be made to behave as this card.
  virtual bool can_be(const Card& card) const = 0;
  /// Versions and the like, for the context of every report.
  virtual std::map<std::string, std::string> facts() const { return {}; }
  /// Who else has memory of it, in words; "" where nobody has.
  virtual std::string neighbours() const { return {}; }
  /// Throws BadInput where a model of so many parameters is out of the question.
  virtual void check(std::int64_t parameters) const = 0;
  /// Of a step, or of a prompt and what follows: more takes hours.
  virtual double most_flops() const = 0;

  /// Calls `run` on a pool of its own that maps `capacity` bytes at most.
  virtual Measurement measure(std::uint64_t capacity, const Run& run) = 0;
  /// Likewise, for what is computed alone; GEMMs are not tuned.
  virtual void compute(std::uint64_t capacity, const Work& work) = 0;
  /// Likewise, for time alone, which GEMMs are tuned for.
  virtual void time(std::uint64_t capacity, const TimedRun& run) = 0;
  /// Measured now. `seconds`: how long for each.
  virtual Rates rates(DType dtype, double seconds) = 0;
  /// Bytes that driver and libraries take of the card in this process, by part, if it is a fresh
  /// one.
  virtual std::map<std::string, double> overhead() { return {}; }
  /// Bytes that it has sent to other GPUs so far, whoever made it; absent where nobody counts.
  virtual std::optional<std::uint64_t> sent() const { return std::nullopt; }

 private:
  MeasuringOptions measuring_;
};

/// The device of that name, "cpu", "cuda" or "cuda:1"; for "" the default, or null where that is a
/// virtual one. Throws BadInput.
std::unique_ptr<RealDevice> open_real_device(const std::string& name,
                                             const MeasuringOptions& options);

std::unique_ptr<RealDevice> make_cpu(const MeasuringOptions& options);

/// GPUs that answer; none in builds without kernels/cuda.
int cuda_devices();
/// One of them, by its index.
std::unique_ptr<RealDevice> make_cuda(int device, const MeasuringOptions& options);
bool built_with_cuda();

}  // namespace vramfit::bench
