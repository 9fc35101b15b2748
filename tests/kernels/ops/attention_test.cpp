#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "model/ops/workspaces.h"
#include "tests/kernels/support/finite_difference.h"
#include "tests/kernels/support/workbench.h"

namespace vramfit {
namespace {

/// One attention of either form, with all the tensors that its contract wants.
class AttentionCase {
 public:
  AttentionCase(AttentionForm form, const AttentionShape& shape)
      : form_(form),
        shape_(shape),
        qkv(bench.random({shape.tokens(), shape.qkv_width()})),
        cotangent(bench.random({shape.tokens(), shape.q_width()})),
        out(bench.empty({shape.tokens(), shape.q_width()})),
        workspace(bench.bytes(attention_backward_workspace_bytes(form, shape, bench.dtype()))),
        gemm_workspace(bench.bytes(0)) {
    if (form == AttentionForm::Flash) {
      log_sum_exp = bench.sums({shape.batch, shape.heads, shape.seq});
    } else {
      probabilities = bench.empty({shape.batch, shape.heads, shape.seq, shape.seq});
      dscores = bench.empty(probabilities.shape());
    }
  }

  void forward(bool keep = true) {
    bench.device.run(
        AttentionForward{form_, shape_, qkv, out, keep && log_sum_exp ? &log_sum_exp : nullptr,
                         probabilities ? &probabilities : nullptr, workspace, gemm_workspace});
  }

  std::vector<double> backward() {
    Tensor dqkv = bench.empty(qkv.shape());
    bench.device.run(AttentionBackward{form_, shape_, qkv, out,
                                       log_sum_exp ? &log_sum_exp : nullptr,
                                       probabilities ? &probabilities : nullptr, cotangent, dqkv,
                                       dscores ? &dscores : nullptr, workspace, gemm_workspace});
    return values_of(dqkv);
  }

  /// The probability that query t of a head gives to key s, from its definition.
  double probability(std::int64_t b, std::int64_t head, std::int64_t t, std::int64_t s) const {
    double sum = 0;
    for (std::int64_t other = 0; other <= t; ++other) sum += std::exp(score(b, head, t, other));
    return s <= t ? std::exp(score(b, head, t, s)) / sum : 0;
  }

  double score(std::int64_t b, std::int64_t head, std::int64_t t, std::int64_t s) const {
    const std::int64_t kv_head = head / (shape_.heads / shape_.kv_heads);
    double sum = 0;
    for (std::int64_t i = 0; i < shape_.head_dim; ++i) {
      sum += at(b, t, head, i) * at(b, s, shape_.heads + kv_head, i);
    }
    return sum / std::sqrt(static_cast<double>(shape_.head_dim));
  }

  /// Element i of token t's q, k or v: heads of q come first, then those of k, then those of v.
  double at(std::int64_t b, std::int64_t t, std::int64_t slot, std::int64_t i) const {
    return qkv.as<double>()[(b * shape_.seq + t) * shape_.qkv_width() + slot * shape_.head_dim + i];
  }

  Workbench bench;

 private:
  AttentionForm form_;
  AttentionShape shape_;

