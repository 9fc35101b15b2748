#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "model/errors.h"
#include "runtimes/pytorch/transformers/taped/op_tape.h"
#include "runtimes/pytorch/transformers/taped/read_instruction.h"
#include "runtimes/pytorch/transformers/taped/read_program.h"

namespace vramfit::pytorch {
namespace {

constexpr std::string_view kFirstLine = "vramfit tape 1";

// Of lines that parts have of others: five times what the longest tape takes (35,000; 860 KB).
constexpr std::size_t kMostLines = 175'000;
constexpr std::size_t kMostCharacters = 4'300'000;

std::size_t count_named(std::string_view word) {
  std::size_t count = 0;
  const char* const first = word.data();
  const char* const last = first + word.size();
  const auto [end, error] = std::from_chars(first, last, count);
  if (error != std::errc() || end != last) {
    throw BadInput("'" + std::string(word) + "' is no whole number");
  }
  return count;
}

constexpr const char* kMain = "main";

/// A size, a fraction, or "power_of_two".
OpTape::Held operand_held(std::string_view word) {
  if (word == "power_of_two") return {};
  if (const auto real = real_named(word)) return *real;
  return Expression::parse(word);
}

using Lines = std::vector<TapeLine>;

class Reader {
 public:
  explicit Reader(std::string text) {
    tape_.text = std::make_unique<const std::string>(std::move(text));
    rest_ = *tape_.text;
  }

  OpTape read() {
    try {
      if (!next() || line_ != kFirstLine)
        throw BadInput("does not begin '" + std::string(kFirstLine) + "'");
      while (next()) statement();
      tape_.number_parameters();
    } catch (const BadInput& refusal) {
      throw BadInput("tape: line " + std::to_string(number_) + ": " + refusal.what());
    }
    tape_.find_modules();
    return std::move(tape_);
  }

 private:
  /// The next line that is not empty, without blanks before its first word.
  bool next_line() {
    do {
      if (rest_.empty()) return false;
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      line_ = rest_.substr(0, end);
      line_.remove_prefix(std::min(line_.find_first_not_of(' '), line_.size()));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
    } while (line_.empty());
    return true;
  }
  /// The same, word by word.
  bool next() {
    if (!next_line()) return false;
    split_words(line_, words_);
    return true;
  }

  std::string word(std::size_t i) const {
    if (i >= words_.size()) throw BadInput("ends early");
    return std::string(words_[i]);
  }

  void statement() {
    const std::string first = word(0);
    if (first == "model_type") {
      tape_.model_type = word(1);
    } else if (first == "variants") {
      tape_.variants = {words_.begin() + 1, words_.end()};
    } else if (first == "layers") {
      tape_.layers_key = word(1);
      tape_.layers_path = word(2);
    } else if (first == "attention") {
      tape_.attention = word(1);
    } else if (first == "flag") {
      tape_.flags[word(1)] = {word(2), word(words_.size() > 3 ? 3 : 2)};
    } else if (first == "holds") {
      if (word(2).starts_with('>')) {
        tape_.above[word(1)] = static_cast<std::int64_t>(count_named(word(2).substr(1)));
      } else {
        tape_.holds.emplace_back(word(1), operand_held(word(2)));
      }
    } else if (first == "alias") {
      tape_.aliases[word(1)] = word(2);
    } else if (first == "cycle") {
      if (words_.size() < 3) throw BadInput("ends early");
      tape_.cycles[word(1)] = {words_.begin() + 2, words_.end()};
    } else if (first == "kinds") {
      kinds();
    } else if (first == "lora_targets") {
      tape_.lora_targets = {words_.begin() + 1, words_.end()};
    } else if (first == "no_targets") {
      tape_.no_targets = {words_.begin() + 1, words_.end()};
    } else if (first == "expert_targets") {
      tape_.expert_targets = {words_.begin() + 1, words_.end()};
    } else if (first == "tuple_targets") {
      tape_.tuple_targets = {words_.begin() + 1, words_.end()};
    } else if (first == "embedding") {
      if (word(1) != "scaled") throw BadInput("an embedding that is '" + word(1) + "'");
      tape_.scales_embedding = true;
    } else if (first == "windows") {
      tape_.windows = {words_.begin() + 1, words_.end()};
    } else if (first == "default") {
      tape_.defaults[word(1)] = Expression::parse(word(2));
    } else if (first == "null") {
      auto& taken = tape_.nulls[word(1)];
      if (words_.size() > 2) taken = Expression::parse(word(2));
    } else if (first == "parameters") {
      parameters();
    } else if (first == "program") {
      program();
    } else if (first == "without") {
      if (word(1) == "checkpointing") tape_.checkpoints = false;
      if (word(1) == "reentrant") {
        (words_.size() > 3 ? tape_.reenters_eagerly : tape_.reenters) = false;
      }
      if (word(1) == "fp16") tape_.has_fp16 = false;
    } else if (first != "made") {
      throw BadInput("'" + first + "' begins no line of a tape");
    }
  }

