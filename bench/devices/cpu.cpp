#include <algorithm>
#include <chrono>
#include <cstring>

#include "bench/devices/rates.h"
#include "bench/devices/real_device.h"
#include "estimator/card_names.h"
#include "estimator/cards.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/host_source.h"
#include "model/errors.h"
#include "model/memory/host_memory.h"

namespace vramfit::bench {
namespace {

/// Plain loops take minutes a step beyond this.
constexpr std::int64_t kMaxParameters = 20'000'000;
/// Or steps of more.
constexpr double kMostFlops = 2e10;
/// As do batches that fill more.
constexpr std::uint64_t kMaxCardBytes = 1'000'000'000;
/// Whose workspaces the CPU's runs have.
const Card& like() { return card_named(kDefaultCard); }

/// Beyond the caches, and soon done.
constexpr RateSizes kSizes{128, std::uint64_t{64} << 20};

/// Ops are done when they return.
class WallClock final : public Stopwatch {
 public:
  void lap() override { times_.push_back(Clock::now()); }
  std::vector<double> laps() override {
    std::vector<double> seconds;
    for (std::size_t i = 1; i < times_.size(); ++i) {
      seconds.push_back(std::chrono::duration<double>(times_[i] - times_[i - 1]).count());
    }
    times_.clear();
    return seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<Clock::time_point> times_;
};

class Cpu final : public RealDevice {
 public:
  using RealDevice::RealDevice;

  std::string name() const override { return "cpu"; }
  std::string flag() const override { return "cpu"; }
  Arch arch() const override { return like().arch; }
  int multiprocessors() const override { return like().multiprocessors; }

  Card card_of(const std::string& name, std::uint64_t vram) const override {
    Card card;
    card.name = name;
    card.title = "the host's memory";
    card.arch = like().arch;
    card.multiprocessors = like().multiprocessors;
    card.vram = vram;
    card.overhead.source = "none: the host's memory";
    return card;
  }

  bool can_be(const Card& card) const override { return card.vram <= kMaxCardBytes; }

  void check(std::int64_t parameters) const override {
    if (parameters <= kMaxParameters) return;
    throw BadInput("device: cpu is the oracle, plain loops for tiny models; this one has " +
                   std::to_string(parameters) + " parameters, at most " +
                   std::to_string(kMaxParameters) + ": --config with one such, or virtual:NAME");
  }

  double most_flops() const override { return kMostFlops; }

  Measurement measure(std::uint64_t capacity, const Run& run) override {
    Measurement measured;
    compute(capacity,
            [&](Device& device, Ledger& ledger) { measured.report = run(device, ledger); });
    return measured;
  }

  void compute(std::uint64_t capacity, const Work& work) override {
    HostSource source(std::min(capacity, HostSource::kDefaultCapacity));
    Pool pool(source);
    Ledger ledger(pool);
    HostSource host_source;
    const HostMemory host(host_source, ledger);
    CpuDevice device(like().arch);
    work(device, ledger);
  }

  void time(std::uint64_t capacity, const TimedRun& run) override {
    compute(capacity, [&run](Device& device, Ledger& ledger) {
      WallClock clock;
      run(device, ledger, clock);
    });
  }

  Rates rates(DType dtype, double seconds) override {
    Rates rates;
    const auto run = [&](Device& device, Ledger& ledger, Stopwatch& clock) {
      const auto copy = [](const Tensor& from, Tensor& to) {
        std::memcpy(to.data(), from.data(), from.bytes());
      };
      rates = measure_rates(device, ledger, clock, dtype, kSizes, copy, seconds);
    };
    time(HostSource::kDefaultCapacity, run);
    return rates;
  }
};

}  // namespace

std::unique_ptr<RealDevice> make_cpu(const MeasuringOptions& options) {
  return std::make_unique<Cpu>(options);
}

}  // namespace vramfit::bench
