#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/config/model_config.h"
#include "model/format.h"

// The formulas of the article "GPU Memory Benchmarks: Will This Model Fit?", as they stand and
// where they are wrong as well: to be set beside predictions and measurements, never to answer.
// Sizes are doubles in bytes, as the article computes them.
namespace vramfit::article {

/// The arguments of will_it_fit, with its defaults.
struct Question {
  double params_billion = 7;
  std::string precision = "fp16";  ///< fp32, fp16, bf16, int8, int4
  bool training = true;
  std::string optimizer = "adam";  ///< adam, sgd
  std::int64_t batch = 1;
  std::int64_t seq = 2048;
  std::int64_t hidden = 4096;
  std::int64_t layers = 32;
  double vram_gb = 24;
};

struct Answer {
  double parameters;
  double gradients;
  double optimizer;
  double activations;
  double kv_cache;
  bool fits;

  double total() const { return parameters + gradients + optimizer + activations + kv_cache; }
};

/// Throws BadInput on a precision or optimizer the article does not know.
Answer will_it_fit(const Question& question);

/// Its find_max_batch_size: 0 where not even the fixed part fits.
std::int64_t find_max_batch_size(const Question& question);

/// Its estimate_multi_gpu_memory: what each GPU holds of weights and gradients in fp16 and Adam's
/// states, all of it under "data-parallel", a share under "pipeline" and "fsdp". Bytes. Throws
/// BadInput on another strategy, and on no GPU.
double estimate_multi_gpu_memory(double params_billion, std::int64_t gpus,
                                 const std::string& strategy);

/// Its KV cache: 2 · layers · heads · head_dim · bytes · batch · seq, where heads · head_dim is
/// hidden.
double kv_cache_bytes(const Question& question);

/// The article's precision for weights of ours: it has whole numbers alone in 8 and 4 bits. Absent
/// where it has none such.
std::optional<std::string> precision_for(Format weights);

/// The article's optimizer for one of ours: "sgd" for those it calls so, otherwise "adam".
std::string optimizer_for(const std::string& optimizer);

/// A question about a model of ours, asked with its true parameter count, hidden and layers.
Question question_about(const ModelConfig& config, const std::string& precision, std::int64_t batch,
                        std::int64_t seq);

}  // namespace vramfit::article
