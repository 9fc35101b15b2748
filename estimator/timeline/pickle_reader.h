#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramfit {

/// A value of a pickle; what text, lists and dicts hold is with the Pickle.
struct PickleValue {
  enum class Kind : std::uint8_t { None, Boolean, Integer, HugeInteger, Real, Text, List, Dict };
  Kind kind = Kind::None;
  union {
    std::int64_t integer = 0;  ///< of a boolean too
    double real;
    std::uint32_t index;
  };
};

/// A pickle of plain types, read without executing anything: dicts, lists (tuples are lists), text,
/// numbers, booleans and None, in protocols 2 to 5. Each value is kept once however often it is
/// referred to, so that memory is bounded by the file's size, and nothing recurses.
class Pickle {
 public:
  using List = std::vector<PickleValue>;
  using Dict = std::vector<std::pair<PickleValue, PickleValue>>;

  /// Values that are read at most, unless it is told otherwise.
  static constexpr std::size_t kMostValues = std::size_t{1} << 24;
  /// Keys of a dict that is searched, at most: it may be referred to very often.
  static constexpr std::size_t kMostKeys = 256;

  /// Throws BadInput, which says of the pickle what is wrong with it: "it has REDUCE, …".
  explicit Pickle(std::string bytes, std::size_t most_values = kMostValues);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  const PickleValue& root() const { return root_; }

  /// Nothing where the value is of another type.
  const List* list(const PickleValue& value) const;
  const Dict* dict(const PickleValue& value) const;
  std::optional<std::string_view> text(const PickleValue& value) const;

  /// The value by that key; null: there is none, or it is no dict. Throws BadInput on a dict that
  /// is too large.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;

 private:
  friend class PickleMachine;

  std::string bytes_;
  PickleValue root_;
  std::vector<std::string_view> texts_;  ///< within bytes_
  std::vector<List> lists_;
  std::vector<Dict> dicts_;
};

}  // namespace vramfit
