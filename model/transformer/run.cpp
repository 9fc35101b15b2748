#include "model/transformer/run.h"

#include <algorithm>

#include "model/errors.h"

namespace vramfit {
namespace {

constexpr std::uint64_t kSeed = 1;

std::optional<MissingMemory> missing_memory(const std::vector<Event>& events) {
  const auto event = std::find_if(events.begin(), events.end(), [](const Event& e) {
    return e.kind == Event::Kind::OutOfMemory;
  });
  if (event == events.end()) return std::nullopt;
  return MissingMemory{event->name, event->category, event->stage, event->step, event->bytes};
}

template <typename Body>
RunReport report_on(Ledger& ledger, const Body& body) {
  RunReport report;
  try {
    body();
  } catch (const OutOfMemory&) {
    report.missing = missing_memory(ledger.events());
    if (!report.missing) throw;  // it ran out beside the ledger, which is no result of this run
  }
  report.peak = ledger.peak();
  report.reserved = ledger.reserved();
  report.stages = ledger.stages();
  report.events = ledger.events();
  return report;
}

}  // namespace

std::uint64_t RunReport::peak_of_step(int step) const {
  std::uint64_t peak_bytes = 0;
  for (const StageRecord& record : stages) {
    if (record.step == step) peak_bytes = std::max(peak_bytes, record.peak);
  }
  return peak_bytes;
}

RunReport run_training(Device& device, Ledger& ledger, const ModelConfig& config,
                       const TrainingOptions& options, int steps) {
  return report_on(ledger, [&] {
    Trainer trainer(device, ledger, config, options);
    const BatchLoader batches = random_batches(config.vocab, kSeed);
    for (int step = 0; step < steps; ++step) trainer.step(batches);
    device.synchronize();
  });
}

RunReport run_generation(Device& device, Ledger& ledger, const ModelConfig& config,
                         const GenerationOptions& options, std::int64_t max_decodes) {
  return report_on(ledger, [&] {
    Generator generator(device, ledger, config, options);
    generator.prefill([&config](Device& on, Tensor& tokens) {
      on.run(FillTokens{tokens, config.vocab, kSeed});
    });
    const std::int64_t decodes = std::min(options.generate - 1, max_decodes);
    for (std::int64_t token = 0; token < decodes; ++token) generator.decode();
    device.synchronize();
  });
}

}  // namespace vramfit
