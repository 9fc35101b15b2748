#include "model/optimizer/optimizer_kind.h"

#include <gtest/gtest.h>

#include "model/errors.h"
#include "model/ops/optimizer_ops.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

TEST(OptimizerKind, EachIsFoundByItsName) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    EXPECT_EQ(&optimizer_named(kind.name), &kind) << kind.name;
  }
}

// What is kept of a parameter, and in how many bytes each.
TEST(OptimizerKind, KeepsWhatItsNameSays) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    const std::string name = kind.name;
    SCOPED_TRACE(name);
    const auto says = [&](const char* how) { return name.find(how) != std::string::npos; };
    EXPECT_EQ(kind.master, says("-master"));
    EXPECT_EQ(kind.has_scales(), says("-8bit"));
    EXPECT_EQ(kind.space(), says("-cpu") ? MemorySpace::Host : MemorySpace::Device);
    EXPECT_EQ(kind.keeps_momentum() && kind.keeps_variance(), says("adamw"));
    for (const DType weights : {DType::Bf16, DType::Fp16, DType::Fp32, DType::Fp64}) {
      const std::uint64_t sums = weights == DType::Fp64 ? 8 : 4;
      const std::uint64_t wanted = says("-8bit")   ? 1
                                   : says("-same") ? Format(weights).bytes(1)
                                                   : sums;
      EXPECT_EQ(kind.moment_format(weights).bytes(1), wanted);
    }
  }
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
