// What transformers' activations make and free in a forward pass, recorded under FakeTensorMode
// with the Recorder of scripts/record_ops.py.
#include <gtest/gtest.h>

#include <map>

#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/transformers/modules/decoder.h"
#include "runtimes/pytorch/transformers/modules/layers.h"
#include "tests/runtimes/pytorch/cases.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit::pytorch {
namespace {

/// "+n" as the n-th tensor is made and "-n" as it goes; the input is number 0.
std::string events_of(Activation activation) {
  Tape tape(1);
  Context context(tape, measured_release(), h200(), kUnlimitedBytes);
  const Tensor x = parameter(context, {1000}, ScalarType::Float);
  tape.take();
  const Tensor y = activate(activation, x);
  std::string events;
  std::map<std::uint32_t, std::string> numbers;
  int made = 0;
  for (const Act& act : tape.take().acts) {
    const bool allocates = act.kind == Act::Kind::Allocate;
    if (allocates) numbers[act.slot] = std::to_string(++made);
    events += (allocates ? "+" : "-") + numbers[act.slot];
  }
  return events;
}

TEST(Activation, PythonsAreOpsOfTheirOwn) {
  EXPECT_EQ(events_of(Activation::FastGelu), "+1+2+3+4+5-4+6+7-6+8+9");
  EXPECT_EQ(events_of(Activation::NewGelu), "+1+2+3-2+4-3+5-4+6-5+7+8");
}

TEST(Activation, FusedOnesMakeTheirResultOnly) {
  EXPECT_EQ(events_of(Activation::GeluOp), "+1");
  EXPECT_EQ(events_of(Activation::Silu), "+1");
}

TEST(Activation, ThatNobodyKnowsIsRefused) {
  ModelConfig config;
  config.hidden_act = "relu2";
  expect_bad_input([&] { activation_of(config); }, {"hidden_act: 'relu2' is not predicted"});
  config.hidden_act = "gelu_pytorch_tanh";
  EXPECT_EQ(activation_of(config), Activation::GeluOp);
}

}  // namespace
}  // namespace vramfit::pytorch
