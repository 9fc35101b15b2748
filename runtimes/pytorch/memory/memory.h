#pragma once

#include <functional>
#include <vector>

#include "model/memory/ledger.h"
#include "runtimes/pytorch/memory/caching_allocator.h"
#include "runtimes/pytorch/memory/libraries.h"

namespace vramfit::pytorch {

/// What `torch.cuda.memory_allocated()` and its kin would say, by category and stage. The ledger of
/// a PyTorch run: it counts blocks where ours counts tensors, and a tensor's category may become
/// known after its birth (a gradient is one once it is accumulated).
class Memory {
 public:
  Memory(CachingAllocator& allocator, const Libraries& libraries)
      : allocator_(allocator), libraries_(libraries) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Throws OutOfMemory.
  Block allocate(Category category, std::uint64_t bytes);
  void free(Category category, const Block& block) noexcept;
  void relabel(Category from, Category to, const Block& block);

  void begin_stage(Stage stage, int step);
  void end_stage(bool out_of_memory = false);

  std::uint64_t allocated() const { return current_.allocated; }
  const Snapshot& current() const { return current_; }
  const Snapshot& peak() const { return peak_; }
  const std::vector<StageRecord>& stages() const { return stages_; }
  CachingAllocator& allocator() { return allocator_; }
  /// What was last asked for: what a run that ran out of memory ended at.
  Category last_requested() const { return last_requested_; }

  /// Told of every allocation as asked for, and of every free; for tests.
  struct Change {
    const Block& block;
    Category category;
    std::uint64_t requested;  ///< bytes; 0 where it is freed
    bool allocated;
    const Snapshot& at;  ///< as it was before a free, and is after an allocation
  };
  using Observer = std::function<void(const Change&)>;
  void set_observer(Observer observer) { observer_ = std::move(observer); }

 private:
  CachingAllocator& allocator_;
  const Libraries& libraries_;
  Category last_requested_ = Category::Parameters;
  Snapshot current_;
  Snapshot peak_;
  std::vector<StageRecord> stages_;
  std::uint64_t stage_before_ = 0;
  std::uint64_t stage_peak_ = 0;
  Observer observer_;
};

}  // namespace vramfit::pytorch
