#include "runtimes/llamacpp/ggml/graph_allocator.h"

#include <gtest/gtest.h>

#include "runtimes/llamacpp/ggml/graph.h"
#include "runtimes/llamacpp/ggml/ops.h"

namespace vramfit::llamacpp::ggml {
namespace {

/// Graphs of one GPU.
class GgmlGraphAllocator : public testing::Test {
 protected:
  Tensor* input(std::int64_t n) { return ops_.input(kF32, {n, 1, 1, 1}); }

  std::uint64_t reserve(Tensor* result) {
    Graph graph;
    graph.expand(result);
    PlacedGraph placed;
    for (Tensor* leaf : graph.leafs) placed.leafs.push_back({leaf, 0});
    for (Tensor* node : graph.nodes) placed.nodes.push_back({node, 0});
    return allocator_.reserve(placed, ops_.end_id()).at(0);
  }

  Ops ops_;
  Backends backends_ = {{true, 900}, {}};
  GraphAllocator allocator_{backends_};
};

TEST_F(GgmlGraphAllocator, ReusesASourceThatNobodyElseNeeds) {
  Tensor* x = input(32);
  Tensor* y = ops_.unary(ops_.scale(x));
  EXPECT_EQ(reserve(y), 128U);
  EXPECT_EQ(allocator_.offset(*y), allocator_.offset(*x));
}

TEST_F(GgmlGraphAllocator, KeepsASourceThatIsNeededLater) {
  Tensor* x = input(32);
  EXPECT_EQ(reserve(ops_.add(ops_.scale(x), x)), 256U);
}

TEST_F(GgmlGraphAllocator, NeverTakesTheMemoryBehindAView) {
  Tensor* x = ops_.scale(input(32));
  EXPECT_EQ(reserve(ops_.scale(ops_.reshape(x, {16, 2, 1, 1}))), 256U);
}

TEST_F(GgmlGraphAllocator, NeverFreesAnOutput) {
  Tensor* x = ops_.scale(input(32));
  x->output = true;
  Tensor* y = ops_.cont(ops_.unary(x));
  EXPECT_EQ(reserve(y), 384U);
}

TEST_F(GgmlGraphAllocator, TakesNothingForWhatIsAllocated) {
  Tensor* cache = ops_.allocated(kF16, {32, 64, 1, 1}, 0);
  Tensor* rows = ops_.input(kI64, {4, 1, 1, 1});
  Tensor* written = ops_.set_rows(cache, ops_.input(kF32, {32, 4, 1, 1}), rows);
  EXPECT_EQ(reserve(written), 128U + 512U);
}

TEST_F(GgmlGraphAllocator, PadsRowsOfQuantisedCopies) {
  const Type q8{Kind::Q80, 32, 34};
  Tensor* copy = ops_.tensor(q8, {576, 1, 1, 1});
  EXPECT_EQ(alloc_size(backends_[0], *copy), 34U * 18 + 34U * 14);
  EXPECT_EQ(alloc_size(backends_[1], *copy), 34U * 18);
}

}  // namespace
}  // namespace vramfit::llamacpp::ggml
