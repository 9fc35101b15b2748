#pragma once

#include <map>
#include <set>

#include "estimator/estimate.h"
#include "estimator/search.h"

namespace vramfit {

/// What trying sizes may cost in one search (RunReport::cost): half a second of one core. What
/// comes then, to be sure of the answer and to find what is around it, takes about as much again.
inline constexpr std::uint64_t kSearchAllowance = 6'000'000;

/// What is searched for: the number of sequences, or their length.
enum class Size : std::uint8_t { Batch, Seq };

void set_size(Request& request, Size which, std::int64_t size);

/// The largest size that is tried: of sequences the model's own limit too. Less than 1 where what
/// is generated leaves no room.
std::int64_t size_limit(const Request& request, Size which);

/// What is left of the card beside a run where figures are off to the worse side, and where they
/// are off to the better one. Bytes; where there are any, it surely fits, or may.
struct Slack {
  double surely = 0;
  double possibly = 0;
};

/// One request at many sizes, whatever its own is, and what running them cost. Of long generations
/// few decode steps are walked, unless all are asked for.
class SizedRuns {
 public:
  SizedRuns(Request request, Size which, std::uint64_t allowance = kSearchAllowance);

  std::int64_t limit() const { return limit_; }
  bool spent() const { return cost_ > allowance_; }
  /// Decode steps were left out, and each would have been another.
  bool sampled() const { return sampled_; }

  /// What tensors take at least, of what the card has; infinite where that is far too much.
  double least(std::int64_t size);
  Trial run(std::int64_t size);
  /// With all the decode steps that are asked for.
  bool fits_whole(std::int64_t size);
  /// So many runs like the last cost as much as the search may.
  std::uint64_t affordable() const { return allowance_ / last_cost_; }

  /// How the verdict on a size comes about. Not where no runtime was measured.
  Slack slack(std::int64_t size);
  /// The same where it was not tried on the card and need not be: of a run that has all it likes.
  Slack slack_unlimited(std::int64_t size);
  /// The largest size that is known to leave some, up to `most`; 0: none.
  std::int64_t largest_known(double Slack::*slack, std::int64_t most) const;
  bool has_verdicts() const;

 private:
  struct Least {
    double share;
    Overhead overhead;
  };

  const Least& least_at(std::int64_t size);
  const Overhead& overhead_at(std::int64_t size);
  Outcome run_on_card(std::int64_t size, std::int64_t samples);
  /// At a size, with few decode steps.
  const Request& at(std::int64_t size);
  std::uint64_t capacity_beside(const Overhead& overhead) const;
  Slack slack_of(const Outcome& run) const;

  Request request_;
  const Size which_;
  const std::int64_t limit_;
  const std::int64_t all_samples_;
  const std::uint64_t allowance_;
  std::uint64_t cost_ = 0;
  std::uint64_t last_cost_ = 1;  ///< of a run on the card
  std::int64_t samples_;         ///< decode steps of a trial
  bool sampled_ = false;
  std::map<std::int64_t, Least> least_;
  std::set<std::int64_t> tried_;         ///< on the card
  std::map<std::int64_t, Slack> slack_;  ///< of the run that a verdict goes by
};

}  // namespace vramfit
