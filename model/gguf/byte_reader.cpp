#include "model/gguf/byte_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/errors.h"

namespace vramfit::gguf {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;

}  // namespace

ByteReader::ByteReader(std::istream& in, std::uint64_t size, std::string source)
    : in_(in), size_(size), left_(size), source_(std::move(source)), buffer_(kBufferBytes) {}

void ByteReader::fail(const std::string& what) const { throw BadInput(source_ + ": " + what); }

void ByteReader::require(std::uint64_t bytes) const {
  if (bytes > left_) {
    fail("it ends after " + std::to_string(size_) + " bytes, within its header; the whole header " +
         "of a GGUF file");
  }
}

void ByteReader::refill() {
  in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  next_ = 0;
  end_ = static_cast<std::size_t>(in_.gcount());
  if (end_ == 0) fail("cannot be read to its end");
}

void ByteReader::take(char* to, std::size_t bytes) {
  require(bytes);
  left_ -= bytes;
  while (bytes > 0) {
    if (next_ == end_) refill();
    const std::size_t part = std::min(bytes, end_ - next_);
    std::memcpy(to, buffer_.data() + next_, part);
    next_ += part;
    to += part;
    bytes -= part;
  }
}

void ByteReader::skip(std::uint64_t bytes) {
  require(bytes);
  left_ -= bytes;
  const auto buffered = std::min<std::uint64_t>(bytes, end_ - next_);
  next_ += static_cast<std::size_t>(buffered);
  if (bytes > buffered) in_.seekg(static_cast<std::streamoff>(bytes - buffered), std::ios::cur);
}

std::string ByteReader::text(std::size_t at_most, const char* named) {
  const auto length = read<std::uint64_t>();
  if (length > at_most) {
    fail(std::string(named) + " of " + std::to_string(length) + " bytes; at most " +
         std::to_string(at_most));
  }
  require(length);
  std::string text(static_cast<std::size_t>(length), '\0');
  take(text.data(), text.size());
  return text;
}

}  // namespace vramfit::gguf
