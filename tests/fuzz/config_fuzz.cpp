#include "tests/fuzz/config_fuzz.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "estimator/estimate.h"
#include "estimator/runtimes.h"
#include "model/config/hugging_face.h"
#include "model/errors.h"
#include "model/transformer/parameters.h"
#include "runtimes/vramfit/dry_run.h"

namespace vramfit {
namespace {

constexpr std::int64_t kMostLayers = 100;  // of what is run: more take longer and show no more

void require(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void check_message(const std::string& message) {
  require(message.rfind("fuzz: ", 0) == 0, "a refusal begins with the file's name");
  require(message.size() < 300, "a refusal is short");
  for (const char c : message) {
    require(static_cast<unsigned char>(c) >= ' ' && c != 0x7F, "a refusal is one line");
  }
}

void check_shape(const ModelConfig& c) {
  for (const std::int64_t size :
       {c.layers, c.hidden, c.heads, c.kv_heads, c.head_dim, c.ffn, c.vocab, c.max_positions}) {
    require(size >= 1, "sizes are positive");
  }
  require(c.head_dim <= kMaxHeadDim && c.head_dim % 2 == 0, "heads can be rotated in pairs");
  require(c.heads % c.kv_heads == 0, "query heads share key and value heads evenly");
  require(!c.sliding_window || *c.sliding_window >= 1, "windows are positive");
  require(!c.sliding_window || static_cast<std::int64_t>(c.sliding_layers.size()) == c.layers,
          "each layer slides or does not");
  require(std::isfinite(c.norm_eps) && c.norm_eps >= 0, "eps is a number");
  if (!c.rope) return;
  for (const float f : rope_frequencies(*c.rope, c.head_dim).inverse) {
    require(std::isfinite(f) && f >= 0, "frequencies are numbers");
  }
}

void check_counts(const ModelConfig& config) {
  const std::int64_t count = parameter_count(config);
  const std::int64_t stored = stored_parameter_count(config);
  double sum = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) {
    double product = 1;
    for (std::size_t i = 0; i < spec.shape.rank(); ++i) {
      product *= static_cast<double>(spec.shape[i]);
    }
    sum += product;
  }
  require(std::abs(static_cast<double>(count) / sum - 1) < 1e-9, "the count is the sum");
  require(stored >= count, "padding adds");
  // 16 B a parameter: weights, gradients and the most that an optimizer keeps.
  require(stored <= INT64_MAX / 8, "bytes of a training run fit 64 bits");
}

/// Whatever the shape, a dry run ends: completed, out of memory, or refused.
void check_dry_runs(const ModelConfig& config) {
  try {
    TrainingOptions training;
    training.seq = 4;
    const RunReport report = dry_run(VirtualGpu{Arch{90}}, config, training);
    require(report.missing || report.stages.size() == 9, "a run of two steps has its stages");
    GenerationOptions generation;
    generation.seq = 4;
    dry_run(VirtualGpu{Arch{90}, std::uint64_t{80} << 30}, config, generation);
  } catch (const BadInput&) {
  }
}

/// Every runtime that has the family answers, or refuses.
void check_estimates(const ModelConfig& config) {
  static const Budget budget = budget_of_size(std::uint64_t{80'000'000'000});
  for (const Runtime* runtime : runtimes()) {
    for (const bool training : {false, true}) {
      try {
        const auto workload = runtime->workload({{"seq", "4"}}, training, config);
        workload->validate(config);
        const Estimate answer = estimate({config, workload, budget});
        require(answer.fits == (answer.margin >= 0), "what fits has room");
      } catch (const BadInput&) {
      }
    }
  }
}

}  // namespace

bool survives_config(const std::string& text, Asked asked) {
  ModelConfig config;
  try {
    config = parse_hugging_face(text, "fuzz");
  } catch (const BadInput& refusal) {
    check_message(refusal.what());
    return false;
  }
  check_shape(config);
  check_counts(config);
  if (config.layers <= kMostLayers && asked != Asked::Counts) check_dry_runs(config);
  if (config.layers <= kMostLayers && asked == Asked::Estimates) check_estimates(config);
  return true;
}

}  // namespace vramfit

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  vramfit::survives_config(std::string(reinterpret_cast<const char*>(data), size),
                           vramfit::Asked::DryRuns);
  return 0;
}
