#include "bench/real_device.h"
#include "bench/stage_clock.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/host_source.h"
#include "model/errors.h"
#include "model/memory/pool.h"

namespace vramfit::bench {
namespace {

/// Plain loops take minutes a step beyond this.
constexpr std::int64_t kMaxParameters = 20'000'000;
/// Whose workspaces the CPU's runs have: the default virtual card's.
constexpr Arch kArch{90};

class Cpu final : public RealDevice {
 public:
  std::string name() const override { return "cpu"; }
  Arch arch() const override { return kArch; }

  void check(std::int64_t parameters) const override {
    if (parameters <= kMaxParameters) return;
    throw BadInput("device: cpu is the oracle, plain loops for tiny models; this one has " +
                   std::to_string(parameters) + " parameters, at most " +
                   std::to_string(kMaxParameters) + ": --config with one such, or virtual:NAME");
  }

  Measurement measure(const Run& run) override {
    Measurement measured;
    HostSource source;
    Pool pool(source);
    Ledger ledger(pool);
    CpuDevice device(kArch);
    StageClock clock(device, measured.seconds);
    ledger.set_observer(&clock);
    measured.report = run(device, ledger);
    return measured;
  }
};

}  // namespace

std::unique_ptr<RealDevice> make_cpu() { return std::make_unique<Cpu>(); }

}  // namespace vramfit::bench
