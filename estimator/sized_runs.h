#pragma once

#include <map>

#include "estimator/estimate.h"
#include "estimator/search.h"

namespace vramfit {

/// What trying sizes may cost in one search (RunReport::cost): a seventh of a second of one core.
/// What comes then, to be sure of the answer and to find what is around it, mostly takes as much
/// again, and ends where it is exhausted().
inline constexpr std::uint64_t kSearchAllowance = 6'000'000;

/// The largest size that is tried: of a sequence's length the model's own limit too. Less than 1
/// where what is generated leaves no room.
std::int64_t size_limit(const Request& request, const SearchAxis& axis);

/// What is left of the card beside a run where figures are off to the worse side, where they are
/// right, and where they are off to the better side. Bytes; where there are any, it surely fits,
/// does as predicted, or may.
struct Slack {
  double surely = 0;
  double predicted = 0;
  double possibly = 0;
};

/// One request at many sizes, whatever its own is, and what running them cost.
class SizedRuns {
 public:
  SizedRuns(Request request, const SearchAxis& axis, std::uint64_t allowance = kSearchAllowance);

  std::int64_t limit() const { return limit_; }
  bool spent() const { return cost_ > allowance_; }
  /// Much more was spent.
  bool exhausted() const { return cost_ > kMuchMore * allowance_; }
  /// Each takes so many decode steps that few can be tried.
  bool are_long();

  /// What tensors take at least, of what the card has; infinite where that is far too much.
  double least(std::int64_t size);
  const Trial& run(std::int64_t size);

  /// How the verdict on a size comes about. Not where no runtime was measured.
  const Slack& slack(std::int64_t size);
  /// The largest size, up to `most`, of which it is known already that it leaves some, and the next
  /// above it of which it is known that it leaves none.
  Bracket known(double Slack::*slack, std::int64_t most) const;
  bool has_verdicts() const;
  /// Sizes take more the larger they are, in steps of so many; 0: nothing is known of that.
  std::int64_t step() const { return has_verdicts() ? axis_.step : 0; }

 private:
  static constexpr std::uint64_t kMuchMore = 24;
  struct Least {
    double share;
    Overhead overhead;
    std::uint64_t step_cost;  ///< of a pass: prefill allocates about as often as a decode step
    bool sampled;             ///< decode steps were left out
  };

  const Least& least_at(std::int64_t size);
  const Overhead& overhead_at(std::int64_t size);
  Outcome run_in(std::uint64_t bytes, std::int64_t size);
  /// At a size.
  const Request& at(std::int64_t size);
  std::uint64_t capacity_beside(const Overhead& overhead) const;
  Slack slack_of(const Outcome& run) const;

  Request request_;
  const SearchAxis axis_;
  const std::int64_t limit_;
  const std::uint64_t allowance_;
  std::uint64_t cost_ = 0;
  std::map<std::int64_t, Least> least_;
  std::map<std::int64_t, Trial> tried_;  ///< on the card
  std::map<std::int64_t, Slack> slack_;  ///< of the run that a verdict goes by
};

}  // namespace vramfit
