#include "runtimes/llamacpp/ggml/ops.h"

#include <gtest/gtest.h>

#include "model/errors.h"
#include "runtimes/llamacpp/ggml/graph.h"

namespace vramfit::llamacpp::ggml {
namespace {

TEST(GgmlOps, MakeShapesAsGgmlDoes) {
  Ops ops;
  Tensor* x = ops.tensor(kF32, {64, 10, 1, 1});
  EXPECT_EQ(ops.mul_mat(ops.tensor(kF16, {64, 32, 1, 1}), x)->ne, (Shape{32, 10, 1, 1}));
  Tensor* ids = ops.argsort_top_k(ops.tensor(kF32, {8, 10, 1, 1}), 2);
  EXPECT_EQ(ids->ne, (Shape{2, 10, 1, 1}));
  EXPECT_EQ(ids->nb[1], 32U);
  Tensor* experts = ops.tensor(kF16, {64, 96, 8, 1});
  Tensor* one = ops.reshape(x, {64, 1, 10, 1});
  EXPECT_EQ(ops.mul_mat_id(experts, one, ids)->ne, (Shape{96, 2, 10, 1}));
  EXPECT_EQ(ops.glu(x)->ne, (Shape{32, 10, 1, 1}));
  EXPECT_EQ(ops.sum_rows(x)->ne, (Shape{1, 10, 1, 1}));
  EXPECT_EQ(ops.concat(x, x, 0)->ne, (Shape{128, 10, 1, 1}));
  EXPECT_EQ(ops.transpose(x)->ne, (Shape{10, 64, 1, 1}));
}

TEST(GgmlOps, LookAtTheMemoryBehindAView) {
  Ops ops;
  Tensor* x = ops.tensor(kF32, {64, 10, 1, 1});
  Tensor* part = ops.view_2d(x, 32, 10, x->nb[1], 128);
  Tensor* turned = ops.transpose(part);
  EXPECT_EQ(turned->view_of, x);
  EXPECT_EQ(turned->view_offset, 128U);
  EXPECT_TRUE(contiguous_rows(*part));
  EXPECT_FALSE(contiguous(*part));
  EXPECT_TRUE(contiguous(*part, 1));
  EXPECT_EQ(bytes(*part), 9U * 256 + 128);
}

TEST(GgmlOps, RefuseWhatDoesNotFit) {
  Ops ops;
  Tensor* x = ops.tensor(kF32, {64, 10, 1, 1});
  EXPECT_THROW(ops.mul_mat(ops.tensor(kF16, {32, 32, 1, 1}), x), BadInput);
  EXPECT_THROW(ops.add(x, ops.tensor(kF32, {63, 1, 1, 1})), BadInput);
  EXPECT_THROW(ops.argsort_top_k(x, 65), BadInput);
  EXPECT_THROW(ops.argsort_top_k(x, 0), BadInput);
  EXPECT_THROW(ops.mul_mat(nullptr, x), BadInput);
  EXPECT_THROW(ops.tensor(kF32, {1 << 30, 1 << 30, 1 << 30, 1}), BadInput);
  EXPECT_THROW(ops.tensor(kF32, {-1, 1, 1, 1}), BadInput);
  EXPECT_THROW(ops.reshape(x, {64, 11, 1, 1}), BadInput);
}

TEST(GgmlGraph, HasSourcesFirstFromTheLeft) {
  Ops ops;
  Tensor* w = ops.tensor(kF32, {8, 8, 1, 1});
  Tensor* x = ops.input(kF32, {8, 1, 1, 1});
  Tensor* a = ops.scale(x);
  Tensor* b = ops.mul_mat(w, x);
  Tensor* sum = ops.add(b, a);
  Graph graph;
  graph.expand(sum);
  EXPECT_EQ(graph.leafs, (std::vector<Tensor*>{w, x}));
  EXPECT_EQ(graph.nodes, (std::vector<Tensor*>{b, a, sum}));
  EXPECT_EQ(graph.uses[x->id], 2);
  graph.expand(ops.scale(sum));
  EXPECT_EQ(graph.nodes.size(), 4U);
}

}  // namespace
}  // namespace vramfit::llamacpp::ggml
