#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace vramfit {

/// Writes the bytes of a GGUF file's header: pairs and tensors in the order in which they are
/// given.
class GgufWriter {
 public:
  /// Numbers of gguf.h: enum gguf_type.
  enum Type : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

  GgufWriter& u32(const std::string& key, std::uint32_t value) {
    return pair(key, U32, bytes(value));
  }
  GgufWriter& f32(const std::string& key, float value) { return pair(key, F32, bytes(value)); }
  GgufWriter& boolean(const std::string& key, bool value) {
    return pair(key, Bool, bytes(static_cast<std::uint8_t>(value)));
  }
  GgufWriter& text(const std::string& key, const std::string& value) {
    return pair(key, String, string(value));
  }
  GgufWriter& numbers(const std::string& key, const std::vector<std::int32_t>& values) {
    std::string all = bytes(std::uint32_t{I32}) + bytes(std::uint64_t{values.size()});
    for (const std::int32_t value : values) all += bytes(value);
    return pair(key, Array, all);
  }
  GgufWriter& texts(const std::string& key, std::size_t count, const std::string& each) {
    std::string all = bytes(std::uint32_t{String}) + bytes(std::uint64_t{count});
    for (std::size_t i = 0; i < count; ++i) all += string(each);
    return pair(key, Array, all);
  }
  /// Any value, as its bytes are.
  GgufWriter& pair(const std::string& key, std::uint32_t type, const std::string& value) {
    pairs_ += string(key) + bytes(type) + value;
    ++pair_count_;
    return *this;
  }
  /// `type`: ggml.h's enum ggml_type. `bytes_of_data`: those it would take.
  GgufWriter& tensor(const std::string& name, const std::vector<std::int64_t>& ne,
                     std::uint32_t type, std::uint64_t bytes_of_data) {
    tensors_ += string(name) + bytes(static_cast<std::uint32_t>(ne.size()));
    for (const std::int64_t n : ne) tensors_ += bytes(n);
    tensors_ += bytes(type) + bytes(offset_);
    offset_ += (bytes_of_data + 31) / 32 * 32;
    ++tensor_count_;
    return *this;
  }

  std::string header(std::uint32_t version = 3) const {
    return "GGUF" + bytes(version) + bytes(tensor_count_) + bytes(pair_count_) + pairs_ + tensors_;
  }

  template <typename Number>
  static std::string bytes(Number number) {
    return {reinterpret_cast<const char*>(&number), sizeof number};
  }
  static std::string string(const std::string& text) {
    return bytes(std::uint64_t{text.size()}) + text;
  }

 private:
  std::string pairs_;
  std::string tensors_;
  std::uint64_t pair_count_ = 0;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace vramfit
