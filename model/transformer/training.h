#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "model/transformer/block.h"
#include "model/transformer/data_parallel.h"
#include "model/transformer/model_precision.h"
#include "model/transformer/optimizer.h"
#include "model/transformer/pipeline.h"

namespace vramfit {

struct TrainingOptions {
  /// Quantised weights are frozen: there are adapters then.
  ModelPrecision precision = DType::Bf16;
  std::optional<LoraOptions> lora;  ///< absent: all parameters are trained
  OptimizerKind optimizer = optimizer_named("adamw");
  AttentionForm attention = AttentionForm::Flash;
  std::int64_t batch = 1;       ///< sequences in a micro-batch
  std::int64_t seq = 2048;      ///< tokens in a sequence
  std::int64_t accumulate = 1;  ///< micro-batches in a step
  Checkpointing checkpointing;
  OptimizerSettings settings;
  Mesh mesh;  ///< batch and accumulate are of each rank
};

/// Throws BadInput where the model cannot be trained so.
void validate(const ModelConfig& config, const TrainingOptions& options);

/// As options.precision has it, what is trained and its gradients as activations are, moments as
/// the optimizer has them.
Precisions precisions_of(const TrainingOptions& options);

/// Fills tokens and targets, both (B, T) int32, for the next micro-batch.
using BatchLoader = std::function<void(Device&, Tensor& tokens, Tensor& targets)>;

/// Tokens at random, other ones every time: what a benchmark trains on.
BatchLoader random_batches(std::int64_t vocab, std::uint64_t seed);

/// What of a micro-batch stays from its forward to its backward pass.
struct MicroBatch {
  Tensor tokens;                         ///< (B, T)
  Tensor targets;                        ///< (B, T)
  std::vector<SavedActivations> blocks;  ///< of each block
  Tensor last_x;                         ///< (N, h), the last block's output
  NormStatistics final_statistics;
};

/// Trains a model, or a stage of it, step by step. Every allocation and every op of a training run
/// is here and in what it calls; which device they happen on is the device's business. A step's
/// peak is not reached before the second, where activations meet the optimizer's states.
class Trainer {
 public:
  /// Allocates and initializes parameters, inputs and the loss, as the stage `loaded`. `device` and
  /// `ledger` must outlive the trainer.
  Trainer(Device& device, Ledger& ledger, const ModelConfig& config, const TrainingOptions& options,
          const ParameterSource& source = draw_parameter);

  /// Forward and backward of each micro-batch, the optimizer's step, gradients freed. Does not
  /// wait for the device.
  void step(const BatchLoader& load);

  /// The last step's mean loss, over all ranks once it has updated; waits for the device.
  double loss();

  /// The first half of a step, for those who look at gradients before the second.
  void forward_and_backward(const BatchLoader& load);
  /// The second half.
  void update();

  /// The mean loss of a micro-batch that nothing is learnt of. On one that shares nothing.
  double evaluate(const BatchLoader& load);

  /// Of the steps from here on.
  void set_learning_rate(float rate) { optimizer_.set_learning_rate(rate); }

  /// Steps taken so far.
  int steps() const { return step_; }
  /// All that the next step depends on beside its batch and the settings: parameters and, once a
  /// step was taken, what the optimizer keeps. Names are theirs alone.
  std::vector<const Tensor*> state() const;
  /// Goes on as one that has taken so many steps: its state is to be filled by the caller.
  void go_on_after(int steps);

  Model& model() { return model_; }

 private:
  /// What the next pass starts with, of what the one before made.
  Tensor forward(MicroBatch& micro_batch, Tensor x);
  Tensor backward(MicroBatch& micro_batch, Tensor made, bool last_micro_batch);
  Tensor head_backward(MicroBatch& micro_batch, Tensor hidden);
  std::vector<MicroBatch> micro_batches();

  TrainingOptions options_;
  const Sequence sequence_;
  const std::vector<Pass> passes_;     ///< of a step
  std::optional<StageScope> loading_;  ///< spans the members' construction below
  OpContext context_;
  Model model_;
  DataParallel ranks_;
  Pipeline pipeline_;
  Optimizer optimizer_;
  std::vector<MicroBatch> in_flight_;  ///< as many as there are at a time, which they take in turn
  Tensor loss_;                        ///< (1)
  Tensor scaler_;                      ///< fp16 only: see LossScale
  int step_ = 0;
};

}  // namespace vramfit
