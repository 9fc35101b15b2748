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

TEST(Attention, DecodingTokenByTokenEqualsTheWholeSequence) {
  for (const AttentionShape& shape : kShapes) {
    AttentionCase whole(AttentionForm::Flash, shape);
    whole.forward();
    const std::vector<double> expected = values_of(whole.out);

    Workbench bench;
    const std::int64_t positions = shape.seq + 2;
    Tensor keys = bench.empty({shape.batch, positions, shape.kv_heads, shape.head_dim});
    Tensor values = bench.empty(keys.shape());
    const AttentionShape one{shape.batch, 1, shape.heads, shape.kv_heads, shape.head_dim};
    Tensor workspace = bench.bytes(attention_decode_workspace_bytes(one, DType::Fp64));
    for (std::int64_t t = 0; t < shape.seq; ++t) {
      Tensor qkv = bench.empty({shape.batch, shape.qkv_width()});
      for (std::int64_t b = 0; b < shape.batch; ++b) {
        std::copy_n(whole.qkv.as<double>() + (b * shape.seq + t) * shape.qkv_width(),
                    shape.qkv_width(), qkv.as<double>() + b * shape.qkv_width());
      }
      Tensor out = bench.empty({shape.batch, shape.q_width()});
      bench.device.run(KvCacheAppend{one, qkv, keys, values, t});
      bench.device.run(AttentionDecode{one, qkv, keys, values, t + 1, out, workspace});
      const std::vector<double> decoded = values_of(out);
      for (std::int64_t b = 0; b < shape.batch; ++b) {
        for (std::int64_t c = 0; c < shape.q_width(); ++c) {
          EXPECT_NEAR(decoded[static_cast<std::size_t>(b * shape.q_width() + c)],
                      expected[static_cast<std::size_t>((b * shape.seq + t) * shape.q_width() + c)],
                      1e-13);
        }
      }
    }
  }
}

TEST(Attention, AppendingManyTokensFillsTheSameCache) {
  const AttentionShape shape = kShapes[1];
  Workbench bench;
  const Tensor qkv = bench.random({shape.tokens(), shape.qkv_width()});
  const Shape cache = {shape.batch, shape.seq + 1, shape.kv_heads, shape.head_dim};
  Tensor keys = bench.random(cache);
  Tensor values = bench.random(cache);
  bench.device.run(KvCacheAppend{shape, qkv, keys, values, 1});
  for (std::int64_t t = 0; t < shape.seq; ++t) {
    for (std::int64_t c = 0; c < shape.kv_width(); ++c) {
      const auto* row = qkv.as<double>() + t * shape.qkv_width() + shape.q_width();
      EXPECT_EQ(keys.as<double>()[(t + 1) * shape.kv_width() + c], row[c]);
      EXPECT_EQ(values.as<double>()[(t + 1) * shape.kv_width() + c], row[shape.kv_width() + c]);
    }
  }
  EXPECT_THROW(bench.device.run(KvCacheAppend{shape, qkv, keys, values, 2}), std::logic_error);
}

}  // namespace
}  // namespace vramfit
