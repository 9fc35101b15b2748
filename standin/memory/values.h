#pragma once

#include <cstdint>
#include <map>

namespace vramfit::standin {

/// What is known of the bytes in a GPU's memory. A kernel that was not repeated on the host leaves
/// them unknown; a default that was put in an unknown's place, and what was computed from it, is
/// assumed.
enum class Knowledge : std::uint8_t { Unknown, Assumed, Known };

/// By address. Whoever writes says what is known of what it wrote.
class Values {
 public:
  void set(std::uint64_t address, std::uint64_t bytes, Knowledge knowledge);
  /// The least that is known of any of these bytes.
  Knowledge least(std::uint64_t address, std::uint64_t bytes) const;

 private:
  struct Stretch {
    std::uint64_t end;
    Knowledge knowledge;
  };
  std::map<std::uint64_t, Stretch> stretches_;  ///< by first address, apart; gaps are unknown
};

}  // namespace vramfit::standin
