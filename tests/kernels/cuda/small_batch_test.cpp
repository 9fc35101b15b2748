#include <tuple>

#include "tests/kernels/cuda/support/quantized.h"
#include "tests/kernels/support/formats.h"

// Linears of few rows, which normalise and quantise them as well.

namespace vramfit {
namespace {

/// The weight and what comes before the product, for every precision of linears.
struct Before {
  Before(Lab& lab, const ModelPrecision& precision, std::int64_t out, std::int64_t in,
         NormKind norm_kind)
      : kind(norm_kind),
        full(lab.random({out, in}, 0.3F)),
        norm_weight(lab.random({in})),
        norm_bias(lab.random({in})),
        quantizes(precision.inputs == precision.linears && precision.quantized()) {
    if (precision.quantized()) weight = quantized(lab, precision.linears, full);
  }

  Tensor& weight_of(Side side) { return weight.value.cpu ? side(weight.value) : side(full); }
  QuantizedOperands operands(Side side) {
    return {nullptr, weight.value.cpu ? side(weight.scales_or_null()) : nullptr, nullptr,
            quantizes};
  }
  InputNorm norm(Side side) {
    return {kind, 1e-5F, side(norm_weight),
            kind == NormKind::LayerNorm ? side(&norm_bias) : nullptr};
  }

  NormKind kind;
  Twin full;
  Twin norm_weight;
  Twin norm_bias;
  bool quantizes;
  Quantized weight{};
};

/// What is normalised and quantised is rounded before it is multiplied: a code that falls to the
/// other side is a whole one off.
Bound bound_of(const ModelPrecision& precision) {
  if (precision.linears == Format(DType::Fp8)) return {0, 8e-3, 8e-3};
  if (precision.quantized()) return {0, 3e-3, 5e-3};
  return Bound::once.times(2);
}

using Case = std::tuple<const char*, DType>;

class SmallBatchTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { VRAMFIT_NEEDS_GPU(); }

