#include "estimator/timeline/alignment.h"

#include <algorithm>
#include <optional>

namespace vramfit {
namespace {

using Tokens = std::vector<std::int64_t>;
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// How long both must go on alike for a place to be one where they meet again.
constexpr std::size_t kAlike = 6;
/// How far is looked.
constexpr std::size_t kFar = 256;
/// How many tokens of both together are passed over at most to meet again.
constexpr std::size_t kWindow = 8192;
/// Comparisons of tokens, at most: some seconds.
constexpr std::size_t kMostWork = std::size_t{1} << 29;
/// Cells of a table for a longest common subsequence, at most.
constexpr std::size_t kMostCells = std::size_t{1} << 22;

struct Place {
  std::size_t i;
  std::size_t j;
};

class Aligner {
 public:
  Aligner(const Tokens& a, const Tokens& b) : a_(a), b_(b) {}

  Pairs align() {
    Place at{0, 0};
    for (;;) {
      for (; at.i < a_.size() && at.j < b_.size() && a_[at.i] == b_[at.j]; ++at.i, ++at.j) {
        pairs_.emplace_back(at.i, at.j);
      }
      if (at.i == a_.size() || at.j == b_.size()) return std::move(pairs_);
      const std::optional<Place> next = meet_again(at);
      const Place end = next.value_or(Place{a_.size(), b_.size()});
      match_between(at, end);
      if (!next) return std::move(pairs_);
      at = end;
    }
  }

 private:
  /// How long both go on alike from there; 0: less long than it takes to meet again. Where one of
  /// them ends sooner, that far will do.
  std::size_t alike(std::size_t i, std::size_t j) {
    const std::size_t left = std::min({kFar, a_.size() - i, b_.size() - j});
    std::size_t k = 0;
    while (k < left && a_[i + k] == b_[j + k]) ++k;
    work_ += k + 1;
    return k >= std::min(kAlike, left) ? k : 0;
  }

  /// The nearest place, the fewest tokens of both passed over; of equals that from which most is
  /// alike.
  std::optional<Place> meet_again(Place from) {
    const std::size_t a_left = a_.size() - from.i;
    const std::size_t b_left = b_.size() - from.j;
    const std::size_t most = std::min(kWindow, a_left + b_left);
    for (std::size_t over = 1; over <= most && work_ < kMostWork; ++over) {
      std::optional<Place> best;
      std::size_t best_alike = 0;
      const std::size_t first = over > b_left ? over - b_left : 0;
      for (std::size_t of_a = first; of_a <= std::min(over, a_left); ++of_a) {
        const Place place{from.i + of_a, from.j + (over - of_a)};
        const std::size_t length = alike(place.i, place.j);
        if (length <= best_alike) continue;
        best_alike = length;
        best = place;
      }
      if (best) return best;
    }
    return std::nullopt;
  }

  /// What comes says more about where one is than what goes.
  static std::uint32_t weight(std::int64_t token) { return token > 0 ? 4 : 1; }

  void match_between(Place from, Place to) {
    const std::size_t rows = to.i - from.i;
    const std::size_t columns = to.j - from.j;
    if (rows == 0 || columns == 0 || rows > kMostCells / columns) return;
    if (work_ >= kMostWork) return;
    work_ += rows * columns;
    // [r][c]: the weight of the heaviest common subsequence of what begins there.
    std::vector<std::uint32_t> weights((rows + 1) * (columns + 1), 0);
    const auto cell = [&](std::size_t r, std::size_t c) -> std::uint32_t& {
      return weights[r * (columns + 1) + c];
    };
    for (std::size_t r = rows; r-- > 0;) {
      for (std::size_t c = columns; c-- > 0;) {
        cell(r, c) = a_[from.i + r] == b_[from.j + c] ? cell(r + 1, c + 1) + weight(a_[from.i + r])
                                                      : std::max(cell(r + 1, c), cell(r, c + 1));
      }
    }
    for (std::size_t r = 0, c = 0; r < rows && c < columns;) {
      if (a_[from.i + r] == b_[from.j + c]) {
        pairs_.emplace_back(from.i + r++, from.j + c++);
      } else if (cell(r + 1, c) >= cell(r, c + 1)) {
        ++r;
      } else {
        ++c;
      }
    }
  }

  const Tokens& a_;
  const Tokens& b_;
  Pairs pairs_;
  std::size_t work_ = 0;
};

}  // namespace

Pairs aligned(const Tokens& a, const Tokens& b) { return Aligner(a, b).align(); }

}  // namespace vramfit
