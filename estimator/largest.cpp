#include "estimator/largest.h"

#include <algorithm>

#include "estimator/search.h"
#include "model/transformer/sizes.h"

namespace vramfit {
namespace {

/// Sizes probed above what bisection finds.
constexpr std::int64_t kProbes = 64;

template <typename SetSize>
std::int64_t largest(Request request, const SetSize& set_size, std::int64_t limit) {
  const auto fits_at = [&](std::int64_t size) {
    set_size(request, size);
    return fits(request);
  };
  const std::int64_t found = largest_that_fits(fits_at, limit);

  // What tensors take grows with the size, but what the pool maps for them can shrink by a little,
  // as blocks happen to fill its gaps: a larger size may fit again, up to the bound that tensors
  // set.
  const auto tensors_fit_at = [&](std::int64_t size) {
    set_size(request, size);
    return could_fit(request);
  };
  const std::int64_t bound = largest_that_fits(tensors_fit_at, limit);
  for (std::int64_t size = bound; size > std::max(found, bound - kProbes); --size) {
    if (fits_at(size)) return size;
  }
  return found;
}

}  // namespace

std::int64_t largest_batch(Request request) {
  const auto set = [](Request& r, std::int64_t batch) { set_batch(r, batch); };
  return largest(std::move(request), set, kMaxBatch);
}

std::int64_t largest_seq(Request request) {
  const std::int64_t limit = request.workload->seq_limit(request.model);
  const auto set = [](Request& r, std::int64_t seq) { set_seq(r, seq); };
  return largest(std::move(request), set, limit);
}

}  // namespace vramfit
