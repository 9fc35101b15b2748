#pragma once

#include <string>

#include "estimator/timeline/timeline.h"

namespace vramfit {

/// The run as a memory snapshot in PyTorch's format, pickled: what torch.cuda.memory._snapshot()
/// returns and torch.cuda.memory._memory_viz and https://pytorch.org/memory_viz read. Differs from
/// a recorded one in this: `size` of a trace's entries is what is counted as allocated, so that the
/// timeline's height is torch.cuda.memory_allocated() (PyTorch writes what was asked for, which is
/// `requested_size` here); an entry has a `category`, by which memory_viz colours; frames are the
/// tensor and its stage; time is the index of the event.
std::string memory_snapshot(const Timeline& timeline);

}  // namespace vramfit