  ModelPrecision precision() const {
    const auto& [name, type] = GetParam();
    return std::string(name) == "plain" ? ModelPrecision(type) : parse_model_precision(name);
  }
  /// Nothing comes before the product or after it.
  void check_plain(std::int64_t rows, std::int64_t in, std::int64_t out) const {
    Lab lab(std::get<1>(GetParam()));
    Before before(lab, precision(), out, in, NormKind::RmsNorm);
    Twin x = lab.random({rows, in});
    Twin y = lab.empty({rows, out});
    Twin workspace = lab.gemm_workspace();
    lab.run([&](Device& device, Side side) {
      device.run(LinearForward{side(x), before.weight_of(side), nullptr, nullptr, side(y),
                               side(workspace), before.operands(side)});
    });
    lab.expect_close(y, bound_of(precision()), text("linear", rows, in, out));
  }
  /// Whether more than kFusedRows come here as they are.
  bool multiplies_many() const {
    return precision().quantized() && precision().inputs != precision().linears &&
           direct_rows(gpu().arch()) > kFusedRows;
  }
  std::vector<std::int64_t> activated_rows() const {
    std::vector<std::int64_t> rows = {1, 3, 8, 16};
    if (multiplies_many()) rows.insert(rows.end(), {17, 40});
    return rows;
  }
  std::string text(const char* what, std::int64_t rows, std::int64_t in, std::int64_t out) const {
    return std::string(what) + " of " + std::get<0>(GetParam()) + ", " + std::to_string(rows) +
           " x " + std::to_string(in) + " to " + std::to_string(out);
  }
};

TEST_P(SmallBatchTest, NormaliseThem) {
  for (const NormKind kind : {NormKind::RmsNorm, NormKind::LayerNorm}) {
    for (const std::int64_t rows : {1, 2, 3, 4, 8, 11, 16}) {
      for (const std::int64_t in : {128, 1152, 4096}) {
        constexpr std::int64_t kOut = 56;
        Lab lab(std::get<1>(GetParam()));
        Before before(lab, precision(), kOut, in, kind);
        Twin x = lab.random({rows, in}, 3.0F);
        Twin bias = lab.random({kOut});
        Twin residual = lab.random({rows, kOut});
        Twin y = lab.empty({rows, kOut});
        Twin workspace = lab.gemm_workspace();
        lab.run([&](Device& device, Side side) {
          const InputNorm norm = before.norm(side);
          device.run(LinearForward{side(x), before.weight_of(side), side(&bias), side(&residual),
                                   side(y), side(workspace), before.operands(side),
                                   rows <= normed_rows(before.quantizes) ? &norm : nullptr});
        });
        lab.expect_close(y, bound_of(precision()), text("linear", rows, in, kOut));
      }
    }
  }
}

TEST_P(SmallBatchTest, ActivateThem) {
  for (const ActivationKind kind : {ActivationKind::SwiGlu, ActivationKind::Gelu}) {
    for (const std::int64_t rows : activated_rows()) {
      // Less than a tile; and rows of an odd number of blocks, whose zero points begin, of Gelu's
      // weight, in the middle of a word.
      for (const auto& [ffn, in] : {std::pair{3, 128}, {24, 256}, {300, 256}, {2201, 384}}) {
        const std::int64_t width = kind == ActivationKind::SwiGlu ? 2 * ffn : ffn;
        Lab lab(std::get<1>(GetParam()));
        Before before(lab, precision(), width, in, NormKind::RmsNorm);
        Twin x = lab.random({rows, in}, 0.5F);
        Twin pre = lab.empty({rows, width});
        Twin act = lab.empty({rows, ffn});
        Twin workspace = lab.gemm_workspace();
        lab.run([&](Device& device, Side side) {
          const InputNorm norm = before.norm(side);
          device.run(MlpUpForward{kind, side(x), before.weight_of(side), nullptr, side(pre),
                                  side(act), side(workspace), before.operands(side),
                                  rows <= normed_rows(before.quantizes) ? &norm : nullptr});
        });
        lab.expect_close(pre, bound_of(precision()), text("pre", rows, in, ffn));
        lab.expect_close(act, bound_of(precision()).times(2), text("act", rows, in, ffn));
      }
    }
  }
}

/// x of 8 rows does not fit into shared memory at once, and the longest x of 1 row hardly does.
TEST_P(SmallBatchTest, MayBeLong) {
  if (std::get<1>(GetParam()) == DType::Fp32) GTEST_SKIP() << "skipped: the CPU takes long";
  for (const std::int64_t rows : {1, 8}) {
    for (const std::int64_t in : {11008, 28672}) check_plain(rows, in, 16);
  }
  // Clusters have more than one tile each.
  check_plain(8, 11008, 1072);
  // As long as a block holds, of 512 threads, and longer.
  for (const std::int64_t in : {8192, 8320, 16384, 16512}) check_plain(1, in, 16);
}

TEST_P(SmallBatchTest, MayEndInsideAStage) {
  const Format linears = precision().linears;
  const std::int64_t in = linears.row().block == 64 ? 192 : precision().quantized() ? 208 : 40;
  if (linears.row().block == 128) GTEST_SKIP() << "skipped: blocks are stages";
  for (const std::int64_t rows : {1, 3, 16}) check_plain(rows, in, 24);
  if (!multiplies_many()) return;
  for (const std::int64_t rows : {17, 40}) check_plain(rows, in, 24);
}

/// First, every block has so many tiles that each of its warps finishes more than one.
TEST_P(SmallBatchTest, HaveManyTiles) {
  check_plain(1, 256, 38024);
  check_plain(1, 4096, 2136);
}

std::string label(const testing::TestParamInfo<Case>& test) {
  return test_name(std::get<0>(test.param) + std::string("_") + name(std::get<1>(test.param)));
}

std::vector<const char*> all_names() {
  std::vector<const char*> names = quantized_names();
  names.push_back("plain");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Cuda, SmallBatchTest,
                         testing::Combine(testing::ValuesIn(all_names()),
                                          testing::Values(DType::Fp16, DType::Bf16)),
                         label);
INSTANTIATE_TEST_SUITE_P(CudaFp32, SmallBatchTest, testing::Values(Case{"plain", DType::Fp32}),
                         label);

}  // namespace
}  // namespace vramfit
