#pragma once

#include <vector>

#include "runtimes/pytorch/torch/tensor/context.h"

namespace vramfit::pytorch {

/// Which of several GPUs each part of a model lies and runs on, as one of them sees it: what
/// another one holds takes no memory here. accelerate/big_modeling.py, dispatch_model, 1.15.
struct Dispatch {
  int here = 0;  ///< whose memory is looked at
  int embedding = 0;
  std::vector<int> layers;
  int norm = 0;  ///< rotary embeddings are beside it
  int head = 0;
};

/// What follows runs on that GPU. Without a dispatch there is one.
class OnGpu {
 public:
  OnGpu(Context& context, const Dispatch* dispatch, int gpu)
      : elsewhere_(context.elsewhere,
                   dispatch == nullptr ? context.elsewhere : gpu != dispatch->here) {}

 private:
  Setting<bool> elsewhere_;
};

/// Tensor.to(the GPU that runs now): a copy where it comes from another (AlignDevicesHook).
Tensor moved(const Tensor& tensor);

}  // namespace vramfit::pytorch
