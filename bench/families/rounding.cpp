#include "bench/families/rounding.h"

#include <algorithm>
#include <cmath>

#include "bench/devices/floats.h"
#include "bench/devices/timing.h"
#include "bench/families/trained_loss.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

constexpr std::int64_t kLongestPrompt = 512;  // longer ones say no more, and take longer

/// The logits behind a random prompt, in order of the vocabulary.
std::vector<float> logits_of(const Case& c, const GenerationOptions& options) {
  std::vector<float> logits;
  c.device->compute(c.capacity(), [&](Device& device, Ledger& ledger) {
    Generator generator(device, ledger, *c.config, options);
    generator.prefill(
        [&](Device& on, Tensor& tokens) {
          on.run(FillTokens{tokens, c.config->vocab, kSeed});
        },
        [&](Device& on, const Tensor& found) { logits = download_floats(on, found); });
  });
  logits.resize(static_cast<std::size_t>(c.config->vocab));
  return logits;
}

/// The distance from what fp32 yields, over its length.
double logits_error(const Case& c, GenerationOptions options) {
  options.batch = 1;
  options.seq = std::min(options.seq, kLongestPrompt);
  options.generate = 1;
  const std::vector<float> logits = logits_of(c, options);
  const std::vector<float> exact = logits_of(c, in_fp32(options));
  double difference = 0;
  double length = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    difference += std::pow(static_cast<double>(logits[i]) - static_cast<double>(exact[i]), 2);
    length += std::pow(static_cast<double>(exact[i]), 2);
  }
  return std::sqrt(difference / length);
}

}  // namespace

void count_rounding(Counters& counters, const Case& c, const GenerationOptions& options) {
  if (c.device == nullptr || c.device->measuring().speed_seconds <= 0) return;
  if (options.precision == DType::Fp32 || options.precision == DType::Fp64) return;
  try {
    const TrainedLosses losses = trained_losses(*c.device, c.capacity(), options);
    counters.set("trained_loss", losses.loss);
    counters.set("trained_loss_fp32", losses.in_fp32);
    counters.set("logits_error", logits_error(c, options));
  } catch (const OutOfMemory&) {
    return;  // the row fits, fp32 does not
  }
}

}  // namespace vramfit::bench
