#pragma once

#include <cstdint>
#include <vector>

#include "model/config/model_config.h"
#include "model/memory/ledger.h"
#include "model/transformer/training.h"
#include "runtimes/pytorch/torch/memory/fold.h"
#include "runtimes/pytorch/torch/memory/tape.h"

namespace vramfit {

/// What training asks of its ledger, to ask for it again without walking the step program: of as
/// many steps as there are, and of as many layers that are alike. Nothing of it depends on what an
/// allocator answers. All steps ask for the same, but that the first also makes what stays for
/// good: the optimizer's states.
class StepTape final : public LedgerObserver {
 public:
  /// Of the layers few are walked, unless what several GPUs share spans layers.
  static pytorch::Fold fold_of(const ModelConfig& config, const TrainingOptions& options);

  /// Of a ledger that is empty, of whose allocator handles number the blocks, as long as the tape
  /// lives. `walked`: the fold's model.
  StepTape(Ledger& asked, const pytorch::Fold& fold, const ModelConfig& walked,
           const TrainingOptions& options);
  ~StepTape() override { asked_.set_observer(nullptr); }
  StepTape(const StepTape&) = delete;
  StepTape& operator=(const StepTape&) = delete;

  /// What was asked since the last call. Throws std::logic_error where it freed what was there
  /// before.
  pytorch::Recording take();

 private:
  struct Request {
    pytorch::Tape::Origin origin;
    Category category;
    std::uint64_t bytes;
    std::size_t act;
    bool freed;
  };

  void stage_begins(Stage stage, int step) override;
  void stage_ends(const StageRecord& record) override;
  void allocated(const Name& name, Category category, std::uint64_t bytes,
                 const Block& block) override;
  void freed(const Block& block) noexcept override;

  Ledger& asked_;
  pytorch::Tape tape_;
  const std::uint64_t more_in_table_;  ///< bytes: of layers left out
  std::vector<Request> requests_;      ///< by the numbers of their blocks
  std::size_t taken_ = 0;              ///< requests
  bool closed_ = true;                 ///< all that is freed was asked for since the last take()
};

}  // namespace vramfit
