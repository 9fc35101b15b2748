#pragma once

#include <cstdint>

namespace vramfit::pytorch {

/// What a model keeps from forward to forward of a generation.
class GenerationCache {
 public:
  virtual ~GenerationCache() = default;

  /// So many tokens more. Those that no forward was given are as if they had been appended one by
  /// one: the next forward makes room for them.
  void advance(std::int64_t tokens) { tokens_ += tokens; }
  bool is_empty() const { return tokens_ == 0; }
  std::int64_t tokens() const { return tokens_; }

 private:
  std::int64_t tokens_ = 0;
};

}  // namespace vramfit::pytorch
