#include "model/dtype.h"

#include <gtest/gtest.h>

#include <limits>

#include "model/checked.h"
#include "model/errors.h"

namespace vramfit {
namespace {

TEST(DType, NamesAreFrozenAndParsedBack) {
  EXPECT_STREQ(name(DType::Fp64), "fp64");
  EXPECT_STREQ(name(DType::Fp32), "fp32");
  EXPECT_STREQ(name(DType::Fp16), "fp16");
  EXPECT_STREQ(name(DType::Bf16), "bf16");
  EXPECT_STREQ(name(DType::Int32), "int32");
  for (const DType dtype : {DType::Fp64, DType::Fp32, DType::Fp16, DType::Bf16}) {
    EXPECT_EQ(parse_precision(name(dtype)), dtype);
  }
}

TEST(DType, UnknownPrecisionsAreRefusedWithThoseThereAre) {
  for (const char* text : {"", "fp8", "FP16", "half", "int32", "fp16 ", "float32"}) {
    try {
      parse_precision(text);
      FAIL() << text;
    } catch (const BadInput& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.rfind("precision: ", 0), 0U) << message;
      EXPECT_NE(message.find("'" + std::string(text) + "'"), std::string::npos) << message;
      for (const char* valid : {"fp32", "fp16", "bf16", "fp64"}) {
        EXPECT_NE(message.find(valid), std::string::npos) << message;
      }
    }
  }
}

TEST(DType, IsKnownByTorchsName) {
  EXPECT_EQ(dtype_of_torch("float32"), DType::Fp32);
  EXPECT_EQ(dtype_of_torch("float16"), DType::Fp16);
  EXPECT_EQ(dtype_of_torch("bfloat16"), DType::Bf16);
  for (const char* type : {"", "float8_e4m3fn", "float64", "int8", "fp16"}) {
    try {
      dtype_of_torch(type);
      FAIL() << type;
    } catch (const BadInput& error) {
      EXPECT_EQ(std::string(error.what()),
                "precision: the config says '" + std::string(type) +
                    "', in which nothing is run; --precision fp32, fp16 or bf16");
    }
  }
}

TEST(CheckedMultiply, MultipliesOrRefuses) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kUnsignedMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(checked_multiply<std::int64_t>(1 << 20, 1 << 20), std::int64_t{1} << 40);
  EXPECT_EQ(checked_multiply<std::int64_t>(kMax, 1), kMax);
  EXPECT_EQ(checked_multiply<std::int64_t>(kMax, 0), 0);
  EXPECT_EQ(checked_multiply<std::uint64_t>(kUnsignedMax / 3, 3), kUnsignedMax);
  EXPECT_THROW(checked_multiply<std::int64_t>(kMax / 2 + 1, 2), BadInput);
  EXPECT_THROW(checked_multiply<std::uint64_t>(kUnsignedMax / 3 + 1, 3), BadInput);
  try {
    checked_multiply<std::int64_t>(kMax, 7);
  } catch (const BadInput& error) {
    EXPECT_NE(std::string(error.what()).find("9223372036854775807 x 7"), std::string::npos);
  }
}

TEST(RoundUp, GoesToTheNextMultiple) {
  EXPECT_EQ(round_up(0, 128), 0);
  EXPECT_EQ(round_up(1, 128), 128);
  EXPECT_EQ(round_up(128, 128), 128);
  EXPECT_EQ(round_up(50257, 128), 50304);
}

}  // namespace
}  // namespace vramfit
