#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramfit::bench {

/// What a counter is, which says how two of it are compared.
enum class Kind : std::uint8_t {
  Ledger,      ///< bytes that tensors take, and what follows from them: exact
  Reserved,    ///< bytes that the allocator took of the driver
  DeviceUsed,  ///< bytes that the card lost, context and libraries included
  Fact,        ///< a flag or a number of sequences: exact
  Time,        ///< seconds and rates: shown, and held against nothing unless asked
  Rounding,    ///< relative errors and losses: they may differ by a part of themselves
  Stated,      ///< what others state, or what stands beside a figure: not compared
};

/// Which of two values is the better one.
enum class Better : std::uint8_t { Less, More };

/// Which values there are of it; others are no figures, and nothing is held against them.
enum class Range : std::uint8_t {
  Any,  ///< what is left of a sum
  NotNegative,
  Positive,  ///< a level: a run holds its weights at every moment
};

/// Whose it is, of a row that several GPUs made.
enum class Rank : std::uint8_t { Fullest, Least, Most };

struct Counter {
  Kind kind = Kind::Stated;
  Better better = Better::Less;
  Range range = Range::NotNegative;
  /// Says where a difference is, and is none itself: a category, a part of device used. Where a
  /// level counts, these only explain it.
  bool explains = false;
  Rank rank = Rank::Fullest;
  bool predicted = false;  ///< rather than measured: by its name
};

/// Every counter, as docs/counters.md writes them: "{mem,pred}_<category>".
std::vector<std::string> counter_patterns();

/// The names that a pattern stands for.
std::vector<std::string> names_of(const std::string& pattern);

/// Whether the table has it: rows carry no other.
bool is_counter(const std::string& name);

/// By its name. One that the table lacks, as those of other versions, is bytes where it begins as
/// such counters do, and Stated otherwise.
Counter counter_called(const std::string& name);

/// Whether they are bytes: they are printed as such.
bool is_bytes(Kind kind);

/// Whether they are whole numbers. What is none is printed with four digits, and its change in
/// percent.
bool is_whole(Kind kind);

}  // namespace vramfit::bench
