#include "estimator/largest.h"

#include <algorithm>

namespace vramfit {
namespace {

/// A size that leaves some slack where the next does not, from one on; 0: none does. The smallest
/// may take another path, and leave none where larger ones do.
std::int64_t edge(std::int64_t from, double Slack::*slack, SizedRuns& runs, std::int64_t limit) {
  const auto left = [&](std::int64_t size) { return runs.slack(size).*slack; };
  const auto exhausted = [&] { return runs.exhausted(); };
  if (limit < 1) return 0;
  const Bracket known = runs.known(slack, limit);
  if (const std::int64_t found = edge_near(from, left, limit, exhausted, known); found > 0) {
    return found;
  }
  for (const std::int64_t size : {8, 4, 2}) {
    if (size <= limit && left(size) >= 0) return edge_near(size, left, limit, exhausted);
  }
  return 0;
}

/// The largest size of those in the axis's steps that leaves some slack, where larger ones leave
/// less; 0: none does.
template <typename Left>
std::int64_t last_step(SizedRuns& runs, const Left& left) {
  const std::int64_t step = runs.step();
  const std::int64_t last = runs.limit() / step;
  if (last < 1) return 0;
  if (left(last * step) >= 0) return last * step;
  const auto of_steps = [&](std::int64_t steps) { return left(steps * step); };
  return step * edge_near(last / 2, of_steps, last - 1, [] { return false; });
}

/// Where figures are right.
Largest find_last_step(SizedRuns& runs) {
  Largest found;
  found.size = last_step(runs, [&](std::int64_t size) { return runs.slack(size).predicted; });
  found.holes.emplace();
  found.step = runs.step();
  if (found.size / found.step < runs.limit() / found.step) found.next = found.size + found.step;
  return found;
}

}  // namespace

Largest find_largest(SizedRuns& runs) {
  if (runs.step() > 0) return find_last_step(runs);
  Trials trials;
  trials.least = [&](std::int64_t size) { return runs.least(size); };
  trials.run = [&](std::int64_t size) { return runs.run(size); };
  trials.spent = [&] { return runs.spent(); };
  trials.few = runs.are_long();
  trials.exhausted = [&] { return runs.exhausted(); };
  return largest_and_holes(runs.limit(), trials);
}

Largest find_largest(Request request, const SearchAxis& axis, std::uint64_t allowance) {
  SizedRuns runs(std::move(request), axis, allowance);
  return find_largest(runs);
}

Band band_around(const Largest& found, SizedRuns& runs) {
  if (!runs.has_verdicts()) return {found.size, found.size};
  if (runs.step() > 0) {
    return {last_step(runs, [&](std::int64_t size) { return runs.slack(size).surely; }),
            last_step(runs, [&](std::int64_t size) { return runs.slack(size).possibly; })};
  }
  return {edge(found.size, &Slack::surely, runs, found.size),
          edge(found.size, &Slack::possibly, runs, runs.limit())};
}

}  // namespace vramfit
