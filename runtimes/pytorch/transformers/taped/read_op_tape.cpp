#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "model/errors.h"
#include "runtimes/pytorch/transformers/taped/op_tape.h"
#include "runtimes/pytorch/transformers/taped/read_instruction.h"

namespace vramfit::pytorch {
namespace {

constexpr std::string_view kFirstLine = "vramfit tape 1";

// Of lines that parts have of others: five times what the longest tape takes (35,000; 860 KB).
constexpr std::size_t kMostLines = 175'000;
constexpr std::size_t kMostCharacters = 4'300'000;

/// `words`: those of a line before it, whose room is used again.
void split_words(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  const char* const end = line.data() + line.size();
  for (const char* at = line.data(); at != end;) {
    const char* const begin = at;
    while (at != end && *at != ' ') ++at;
    if (at != begin) words.emplace_back(begin, static_cast<std::size_t>(at - begin));
    while (at != end && *at == ' ') ++at;
  }
}

std::size_t count_named(std::string_view word) {
  std::size_t count = 0;
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, count);
  if (error != std::errc() || end != last) {
    throw BadInput("'" + std::string(word) + "' is no whole number");
  }
  return count;
}

/// A size, a fraction, or "power_of_two".
OpTape::Held operand_held(std::string_view word) {
  if (word == "power_of_two") return {};
  if (const auto real = real_named(word)) return *real;
  return Expression::parse(word);
}

struct Line {
  int number;  ///< where it stands
  std::string_view text;
};
using Lines = std::vector<Line>;

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  OpTape read() {
    try {
      if (!next() || line_ != kFirstLine)
        throw BadInput("does not begin '" + std::string(kFirstLine) + "'");
      while (next()) statement();
      tape_.find_modules();
    } catch (const BadInput& refusal) {
      throw BadInput("tape: line " + std::to_string(number_) + ": " + refusal.what());
    }
    return std::move(tape_);
  }

 private:
  bool next() {
    do {
      if (rest_.empty()) return false;
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      line_ = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      split_words(line_, words_);
    } while (words_.empty());
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
      if (word(1) == "reentrant") tape_.reenters = false;
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
    std::string name;
    for (std::size_t i = 1; i < words_.size(); ++i) name += (i > 1 ? " " : "") + word(i);
    Program& program = tape_.programs[name];
    for (;;) {
      if (!next()) throw BadInput("ends early");
      if (word(0) == "end") {
        for (const auto& [kind, layer] : program.layers) {
          if (layer.of_program <= program.main.of_program) continue;
          throw BadInput("a layer takes of its program what that has not");
        }
        if (program.main.steps.empty()) throw BadInput("a program without its main part");
        return;
      }
      if (word(0) == "layer") {
        const std::string kind = word(1);
        if (words_.size() > 2 && word(2) == "as") {
          const Program& other = program_as(3);
          const auto found = other.layers.find(kind);
          if (found == other.layers.end()) {
            throw BadInput("program '" + rest_of_line(3) + "' has no layer '" + kind + "'");
          }
          program.layers[kind] = found->second;
          take_part(kind + " " + name, kind + " " + rest_of_line(3));
        } else {
          const Body& layer = program.layers[kind] = Body(part(kind + " " + name, 2));
          for (const Instruction& each : layer.steps) {
            if (each.kind == Instruction::Kind::Layers) throw BadInput("layers within a layer");
          }
        }
      } else if (word(0) == "main") {
        if (words_.size() > 1 && word(1) == "as") {
          program.main = program_as(2).main;
          take_part("main " + name, "main " + rest_of_line(2));
        } else {
          program.main = Body(part("main " + name, 1));
        }
      } else {
        throw BadInput("'" + word(0) + "' begins no part of a program");
      }
    }
  }

  /// The program that the words from there on name, which came before.
  const Program& program_as(std::size_t first) const {
    const std::string name = rest_of_line(first);
    const auto found = tape_.programs.find(name);
    if (found == tape_.programs.end()) throw BadInput("no program '" + name + "' came before");
    return found->second;
  }

  std::string rest_of_line(std::size_t first) const {
    std::string text = word(first);
    for (std::size_t i = first + 1; i < words_.size(); ++i) text += " " + word(i);
    return text;
  }

