#include "runtimes/expression.h"

#include <algorithm>
#include <charconv>

#include "model/checked.h"
#include "model/errors.h"

namespace vramfit {
namespace {

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw BadInput("a size of the tape overflows 64 bits");
  return sum;
}

std::int64_t difference_of(std::int64_t a, std::int64_t b) {
  std::int64_t rest = 0;
  if (__builtin_sub_overflow(a, b, &rest)) throw BadInput("a size of the tape overflows 64 bits");
  return rest;
}

std::int64_t quotient_of(std::int64_t a, std::int64_t b) {
  if (b == 0) throw BadInput("a size of the tape divides by 0");
  return b == -1 ? difference_of(0, a) : a / b;
}

bool is_of_name(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

}  // namespace

class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : all_(text), rest_(text) {}

  Expression parse() {
    sum();
    if (!rest_.empty()) fail();
    return std::move(result_);
  }

 private:
  using Op = Expression::Op;
  static constexpr int kMostNested = 20;

  [[noreturn]] void fail() const {
    throw BadInput("'" + std::string(all_) + "' is no size that a tape can have");
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void add(Op op, std::int64_t number = 0, std::string symbol = {}) {
    result_.steps_.push_back({op, number, std::move(symbol)});
  }

  void sum() {
    if (++nested_ > kMostNested) fail();
    product();
    for (;;) {
      if (take('+')) {
        product();
        add(Op::Add);
      } else if (take('-')) {
        product();
        add(Op::Subtract);
      } else {
        break;
      }
    }
    --nested_;
  }

  void product() {
    factor();
    for (;;) {
      if (take('*')) {
        factor();
        add(Op::Multiply);
      } else if (take('/')) {
        factor();
        add(Op::Divide);
      } else {
        return;
      }
    }
  }

  void factor() {
    if (take('(')) {
      sum();
      if (!take(')')) fail();
      return;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error == std::errc()) {
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      add(Op::Number, number);
      return;
    }
    std::string name(rest_.begin(), std::find_if_not(rest_.begin(), rest_.end(), is_of_name));
    if (name.empty()) fail();
    rest_.remove_prefix(name.size());
    if ((name == "min" || name == "max") && take('(')) {
      sum();
      if (!take(',')) fail();
      sum();
      if (!take(')')) fail();
      add(name == "min" ? Op::Min : Op::Max);
      return;
    }
    add(Op::Symbol, 0, std::move(name));
  }

  std::string_view all_;
  std::string_view rest_;
  Expression result_;
  int nested_ = 0;
};

Expression Expression::parse(std::string_view text) { return ExpressionParser(text).parse(); }

std::int64_t Expression::value(const Symbols& symbols) const {
  const auto of = [&symbols](const Step& step) {
    return step.op == Op::Number ? step.number : symbols(step.symbol);
  };
  if (steps_.empty()) throw BadInput("a size of the tape that is none");
  if (steps_.size() == 1) return of(steps_.front());
  std::vector<std::int64_t> stack;
  const auto pop = [&stack] {
    const std::int64_t top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const Step& step : steps_) {
    if (step.op == Op::Number || step.op == Op::Symbol) {
      stack.push_back(of(step));
      continue;
    }
    const std::int64_t b = pop();
    std::int64_t& a = stack.back();
    switch (step.op) {
      case Op::Add:
        a = sum_of(a, b);
        break;
      case Op::Subtract:
        a = difference_of(a, b);
        break;
      case Op::Multiply:
        a = checked_multiply(a, b);
        break;
      case Op::Divide:
        a = quotient_of(a, b);
        break;
      case Op::Min:
        a = std::min(a, b);
        break;
      default:
        a = std::max(a, b);
    }
  }
  return stack.back();
}

}  // namespace vramfit
