#include "model/gguf/header.h"

#include <gtest/gtest.h>

#include <sstream>

#include "model/gguf/types.h"
#include "tests/support/expect_bad_input.h"
#include "tests/support/gguf_writer.h"

namespace vramfit::gguf {
namespace {

Header read(const std::string& bytes) {
  std::istringstream in(bytes);
  return read_header(in, bytes.size(), "model.gguf");
}

void expect_refused(const std::string& bytes, std::initializer_list<const char*> parts) {
  expect_bad_input([&] { read(bytes); }, parts);
}

GgufWriter small() {
  GgufWriter writer;
  writer.text("general.architecture", "llama")
      .u32("llama.block_count", 2)
      .f32("llama.rope.freq_base", 500000.0F)
      .boolean("llama.attention.causal", true)
      .numbers("llama.attention.head_count_kv", {8, 4})
      .texts("tokenizer.ggml.tokens", 1000, "token")
      .text("tokenizer.chat_template", std::string(100'000, 'x'))
      .tensor("token_embd.weight", {256, 1000}, 12, 144 * 1000)
      .tensor("output_norm.weight", {256}, 0, 1024)
      .tensor("blk.0.ffn_up_exps.weight", {64, 32, 8}, 39, 34 * 32 * 8);
  return writer;
}

TEST(GgufHeader, HasItsPairs) {
  const Metadata& metadata = read(small().header()).metadata;
  EXPECT_EQ(metadata.text("general.architecture"), "llama");
  EXPECT_EQ(metadata.integer("llama.block_count", 1, 512), 2);
  EXPECT_EQ(metadata.number_or("llama.rope.freq_base", 0), 500000);
  EXPECT_TRUE(metadata.boolean_or("llama.attention.causal", false));
  EXPECT_EQ(metadata.each_or("llama.attention.head_count_kv", 2, 0, 0, 100),
            (std::vector<std::int64_t>{8, 4}));
  EXPECT_EQ(metadata.each_or("llama.block_count", 2, 0, 0, 100), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(metadata.length("tokenizer.ggml.tokens"), 1000U);
  EXPECT_EQ(metadata.text("tokenizer.chat_template"), "");
  EXPECT_EQ(metadata.length("absent"), 0U);
}

TEST(GgufHeader, HasItsTensors) {
  for (const std::uint32_t version : {2U, 3U}) {
    const std::vector<Tensor> tensors = read(small().header(version)).tensors;
    ASSERT_EQ(tensors.size(), 3U);
    EXPECT_EQ(tensors[0].name, "token_embd.weight");
    EXPECT_EQ(tensors[0].type, *Format::named("q4_K"));
    EXPECT_EQ(tensors[0].bytes(), 144'000U);
    EXPECT_EQ(tensors[0].dims(), 2U);
    EXPECT_EQ(tensors[1].dims(), 1U);
    EXPECT_EQ(tensors[2].ne, (std::array<std::int64_t, 4>{64, 32, 8, 1}));
    EXPECT_EQ(tensors[2].bytes(), 34U * 32 * 8);
  }
}

TEST(GgufHeader, RefusesWhatItIsNot) {
  expect_refused("", {"model.gguf: not a GGUF file"});
  expect_refused(std::string(100, 'x'), {"not a GGUF file"});
  expect_refused(small().header(1), {"GGUF version 1; 2 or 3"});
  expect_refused(small().header(0x03000000), {"big-endian"});
}

TEST(GgufHeader, RefusesEveryEndThatComesTooEarly) {
  const std::string whole = small().header();
  for (std::size_t size = 0; size < whole.size(); size += size < 2000 ? 1 : 997) {
    expect_refused(whole.substr(0, size), {"model.gguf: "});
  }
}

TEST(GgufHeader, HoldsCountsAgainstTheFileBeforeItAsksForMemory) {
  const auto counted = [](std::uint64_t tensors, std::uint64_t pairs) {
    return "GGUF" + GgufWriter::bytes(std::uint32_t{3}) + GgufWriter::bytes(tensors) +
           GgufWriter::bytes(pairs) + std::string(1000, '\0');
  };
  expect_refused(counted(~std::uint64_t{0}, 0), {"18446744073709551615 tensors; at most"});
  expect_refused(counted(0, 1U << 20), {"1048576 keys; at most"});
  expect_refused(GgufWriter().pair("a", GgufWriter::String, GgufWriter::bytes(~0ULL)).header(),
                 {"it ends after"});
  const std::string array = GgufWriter::bytes(std::uint32_t{GgufWriter::U64});
  expect_refused(
      GgufWriter().pair("a", GgufWriter::Array, array + GgufWriter::bytes(1ULL << 61)).header(),
      {"a: an array of 2305843009213693952, of which the file has not enough bytes"});
}

// A file with a hole has room for any number of texts of no bytes, each of which would be looked
// at.
TEST(GgufHeader, RefusesMoreTextsThanItWouldLookAt) {
  const std::uint64_t many = 10'000'000'000;
  const std::string bytes =
      GgufWriter()
          .pair("tokens", GgufWriter::Array,
                GgufWriter::bytes(std::uint32_t{GgufWriter::String}) + GgufWriter::bytes(many))
          .header();
  std::istringstream in(bytes);
  expect_bad_input([&] { read_header(in, bytes.size() + 8 * many, "model.gguf"); },
                   {"model.gguf: tokens: ", "lists of 10000000000 texts; at most 16777216"});
}

TEST(GgufHeader, RefusesPairsThatMeanNothing) {
  expect_refused(GgufWriter().u32("a", 1).u32("a", 2).header(), {"a: it is there twice"});
  expect_refused(GgufWriter().u32("", 1).header() + std::string(99, '\0'), {"without a name"});
  expect_refused(GgufWriter().pair("a", 13, std::string(8, '\0')).header(), {"type 13; 0 to 12"});
  const std::string nested = GgufWriter::bytes(std::uint32_t{GgufWriter::Array});
  expect_refused(GgufWriter().pair("a", GgufWriter::Array, nested + std::string(20, '\0')).header(),
                 {"an array of arrays"});
  expect_refused(GgufWriter().u32("general.alignment", 48).header(), {"48; a power of 2"});
}

TEST(GgufHeader, RefusesTensorsThatCannotBe) {
  const auto tensor = [](const std::vector<std::int64_t>& ne, std::uint32_t type) {
    return GgufWriter().tensor("t", ne, type, 0).header();
  };
  expect_refused(tensor({100}, 12), {"tensor t: rows of 100 in q4_K; a multiple of 256"});
  expect_refused(tensor({256, 0}, 12), {"a dimension of 0"});
  expect_refused(tensor({-256}, 12), {"a dimension of -256"});
  expect_refused(tensor({1, 1, 1, 1, 1}, 0), {"5 dimensions; at most 4"});
  expect_refused(tensor({32}, 4), {"of type 4, which is none of ggml's"});
  expect_refused(tensor({1LL << 32, 1LL << 32}, 0), {"more elements"});
  expect_refused(tensor({1LL << 31, 1LL << 31}, 0), {"more bytes"});
  expect_refused(GgufWriter().tensor("t", {32}, 0, 64).tensor("u", {32}, 0, 128).header(),
                 {"tensor u: its data begin at 64; at 128"});
  expect_refused(GgufWriter().tensor("t", {1}, 0, 4).tensor("t", {1}, 0, 4).header(), {"twice"});
}

TEST(GgufTypes, AreFoundByNumberAndName) {
  EXPECT_EQ(type_of_id(1), Format(DType::Fp16));
  EXPECT_EQ(type_of_id(5), std::nullopt);
  EXPECT_EQ(type_of_id(42), *Format::named("q2_0"));
  EXPECT_EQ(type_named("Q4_K"), *Format::named("q4_K"));
  EXPECT_EQ(type_named("BF16"), Format(DType::Bf16));
  EXPECT_EQ(type_named("q9"), std::nullopt);
  EXPECT_STREQ(type_name(DType::Fp16), "f16");
  EXPECT_STREQ(type_name(*Format::named("iq4_xs")), "iq4_xs");
}

}  // namespace
}  // namespace vramfit::gguf
