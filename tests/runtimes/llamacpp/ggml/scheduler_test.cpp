#include "runtimes/llamacpp/ggml/scheduler.h"

#include <gtest/gtest.h>

namespace vramfit::llamacpp::ggml {
namespace {

constexpr BackendId kGpu = 0;
constexpr BackendId kCpu = 1;

/// Graphs of one GPU and the host.
class GgmlScheduler : public testing::Test {
 protected:
  Tensor* weight(BackendId where) {
    Tensor* made = ops_.allocated(kF32, {64, 64, 1, 1}, where);
    made->weight = true;
    return made;
  }

  PlacedGraph split(Tensor* result, Scheduler::Options options = {}) {
    scheduler_ = std::make_unique<Scheduler>(backends_, options);
    graph_.clear();
    graph_.expand(result);
    return scheduler_->split(graph_, ops_);
  }

  Ops ops_;
  Graph graph_;
  Backends backends_ = {{true, 900}, {}};
  std::unique_ptr<Scheduler> scheduler_;
};

// ggml_backend_cuda_device_supports_op.
TEST(GgmlBackend, LeavesToTheHostWhatNoKernelReads) {
  const Backends backends = {{true, 900}, {}};
  Ops ops;
  const auto convolves = [&](std::int64_t channels) {
    Tensor* x = ops.tensor(kF32, {8, channels, 1, 1});
    return supports_op(backends, kGpu, *ops.ssm_conv(x, ops.tensor(kF32, {4, channels, 1, 1})));
  };
  EXPECT_TRUE(convolves(256));
  EXPECT_FALSE(convolves(192));
  const auto gathers = [&](const char* type, std::int64_t columns) {
    Tensor* table = ops.tensor(type_of(*Format::named(type)), {columns, 10, 1, 1});
    return supports_op(backends, kGpu, *ops.get_rows(table, ops.input(kI32, {3, 1, 1, 1})));
  };
  EXPECT_TRUE(gathers("q8_0", 288));
  EXPECT_TRUE(gathers("mxfp4", 256));
  EXPECT_FALSE(gathers("mxfp4", 288));
  EXPECT_FALSE(gathers("iq4_nl", 288));
  EXPECT_FALSE(gathers("tq1_0", 256));
}

TEST_F(GgmlScheduler, RunsOpsWhereTheirWeightsAre) {
  Tensor* x = ops_.input(kF32, {64, 1, 1, 1});
  Tensor* y = ops_.mul_mat(weight(kGpu), x);
  Tensor* z = ops_.mul_mat(weight(kCpu), y);
  split(z);
  EXPECT_EQ(scheduler_->backend(*y), kGpu);
  EXPECT_EQ(scheduler_->backend(*z), kCpu);
  ASSERT_EQ(scheduler_->splits().size(), 2U);
  EXPECT_EQ(scheduler_->splits()[0].inputs, std::vector<Tensor*>{x});
  EXPECT_EQ(scheduler_->splits()[1].inputs, std::vector<Tensor*>{y});
}

TEST_F(GgmlScheduler, CopiesWeightsToTheGpuForLargeBatchesEachInASplitOfItsOwn) {
  const auto two_products = [this](std::int64_t batch) {
    Tensor* x = ops_.input(kF32, {64, batch, 1, 1});
    return ops_.mul_mat(weight(kCpu), ops_.mul_mat(weight(kCpu), x));
  };
  Tensor* small = two_products(31);
  split(small);
  EXPECT_EQ(scheduler_->backend(*small), kCpu);
  Tensor* large = two_products(32);
  split(large);
  EXPECT_EQ(scheduler_->backend(*large), kGpu);
  EXPECT_EQ(scheduler_->splits().size(), 2U);
  Tensor* forbidden = two_products(32);
  split(forbidden, {.offload_ops = false});
  EXPECT_EQ(scheduler_->backend(*forbidden), kCpu);
}

TEST_F(GgmlScheduler, GivesOpsWithoutWeightsToTheirNeighbours) {
  Tensor* x = ops_.input(kF32, {64, 1, 1, 1});
  Tensor* y = ops_.mul_mat(weight(kGpu), ops_.rms_norm(x));
  split(ops_.scale(y));
  EXPECT_EQ(scheduler_->splits().size(), 1U);
  EXPECT_EQ(scheduler_->splits()[0].backend, kGpu);
}

TEST_F(GgmlScheduler, FollowsWhoeverBuiltTheGraph) {
  Tensor* x = ops_.rms_norm(ops_.input(kF32, {64, 1, 1, 1}));
  Tensor* y = ops_.mul_mat(weight(kGpu), x);
  Scheduler scheduler(backends_, {});
  scheduler.assign(*x, kCpu);
  graph_.expand(y);
  scheduler.split(graph_, ops_);
  EXPECT_EQ(scheduler.backend(*x), kCpu);
  EXPECT_EQ(scheduler.splits().size(), 2U);
}

TEST_F(GgmlScheduler, CopiesInputsFourTimesForPipelines) {
  Tensor* x = ops_.input(kF32, {64, 1, 1, 1});
  const PlacedGraph placed = split(ops_.mul_mat(weight(kGpu), x), {.pipeline_parallel = true});
  int of_input = 0;
  for (const Placed& leaf : placed.leafs) of_input += leaf.tensor->ne == x->ne ? 1 : 0;
  EXPECT_EQ(of_input, 4 + 4 + 1);  // on the host, on the GPU, and itself once more
}

}  // namespace
}  // namespace vramfit::llamacpp::ggml
