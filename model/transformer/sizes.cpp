#include "model/transformer/sizes.h"

#include <string>

#include "model/errors.h"

namespace vramfit {

void require_size(const char* flag, std::int64_t value, std::int64_t at_most) {
  if (value >= 1 && value <= at_most) return;
  throw BadInput(std::string(flag) + ": is " + std::to_string(value) +
                 "; a whole number from 1 to " + std::to_string(at_most));
}

void require_sizes(std::int64_t batch, std::int64_t seq) {
  require_size("batch", batch, kMaxBatch);
  require_size("seq", seq, kMaxSeq);
}

}  // namespace vramfit
