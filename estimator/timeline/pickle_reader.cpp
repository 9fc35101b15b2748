#include "estimator/timeline/pickle_reader.h"

#include <array>
#include <cstring>

#include "estimator/timeline/pickle_opcodes.h"
#include "model/errors.h"

namespace vramfit {
namespace {

using Op = PickleOpcode;
using ValueKind = PickleValue::Kind;

struct Refused {
  std::uint8_t opcode;
  const char* name;
  bool runs_code;
};

/// The others, by the names that pickletools has.
constexpr std::array kRefused = {
    Refused{'c', "GLOBAL", true},
    Refused{'R', "REDUCE", true},
    Refused{'b', "BUILD", true},
    Refused{'i', "INST", true},
    Refused{'o', "OBJ", true},
    Refused{0x81, "NEWOBJ", true},
    Refused{0x92, "NEWOBJ_EX", true},
    Refused{0x93, "STACK_GLOBAL", true},
    Refused{0x82, "EXT1", true},
    Refused{0x83, "EXT2", true},
    Refused{0x84, "EXT4", true},
    Refused{'P', "PERSID", true},
    Refused{'Q', "BINPERSID", true},
    Refused{0x97, "NEXT_BUFFER", true},
    Refused{0x98, "READONLY_BUFFER", true},
    Refused{'I', "INT", false},
    Refused{'L', "LONG", false},
    Refused{'F', "FLOAT", false},
    Refused{'S', "STRING", false},
    Refused{'V', "UNICODE", false},
    Refused{'T', "BINSTRING", false},
    Refused{'U', "SHORT_BINSTRING", false},
    Refused{'B', "BINBYTES", false},
    Refused{'C', "SHORT_BINBYTES", false},
    Refused{0x8e, "BINBYTES8", false},
    Refused{0x96, "BYTEARRAY8", false},
    Refused{0x8f, "EMPTY_SET", false},
    Refused{0x90, "ADDITEMS", false},
    Refused{0x91, "FROZENSET", false},
    Refused{0x8b, "LONG4", false},
    Refused{'g', "GET", false},
    Refused{'p', "PUT", false},
    Refused{'0', "POP", false},
    Refused{'1', "POP_MARK", false},
    Refused{'2', "DUP", false},
};

[[noreturn]] void refuse(const std::string& why) { throw BadInput(why); }

[[noreturn]] void refuse_opcode(std::uint8_t opcode) {
  for (const Refused& refused : kRefused) {
    if (refused.opcode != opcode) continue;
    refuse(std::string("it has ") + refused.name +
           (refused.runs_code ? ", which would run code; plain types alone are read"
                              : ", which is of no snapshot; plain types alone are read"));
  }
  refuse("byte " + std::to_string(opcode) + " is no pickle opcode");
}

PickleValue of(ValueKind kind, std::int64_t integer = 0) {
  PickleValue value;
  value.kind = kind;
  value.integer = integer;
  return value;
}

PickleValue at(ValueKind kind, std::size_t index) {
  PickleValue value;
  value.kind = kind;
  value.index = static_cast<std::uint32_t>(index);
  return value;
}

}  // namespace

/// The stack machine that a pickle is a program for.
class PickleMachine {
 public:
  PickleMachine(Pickle& pickle, std::size_t most_values)
      : pickle_(pickle), bytes_(pickle.bytes_), most_values_(most_values) {}

  void run() {
    if (bytes_.size() < 2 || byte() != static_cast<std::uint8_t>(Op::Proto)) {
      refuse("it is no pickle of protocol 2 to 5");
    }
    at_ = 0;
    while (step()) {
    }
    if (stack_.size() != 1 || !marks_.empty()) refuse("it stops with values left over");
    pickle_.root_ = stack_.back();
  }

