#pragma once

#include <cstdint>
#include <string>

namespace vramfit::fit {

/// Bars of `#` in one scale, chosen so that the largest takes up to 56 columns: 0.5 GB each from
/// 11 to 28 GB, as the article draws them.
class Bars {
 public:
  explicit Bars(std::uint64_t largest);

  /// A mark for every whole unit of `bytes`; what would be longer than a line ends in ">".
  std::string bar(std::uint64_t bytes, char mark = '#') const;

  /// "# = 0.5 GB".
  std::string legend() const;

 private:
  std::uint64_t marks_;  ///< at most
  std::uint64_t unit_;
};

}  // namespace vramfit::fit
