#pragma once

#include <cstdint>
#include <map>

namespace vramfit::standin {

/// What is known of the bytes in a GPU's memory. A kernel that was not repeated on the host leaves
/// them unknown; a default that was put in an unknown's place, and what was computed from it, is
/// assumed.
enum class Knowledge : std::uint8_t { Unknown, Assumed, Known };

/// What bytes were written as. Memory changes hands where nobody sees it, in the backward pass for
/// one: what was known of one kind says nothing of numbers of the other.
enum class Kind : std::uint8_t { Integer = 1, Float = 2, Any = 3 };

/// By address. Whoever writes says what is known of what it wrote.
class Values {
 public:
  void set(std::uint64_t address, std::uint64_t bytes, Knowledge knowledge, Kind kind = Kind::Any);
  /// The least that is known of any of these bytes, as of that kind.
  Knowledge least(std::uint64_t address, std::uint64_t bytes, Kind kind = Kind::Any) const;
  /// Nothing is known of floating-point numbers any more.
  void forget_floats();

 private:
  struct Stretch {
    std::uint64_t end;
    Knowledge knowledge;
    Kind kind;
  };
  std::map<std::uint64_t, Stretch> stretches_;  ///< by first address, apart; gaps are unknown
};

}  // namespace vramfit::standin