 private:
  std::uint8_t byte() {
    if (at_ >= bytes_.size()) refuse("it ends in the middle");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t number(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= std::uint64_t{byte()} << (8 * i);
    return value;
  }
  std::string_view span(std::uint64_t bytes) {
    if (bytes > bytes_.size() - at_) refuse("it ends in the middle");
    const auto length = static_cast<std::size_t>(bytes);
    const std::string_view text = std::string_view(bytes_).substr(at_, length);
    at_ += length;
    return text;
  }

  /// Whatever takes memory is counted.
  void count() {
    if (++values_ <= most_values_) return;
    refuse("it has more than " + std::to_string(most_values_) + " values; record fewer steps");
  }
  void push(PickleValue value) {
    count();
    stack_.push_back(value);
  }
  PickleValue& top() {
    if (stack_.empty()) refuse("it takes from an empty stack");
    return stack_.back();
  }
  PickleValue pop() {
    const PickleValue value = top();
    stack_.pop_back();
    return value;
  }
  /// Values since the last mark, which is taken away.
  Pickle::List pop_marked() {
    if (marks_.empty() || marks_.back() > stack_.size()) refuse("it goes back to no mark");
    const auto mark = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    Pickle::List values(mark, stack_.end());
    stack_.erase(mark, stack_.end());
    marks_.pop_back();
    return values;
  }

  void push_text(std::uint64_t bytes) {
    pickle_.texts_.push_back(span(bytes));
    push(at(ValueKind::Text, pickle_.texts_.size() - 1));
  }
  void push_list(Pickle::List values) {
    pickle_.lists_.push_back(std::move(values));
    push(at(ValueKind::List, pickle_.lists_.size() - 1));
  }
  void push_tuple(std::size_t count) {
    if (stack_.size() < count) refuse("it takes from an empty stack");
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    Pickle::List values(first, stack_.end());
    stack_.erase(first, stack_.end());
    push_list(std::move(values));
  }
  void push_dict() {
    pickle_.dicts_.emplace_back();
    push(at(ValueKind::Dict, pickle_.dicts_.size() - 1));
  }

  void append(const Pickle::List& values) {
    if (top().kind != ValueKind::List) refuse("it appends to what is no list");
    Pickle::List& list = pickle_.lists_[top().index];
    list.insert(list.end(), values.begin(), values.end());
  }
  void set(const Pickle::List& values) {
    if (top().kind != ValueKind::Dict || values.size() % 2 != 0) refuse("it sets items of no dict");
    Pickle::Dict& dict = pickle_.dicts_[top().index];
    for (std::size_t i = 0; i < values.size(); i += 2) dict.emplace_back(values[i], values[i + 1]);
  }

  void put(std::uint64_t index) {
    if (index > memo_.size()) refuse("its memo has gaps");
    if (index == memo_.size()) {
      count();
      memo_.emplace_back();
    }
    memo_[static_cast<std::size_t>(index)] = top();
  }
  void get(std::uint64_t index) {
    if (index >= memo_.size()) refuse("it refers to a value that it has not kept");
    push(memo_[static_cast<std::size_t>(index)]);
  }

  void protocol() {
    if (const std::uint8_t version = byte(); version < 2 || version > 5) {
      refuse("it is a pickle of protocol " + std::to_string(version) + "; 2 to 5 are read");
    }
  }
  void huge_or_small(std::uint8_t bytes) {
    const std::string_view digits = span(bytes);
    if (bytes > 8) return push(of(ValueKind::HugeInteger));
    std::uint64_t bits = bytes > 0 && (digits.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = digits.size(); i-- > 0;) {
      bits = bits << 8 | static_cast<std::uint8_t>(digits[i]);
    }
    push(of(ValueKind::Integer, static_cast<std::int64_t>(bits)));
  }
  void real() {
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
    PickleValue value = of(ValueKind::Real);
    std::memcpy(&value.real, &bits, sizeof bits);
    push(value);
  }

  /// False once it has stopped.
  bool step() {
    const std::uint8_t opcode = byte();
    switch (static_cast<Op>(opcode)) {
      case Op::Stop:
        return false;
      case Op::Proto:
        protocol();
        break;
      case Op::Frame:
        number(8);
        break;
      case Op::Mark:
        count();
        marks_.push_back(stack_.size());
        break;
      case Op::None:
        push(of(ValueKind::None));
        break;
      case Op::NewTrue:
      case Op::NewFalse:
        push(of(ValueKind::Boolean, opcode == static_cast<std::uint8_t>(Op::NewTrue) ? 1 : 0));
        break;
      case Op::BinInt:
        push(of(ValueKind::Integer, static_cast<std::int32_t>(number(4))));
        break;
      case Op::BinInt1:
        push(of(ValueKind::Integer, byte()));
        break;
      case Op::BinInt2:
        push(of(ValueKind::Integer, static_cast<std::int64_t>(number(2))));
        break;
      case Op::Long1:
        huge_or_small(byte());
        break;
      case Op::BinFloat:
        real();
        break;
      case Op::ShortBinUnicode:
        push_text(byte());
        break;
      case Op::BinUnicode:
        push_text(number(4));
        break;
      case Op::BinUnicode8:
        push_text(number(8));
        break;
      default:
        container(opcode);
    }
    return true;
  }

  void container(std::uint8_t opcode) {
    switch (static_cast<Op>(opcode)) {
      case Op::EmptyList:
      case Op::EmptyTuple:
        push_list({});
        break;
      case Op::List:
      case Op::Tuple:
        push_list(pop_marked());
        break;
      case Op::Tuple1:
      case Op::Tuple2:
      case Op::Tuple3:
        push_tuple(opcode - static_cast<std::size_t>(Op::Tuple1) + 1);
        break;
      case Op::EmptyDict:
        push_dict();
        break;
      case Op::Dict: {
        const Pickle::List values = pop_marked();
        push_dict();
        set(values);
        break;
      }
      case Op::Append: {
        const PickleValue value = pop();
        append({value});
        break;
      }
      case Op::Appends:
        append(pop_marked());
        break;
      case Op::SetItem: {
        const PickleValue value = pop();
        const PickleValue key = pop();
        set({key, value});
        break;
      }
      case Op::SetItems:
        set(pop_marked());
        break;
      case Op::Memoize:
        put(memo_.size());
        break;
      case Op::BinPut:
        put(byte());
        break;
      case Op::LongBinPut:
        put(number(4));
        break;
      case Op::BinGet:
        get(byte());
        break;
      case Op::LongBinGet:
        get(number(4));
        break;
      default:
        refuse_opcode(opcode);
    }
  }

  Pickle& pickle_;
  const std::string& bytes_;
  std::size_t at_ = 0;
  std::size_t most_values_;
  std::size_t values_ = 0;
  Pickle::List stack_;
  std::vector<std::size_t> marks_;
  Pickle::List memo_;
};

Pickle::Pickle(std::string bytes, std::size_t most_values) : bytes_(std::move(bytes)) {
  PickleMachine(*this, most_values).run();
}

const Pickle::List* Pickle::list(const PickleValue& value) const {
  return value.kind == ValueKind::List ? &lists_[value.index] : nullptr;
}

const Pickle::Dict* Pickle::dict(const PickleValue& value) const {
  return value.kind == ValueKind::Dict ? &dicts_[value.index] : nullptr;
}

std::optional<std::string_view> Pickle::text(const PickleValue& value) const {
  if (value.kind != ValueKind::Text) return std::nullopt;
  return texts_[value.index];
}

const PickleValue* Pickle::find(const PickleValue& value, std::string_view key) const {
  const Dict* entries = dict(value);
  if (entries == nullptr) return nullptr;
  if (entries->size() > kMostKeys) {
    refuse("it has a dict of " + std::to_string(entries->size()) + " keys, which no snapshot has");
  }
  for (auto entry = entries->rbegin(); entry != entries->rend(); ++entry) {  // the last one counts
    if (text(entry->first) == key) return &entry->second;
  }
  return nullptr;
}

}  // namespace vramfit