  /// A part of a program, to its end: by itself, or where the line's words from `first` on say so,
  /// by the lines that another part has.
  std::vector<Instruction> part(const std::string& name, std::size_t first) {
    const Lines* base = nullptr;
    const int begin = number_;  // lines before it are others'
    if (words_.size() > first) {
      if (word(first) != "from") throw BadInput("'" + word(first) + "' is no way to say a part");
      const bool is_main = name.starts_with("main ");
      const std::string other = (is_main ? "main " : "") + rest_of_line(first + 1);
      const auto found = parts_.find(other);
      if (found == parts_.end()) throw BadInput("no part '" + other + "' came before");
      base = &found->second;
    }
    const Lines& lines = parts_[name] = lines_from(base);
    const bool ends = word(0) == "end";
    const int here = number_;
    std::size_t at = 0;
    std::vector<Instruction> all;
    try {
      all = steps(lines, at, "");
    } catch (const BadInput& refusal) {
      if (number_ > begin) throw;
      throw BadInput(std::string(refusal.what()) + ", in part '" + name + "'");
    }
    number_ = here;
    if (!ends) throw BadInput("ends early");
    return all;
  }

  /// What a part that is as another has of it.
  void take_part(const std::string& name, const std::string& other) {
    const auto found = parts_.find(other);
    if (found == parts_.end()) throw BadInput("no part '" + other + "' came before");
    count_taken(found->second);
    parts_[name] = found->second;
  }

  void count_taken(std::span<const Line> lines) {
    taken_ += lines.size();
    for (const Line& each : lines) taken_characters_ += each.text.size();
    if (taken_ > kMostLines || taken_characters_ > kMostCharacters) {
      throw BadInput("a tape whose parts have too much of others");
    }
  }

  /// Up to the line that ends them, or to where there are no more.
  Lines lines_from(const Lines* base) {
    Lines lines;
    std::size_t at = 0;
    for (;;) {
      if (!next()) return lines;
      const std::string first = word(0);
      if (first == "end") return lines;
      const bool of_base = base != nullptr && (first == "same" || first == "skip");
      if (!of_base) {
        lines.push_back({number_, line_});
        continue;
      }
      const std::size_t count = count_named(word(1));
      if (count > base->size() - at) {
        throw BadInput("what it is from has no " + word(1) + " lines more");
      }
      if (first == "same") {
        const std::span<const Line> taken = std::span(*base).subspan(at, count);
        count_taken(taken);
        lines.insert(lines.end(), taken.begin(), taken.end());
      }
      at += count;
    }
  }

  std::vector<Instruction> steps(const Lines& lines, std::size_t& at, std::string_view last) {
    std::vector<Instruction> all;
    for (;;) {
      if (at == lines.size()) {
        if (last.empty()) return all;
        throw BadInput("ends early");
      }
      number_ = lines[at].number;
      split_words(lines[at++].text, words_);
      if (word(0) == last) return all;
      all.push_back(instruction_of(words_, tape_.states));
      const Instruction::Kind kind = all.back().kind;
      if (!last.empty() && kind != Instruction::Kind::Op && kind != Instruction::Kind::Free) {
        throw BadInput("'" + all.back().name + "' within a loop or a gradient");
      }
      if (kind == Instruction::Kind::Repeat) {
        all.back().body = steps(lines, at, "again");
      } else if (kind == Instruction::Kind::Gradient) {
        all.back().body = steps(lines, at, "gives");
        Operand& gives = all.back().args.emplace_back();
        gives.kind = Operand::Kind::List;
        for (std::size_t i = 1; i < words_.size(); ++i) {
          gives.list.push_back(operand_of(words_[i], tape_.states));
        }
        require_gradient(all.back());
      }
    }
  }

  /// What those who play it count on.
  static void require_gradient(const Instruction& gradient) {
    const std::vector<Operand>& given = gradient.args[2].list;
    const std::vector<Operand>& gives = gradient.args.back().list;
    const bool are_as_many = !gives.empty() && gives.size() == given.size();
    const bool are_tensors = std::all_of(gives.begin(), gives.end(), [](const Operand& each) {
      return each.kind == Operand::Kind::Register || each.kind == Operand::Kind::None;
    });
    if (!are_as_many || !are_tensors) throw BadInput("'gives' has one of each that is given");
  }

  std::string_view rest_;
  std::string_view line_;
  std::vector<std::string_view> words_;
  int number_ = 0;
  std::map<std::string, Lines> parts_;  ///< of programs, by their names and theirs
  std::size_t taken_ = 0;               ///< so many of their lines are others'
  std::size_t taken_characters_ = 0;
  OpTape tape_;
};

}  // namespace

OpTape read_op_tape(std::string_view text) { return Reader(text).read(); }

}  // namespace vramfit::pytorch
