#include "model/errors.h"
#include "tests/kernels/cuda/support/lab.h"

namespace vramfit {
namespace {

class FillTest : public OpTest {};

TEST_P(FillTest, NormalNumbersAreTheSameToTheBit) {
  for (const std::int64_t rows : {1, 3, 1000}) {
    Lab lab(GetParam());
    Twin tensor = lab.empty({rows, 37}, {rows + 5, 37});
    lab.run([&](Device& device, Side side) {
      device.run(FillNormal{side(tensor), 0.25F, 0.02F, 11});
    });
    lab.expect_equal(tensor, "normal numbers");
  }
}

TEST_P(FillTest, AConstantAsWell) {
  Lab lab(GetParam());
  Twin ones = lab.empty({77});
  Twin loss = lab.floats({1});
  lab.run([&](Device& device, Side side) {
    device.run(FillNormal{side(ones), 1.0F, 0.0F, 1});
    device.run(FillNormal{side(loss), 0.0F, 0.0F, 0});
  });
  lab.expect_equal(ones, "ones");
  lab.expect_equal(loss, "zero");
}

TEST_P(FillTest, TokensAreTheSame) {
  Lab lab(GetParam());
  Twin tokens = lab.make(DType::Int32, {13, 77}, {13, 77});
  lab.run([&](Device& device, Side side) { device.run(FillTokens{side(tokens), 32000, 5}); });
  lab.expect_equal(tokens, "tokens");
}

TEST_P(FillTest, CopiesComeBackAsTheyWere) {
  Lab lab(GetParam());
  Twin there = lab.random({50, 3});
  lab.expect_equal(there, "upload and download");
}

VRAMFIT_FOR_EACH_DTYPE(FillTest);

TEST(Precision, Fp64IsRefusedInOneLine) {
  VRAMFIT_NEEDS_GPU();
  Lab lab(DType::Fp64);
  Twin tensor = lab.empty({2});
  try {
    gpu().run(FillNormal{tensor.gpu, 0.0F, 1.0F, 1});
    FAIL() << "fp64 was run";
  } catch (const BadInput& error) {
    EXPECT_STREQ(error.what(), "precision: is fp64; CUDA devices run fp32, fp16 and bf16");
  }
}

}  // namespace
}  // namespace vramfit
