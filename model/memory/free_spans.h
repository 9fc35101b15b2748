#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace vramfit {

/// A run of addresses. Bytes.
struct Span {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t end() const { return offset + bytes; }
  bool operator==(const Span&) const = default;
};

/// Addresses that are free: neighbours are one span.
class FreeSpans {
 public:
  FreeSpans() = default;
  explicit FreeSpans(std::vector<Span> spans);

  /// So many bytes off the beginning of the smallest span that has them, the lowest of those.
  std::optional<std::uint64_t> take(std::uint64_t bytes);
  void give(Span span);
  /// Bytes of the span that take() would cut; 0 where none is enough.
  std::uint64_t smallest_of(std::uint64_t bytes) const;

  /// No span is larger.
  std::uint64_t largest() const { return largest_; }

 private:
  /// The index of the span to cut, or how many there are.
  std::size_t best(std::uint64_t bytes) const;
  void measure();

  std::vector<Span> spans_;  ///< by offset
  std::uint64_t largest_ = 0;
};

}  // namespace vramfit
