#pragma once

#include "model/ops/attention_ops.h"
#include "model/ops/code_ops.h"
#include "model/ops/collective_ops.h"
#include "model/ops/elementary_ops.h"
#include "model/ops/head_ops.h"
#include "model/ops/linear_ops.h"
#include "model/ops/lora_ops.h"
#include "model/ops/optimizer_ops.h"
#include "model/ops/quantize_ops.h"

/// Every op, once: calls the macro `of` with the struct that states each op's contract. Devices,
/// costs and launches are declared from this list, so a new op touches five files at most:
///   1. its contract, in one of the headers above
///   2. its name, below
///   3. its cost, in model/ops/cost.cpp
///   4. CpuDevice::run, in the file of its kind in kernels/cpu/
///   5. its launch, in the file of its kind in kernels/cuda/; where it is GEMMs and something
///      around them: CudaDevice::Impl::run instead, in kernels/cuda/device/cuda_device.cpp
/// The compiler or the linker names those that are missing.
// clang-format off
#define VRAMFIT_OPS(of)    \
  of(FillNormal)           \
  of(FillTokens)           \
  of(Quantize)             \
  of(FindLargest)          \
  of(EncodeTensor)         \
  of(EmbeddingForward)     \
  of(EmbeddingBackward)    \
  of(NormForward)          \
  of(NormBackward)         \
  of(HeadNormForward)      \
  of(HeadNormBackward)     \
  of(RotaryEmbedding)      \
  of(LinearForward)        \
  of(LinearBackwardInput)  \
  of(LinearBackwardWeight) \
  of(CodesProduct)         \
  of(BiasBackward)         \
  of(LoraForward)          \
  of(LoraBackwardInput)    \
  of(LoraBackwardWeight)   \
  of(MlpUpForward)         \
  of(Activate)             \
  of(ActivateBackward)     \
  of(AttentionForward)     \
  of(AttentionBackward)    \
  of(KvCacheAppend)        \
  of(AttentionDecode)      \
  of(Advance)              \
  of(HeadLoss)             \
  of(LastToken)            \
  of(Argmax)               \
  of(FindOverflow)         \
  of(OptimizerStep)        \
  of(AllReduce)            \
  of(ReduceScatter)        \
  of(AllGather)            \
  of(Exchange)             \
  of(SumWith)              \
  of(Await)
// clang-format on
