#include "model/optimizer/optimizer_kind.h"

#include <gtest/gtest.h>

#include "model/errors.h"
#include "model/ops/optimizer_ops.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

TEST(OptimizerKind, NamesAreFrozenAndFoundAgain) {
  const char* const names[] = {"sgd",        "sgd-master", "sgd-momentum", "adamw", "adamw-master",
                               "adamw-same", "adamw-8bit", "adamw-cpu",    "lion",  "adafactor"};
  ASSERT_EQ(optimizer_kinds().size(), std::size(names));
  for (std::size_t i = 0; i < std::size(names); ++i) {
    EXPECT_STREQ(optimizer_kinds()[i].name, names[i]);
    EXPECT_EQ(&optimizer_named(names[i]), &optimizer_kinds()[i]);
  }
}

// The design's bytes a parameter; Adafactor's, of vectors.
TEST(OptimizerKind, KeepsWhatItsNameSays) {
  struct Expected {
    const char* name;
    std::uint64_t bf16;
    std::uint64_t fp32;
  };
  for (const Expected& e :
       {Expected{"sgd", 0, 0}, Expected{"sgd-master", 4, 4}, Expected{"sgd-momentum", 4, 4},
        Expected{"adamw", 8, 8}, Expected{"adamw-master", 12, 12}, Expected{"adamw-same", 4, 8},
        Expected{"adamw-8bit", 2, 2}, Expected{"adamw-cpu", 8, 8}, Expected{"lion", 4, 4},
        Expected{"adafactor", 4, 4}}) {
    const OptimizerKind& kind = optimizer_named(e.name);
    const auto bytes = [&](DType weights) {
      return (kind.master ? 4U : 0U) +
             static_cast<std::uint64_t>(kind.moments) * kind.moment_format(weights).bytes(1);
    };
    EXPECT_EQ(bytes(DType::Bf16), e.bf16) << e.name;
    EXPECT_EQ(bytes(DType::Fp16), e.bf16) << e.name;
    EXPECT_EQ(bytes(DType::Fp32), e.fp32) << e.name;
  }
  EXPECT_EQ(optimizer_named("adamw").moment_format(DType::Fp16), DType::Fp32);
  EXPECT_EQ(optimizer_named("adamw").moment_format(DType::Fp64), DType::Fp64);
  EXPECT_EQ(optimizer_named("adamw-same").moment_format(DType::Fp16), DType::Fp16);
}

TEST(OptimizerKind, UnknownOnesAreRefusedWithThoseThereAre) {
  for (const char* text : {"", "adam", "AdamW", "adamw-4bit"}) {
    expect_bad_input([&] { optimizer_named(text); },
                     {"optimizer: unknown '", text, "'; one of sgd, sgd-master", ", adafactor"});
  }
}

TEST(OptimizerKind, AdafactorFactorsMatricesAlone) {
  const OptimizerKind& adafactor = optimizer_named("adafactor");
  EXPECT_FALSE(adafactor.keeps_momentum());
  EXPECT_TRUE(adafactor.keeps_variance());
  EXPECT_EQ(variance_shape(adafactor, {300, 20}), (Shape{320}));
  EXPECT_EQ(variance_shape(adafactor, {300}), (Shape{300}));
  EXPECT_EQ(variance_shape(optimizer_named("adamw"), {300, 20}), (Shape{300, 20}));
}

TEST(OptimizerKind, MastersAreFor16BitWeights) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    EXPECT_NO_THROW(require_precision(kind, DType::Bf16)) << kind.name;
    EXPECT_NO_THROW(require_precision(kind, DType::Fp16)) << kind.name;
    if (kind.master) {
      EXPECT_THROW(require_precision(kind, DType::Fp32), BadInput) << kind.name;
    } else {
      EXPECT_NO_THROW(require_precision(kind, DType::Fp32)) << kind.name;
    }
  }
}

}  // namespace
}  // namespace vramfit
