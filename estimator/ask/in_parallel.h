#pragma once

#include <cstddef>
#include <functional>

namespace vramfit {

/// task(0) to task(count - 1), on as many threads as there are cores. Throws what the first of
/// those that threw did, in their order.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& task);

}  // namespace vramfit
