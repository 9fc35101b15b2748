#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

#include "model/errors.h"
#include "model/printable.h"
#include "model/transformer/sizes.h"
#include "runtimes/pytorch/torch/memory/tape.h"
#include "runtimes/recorded/run_tape.h"

namespace vramfit::recorded {
namespace {

constexpr std::string_view kFirstLine = "vramfit run-tape 1";
constexpr std::size_t kMostActs = std::size_t{1} << 20;
constexpr std::size_t kMostSizes = std::size_t{1} << 16;
constexpr std::size_t kMostSteps = 64;
constexpr std::size_t kMostVaried = 8;
constexpr std::size_t kLongestSize = 400;  ///< bytes of its text
constexpr std::size_t kShownBytes = 40;

constexpr std::array<std::pair<std::string_view, Stage>, 5> kStages = {
    {{"load", Stage::Loaded},
     {"forward", Stage::Forward},
     {"backward", Stage::Backward},
     {"optimizer", Stage::Optimizer},
     {"compile", Stage::Compile}}};
constexpr std::array<std::pair<std::string_view, DriverCode>, 7> kCodes = {
    {{"first_kernel", DriverCode::FirstKernel},
     {"asserts", DriverCode::Asserts},
     {"blas", DriverCode::Blas},
     {"blas_handle", DriverCode::BlasHandle},
     {"attention", DriverCode::Attention},
     {"backward_attention", DriverCode::BackwardAttention},
     {"other", DriverCode::Other}}};

std::string shown(std::string_view word) { return "'" + one_line(word, kShownBytes) + "'"; }

template <typename Value, std::size_t N>
Value among(const std::array<std::pair<std::string_view, Value>, N>& table, std::string_view word,
            const char* what) {
  for (const auto& [name, value] : table) {
    if (name == word) return value;
  }
  throw BadInput(shown(word) + " is no " + what);
}

Category category_named(std::string_view word) {
  for (std::size_t i = 0; i < kCategories; ++i) {
    if (word == kCategoryNames[i]) return static_cast<Category>(i);
  }
  throw BadInput(shown(word) + " is nothing that an allocation is for");
}

template <typename Integer>
Integer number_in(std::string_view word, Integer most) {
  Integer number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 0 || number > most) {
    throw BadInput(shown(word) + " is no whole number from 0 to " + std::to_string(most));
  }
  return number;
}

/// Which blocks there are, so that nothing is freed that is not.
enum class State : std::uint8_t { Freed, Live, Dropped };
using Row = std::vector<State>;

class Reader {
 public:
  RunTape read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      try {
        statement(text.substr(0, end));
      } catch (const BadInput& error) {
        throw BadInput("tape: line " + std::to_string(line_) + ": " + error.what());
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    finish();
    return std::move(tape_);
  }

 private:
  void statement(std::string_view line) {
    if (line_ == 1) {
      if (line != kFirstLine) {
        throw BadInput("'" + std::string(kFirstLine) + "' is what such a file begins with, not " +
                       shown(line));
      }
      return;
    }
    rest_ = line;
    const std::string_view word = next();
    if (word == "alloc") {
      allocate();
    } else if (word == "free") {
      give(Act::Kind::Free);
    } else if (word == "drop") {
      give(Act::Kind::Drop);
    } else if (word == "stage") {
      act({.kind = Act::Kind::BeginStage, .stage = among(kStages, next(), "stage")});
      has_stage_ = true;
    } else if (word == "empty_cache") {
      act({.kind = Act::Kind::EmptyCache, .when = condition()});
    } else if (word == "load") {
      const DriverCode code = among(kCodes, next(), "code of the driver's");
      act({.kind = Act::Kind::Load,
           .code = code,
           .bytes = number_in<std::uint64_t>(next(), std::uint64_t{1} << 40)});
    } else if (word == "step") {
      step();
    } else if (tape_.steps.empty()) {
      header(word);
    } else {
      throw BadInput(shown(word) + " is no statement");
    }
    if (!rest_.empty()) throw BadInput("there is more than belongs to it: " + shown(rest_));
  }

