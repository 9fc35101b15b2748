#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// What torch.cuda.memory._dump_snapshot wrote, as far as it is compared: blocks of one device that
/// came and went while its history was recorded.
struct Recording {
  struct Event {
    bool allocates;          ///< else it frees
    std::size_t allocation;  ///< of `allocations`
  };
  struct Allocation {
    std::uint64_t requested;  ///< bytes
    std::size_t stack;        ///< of `stacks`
  };

  std::vector<Allocation> allocations;  ///< those there from the start first
  std::vector<Event> events;            ///< in order
  std::size_t from_start = 0;           ///< allocations that were there before the first event
  std::vector<std::string> stacks;      ///< innermost lines of users: "train.py:12 in step", or ""
  std::uint64_t peak_reserved = 0;      ///< bytes in segments, at most
  bool overflowed = false;              ///< it says that older entries were overwritten
  bool out_of_memory = false;           ///< it has an allocation that could not be had
  std::vector<std::string> notes;
};

/// Reads a snapshot; nothing of it is executed. Throws BadInput, which names `path`.
Recording read_recording(const std::string& path);

/// The same of a snapshot's bytes; what is thrown says of it what is wrong.
Recording recording_of(std::string pickle);
/// With messages that begin as those of read_recording, and name it so.
Recording recording_of(std::string pickle, const std::string& called);

}  // namespace vramfit
