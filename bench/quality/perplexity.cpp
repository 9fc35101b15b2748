#include "bench/quality/perplexity.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "bench/devices/cross_entropy.h"
#include "bench/quality/course.h"
#include "kernels/cpu/element.h"
#include "kernels/host/threads.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

/// Windows that generation goes through side by side, (B, seq + 1) tokens.
class Rows {
 public:
  Rows(const Text& text, std::int64_t seq, const std::vector<std::int64_t>& numbers) : seq_(seq) {
    for (const std::int64_t number : numbers) {
      const auto window = text.window(number, seq);
      tokens_.insert(tokens_.end(), window.begin(), window.end());
    }
  }

  std::int64_t count() const { return static_cast<std::int64_t>(tokens_.size()) / (seq_ + 1); }

  /// Of each row those in [from, to).
  std::vector<std::int32_t> columns(std::int64_t from, std::int64_t to) const {
    std::vector<std::int32_t> found;
    for (std::int64_t row = 0; row < count(); ++row) {
      const auto first = tokens_.begin() + row * (seq_ + 1);
      found.insert(found.end(), first + from, first + to);
    }
    return found;
  }

 private:
  std::int64_t seq_;
  std::vector<std::int32_t> tokens_;
};

/// The sum over a batch's rows. `logits`: (B, stored V).
double loss_of(Device& device, const Tensor& logits, std::int64_t vocab,
               const std::vector<std::int32_t>& following, Threads& threads) {
  const auto stored = static_cast<std::size_t>(logits.stored()[1]);
  std::vector<double> losses(following.size());
  with_element(logits.format(), [&](auto e) {
    std::vector<decltype(e)> all(static_cast<std::size_t>(logits.stored().elements()));
    device.download(all.data(), logits, logits.bytes());
    threads.for_each(static_cast<std::int64_t>(following.size()), [&](std::int64_t row) {
      const auto at = static_cast<std::size_t>(row);
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(at * stored);
      std::vector<float> values(static_cast<std::size_t>(vocab));
      std::transform(first, first + vocab, values.begin(),
                     [](auto element) { return static_cast<float>(element); });
      losses[at] = cross_entropy(values, following[at]);
    });
  });
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

/// The sum over all that is scored of a batch.
double loss_of(Generator& generator, const GenerationOptions& options, std::int64_t vocab,
               const Rows& rows, Threads& threads) {
  double sum = 0;
  std::int64_t next = options.seq;
  const LogitsReader read = [&](Device& device, const Tensor& logits) {
    sum += loss_of(device, logits, vocab, rows.columns(next, next + 1), threads);
  };
  const std::vector<std::int32_t> prompts = rows.columns(0, options.seq);
  Device* on = nullptr;
  generator.prefill(
      [&](Device& device, Tensor& tokens) {
        on = &device;
        device.upload(tokens, prompts.data(), tokens.bytes());
      },
      read);
  for (std::int64_t fed = 1; fed < options.generate; ++fed) {
    const std::vector<std::int32_t> tokens = rows.columns(next, next + 1);
    on->upload(generator.next_tokens(), tokens.data(), generator.next_tokens().bytes());
    ++next;
    generator.decode(read);
  }
  return sum;
}

}  // namespace

Surprise surprise(RealDevice& device, const ModelConfig& config, const GenerationOptions& options,
                  const ParameterSource& weights, const Text& text, std::int64_t windows) {
  validate(config, options);
  const std::int64_t seq = options.seq + options.generate - 1;
  const std::int64_t there = text.windows(seq);
  if (windows > there || windows % options.batch != 0) {
    throw BadInput("windows: " + std::to_string(windows) + " in batches of " +
                   std::to_string(options.batch) + "; the text has " + std::to_string(there));
  }
  double sum = 0;
  device.compute(capacity_of(device), [&](Device& on, Ledger& ledger) {
    Threads threads;
    Generator generator(on, ledger, config, options, weights);
    for (std::int64_t first = 0; first < windows; first += options.batch) {
      std::vector<std::int64_t> numbers;
      for (std::int64_t b = 0; b < options.batch; ++b) {
        numbers.push_back((first + b) * there / windows);
      }
      sum += loss_of(generator, options, config.vocab, Rows(text, seq, numbers), threads);
    }
  });
  const std::int64_t tokens = windows * options.generate;
  return {sum / static_cast<double>(tokens), tokens};
}

}  // namespace vramfit::bench
