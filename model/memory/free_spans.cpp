#include "model/memory/free_spans.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vramfit {

FreeSpans::FreeSpans(std::vector<Span> spans) : spans_(std::move(spans)) { measure(); }

std::size_t FreeSpans::best(std::uint64_t bytes) const {
  std::size_t best = spans_.size();
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    if (spans_[i].bytes < bytes) continue;
    if (best == spans_.size() || spans_[i].bytes < spans_[best].bytes) best = i;
  }
  return best;
}

std::uint64_t FreeSpans::smallest_of(std::uint64_t bytes) const {
  const std::size_t span = best(bytes);
  return span < spans_.size() ? spans_[span].bytes : 0;
}

std::optional<std::uint64_t> FreeSpans::take(std::uint64_t bytes) {
  if (bytes > largest_) return std::nullopt;
  const auto span = spans_.begin() + static_cast<std::ptrdiff_t>(best(bytes));
  const std::uint64_t offset = span->offset;
  span->offset += bytes;
  span->bytes -= bytes;
  if (span->bytes == 0) spans_.erase(span);
  measure();
  return offset;
}

void FreeSpans::give(Span span) {
  auto at = std::find_if(spans_.begin(), spans_.end(),
                         [&](const Span& other) { return other.offset > span.offset; });
  if (at != spans_.end() && span.end() == at->offset) {
    span.bytes += at->bytes;
    at = spans_.erase(at);
  }
  if (at != spans_.begin() && std::prev(at)->end() == span.offset) {
    std::prev(at)->bytes += span.bytes;
  } else {
    spans_.insert(at, span);
  }
  measure();
}

void FreeSpans::measure() {
  largest_ = 0;
  for (const Span& span : spans_) largest_ = std::max(largest_, span.bytes);
}

}  // namespace vramfit
