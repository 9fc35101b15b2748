#include <gtest/gtest.h>

#include <map>

#include "model/memory/host_memory.h"
#include "model/transformer/run.h"
#include "runtimes/vramfit/virtual_device.h"
#include "tests/model/memory/recording_source.h"
#include "tests/model/transformer/contract_device.h"
#include "tests/model/transformer/runs.h"

namespace vramfit {
namespace {

/// Remembers how far the ledger was when each tensor was last used.
class LifetimeDevice final : public ContractDevice {
 public:
  LifetimeDevice(DType dtype, const Ledger& ledger, const std::byte* base)
      : ContractDevice(dtype), ledger_(ledger), base_(base) {}

  /// For each place in memory, the numbers of events that had happened when an op used it.
  std::map<std::uint64_t, std::vector<std::size_t>> uses;

 private:
  void used(const Tensor& tensor) override {
    const auto offset = static_cast<std::uint64_t>(tensor.as<std::byte>() - base_);
    uses[offset].push_back(ledger_.events().size());
  }

  const Ledger& ledger_;
  const std::byte* base_;
};

bool is_allocation(const Event& event) { return event.kind == Event::Kind::Allocate; }

/// Checks that between the last op that uses a tensor and its end nothing else is allocated: what
/// is held longer is held in vain. Only tensors that end within a stage are looked at; the others
/// serve the whole run.
void expect_no_tensor_outstays(const std::vector<Event>& events, const LifetimeDevice& device) {
  std::map<std::uint64_t, std::size_t> born;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (is_allocation(event)) born[event.offset] = i;
    if (event.kind != Event::Kind::Free || event.stage == Stage::Outside) continue;
    std::size_t last = 0;
    const auto uses = device.uses.find(event.offset);
    ASSERT_NE(uses, device.uses.end()) << "no op uses " << event.text();
    for (const std::size_t use : uses->second) {
      if (use <= i) last = std::max(last, use);
    }
    ASSERT_GT(last, born[event.offset]) << "no op uses " << event.text();
    for (std::size_t between = last; between < i; ++between) {
      ASSERT_FALSE(is_allocation(events[between]))
          << event.text() << "\nis still there when this is born:\n"
          << events[between].text();
    }
  }
}

/// Runs `body` on a pool whose addresses tell tensors apart, though nothing stands behind them.
template <typename Body>
void expect_short_lives(DType precision, const Body& body) {
  auto* base = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);
  RecordingSource source(std::uint64_t{1} << 40, base);
  Pool pool(source);
  Ledger ledger(pool);
  VirtualSource host_source;
  const HostMemory host(host_source, ledger);
  LifetimeDevice device(precision, ledger, base);
  body(device, ledger);
  expect_no_tensor_outstays(ledger.events(), device);
}

TEST(Lifetimes, EndWithTheLastUseInTraining) {
  for (const std::string& model : every_kind_of_model()) {
    for (const TrainingOptions& options : every_kind_of_training()) {
      SCOPED_TRACE(model + " " + options.optimizer.name + " " + options.precision.name + " " +
                   name(options.attention));
      expect_short_lives(options.precision.activations, [&](Device& device, Ledger& ledger) {
        run_training(device, ledger, shallow(model), options, 2);
      });
      if (HasFailure()) return;
    }
  }
}

TEST(Lifetimes, EndWithTheLastUseWithAdapters) {
  for (const std::string& model : every_kind_of_model()) {
    const ModelConfig config = shallow(model);
    for (const TrainingOptions& options : every_kind_of_adapters(config)) {
      SCOPED_TRACE(model + " " + options.precision.name + " " + std::to_string(options.seq));
      expect_short_lives(options.precision.activations, [&](Device& device, Ledger& ledger) {
        run_training(device, ledger, config, options, 2);
      });
      if (HasFailure()) return;
    }
  }
}

TEST(Lifetimes, EndWithTheLastUseInGeneration) {
  for (const std::string& model : every_kind_of_model()) {
    for (const AttentionForm form : {AttentionForm::Flash, AttentionForm::Cublas}) {
      SCOPED_TRACE(model + " " + name(form));
      GenerationOptions options;
      options.attention = form;
      options.seq = 40;
      options.generate = 3;
      expect_short_lives(options.precision.activations, [&](Device& device, Ledger& ledger) {
        run_generation(device, ledger, shallow(model), options);
      });
      if (HasFailure()) return;
    }
  }
}

TEST(Lifetimes, EndWithTheLastUseWhereLinearsAreQuantized) {
  for (const GenerationOptions& options : every_precision_of_generation()) {
    SCOPED_TRACE(options.precision.name + std::string(" ") + std::to_string(options.seq));
    expect_short_lives(options.precision.activations, [&](Device& device, Ledger& ledger) {
      run_generation(device, ledger, shallow("llama2-7b"), options);
    });
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace vramfit
