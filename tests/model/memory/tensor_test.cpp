#include "model/memory/tensor.h"

#include <gtest/gtest.h>

#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/errors.h"
#include "tests/model/memory/bump_allocator.h"

namespace vramfit {
namespace {

class TensorTest : public testing::Test {
 protected:
  Tensor tensor(const Name& name, const Shape& shape) {
    return {ledger, name, Category::Activations, DType::Bf16, shape};
  }
  BumpAllocator memory{1 << 20};
  Ledger ledger{memory};
};

TEST_F(TensorTest, IsCountedFromBirthToEndOfScope) {
  {
    const Tensor t = tensor("t", {3, 5});
    EXPECT_TRUE(t);
    EXPECT_EQ(t.bytes(), 30U);
    EXPECT_EQ(ledger.allocated(), 30U);
    EXPECT_EQ(ledger.by_category()[Category::Activations], 30U);
  }
  EXPECT_EQ(ledger.allocated(), 0U);
  EXPECT_EQ(memory.freed, (std::vector<std::uint64_t>{0}));
}

TEST_F(TensorTest, KnowsWhatItIs) {
  const Tensor t(ledger, {"w", 1}, Category::Gradients, DType::Fp32, {2, 3});
  EXPECT_EQ(t.name().text(), "layers.1.w");
  EXPECT_EQ(t.category(), Category::Gradients);
  EXPECT_EQ(t.format(), DType::Fp32);
  EXPECT_EQ(t.shape(), (Shape{2, 3}));
  EXPECT_EQ(t.stored(), (Shape{2, 3}));
  EXPECT_EQ(t.data(), nullptr);
}

TEST_F(TensorTest, CountsThePaddingItStores) {
  Tensor moved(ledger, "t", Category::Parameters, DType::Fp16, {50257, 4}, {50304, 4});
  const Tensor table = std::move(moved);
  EXPECT_EQ(table.shape(), (Shape{50257, 4}));
  EXPECT_EQ(table.stored(), (Shape{50304, 4}));
  EXPECT_EQ(table.bytes(), 50304U * 4 * 2);
  EXPECT_EQ(ledger.allocated(), table.bytes());
}

TEST_F(TensorTest, MovingHandsOverTheMemory) {
  Tensor a = tensor("a", {8});
  Tensor b = std::move(a);
  EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): moved-from holds nothing
  EXPECT_TRUE(b);
  EXPECT_EQ(b.name().text(), "a");
  EXPECT_EQ(ledger.allocated(), 16U);
  EXPECT_TRUE(memory.freed.empty());
  b.release();
  EXPECT_EQ(ledger.allocated(), 0U);
}

TEST_F(TensorTest, MoveAssignmentFreesWhatWasThereAtOnce) {
  Tensor a = tensor("a", {8});
  Tensor b = tensor("b", {4});
  a = std::move(b);
  EXPECT_EQ(memory.freed, (std::vector<std::uint64_t>{0})) << "a's memory, before b's scope ends";
  EXPECT_EQ(ledger.allocated(), 8U);
  EXPECT_EQ(a.name().text(), "b");
  EXPECT_EQ(a.shape(), Shape{4});
  EXPECT_FALSE(b);  // NOLINT(bugprone-use-after-move)
  a = Tensor();
  EXPECT_FALSE(a);
  EXPECT_EQ(ledger.allocated(), 0U);
}

TEST_F(TensorTest, MovingOntoItselfChangesNothing) {
  Tensor a = tensor("a", {8});
  Tensor& same = a;
  a = std::move(same);
  EXPECT_TRUE(a);
  EXPECT_EQ(ledger.allocated(), 16U);
}

TEST_F(TensorTest, ReleasesOnce) {
  Tensor a = tensor("a", {8});
  a.release();
  a.release();
  EXPECT_FALSE(a);
  EXPECT_EQ(memory.freed.size(), 1U);
  Tensor nothing;
  nothing.release();
  EXPECT_FALSE(nothing);
  EXPECT_EQ(memory.freed.size(), 1U);
}

TEST_F(TensorTest, MayBeKeptInVectors) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 20; ++i) tensors.push_back(tensor({"t", i}, {1}));
  EXPECT_TRUE(memory.freed.empty()) << "growing a vector moves them";
  tensors.erase(tensors.begin() + 3);
  EXPECT_EQ(memory.freed, (std::vector<std::uint64_t>{6}));
  tensors.clear();
  EXPECT_EQ(ledger.allocated(), 0U);
}

TEST_F(TensorTest, OneThatCannotBeHadIsNeverFreed) {
  EXPECT_THROW(tensor("large", {1 << 20}), OutOfMemory);
  EXPECT_TRUE(memory.freed.empty());
  EXPECT_EQ(ledger.allocated(), 0U);
  ASSERT_EQ(ledger.events().size(), 1U);
  EXPECT_EQ(ledger.events()[0].kind, Event::Kind::OutOfMemory);
  EXPECT_EQ(ledger.events()[0].bytes, 2U << 20);
}

TEST_F(TensorTest, SizesThatOverflowNeverReachTheLedger) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 32;
  EXPECT_THROW(tensor("t", {kHalf, kHalf}), BadInput) << "the elements overflow";
  EXPECT_THROW(tensor("t", {kHalf, kHalf / 2 - 1, 4}), BadInput);
  EXPECT_THROW(tensor("t", {-1}), BadInput) << "a negative size is a huge one";
  EXPECT_TRUE(ledger.events().empty());
}

static_assert(!std::is_copy_constructible_v<Tensor>);
static_assert(!std::is_copy_assignable_v<Tensor>);
static_assert(std::is_nothrow_move_constructible_v<Tensor>);
static_assert(std::is_nothrow_move_assignable_v<Tensor>);

TEST(Shape, MultipliesItsSizes) {
  EXPECT_EQ(Shape().elements(), 1) << "a scalar";
  EXPECT_EQ(Shape({7}).elements(), 7);
  EXPECT_EQ(Shape({2, 3, 4, 5}).elements(), 120);
  EXPECT_EQ(Shape({2, 0, 4}).elements(), 0);
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Shape({kMax, 1}).elements(), kMax);
}

TEST(Shape, RefusesAProductThatOverflows) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(Shape({kMax, 2}).elements(), BadInput);
  EXPECT_THROW(Shape({1 << 20, 1 << 20, 1 << 20, 1 << 20}).elements(), BadInput);
}

TEST(Shape, HasARankAndSizes) {
  const Shape shape = {4, 9, 2};
  EXPECT_EQ(shape.rank(), 3U);
  EXPECT_EQ(shape[0], 4);
  EXPECT_EQ(shape[2], 2);
  EXPECT_EQ(shape, (Shape{4, 9, 2}));
  EXPECT_FALSE(shape == (Shape{4, 9, 3}));
  EXPECT_FALSE((Shape{4, 0}) == Shape{4}) << "rank counts, not sizes alone";
  EXPECT_THROW((Shape{1, 1, 1, 1, 1}), std::logic_error);
}

}  // namespace
}  // namespace vramfit
