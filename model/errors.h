#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "model/printable.h"

namespace vramfit {

/// Of a message, so that a line has room for a program's name before it. Bytes.
inline constexpr std::size_t kLongestMessage = 180;

/// What a user typed or a file holds is wrong. The message names the field, what is wrong with it
/// and what would be valid; programs print it and exit with 2. Whatever the input put into it, it
/// is one line that can be printed.
class BadInput : public std::runtime_error {
 public:
  explicit BadInput(const std::string& message)
      : std::runtime_error(one_line(message, kLongestMessage)) {}
};

struct ModelSource;

/// Of a model that no shape is read of.
class UnreadModel : public BadInput {
 public:
  /// `source`: what it was read from, for a runtime that reads models by itself.
  explicit UnreadModel(const std::string& message,
                       std::shared_ptr<const ModelSource> source = nullptr)
      : BadInput(message), source_(std::move(source)) {}

  const std::shared_ptr<const ModelSource>& source() const { return source_; }

 private:
  std::shared_ptr<const ModelSource> source_;
};

/// Of one that no step is written down for, though nothing is wrong with its config.
class UnknownModel : public UnreadModel {
 public:
  using UnreadModel::UnreadModel;
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