 public:
  Tensor qkv;
  Tensor cotangent;
  Tensor out;
  Tensor log_sum_exp;
  Tensor probabilities;
  Tensor dscores;
  Tensor workspace;
  Tensor gemm_workspace;
};

const AttentionShape kShapes[] = {
    {2, 5, 4, 4, 3},  // every query head its own key/value head
    {1, 7, 4, 2, 2},
    {2, 4, 4, 1, 6},
    {2, 1, 2, 1, 5},
};

class AttentionTest : public testing::TestWithParam<std::tuple<AttentionForm, AttentionShape>> {
 protected:
  AttentionForm form() const { return std::get<0>(GetParam()); }
  const AttentionShape shape = std::get<1>(GetParam());
  AttentionCase attention{form(), shape};
};

TEST_P(AttentionTest, BackwardIsTheDerivative) {
  attention.forward();
  const std::vector<double> gradient = attention.backward();
  expect_gradient(attention.qkv, gradient, [this] {
    attention.forward();
    return inner_product(attention.out, attention.cotangent);
  });
}

TEST_P(AttentionTest, OutputByItsDefinition) {
  attention.forward();
  const std::vector<double> out = values_of(attention.out);
  std::size_t index = 0;
  for (std::int64_t n = 0; n < shape.tokens(); ++n) {
    for (std::int64_t c = 0; c < shape.q_width(); ++c) {
      const std::int64_t b = n / shape.seq;
      const std::int64_t head = c / shape.head_dim;
      const std::int64_t slot =
          shape.heads + shape.kv_heads + head / (shape.heads / shape.kv_heads);
      double expected = 0;
      for (std::int64_t s = 0; s < shape.seq; ++s) {
        expected += attention.probability(b, head, n % shape.seq, s) *
                    attention.at(b, s, slot, c % shape.head_dim);
      }
      EXPECT_NEAR(out[index++], expected, 1e-13);
    }
  }
}

TEST_P(AttentionTest, KeepsWhatItsFormSays) {
  attention.forward();
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      for (std::int64_t t = 0; t < shape.seq; ++t) {
        const std::int64_t row = (b * shape.heads + head) * shape.seq + t;
        if (form() == AttentionForm::Flash) {
          double sum = 0;
          for (std::int64_t s = 0; s <= t; ++s) sum += std::exp(attention.score(b, head, t, s));
          EXPECT_NEAR(attention.log_sum_exp.as<double>()[row], std::log(sum), 1e-13);
          continue;
        }
        for (std::int64_t s = 0; s < shape.seq; ++s) {
          EXPECT_NEAR(attention.probabilities.as<double>()[row * shape.seq + s],
                      attention.probability(b, head, t, s), 1e-14);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTest,
                         testing::Combine(testing::Values(AttentionForm::Flash,
                                                          AttentionForm::Cublas),
                                          testing::ValuesIn(kShapes)),
                         [](const auto& test) {
                           const AttentionShape& s = std::get<1>(test.param);
                           return std::string(name(std::get<0>(test.param))) + "B" +
                                  std::to_string(s.batch) + "T" + std::to_string(s.seq) + "a" +
                                  std::to_string(s.heads) + "k" + std::to_string(s.kv_heads);
                         });

TEST(Attention, FlashWithoutStatisticsYieldsTheSame) {
  AttentionCase attention(AttentionForm::Flash, kShapes[0]);
  attention.forward();
  const std::vector<double> out = values_of(attention.out);
  set_values(attention.out, std::vector<double>(out.size(), NAN));
  attention.forward(false);
  EXPECT_EQ(values_of(attention.out), out);
}

TEST(Attention, RefusesTooSmallAWorkspace) {
  AttentionCase attention(AttentionForm::Flash, kShapes[1]);
  attention.forward();
  attention.workspace = attention.bench.bytes(
      attention_backward_workspace_bytes(AttentionForm::Flash, kShapes[1], DType::Fp64) - 4);
  EXPECT_THROW(attention.backward(), std::logic_error);
}

/// Two sequences' blocks of four, in a table that mixes them.
struct PagedCache {
  PagedCache(Workbench& bench, Format format, const AttentionShape& shape, std::int64_t positions)
      : blocks((positions + 3) / 4),
        keys(bench.tensor(format, {shape.batch * blocks, 4, shape.kv_heads, shape.head_dim})),
        values(bench.tensor(format, keys.shape())),
        key_scales(bench.floats({shape.batch * blocks, 4, shape.kv_heads})),
        value_scales(bench.floats(key_scales.shape())),
        table(bench.integers(mixed(shape.batch, blocks), {shape.batch, blocks})) {}

  static std::vector<std::int32_t> mixed(std::int64_t batch, std::int64_t blocks) {
    std::vector<std::int32_t> table;
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t i = 0; i < blocks; ++i) {
        table.push_back(static_cast<std::int32_t>((blocks - 1 - i) * batch + b));
      }
    }
    return table;
  }

  KvBlocks view() const {
    const bool scaled = is_quantized(keys.format());
    return {keys, values, scaled ? &key_scales : nullptr, scaled ? &value_scales : nullptr, &table};
  }

  std::int64_t blocks;
  Tensor keys;
  Tensor values;
  Tensor key_scales;
  Tensor value_scales;
  Tensor table;
};

std::vector<std::int32_t> repeated(std::int64_t value, std::int64_t count) {
  return std::vector<std::int32_t>(static_cast<std::size_t>(count),
                                   static_cast<std::int32_t>(value));
}

/// Decodes a sequence token by token, and expects what attention over the whole of it gives.
void expect_decoded(const AttentionShape& shape, Workbench& bench, const KvBlocks& cache,
                    double tolerance) {
  AttentionCase whole(AttentionForm::Flash, shape);
  whole.forward();
  const std::vector<double> expected = values_of(whole.out);
  const AttentionShape one{shape.batch, 1, shape.heads, shape.kv_heads, shape.head_dim};
  Tensor workspace = bench.bytes(attention_decode_workspace_bytes(one, DType::Fp64));
  for (std::int64_t t = 0; t < shape.seq; ++t) {
    Tensor qkv = bench.empty({shape.batch, shape.qkv_width()});
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      std::copy_n(whole.qkv.as<double>() + (b * shape.seq + t) * shape.qkv_width(),
                  shape.qkv_width(), qkv.as<double>() + b * shape.qkv_width());
    }
    const Tensor starts = bench.integers(repeated(t, shape.batch), {shape.batch});
    Tensor out = bench.empty({shape.batch, shape.q_width()});
    bench.device.run(AttentionDecode{one, qkv, nullptr, cache, starts, out, workspace});
    const std::vector<double> decoded = values_of(out);
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      for (std::int64_t c = 0; c < shape.q_width(); ++c) {
        EXPECT_NEAR(decoded[static_cast<std::size_t>(b * shape.q_width() + c)],
                    expected[static_cast<std::size_t>((b * shape.seq + t) * shape.q_width() + c)],
                    tolerance);
      }
    }
  }
}

