#pragma once

#include <cstdint>
#include <vector>

namespace vramfit::bench {

/// Text that a model can learn: a Markov chain of order two. Token v follows a, b with a
/// probability of exp(F[a][v] + L[b][v]) over its sum, where F and L are drawn once, normal: half
/// of what there is to know needs the last token alone, half needs attention to the one before it.
class ChainText {
 public:
  explicit ChainText(int vocab);

  int vocab() const { return vocab_; }
  /// `length` tokens, which depend on `number` alone.
  std::vector<std::int32_t> sequence(std::uint64_t number, std::int64_t length) const;

 private:
  /// exp of normal numbers, (vocab, vocab).
  std::vector<float> odds(std::uint64_t seed) const;

  int vocab_;
  std::vector<float> of_first_;  ///< exp F
  std::vector<float> of_last_;   ///< exp L
};

}  // namespace vramfit::bench