  void kinds() {
    const std::string way = word(1);
    const bool counts = way == "below" || way == "every";
    const std::size_t least = counts ? 5 : way == "by" ? 4 : 2;
    if (words_.size() < least) throw BadInput("ends early");
    tape_.kinds = {words_.begin() + 1, words_.end()};
  }

  void parameters() {
    std::vector<NamedTensor>* into = &tape_.before;
    for (;;) {
      if (!next()) throw BadInput("ends early");
      const std::string first = word(0);
      if (first == "end") {
        if (into == &tape_.before || into == &tape_.behind) return;
        into = &tape_.behind;
      } else if (first == "layer") {
        into = &tape_.of_layer[word(1)];
      } else {
        NamedTensor named;
        named.path = word(1);
        named.is_buffer = first != "parameter";
        if (words_.size() > 3) named.tied_to = word(3);
        into->push_back(std::move(named));
      }
    }
  }

  void program() {
    const std::string name = rest_of_line(1);
    WrittenProgram& program = tape_.written[name];
    for (;;) {
      if (!next()) throw BadInput("ends early");
      if (word(0) == "end") {
        if (program.main.lines.empty()) throw BadInput("a program without its main part");
        return;
      }
      if (word(0) == "layer") {
        const std::string kind = word(1);
        read_part(program.layers[kind], kind, name, 2);
      } else if (word(0) == "main") {
        read_part(program.main, kMain, name, 1);
      } else {
        throw BadInput("'" + word(0) + "' begins no part of a program");
      }
    }
  }

  /// The name of a part: of a kind of layers, or the main one.
  static std::string of_program(std::string kind, const std::string& program) {
    return kind.append(" ").append(program);
  }

  std::string rest_of_line(std::size_t first) const {
    std::string text = word(first);
    for (std::size_t i = first + 1; i < words_.size(); ++i) text += " " + word(i);
    return text;
  }

  /// A part of a program, to its end: by itself, or where the line's words from `first` on say so,
  /// as another program has it, or by the lines that another part has.
  void read_part(WrittenPart& part, const std::string& kind, const std::string& program,
                 std::size_t first) {
    part.name = of_program(kind, program);
    part.begin = number_;
    const bool as = words_.size() > first && word(first) == "as";
    const Lines* base = nullptr;
    if (words_.size() > first) {
      if (!as && word(first) != "from") {
        throw BadInput("'" + word(first) + "' is no way to say a part");
      }
      const std::string rest = rest_of_line(first + 1);
      const std::string other = as || kind == kMain ? of_program(kind, rest) : rest;
      const auto found = parts_.find(other);
      if (found == parts_.end()) throw BadInput("no part '" + other + "' came before");
      base = found->second;
    }
    if (as) count_taken(*base);
    part.lines = as ? *base : lines_from(base);
    parts_[part.name] = &part.lines;
  }

  void count_taken(std::span<const TapeLine> lines) {
    taken_ += lines.size();
    for (const TapeLine& each : lines) taken_characters_ += each.text.size();
    if (taken_ > kMostLines || taken_characters_ > kMostCharacters) {
      throw BadInput("a tape whose parts have too much of others");
    }
  }

  /// Up to the line that ends them.
  Lines lines_from(const Lines* base) {
    Lines lines;
    std::size_t at = 0;
    for (;;) {
      if (!next_line()) throw BadInput("ends early");
      const std::string_view first = line_.substr(0, line_.find(' '));
      if (first == "end") return lines;
      const bool of_base = base != nullptr && (first == "same" || first == "skip");
      if (!of_base) {
        if (first == "state" || first == "keep") add_state();
        lines.push_back({number_, line_});
        continue;
      }
      split_words(line_, words_);
      const std::size_t count = count_named(word(1));
      if (count > base->size() - at) {
        throw BadInput("what it is from has no " + word(1) + " lines more");
      }
      if (first == "same") {
        const std::span<const TapeLine> taken = std::span(*base).subspan(at, count);
        count_taken(taken);
        lines.insert(lines.end(), taken.begin(), taken.end());
      }
      at += count;
    }
  }

  /// What a line says that a cache holds.
  void add_state() {
    split_words(line_, words_);
    const std::string name = word(1).substr(1);
    States& states = tape_.states;
    if (std::find(states.begin(), states.end(), name) == states.end()) states.push_back(name);
  }

  std::string_view rest_;
  std::string_view line_;
  std::vector<std::string_view> words_;
  int number_ = 0;
  std::map<std::string, const Lines*> parts_;  ///< of programs, by their names and theirs
  std::size_t taken_ = 0;                      ///< so many of their lines are others'
  std::size_t taken_characters_ = 0;
  OpTape tape_;
};

}  // namespace

OpTape read_op_tape(std::string text) { return Reader(std::move(text)).read(); }

}  // namespace vramfit::pytorch
