#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// Integers by their names: a batch, a length, keys of a model's config.
using Symbols = std::function<std::int64_t(const std::string& name)>;

/// A size as a tape writes it: sums, products and quotients (rounded down) of integers and symbols,
/// min(a,b) and max(a,b), without spaces.
class Expression {
 public:
  Expression() = default;
  /// Throws BadInput where `text` is none.
  static Expression parse(std::string_view text);

  /// Throws BadInput on overflow, or where it divides by 0.
  std::int64_t value(const Symbols& symbols) const;

 private:
  friend class ExpressionParser;
  enum class Op : std::uint8_t { Number, Symbol, Add, Subtract, Multiply, Divide, Min, Max };
  struct Step {
    Op op;
    std::int64_t number = 0;
    std::string symbol;
  };
  std::vector<Step> steps_;  ///< in reverse Polish notation
};

}  // namespace vramfit
