#include "bench/throughput.h"

#include "model/transformer/parameters.h"

namespace vramfit::bench {
namespace {

void count(Counters& counters, double tokens, double flops_per_token, double seconds) {
  if (seconds <= 0) return;
  counters.set("tokens_per_second", tokens / seconds);
  counters.set("flops_per_second", tokens / seconds * flops_per_token);
}

double seconds_of_step(const StageSeconds& seconds, int step) {
  double sum = 0;
  for (const auto& [key, value] : seconds) {
    if (key.second == step) sum += value;
  }
  return sum;
}

double seconds_of_stage(const StageSeconds& seconds, Stage stage) {
  const auto it = seconds.find({stage, 1});
  return it == seconds.end() ? 0 : it->second;
}

}  // namespace

double training_flops_per_token(const ModelConfig& config, std::int64_t seq) {
  const std::int64_t embedding = config.tied_head ? 0 : config.vocab * config.hidden;
  const std::int64_t weights = parameter_count(config) - embedding;
  const auto attention =
      static_cast<double>(config.layers * config.hidden) * static_cast<double>(seq);
  return 6 * static_cast<double>(weights) + 6 * attention;
}

void count_training_speed(Counters& counters, const ModelConfig& config,
                          const TrainingOptions& options, const Measurement& measured) {
  if (measured.report.missing) return;
  const auto tokens = static_cast<double>(options.batch * options.seq * options.accumulate);
  count(counters, tokens, training_flops_per_token(config, options.seq),
        seconds_of_step(measured.seconds, measured.report.stages.back().step));
}

void count_generation_speed(Counters& counters, const ModelConfig& config,
                            const GenerationOptions& options, const Measurement& measured) {
  if (measured.report.missing) return;
  const auto prompt = static_cast<double>(options.batch * options.seq);
  count(counters, prompt, training_flops_per_token(config, options.seq) / 3,
        seconds_of_stage(measured.seconds, Stage::Prefill));
  const double decoding = seconds_of_stage(measured.seconds, Stage::Decode);
  if (decoding <= 0) return;
  const auto decoded = static_cast<double>(options.batch * (options.generate - 1));
  counters.set("decode_tokens_per_second", decoded / decoding);
}

}  // namespace vramfit::bench
