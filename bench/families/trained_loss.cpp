#include "bench/families/trained_loss.h"

#include <span>
#include <vector>

#include "bench/devices/cross_entropy.h"
#include "bench/devices/floats.h"
#include "bench/families/chain_text.h"
#include "bench/families/throughput.h"
#include "model/transformer/training.h"

namespace vramfit::bench {
namespace {

/// What is trained, on how much text.
struct Course {
  ModelConfig config;
  std::int64_t batch;
  std::int64_t seq;
  int steps;
  int held_out;  ///< batches
  float learning_rate;

  double flops() const {
    const auto tokens = static_cast<double>(batch * seq * steps);
    return tokens * training_flops_per_token(config, seq);
  }
};

/// Of sizes that every format goes with: multiples of int4's blocks of 128.
ModelConfig small_llama(std::int64_t layers, std::int64_t hidden, std::int64_t ffn,
                        std::int64_t vocab) {
  constexpr std::int64_t kHeadDim = 64;
  ModelConfig config;
  config.name = "small-llama";
  config.family = "llama";
  config.layers = layers;
  config.hidden = hidden;
  config.head_dim = kHeadDim;
  config.heads = config.kv_heads = hidden / kHeadDim;
  config.ffn = ffn;
  config.vocab = vocab;
  config.max_positions = kHeadDim;
  config.norm_eps = 1e-5F;
  config.rope = Rope{};
  return config;
}

/// As large as the device trains in seconds.
Course course_for(const RealDevice& device) {
  const Course usual = {small_llama(4, 256, 768, 256), 64, 64, 500, 32, 1e-3F};
  const Course of_an_oracle = {small_llama(1, 128, 128, 16), 8, 16, 40, 2, 2e-3F};
  return usual.flops() < device.most_flops() ? usual : of_an_oracle;
}

/// (B, T) tokens of a text, and of each the one behind it.
struct Batch {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> following;
};

Batch read_batch(const ChainText& text, const Course& course, int number) {
  Batch batch;
  for (std::int64_t b = 0; b < course.batch; ++b) {
    const auto sequence_number = static_cast<std::uint64_t>(number * course.batch + b);
    const std::vector<std::int32_t> sequence = text.sequence(sequence_number, course.seq + 1);
    batch.tokens.insert(batch.tokens.end(), sequence.begin(), sequence.end() - 1);
    batch.following.insert(batch.following.end(), sequence.begin() + 1, sequence.end());
  }
  return batch;
}

/// Of each parameter, by its number.
using Values = std::vector<std::vector<float>>;

Values train(Device& device, Ledger& ledger, const Course& course, const ChainText& text,
             AttentionForm attention) {
  TrainingOptions options;
  options.precision = DType::Fp32;
  options.attention = attention;
  options.batch = course.batch;
  options.seq = course.seq;
  options.settings.learning_rate = course.learning_rate;
  Trainer trainer(device, ledger, course.config, options);
  for (int step = 0; step < course.steps; ++step) {
    trainer.step([&](Device& on, Tensor& tokens, Tensor& targets) {
      const Batch batch = read_batch(text, course, step);
      on.upload(tokens, batch.tokens.data(), tokens.bytes());
      on.upload(targets, batch.following.data(), targets.bytes());
    });
  }
  Values values;
  for (const Parameter& parameter : trainer.model().weights.all()) {
    values.push_back(download_floats(device, parameter.value));
    values.back().resize(static_cast<std::size_t>(parameter.value.shape().elements()));
  }
  return values;
}

ParameterSource source_of(const Values& values) {
  return [&values](Device& device, const ParameterPart& part, Tensor& to) {
    const std::span<const float> all = values[part.number];
    upload_floats(device,
                  all.subspan(static_cast<std::size_t>(part.first),
                              static_cast<std::size_t>(to.shape().elements())),
                  to);
  };
}

/// The sum over a batch's prompts. `logits`: (B, stored V), behind each prompt's last token.
double loss_of(Device& device, const Tensor& logits, const Batch& batch, const Course& course) {
  const std::vector<float> all = download_floats(device, logits);
  const auto seq = static_cast<std::size_t>(course.seq);
  const auto vocab = static_cast<std::size_t>(course.config.vocab);
  const auto stored = static_cast<std::size_t>(logits.stored()[1]);
  double sum = 0;
  for (std::size_t b = 0; b < static_cast<std::size_t>(course.batch); ++b) {
    sum += cross_entropy(std::span(all).subspan(b * stored, vocab),
                         batch.following[(b + 1) * seq - 1]);
  }
  return sum;
}

double held_out_loss(Device& device, Ledger& ledger, const Course& course, const ChainText& text,
                     const GenerationOptions& options, const Values& values) {
  Generator generator(device, ledger, course.config, options, source_of(values));
  double sum = 0;
  for (int number = course.steps; number < course.steps + course.held_out; ++number) {
    const Batch batch = read_batch(text, course, number);
    generator.prefill(
        [&](Device& on, Tensor& tokens) { on.upload(tokens, batch.tokens.data(), tokens.bytes()); },
        [&](Device& on, const Tensor& logits) { sum += loss_of(on, logits, batch, course); });
  }
  return sum / static_cast<double>(course.held_out * course.batch);
}

}  // namespace

TrainedLosses trained_losses(RealDevice& device, std::uint64_t capacity,
                             const GenerationOptions& options) {
  const Course course = course_for(device);
  const ChainText text(static_cast<int>(course.config.vocab));
  GenerationOptions asked = options;
  asked.batch = course.batch;
  asked.seq = course.seq;
  asked.generate = 1;
  TrainedLosses losses{};
  device.compute(capacity, [&](Device& on, Ledger& ledger) {
    const Values values = train(on, ledger, course, text, options.attention);
    losses.loss = held_out_loss(on, ledger, course, text, asked, values);
    losses.in_fp32 = held_out_loss(on, ledger, course, text, in_fp32(asked), values);
  });
  return losses;
}

GenerationOptions in_fp32(GenerationOptions options) {
  options.precision = DType::Fp32;
  options.quantize_head = false;
  return options;
}

}  // namespace vramfit::bench
