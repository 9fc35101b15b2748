#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "runtimes/pytorch/torch/distributed/strategy.h"
#include "runtimes/pytorch/torch/tensor/tensor.h"

// torch/distributed/pipelining/stage.py and schedules.py, PyTorch 2.11: PipelineStage under
// ScheduleGPipe or Schedule1F1B. What is sent is taken to be gone once nobody but who sends it
// holds it.
namespace vramfit::pytorch {

/// A pass of a micro-batch through a stage.
struct PipelinePass {
  enum class Kind : std::uint8_t { Forward, Backward };
  Kind kind;
  std::int64_t micro_batch;
  friend bool operator==(const PipelinePass&, const PipelinePass&) = default;
};

/// In order, of one stage.
std::vector<PipelinePass> passes_of(PipelineSchedule schedule, std::int64_t stage,
                                    std::int64_t stages, std::int64_t micro_batches);

/// Where a stage stands.
struct PipelinePlace {
  PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
  std::int64_t stage = 0;
  std::int64_t stages = 1;
  std::int64_t micro_batches = 1;

  bool is_first() const { return stage == 0; }
  bool is_last() const { return stage == stages - 1; }
};

class PipelineStage {
 public:
  /// `submodule`: of a micro-batch's input; `loss`: of what the last stage makes of it.
  PipelineStage(Context& context, const PipelinePlace& place,
                std::function<Tensor(const Tensor&)> submodule,
                std::function<Tensor(const Tensor&)> loss)
      : context_(context),
        place_(place),
        submodule_(std::move(submodule)),
        loss_(std::move(loss)) {}

  /// schedule.step() up to its first pass. `received`: what a stage that is not the first receives
  /// of a micro-batch.
  void begin_step(const Tensor& input, const Dims& received, ScalarType type);
  void forward(std::int64_t micro_batch, const Tensor& input);
  void backward(std::int64_t micro_batch);
  /// From the last pass on; what the last stage made is put together, and given back.
  void end_step();

 private:
  void infer_shapes(const Tensor& input, const Dims& received, ScalarType type);
  void make_buffers(const Dims& received, ScalarType type);
  void send_shapes();

  Context& context_;
  const PipelinePlace place_;
  std::function<Tensor(const Tensor&)> submodule_;
  std::function<Tensor(const Tensor&)> loss_;

  bool initialized_ = false;
  Dims sent_sizes_;  ///< of what the submodule makes
  ScalarType sent_type_{};
  std::vector<Tensor> received_;            ///< args_recv_info, one a micro-batch
  std::vector<Tensor> received_gradients_;  ///< grad_recv_info
  std::map<std::int64_t, Tensor> fwd_cache_;
  std::vector<Tensor> output_chunks_;  ///< the last stage's, until the next step begins
  std::vector<Tensor> internal_losses_;
  // Local variables of _step_microbatches:
  Tensor output_;
  Tensor sends_output_;    ///< fwd_sends, or GPipe's ops
  Tensor sends_gradient_;  ///< bwd_sends, or GPipe's ops
};

}  // namespace vramfit::pytorch
