#include "model/ops/op_context.h"

#include <gtest/gtest.h>

#include "model/memory/pool.h"
#include "runtimes/vramfit/virtual_device.h"

namespace vramfit {
namespace {

TEST(OpContext, StoresEachTensorByWhatItIsFor) {
  VirtualSource source;
  Pool pool(source);
  Ledger ledger(pool);
  VirtualDevice device(Arch{90});
  const Shape shape = {8, 8};
  // No run has so many; what matters is that neighbours differ.
  const Precisions precisions = {.weights = DType::Bf16,
                                 .activations = DType::Fp32,
                                 .gradients = DType::Fp16,
                                 .cache = DType::Int32,
                                 .optimizer_states = DType::Bf16,
                                 .accumulation = DType::Fp64,
                                 .linears = DType::Int8,
                                 .linear_inputs = DType::Fp8,
                                 .head = DType::Fp16,
                                 .products = DType::Fp8};
  const OpContext context(device, ledger, precisions);
  const auto expect = [](const Tensor& tensor, Category category, Format format) {
    EXPECT_EQ(tensor.category(), category) << tensor.name().text();
    EXPECT_EQ(tensor.format(), format) << tensor.name().text();
  };
  const Format nf4 = *Format::named("nf4");
  expect(context.weight("weight", nf4, shape, shape), Category::Parameters, nf4);
  expect(context.gradient("gradient", shape, shape), Category::Gradients, DType::Fp16);
  expect(context.master_weight("master", shape, shape), Category::OptimizerState, DType::Fp64);
  expect(context.moment("moment", shape, shape), Category::OptimizerState, DType::Bf16);
  expect(context.activation("activation", shape), Category::Activations, DType::Fp32);
  expect(context.linear_input("input", shape), Category::Activations, DType::Fp8);
  expect(context.statistics("statistics", shape), Category::Activations, DType::Fp64);
  expect(context.cache("cache", shape), Category::KvCache, DType::Int32);
  expect(context.tokens("tokens", shape), Category::Inputs, DType::Int32);
  expect(context.scratch("scratch", shape), Category::Workspace, DType::Fp64);
}

}  // namespace
}  // namespace vramfit
