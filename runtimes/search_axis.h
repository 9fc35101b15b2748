#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// A size of a run, along which a search can go: --max-batch asks for the largest that fits.
struct SearchAxis {
  std::string_view name;       ///< its setting: "batch"
  std::string_view noun;       ///< what the largest is one of: "sequence"
  std::string_view largest;    ///< as text has it where it is searched for: "the longest sequence"
  std::string_view help = {};  ///< of the search
  // Around a size, as text has it: "batch 4", "512 tokens".
  std::string_view before = {};
  std::string_view after = {};
  /// A sequence's length, which a config bounds: --beyond-positions goes on.
  bool of_positions = false;
  /// A run takes more the larger it is, in steps of so many: what surely fits ends at one edge.
  /// 0: an allocator's gaps come and go with the size, which has to be tried one by one.
  std::int64_t step = 0;
  /// Sizes are places in a list whose items have names, the one that takes least first, from one.
  bool of_names = false;

  bool operator==(const SearchAxis& other) const { return name == other.name; }
};

/// "batch 4", "512 tokens"
inline std::string text_of(const SearchAxis& axis, std::int64_t size) {
  return std::string(axis.before) + std::to_string(size) + std::string(axis.after);
}

/// Sequences in a micro-batch.
inline constexpr SearchAxis kBatchAxis = {.name = "batch",
                                          .noun = "batch",
                                          .largest = "the largest batch",
                                          .help = "The largest batch that fits, 0 if none does",
                                          .before = "batch "};
/// Tokens in a sequence, or its prompt.
inline constexpr SearchAxis kSeqAxis = {
    .name = "seq",
    .noun = "sequence",
    .largest = "the longest sequence",
    .help = "The longest sequence that fits, up to the config's positions",
    .after = " tokens",
    .of_positions = true};

/// The axes of a step, in the order that text has them.
inline const std::vector<SearchAxis>& batch_and_seq() {
  static const std::vector<SearchAxis> axes = {kBatchAxis, kSeqAxis};
  return axes;
}

}  // namespace vramfit
