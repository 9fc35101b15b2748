#include "runtimes/pytorch/memory/memory.h"

#include <algorithm>

namespace vramfit::pytorch {

Block Memory::allocate(Category category, std::uint64_t bytes) {
  last_requested_ = category;
  const Block block = allocator_.allocate(bytes);
  current_.allocated += block.bytes;
  current_.by_category[category] += block.bytes;
  stage_peak_ = std::max(stage_peak_, current_.allocated);
  if (current_.allocated > peak_.allocated) peak_ = current_;
  if (observer_) observer_({block, category, bytes, true, current_});
  return block;
}

void Memory::free(Category category, const Block& block) noexcept {
  if (observer_) observer_({block, category, 0, false, current_});
  allocator_.free(block);
  current_.allocated -= block.bytes;
  current_.by_category[category] -= block.bytes;
}

void Memory::relabel(Category from, Category to, const Block& block) {
  current_.by_category[from] -= block.bytes;
  current_.by_category[to] += block.bytes;
}

void Memory::begin_stage(Stage stage, int step) {
  current_.stage = stage;
  current_.step = step;
  stage_before_ = stage_peak_ = current_.allocated;
  allocator_.reset_peak_reserved();
}

void Memory::end_stage(bool out_of_memory) {
  StageRecord record{current_.stage,       current_.step, stage_before_,
                     current_.allocated,   stage_peak_,   allocator_.reserved(),
                     current_.by_category, out_of_memory};
  record.peak_reserved = allocator_.peak_reserved();
  record.device_used = allocator_.reserved() + libraries_.bytes();
  stages_.push_back(record);
  current_.stage = Stage::Outside;
}

}  // namespace vramfit::pytorch