TEST(Attention, DecodingTokenByTokenEqualsTheWholeSequence) {
  for (const AttentionShape& shape : kShapes) {
    Workbench bench;
    const Tensor keys = bench.empty({shape.batch, shape.seq + 2, shape.kv_heads, shape.head_dim});
    const Tensor values = bench.empty(keys.shape());
    expect_decoded(shape, bench, {keys, values}, 1e-13);
  }
}

TEST(Attention, DecodingFromBlocksEqualsTheWholeSequence) {
  for (const AttentionShape& shape : kShapes) {
    Workbench bench;
    expect_decoded(shape, bench, PagedCache(bench, DType::Fp64, shape, shape.seq + 2).view(),
                   1e-13);
  }
}

TEST(Attention, DecodingFromEightBitsIsNearTheWholeSequence) {
  for (const DType format : {DType::Int8, DType::Fp8}) {
    for (const AttentionShape& shape : kShapes) {
      Workbench bench;
      const PagedCache cache(bench, format, shape, shape.seq);
      expect_decoded(shape, bench, cache.view(), format == DType::Int8 ? 0.1 : 0.5);
    }
  }
}

TEST(Attention, AppendingManyTokensFillsTheSameCache) {
  const AttentionShape shape = kShapes[1];
  Workbench bench;
  const Tensor qkv = bench.random({shape.tokens(), shape.qkv_width()});
  const Shape size = {shape.batch, shape.seq + 1, shape.kv_heads, shape.head_dim};
  const Tensor keys = bench.random(size);
  const Tensor values = bench.random(size);
  const KvBlocks cache{keys, values};
  const Tensor starts = bench.integers(repeated(1, shape.batch), {shape.batch});
  bench.device.run(KvCacheAppend{shape, qkv, cache, &starts, nullptr});
  for (std::int64_t t = 0; t < shape.seq; ++t) {
    for (std::int64_t c = 0; c < shape.kv_width(); ++c) {
      const auto* row = qkv.as<double>() + t * shape.qkv_width() + shape.q_width();
      EXPECT_EQ(keys.as<double>()[(t + 1) * shape.kv_width() + c], row[c]);
      EXPECT_EQ(values.as<double>()[(t + 1) * shape.kv_width() + c], row[shape.kv_width() + c]);
    }
  }
  const Tensor beyond = bench.integers(repeated(2, shape.batch), {shape.batch});
  EXPECT_THROW(bench.device.run(KvCacheAppend{shape, qkv, cache, &beyond, nullptr}),
               std::logic_error);
}

TEST(Attention, AppendsNoMoreThanASequenceHas) {
  const AttentionShape shape = kShapes[1];
  Workbench bench;
  const Tensor qkv = bench.random({shape.tokens(), shape.qkv_width()});
  const Shape size = {shape.batch, shape.seq, shape.kv_heads, shape.head_dim};
  const Tensor keys = bench.random(size);
  const Tensor values = bench.random(size);
  const std::vector<double> before = values_of(keys);
  const Tensor counts = bench.integers(repeated(1, shape.batch), {shape.batch});
  bench.device.run(KvCacheAppend{shape, qkv, {keys, values}, nullptr, &counts});
  const std::vector<double> after = values_of(keys);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / shape.kv_width();
    EXPECT_EQ(after[i] == before[i], row % shape.seq > 0) << i;
  }
}

}  // namespace
}  // namespace vramfit
