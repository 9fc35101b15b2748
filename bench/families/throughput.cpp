#include "bench/families/throughput.h"

#include <optional>

#include "bench/devices/timing.h"
#include "model/errors.h"
#include "model/transformer/parameters.h"

namespace vramfit::bench {
namespace {

using Time = std::function<double(const std::function<void()>&)>;

/// Times the training of several GPUs, each of which has to do as many steps as the others.
constexpr int kSteps = 12;
constexpr int kWarmUps = 3;

/// Calls `run` with something that times work on the row's device.
void on_device(const Counters& counters, const Case& c,
               const std::function<void(Device&, Ledger&, Stopwatch&, const Time&)>& run) {
  if (c.device == nullptr || c.device->measuring().speed_seconds <= 0) return;
  if (counters.values().at("oom") != 0) return;
  const double budget = c.device->measuring().speed_seconds;
  try {
    c.device->time(c.capacity(), [&](Device& device, Ledger& ledger, Stopwatch& clock) {
      run(device, ledger, clock, [&](const std::function<void()>& work) {
        if (c.ranks() > 1) return seconds_of_steps(work, device, clock, kWarmUps, kSteps);
        return seconds_of(work, device, clock, budget);
      });
    });
  } catch (const OutOfMemory&) {
    if (c.ranks() > 1) throw;  // the others wait for this one
    return;                    // the row fits, but not beside the kernels that tuning tries
  }
}

}  // namespace

double training_flops_per_token(const ModelConfig& config, std::int64_t seq, bool frozen) {
  const std::int64_t embedding = config.tied_head ? 0 : config.vocab * config.hidden;
  const std::int64_t weights = parameter_count(config) - embedding;
  const auto attention =
      static_cast<double>(config.layers * config.q_width()) * static_cast<double>(seq);
  return (frozen ? 4 : 6) * static_cast<double>(weights) + 6 * attention;
}

void count_speed(Counters& counters, const Case& c, const TrainingOptions& options) {
  on_device(counters, c, [&](Device& device, Ledger& ledger, Stopwatch& clock, const Time& time) {
    Trainer trainer(device, ledger, *c.config, options);
    const BatchLoader batches = random_batches(c.config->vocab, kSeed);
    const auto tokens = static_cast<double>(options.batch * options.seq * options.accumulate *
                                            options.mesh.batches());
    const auto step = [&] { trainer.step(batches); };
    const auto sent = [&]() -> std::optional<std::uint64_t> {
      if (c.ranks() == 1) return std::nullopt;
      device.synchronize();
      return c.device->sent();
    };
    step();  // the first sends more than those that follow
    const std::optional<std::uint64_t> before = sent();
    const double seconds = time(step);
    const std::optional<std::uint64_t> after = sent();
    if (before && after) {
      counters.set("mem_sent", static_cast<double>(*after - *before) / (kWarmUps + kSteps));
    }
    const double rate = tokens / seconds;
    counters.set("tokens_per_second", rate);
    const double flops = training_flops_per_token(*c.config, options.seq, options.lora.has_value());
    counters.set("flops_per_second", rate * flops);
    if (c.ranks() == 1) return;
    clock.note_waits();
    time(step);
    const double waited = clock.waited() / (kWarmUps + kSteps);
    counters.set("exposed_seconds", waited);
    if (options.mesh.pipelined()) counters.set("bubble", waited / seconds);
  });
}

void count_speed(Counters& counters, const Case& c, const GenerationOptions& options) {
  on_device(counters, c, [&](Device& device, Ledger& ledger, Stopwatch&, const Time& time) {
    Generator generator(device, ledger, *c.config, options);
    const PromptLoader prompts = [&](Device& on, Tensor& tokens) {
      on.run(FillTokens{tokens, c.config->vocab, kSeed});
    };
    const auto prompt = static_cast<double>(options.batch * options.seq);
    const double rate = prompt / time([&] { generator.prefill(prompts); });
    counters.set("prefill_tokens_per_second", rate);
    counters.set("flops_per_second", rate * training_flops_per_token(*c.config, options.seq) / 3);
    const double decode = time([&] {
      generator.rewind(1);
      generator.decode();
    });
    counters.set("decode_tokens_per_second", static_cast<double>(options.batch) / decode);
  });
}

}  // namespace vramfit::bench
