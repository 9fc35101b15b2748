#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <type_traits>
#include <vector>

namespace vramfit::gguf {

/// Reads a file's little-endian values one after another, and never past its end: whoever asks for
/// more gets a BadInput that says the file ends there. Skips without reading where much is left
/// out.
class ByteReader {
 public:
  /// `size`: of the file, from where `in` stands.
  ByteReader(std::istream& in, std::uint64_t size, std::string source);

  const std::string& source() const { return source_; }
  std::uint64_t position() const { return size_ - left_; }
  std::uint64_t left() const { return left_; }

  template <typename Number>
  Number read() {
    static_assert(std::is_arithmetic_v<Number>);
    Number number{};
    take(reinterpret_cast<char*>(&number), sizeof number);
    return number;
  }
  /// A string: its length in 64 bits, then its bytes. At most `at_most` of these are read, and
  /// longer ones refused with what is `named` so.
  std::string text(std::size_t at_most, const char* named);
  void skip(std::uint64_t bytes);

  /// Throws BadInput: "<source>: <what>".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void take(char* to, std::size_t bytes);
  void require(std::uint64_t bytes) const;
  void refill();

  std::istream& in_;
  std::uint64_t size_;
  std::uint64_t left_;  ///< to the end, from the next byte
  std::string source_;
  std::vector<char> buffer_;
  std::size_t next_ = 0;  ///< in buffer_
  std::size_t end_ = 0;
};

}  // namespace vramfit::gguf
