#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

namespace vramfit {

/// What a user typed or a file holds is wrong. The message is one line that names the field, what
/// is wrong with it and what would be valid; programs print it and exit with 2.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The memory asked for does not exist. Thrown only when that is certain; a result, not a defect.
class OutOfMemory : public std::exception {
 public:
  /// All in bytes: what was asked for, what was mapped then, and what may be mapped at most.
  OutOfMemory(std::uint64_t requested, std::uint64_t reserved, std::uint64_t capacity)
      : requested_(requested),
        reserved_(reserved),
        capacity_(capacity),
        message_("out of memory: " + std::to_string(requested) + " bytes asked for with " +
                 std::to_string(reserved) + " of " + std::to_string(capacity) + " mapped") {}

  const char* what() const noexcept override { return message_.c_str(); }
  std::uint64_t requested() const { return requested_; }
  std::uint64_t reserved() const { return reserved_; }
  std::uint64_t capacity() const { return capacity_; }

 private:
  std::uint64_t requested_;
  std::uint64_t reserved_;
  std::uint64_t capacity_;
  std::string message_;
};

}  // namespace vramfit
