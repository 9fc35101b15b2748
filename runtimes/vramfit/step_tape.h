#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/memory/ledger.h"

namespace vramfit {

/// What a training step asks of its ledger, to ask for it again without walking the step program.
/// Nothing of it depends on what the allocator answers. All steps ask for the same, but that the
/// first also makes what stays for good: the optimizer's states.
class StepTape final : public LedgerObserver {
 public:
  /// Walks the first step. `ledger` stands on a pool, whose handles number its blocks, and must
  /// outlive the tape. Throws std::logic_error where the step frees what was there before it.
  StepTape(Ledger& ledger, const std::function<void()>& walk);

  /// A later step. Throws OutOfMemory, with the stage ended.
  void play(int step);

 private:
  struct Request {
    Name name;
    Category category;
    bool freed;           ///< within the step
    std::uint64_t bytes;  ///< as asked for
    Block block;          ///< what was given, the last time
  };
  struct Act {
    enum class Kind : std::uint8_t { BeginStage, EndStage, Allocate, Free };
    Kind kind;
    Stage stage{};
    std::uint32_t request = 0;  ///< its number
  };

  void stage_begins(Stage stage, int step) override;
  void stage_ends(const StageRecord& record) override;
  void allocated(const Name& name, Category category, std::uint64_t bytes,
                 const Block& block) override;
  void freed(const Block& block) noexcept override;

  Ledger& ledger_;
  std::vector<Act> acts_;
  std::vector<Request> requests_;
  bool closed_ = true;  ///< all that it frees is its own
};

}  // namespace vramfit
