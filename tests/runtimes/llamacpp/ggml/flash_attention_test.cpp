#include "runtimes/llamacpp/ggml/flash_attention.h"

#include <gtest/gtest.h>

#include "runtimes/llamacpp/ggml/ops.h"

namespace vramfit::llamacpp::ggml {
namespace {

constexpr Type kQ8{Kind::Q80, 32, 34};
constexpr Type kQ5{Kind::Q50, 32, 22};

struct Case {
  std::int64_t head = 128;
  std::int64_t head_v = 128;
  std::int64_t heads = 8;
  std::int64_t kv_heads = 2;
  std::int64_t queries = 512;
  Type cache = kF16;
};

class GgmlFlashAttention : public testing::Test {
 protected:
  Tensor* attention(const Case& c) {
    Tensor* q = ops_.tensor(kF32, {c.head, c.queries, c.heads, 1});
    Tensor* k = ops_.tensor(c.cache, {c.head, 1024, c.kv_heads, 1});
    Tensor* v = ops_.tensor(c.cache, {c.head_v, 1024, c.kv_heads, 1});
    return ops_.flash_attention(q, k, v, ops_.tensor(kF16, {1024, c.queries, 1, 1}));
  }
  AttentionKernel kernel(int capability, const Case& c) {
    return flash_attention_kernel(capability, *attention(c));
  }

  Ops ops_;
};

TEST_F(GgmlFlashAttention, IsTheKernelOfItsCardAndBatch) {
  EXPECT_EQ(kernel(900, {}), AttentionKernel::TensorCores);
  EXPECT_EQ(kernel(900, {.queries = 1}), AttentionKernel::Vector);
  EXPECT_EQ(kernel(800, {.queries = 1}), AttentionKernel::TensorCores);
  EXPECT_EQ(kernel(800, {.kv_heads = 8, .queries = 1}), AttentionKernel::Vector);
  EXPECT_EQ(kernel(890, {.queries = 2, .cache = kQ8}), AttentionKernel::Vector);
  EXPECT_EQ(kernel(750, {.queries = 2, .cache = kQ8}), AttentionKernel::TensorCores);
  EXPECT_EQ(kernel(700, {.queries = 4}), AttentionKernel::Tile);
  EXPECT_EQ(kernel(700, {.queries = 5}), AttentionKernel::TensorCores);
  EXPECT_EQ(kernel(610, {}), AttentionKernel::Tile);
}

TEST_F(GgmlFlashAttention, IsThereForSomeHeadsAlone) {
  EXPECT_EQ(kernel(900, {.head = 120, .head_v = 120}), AttentionKernel::None);
  EXPECT_EQ(kernel(900, {.head = 128, .head_v = 64}), AttentionKernel::None);
  EXPECT_EQ(kernel(900, {.head = 192, .head_v = 128, .heads = 16}), AttentionKernel::TensorCores);
  EXPECT_EQ(kernel(900, {.head = 192, .head_v = 128, .heads = 8}), AttentionKernel::None);
  EXPECT_EQ(kernel(900, {.head = 576, .head_v = 512, .kv_heads = 1}), AttentionKernel::TensorCores);
  EXPECT_EQ(kernel(900, {.head = 512, .head_v = 512, .kv_heads = 8}), AttentionKernel::None);
  EXPECT_EQ(kernel(900, {.cache = {Kind::IQ4NL, 32, 18}}), AttentionKernel::None);
}

TEST_F(GgmlFlashAttention, CopiesACacheThatItsKernelDoesNotRead) {
  const std::uint64_t out = 128 * 8 * 512 * 4;
  const std::uint64_t copy = 128 * 1024 * 2 * 2;
  EXPECT_EQ(flash_attention_alloc_size(900, *attention({})), out);
  EXPECT_EQ(flash_attention_alloc_size(900, *attention({.cache = kQ8})), out + 2 * copy);
  // One query is read as it is, but of types that no instance of the vector kernel is built for.
  EXPECT_EQ(flash_attention_alloc_size(900, *attention({.queries = 1, .cache = kQ8})), out / 512);
  EXPECT_EQ(flash_attention_alloc_size(900, *attention({.queries = 1, .cache = kQ5})),
            out / 512 + 2 * copy);
}

TEST_F(GgmlFlashAttention, CopiesValuesWithinKeysOnce) {
  Tensor* k = ops_.tensor(kQ8, {576, 1024, 1, 1});
  Tensor* v = ops_.view(k, {512, 1024, 1, 1}, {k->nb[1], k->nb[2], k->nb[3]}, 0);
  Tensor* q = ops_.tensor(kF32, {576, 512, 8, 1});
  Tensor* op = ops_.flash_attention(q, k, v, ops_.tensor(kF16, {1024, 512, 1, 1}));
  EXPECT_EQ(flash_attention_alloc_size(900, *op), 512U * 8 * 512 * 4 + 576U * 1024 * 2);
}

}  // namespace
}  // namespace vramfit::llamacpp::ggml
