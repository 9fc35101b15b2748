#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/gguf/metadata.h"

namespace vramfit::llamacpp {

/// Keys of a GGUF file that are an architecture's own: "llama.block_count", here "block_count".
class ArchKeys {
 public:
  ArchKeys(const gguf::Metadata& metadata, const std::string& arch)
      : metadata_(metadata), prefix_(arch + ".") {}

  const gguf::Metadata& metadata() const { return metadata_; }
  bool has(const char* key) const { return metadata_.has(prefix_ + key); }
  std::int64_t integer(const char* key, std::int64_t at_least, std::int64_t at_most) const {
    return metadata_.integer(prefix_ + key, at_least, at_most);
  }
  std::int64_t integer_or(const char* key, std::int64_t fallback, std::int64_t at_least,
                          std::int64_t at_most) const {
    return metadata_.integer_or(prefix_ + key, fallback, at_least, at_most);
  }
  double number_or(const char* key, double fallback) const {
    return metadata_.number_or(prefix_ + key, fallback);
  }
  bool boolean_or(const char* key, bool fallback) const {
    return metadata_.boolean_or(prefix_ + key, fallback);
  }
  std::string text_or(const char* key, const std::string& fallback) const {
    return metadata_.text_or(prefix_ + key, fallback);
  }
  bool is_array(const char* key) const { return metadata_.is_array(prefix_ + key); }
  std::vector<std::int64_t> each_or(const char* key, std::size_t count, std::int64_t fallback,
                                    std::int64_t at_least, std::int64_t at_most) const {
    return metadata_.each_or(prefix_ + key, count, fallback, at_least, at_most);
  }
  [[noreturn]] void fail(const char* key, const std::string& what) const {
    metadata_.fail(prefix_ + key, what);
  }

 private:
  const gguf::Metadata& metadata_;
  std::string prefix_;
};

/// The same, to be written.
class ArchWriter {
 public:
  ArchWriter(gguf::Metadata& metadata, const std::string& arch)
      : metadata_(metadata), prefix_(arch + ".") {}

  void set(const char* key, gguf::Value value) { metadata_.set(prefix_ + key, std::move(value)); }
  void each(const char* key, std::vector<std::int64_t> numbers) {
    const std::uint64_t length = numbers.size();
    set(key, gguf::Array{length, std::move(numbers)});
  }

 private:
  gguf::Metadata& metadata_;
  std::string prefix_;
};

}  // namespace vramfit::llamacpp
