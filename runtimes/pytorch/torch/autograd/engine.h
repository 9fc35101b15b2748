#pragma once

#include <span>

#include "runtimes/pytorch/torch/tensor/graph.h"
#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch {

/// loss.backward(): runs the graph on the autograd thread of the device. In which order nodes run,
/// and when a gradient is added into memory that is already there, follows torch/csrc/autograd
/// (engine.cpp, input_buffer.cpp), PyTorch 2.11.
void backward(const Tensor& loss);

/// torch.autograd.backward(output, grad), within a backward that runs already.
void backward(const Tensor& output, Tensor grad);

/// The same of several outputs, by where their gradients go, on whichever thread this is.
void backward(Context& context, std::span<const Edge> roots, std::span<Tensor> grads);

}  // namespace vramfit::pytorch
