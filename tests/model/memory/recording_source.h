#pragma once

#include <cstdint>
#include <vector>

#include "model/errors.h"
#include "model/memory/memory_source.h"

namespace vramfit {

/// A source that writes down what a pool tells it, and can refuse to grow as a driver may.
class RecordingSource final : public MemorySource {
 public:
  struct Range {
    std::uint64_t from;
    std::uint64_t to;
    friend bool operator==(const Range& a, const Range& b) {
      return a.from == b.from && a.to == b.to;
    }
  };

  explicit RecordingSource(std::uint64_t capacity, std::byte* base = nullptr)
      : capacity_(capacity), base_(base) {}

  std::uint64_t capacity() const override { return capacity_; }
  std::byte* base() const override { return base_; }
  void grow(std::uint64_t from, std::uint64_t to) override {
    if (exhausted) throw OutOfMemory(to - from, from, capacity_);
    grown.push_back({from, to});
  }
  void on_allocate(std::uint64_t offset, std::uint64_t bytes) override {
    allocated.push_back({offset, offset + bytes});
  }
  void on_free(std::uint64_t offset, std::uint64_t bytes) override {
    freed.push_back({offset, offset + bytes});
  }

  void forget() {
    grown.clear();
    allocated.clear();
    freed.clear();
  }

  bool exhausted = false;  ///< from now on there are no more bytes, whatever the capacity says
  std::vector<Range> grown;
  std::vector<Range> allocated;
  std::vector<Range> freed;

 private:
  std::uint64_t capacity_;
  std::byte* base_;
};

}  // namespace vramfit
