#include "bench/families/chain_text.h"

#include <algorithm>
#include <cmath>

#include "model/ops/random.h"

namespace vramfit::bench {
namespace {

constexpr float kDeviation = 1.5F;  // of F and of L
/// Seeds: sequences are drawn by seeds of their own, behind the tables'.
constexpr std::uint64_t kFirst = 1;
constexpr std::uint64_t kLast = 2;
constexpr std::uint64_t kSequences = 1000;

/// In [0, 1).
float uniform(std::uint64_t seed, std::uint64_t i) {
  return static_cast<float>(random_bits(seed, i) >> 40) * 0x1p-24F;
}

}  // namespace

ChainText::ChainText(int vocab) : vocab_(vocab), of_first_(odds(kFirst)), of_last_(odds(kLast)) {}

std::vector<float> ChainText::odds(std::uint64_t seed) const {
  std::vector<float> table(static_cast<std::size_t>(vocab_) * static_cast<std::size_t>(vocab_));
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = std::exp(kDeviation * random_normal(seed, i));
  }
  return table;
}

std::vector<std::int32_t> ChainText::sequence(std::uint64_t number, std::int64_t length) const {
  const auto vocab = static_cast<std::size_t>(vocab_);
  const std::uint64_t seed = kSequences + number;
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(length));
  std::vector<float> sums(vocab);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i < 2) {
      tokens[i] = random_token(seed, i, vocab_);
      continue;
    }
    const float* first = &of_first_[static_cast<std::size_t>(tokens[i - 2]) * vocab];
    const float* last = &of_last_[static_cast<std::size_t>(tokens[i - 1]) * vocab];
    float sum = 0;
    for (std::size_t v = 0; v < vocab; ++v) sums[v] = sum += first[v] * last[v];
    const auto drawn = std::upper_bound(sums.begin(), sums.end() - 1, sum * uniform(seed, i));
    tokens[i] = static_cast<std::int32_t>(drawn - sums.begin());
  }
  return tokens;
}

}  // namespace vramfit::bench
