#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vramfit::gguf {

/// Of an array its length, and its numbers where they are whole ones (or truths) and few: what
/// layers differ in. Lists of tokens are not kept.
struct Array {
  std::uint64_t length = 0;
  std::vector<std::int64_t> numbers;
};

/// Whole numbers beyond 63 bits are kept as the largest.
using Value = std::variant<bool, std::int64_t, double, std::string, Array>;

/// The key-value pairs of a GGUF file. Access is typed and bounded: every failure is a BadInput
/// that names the source, the key, what it holds and what would be valid.
class Metadata {
 public:
  /// `source` names the file in messages.
  explicit Metadata(std::string source) : source_(std::move(source)) {}

  const std::string& source() const { return source_; }
  const std::map<std::string, Value>& values() const { return values_; }

  void set(const std::string& key, Value value) { values_[key] = std::move(value); }
  /// Null where it is absent.
  const Value* find(const std::string& key) const;
  bool has(const std::string& key) const { return find(key) != nullptr; }

  std::int64_t integer(const std::string& key, std::int64_t at_least, std::int64_t at_most) const;
  std::int64_t integer_or(const std::string& key, std::int64_t fallback, std::int64_t at_least,
                          std::int64_t at_most) const;
  double number_or(const std::string& key, double fallback) const;
  bool boolean_or(const std::string& key, bool fallback) const;
  std::string text(const std::string& key) const;
  std::string text_or(const std::string& key, const std::string& fallback) const;
  /// llama_model_loader::get_key_or_arr: a number for each of `count`, or one for all of them;
  /// `fallback` for all where it is absent.
  std::vector<std::int64_t> each_or(const std::string& key, std::size_t count,
                                    std::int64_t fallback, std::int64_t at_least,
                                    std::int64_t at_most) const;
  /// Whether it is there as an array.
  bool is_array(const std::string& key) const;
  /// Of an array; 0 where it is absent.
  std::uint64_t length(const std::string& key) const;

  /// Throws BadInput: "<source>: <key>: <what>".
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

 private:
  std::int64_t checked(const std::string& key, std::int64_t number, std::int64_t at_least,
                       std::int64_t at_most) const;

  std::string source_;
  std::map<std::string, Value> values_;
};

}  // namespace vramfit::gguf
