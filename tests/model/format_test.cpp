#include "model/format.h"

#include <gtest/gtest.h>

#include <limits>

#include "model/errors.h"
#include "model/precisions.h"

namespace vramfit {
namespace {

constexpr DType kAll[] = {DType::Fp64,  DType::Fp32, DType::Fp16, DType::Bf16,
                          DType::Int32, DType::Fp8,  DType::Int8};

constexpr FormatRow kNf4 = Format::named("nf4")->row();
/// 8 bits, and a byte of scale for 32: OCP's MXFP8.
constexpr FormatRow kMxfp8{.name = "mxfp8",
                           .element = DType::Fp8,
                           .bits = 8,
                           .scales = Scales::Block,
                           .block = 32,
                           .scale = DType::Int8};

TEST(Format, StoresEachPlainElementInItsBytes) {
  const std::uint64_t expected[] = {8, 4, 2, 2, 4, 1, 1, 1};
  for (std::size_t i = 0; i < std::size(kAll); ++i) {
    const Format format = kAll[i];
    EXPECT_EQ(format.bytes(0), 0U) << format.name();
    EXPECT_EQ(format.bytes(1), expected[i]) << format.name();
    EXPECT_EQ(format.bytes(1001), 1001 * expected[i]) << format.name();
  }
}

TEST(Format, CountsTheScalesOfBlocks) {
  EXPECT_FALSE(kNf4.plain());
  constexpr std::int64_t kWeights = 4096 * 11008;
  EXPECT_EQ(static_cast<double>(kNf4.bytes(kWeights)), 0.5625 * kWeights);
  EXPECT_EQ(kMxfp8.bytes(kWeights), kWeights + kWeights / 32);
}

TEST(Format, CountsWhatIsPackedByWholeBlocks) {
  const Format q4_k = *Format::named("q4_K");
  EXPECT_FALSE(q4_k.row().plain());
  EXPECT_TRUE(is_quantized(q4_k));
  EXPECT_EQ(q4_k.bytes(4096 * 11008), 4096U * 11008 / 256 * 144);
  EXPECT_EQ(Format::named("q8_0")->bytes(33), 2U * 34);
  EXPECT_EQ(Format::named("mxfp4")->bytes(32), 17U);
  EXPECT_FALSE(is_quantized(*Format::named("i64")));
  EXPECT_THROW(Format::named("i64")->bytes(std::numeric_limits<std::int64_t>::max()), BadInput);
}

TEST(Format, IsATypeOnDevicesWhereTheyReadIt) {
  for (const FormatRow& row : kFormats) {
    int calls = 0;
    with_row(*Format::named(row.name), [&](auto) { ++calls; });
    EXPECT_EQ(calls, row.packed() ? 0 : 1) << row.name;
  }
}

TEST(Format, GivesABlockThatIsNotFullItsScalesAndAHalfByteItsByte) {
  EXPECT_EQ(kNf4.bytes(0), 0U);
  EXPECT_EQ(kNf4.bytes(1), 1U + 4);
  EXPECT_EQ(kNf4.bytes(64), 32U + 4);
  EXPECT_EQ(kNf4.bytes(65), 33U + 2 * 4);
}

TEST(Format, RefusesBytesThatOverflow) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Format(DType::Bf16).bytes(kMax), 2 * static_cast<std::uint64_t>(kMax));
  EXPECT_THROW(Format(DType::Fp32).bytes(kMax), BadInput);
  EXPECT_THROW(Format(DType::Fp64).bytes(kMax), BadInput);
}

TEST(Format, IsFoundByItsName) {
  for (const DType dtype : kAll) EXPECT_EQ(Format::named(name(dtype)), Format(dtype));
  EXPECT_EQ(Format::named("fp12"), std::nullopt);
}

TEST(Format, SaysWhatScalesItHasAndWhatItIsPaddedTo) {
  const auto says = [](const char* name, Scales scales, std::int64_t multiple) {
    const FormatRow& row = Format::named(name)->row();
    EXPECT_EQ(row.scales, scales) << name;
    EXPECT_EQ(row.multiple(), multiple) << name;
  };
  says("bf16", Scales::None, 16);
  says("fp8", Scales::Row, 16);
  says("nf4", Scales::Block, 64);
  says("int4", Scales::Block, 128);
}

TEST(Format, TakesAByte) { EXPECT_EQ(sizeof(Format), 1U); }

TEST(Format, SumsAreKeptInFp32OrMore) {
  EXPECT_EQ(accumulation_dtype(DType::Fp64), DType::Fp64);
  for (const DType dtype : {DType::Fp32, DType::Fp16, DType::Bf16}) {
    EXPECT_EQ(accumulation_dtype(dtype), DType::Fp32);
  }
}

TEST(Format, KnowsTheOnesOf16Bits) {
  for (const DType dtype : kAll) EXPECT_EQ(is_16_bit(dtype), Format(dtype).bytes(1) == 2);
}

TEST(Format, BecomesATypeByItsElement) {
  for (const DType dtype : kAll) {
    int calls = 0;
    EXPECT_TRUE(with_plain_element(dtype, [&](auto element) {
      ++calls;
      EXPECT_EQ(decltype(element)::value, dtype);
    }));
    EXPECT_EQ(calls, 1);
  }
}

TEST(Precisions, OfOneDtypeKeepWhatIsSummedInFp32) {
  const Precisions p = Precisions::plain(DType::Bf16);
  for (const Format format : {p.weights, p.activations, p.gradients, p.cache}) {
    EXPECT_EQ(format, DType::Bf16);
  }
  EXPECT_EQ(p.optimizer_states, DType::Fp32);
  EXPECT_EQ(p.accumulation, DType::Fp32);
}

}  // namespace
}  // namespace vramfit