  void header(std::string_view word) {
    if (word == "made") {
      tape_.made = printable(std::exchange(rest_, {}));
    } else if (word == "command") {
      tape_.command = printable(std::exchange(rest_, {}));
    } else if (word == "gpu") {
      tape_.gpu = printable(next());
      tape_.sm = number_in<int>(next(), 1000);
      if (tape_.gpu == "-") tape_.gpu.clear();
    } else if (word == "vary") {
      vary();
    } else if (word == "at") {
      point(true);
    } else if (word == "checked") {
      point(false);
    } else if (word == "bounded") {
      tape_.bounded = printable(std::exchange(rest_, {}));
      if (tape_.bounded.empty()) throw BadInput("does not say where it did not hold");
    } else {
      throw BadInput(shown(word) + " is no statement");
    }
  }

  void vary() {
    while (!rest_.empty()) {
      const std::string_view name = next();
      const bool valid = !name.empty() && name.find_first_not_of(
                                              "abcdefghijklmnopqrstuvwxyz"
                                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789_") == std::string_view::npos;
      if (!valid || name == "min" || name == "max" || (name.front() >= '0' && name.front() <= '9'))
        throw BadInput(shown(name) + " is no name");
      for (const Varied& other : tape_.varied) {
        if (other.name == name) throw BadInput(shown(name) + " is there twice");
      }
      if (tape_.varied.size() == kMostVaried) throw BadInput("too many names");
      tape_.varied.push_back({.name = std::string(name)});
    }
  }

  /// Of each name what it was.
  void point(bool recorded) {
    for (Varied& varied : tape_.varied) {
      const auto value = number_in<std::int64_t>(next(), std::int64_t{1} << 40);
      if (value < 1) throw BadInput(varied.name + " is 0");
      const bool first = varied.most == 0;
      if (recorded && first) varied.recorded = value;
      varied.least = first ? value : std::min(varied.least, value);
      varied.most = std::max(varied.most, value);
    }
  }

  void step() {
    if (tape_.repeats) throw BadInput("nothing comes behind the step that repeats");
    if (tape_.steps.size() == kMostSteps) throw BadInput("too many steps");
    if (number_in<std::size_t>(next(), kMostSteps) != tape_.steps.size()) {
      throw BadInput("steps are not in order");
    }
    if (tape_.steps.empty()) {
      for (const Varied& varied : tape_.varied) {
        if (varied.recorded == 0) throw BadInput("'at' does not say what " + varied.name + " was");
      }
    }
    tape_.steps.emplace_back();
    rows_.emplace_back();
    has_stage_ = false;
    if (rest_.empty()) return;
    if (next() != "repeats" || tape_.steps.size() < 3) {
      throw BadInput("a step from the second on may be 'repeats', and nothing else");
    }
    tape_.repeats = true;
  }

  Step& now() {
    if (tape_.steps.empty()) throw BadInput("no step has begun");
    return tape_.steps.back();
  }

  void act(const Act& act) {
    if (++acts_ > kMostActs) throw BadInput("more statements than a tape can have");
    now().acts.push_back(act);
  }

  void allocate() {
    if (!has_stage_ && !tape_.steps.empty()) throw BadInput("no stage has begun");
    Step& step = now();
    const std::uint32_t size = size_named(next());
    Act made{.kind = Act::Kind::Allocate, .category = category_named(next()), .size = size};
    if (rest_.starts_with("stream ")) {
      next();
      made.stream = static_cast<std::uint8_t>(
          number_in<unsigned>(next(), static_cast<unsigned>(pytorch::kStreams) - 1));
    }
    made.when = condition();
    made.block = step.blocks++;
    rows_.back().push_back(State::Live);
    act(made);
  }

  std::uint32_t size_named(std::string_view text) {
    if (const auto known = known_.find(text); known != known_.end()) return known->second;
    if (text.size() > kLongestSize) throw BadInput("a size of more letters than any has");
    if (tape_.sizes.size() == kMostSizes) throw BadInput("more sizes than a tape can have");
    tape_.sizes.push_back({parse(text), line_});
    const auto number = static_cast<std::uint32_t>(tape_.sizes.size() - 1);
    known_.emplace(text, number);
    return number;
  }

  /// Refuses names that there are not.
  Expression parse(std::string_view text) const {
    Expression expression = Expression::parse(text);
    expression.value([&](const std::string& name) {
      for (const Varied& varied : tape_.varied) {
        if (varied.name == name) return varied.recorded;
      }
      throw BadInput(shown(name) + " is none of what is varied");
    });
    return expression;
  }

  /// What may stand at a statement's end, "when batch*seq above 3072 2560 4096"; 0: nothing does.
  std::uint32_t condition() {
    if (!rest_.starts_with("when ")) return 0;
    const std::string_view text = rest_;
    if (const auto known = known_conditions_.find(text); known != known_conditions_.end()) {
      rest_ = {};
      return known->second;
    }
    if (text.size() > kLongestSize || tape_.conditions.size() == kMostSizes) {
      throw BadInput("more conditions than a tape can have");
    }
    next();
    Condition condition;
    condition.text = next();
    condition.expression = parse(condition.text);
    condition.line = line_;
    const std::string_view way = next();
    if (way != "above" && way != "upto") throw BadInput(shown(way) + " is not 'above' or 'upto'");
    condition.above = way == "above";
    constexpr std::int64_t kMost = std::int64_t{1} << 60;
    condition.bound = number_in<std::int64_t>(next(), kMost);
    condition.low = number_in<std::int64_t>(next(), kMost);
    condition.high = number_in<std::int64_t>(next(), kMost);
    tape_.conditions.push_back(std::move(condition));
    const auto number = static_cast<std::uint32_t>(tape_.conditions.size());
    known_conditions_.emplace(text, number);
    return number;
  }

  void give(Act::Kind kind) {
    const Step& step = now();
    Act given{.kind = kind,
              .block = number_in<std::uint32_t>(next(), std::numeric_limits<int>::max())};
    std::size_t row = tape_.steps.size() - 1;
    if (rest_.starts_with("of ")) {
      next();
      const std::string_view of = next();
      if (of == "previous" && row > 0) {
        given.whose = Act::Whose::PreviousStep;
        --row;
      } else {
        given.whose = Act::Whose::NumberedStep;
        given.step = number_in<std::uint32_t>(of, kMostSteps);
        if (given.step >= row)
          throw BadInput("step " + std::to_string(given.step) + " is not over");
        if (tape_.repeats) throw BadInput("what repeats frees no block of a numbered step");
        row = given.step;
      }
    }
    given.when = condition();
    give(given, rows_[row]);
    if (step.acts.empty()) throw BadInput("no stage has begun");
    act(given);
  }

  /// What is given under a condition may be there after all: playing finds out.
  static void give(const Act& act, Row& row) {
    if (act.block >= row.size()) throw BadInput("frees a block that nothing made");
    State& state = row[act.block];
    if (state == State::Freed) throw BadInput("frees a block that was freed");
    if (act.when != 0) return;
    if (act.kind == Act::Kind::Drop && state == State::Dropped) {
      throw BadInput("drops a block that was dropped");
    }
    state = act.kind == Act::Kind::Drop ? State::Dropped : State::Freed;
  }

  /// A step that repeats comes after itself as well.
  void play_again() {
    Row previous = rows_.back();
    Row row;
    for (const Act& act : tape_.steps.back().acts) {
      if (act.kind == Act::Kind::Allocate) row.push_back(State::Live);
      if (act.kind != Act::Kind::Drop && act.kind != Act::Kind::Free) continue;
      give(act, act.whose == Act::Whose::PreviousStep ? previous : row);
    }
  }

  void finish() {
    if (tape_.steps.empty()) throw BadInput("tape: has no step; what vramfit record writes");
    if (!tape_.repeats) return;
    try {
      play_again();
    } catch (const BadInput& error) {
      throw BadInput("tape: what repeats, behind itself, " + std::string(error.what()));
    }
  }

  std::string_view next() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return word;
  }

  RunTape tape_;
  std::vector<Row> rows_;  ///< of each step, its blocks
  std::unordered_map<std::string_view, std::uint32_t> known_;
  std::unordered_map<std::string_view, std::uint32_t> known_conditions_;
  std::size_t line_ = 0;
  std::size_t acts_ = 0;
  bool has_stage_ = false;
  std::string_view rest_;
};

}  // namespace

bool RunTape::trains() const {
  for (const Step& step : steps) {
    for (const Act& act : step.acts) {
      if (act.kind == Act::Kind::BeginStage && act.stage == Stage::Optimizer) return true;
    }
  }
  return false;
}

RunTape read_run_tape(std::string_view text) { return Reader().read(text); }

std::string command_of(std::string_view text) {
  constexpr std::string_view kCommand = "\ncommand ";
  const std::size_t begin = text.substr(0, text.find("\nstep ")).find(kCommand);
  if (begin == std::string_view::npos) return "a script";
  text.remove_prefix(begin + kCommand.size());
  return printable(text.substr(0, text.find('\n')));
}

}  // namespace vramfit::recorded
