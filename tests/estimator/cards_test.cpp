#include "estimator/cards.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/card_names.h"
#include "estimator/data.h"
#include "estimator/verdict.h"
#include "model/memory/pool.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMiB = 1 << 20;

TEST(Cards, HaveTheFormatsOfTheirComputeCapability) {
  for (const Card& card : cards()) {
    SCOPED_TRACE(card.name);
    EXPECT_GT(card.multiprocessors, 0);
    EXPECT_GT(card.bandwidth, 1e11);
    EXPECT_EQ(card.flops.count("fp16"), 1U);
    EXPECT_EQ(card.flops.count("int8"), card.arch.sm >= 75 ? 1U : 0U);
    EXPECT_EQ(card.flops.count("bf16"), card.arch.sm >= 80 ? 1U : 0U);
    EXPECT_EQ(card.flops.count("tf32"), card.arch.sm >= 80 ? 1U : 0U);
    EXPECT_EQ(card.flops.count("fp8"), card.arch.sm >= 89 ? 1U : 0U);
    EXPECT_EQ(card.flops.count("fp4"), card.arch.sm >= 100 ? 1U : 0U);
  }
}

TEST(Cards, AreFoundByTheDriversTitleAndSize) {
  constexpr std::uint64_t kGigabyte = 1'000'000'000;
  EXPECT_EQ(card_titled("NVIDIA GeForce RTX 3080", 10 * kGigabyte)->name, "rtx3080-10gb");
  EXPECT_EQ(card_titled("NVIDIA GeForce RTX 3080", 13 * kGigabyte)->name, "rtx3080-12gb");
  EXPECT_EQ(card_titled("NVIDIA A100-PCIE-40GB", 42 * kGigabyte)->name, "a100-40gb");
  EXPECT_EQ(card_titled("NVIDIA Titan", 42 * kGigabyte), nullptr);
  EXPECT_EQ(card_like(Arch{75}, 11 * kGigabyte).name, "rtx2080ti");
  EXPECT_EQ(card_like(Arch{130}, 24 * kGigabyte).name, "rtx4090");
}

TEST(Cards, OverheadIsMeasuredOnOneAndAssumedOnTheOthers) {
  const Overhead& measured = card_named("h200").overhead;
  EXPECT_EQ(measured.total(), measured.driver_reserved + measured.context + measured.libraries);
  EXPECT_EQ(measured.source.find("assumed"), std::string::npos);
  for (const Card& card : cards()) {
    if (card.name == "h200") continue;
    EXPECT_TRUE(card.overhead_assumed);
    EXPECT_EQ(card.overhead.total(), measured.total());
    EXPECT_EQ(card.overhead.source, "assumed: as " + measured.source);
  }
}

TEST(Cards, AssumingTwiceSaysSoOnce) {
  const Overhead once = assumed(card_named("h200").overhead, "NVIDIA H200");
  EXPECT_EQ(once.assumed_from, "NVIDIA H200");
  EXPECT_EQ(range_of(once).less, once.total() / 2);  // nobody tells
  EXPECT_EQ(range_of(once).more, once.total() / 2);
  const Overhead& measured = card_named("h200").overhead;
  EXPECT_EQ(range_of(measured).less, measured.range);
  EXPECT_EQ(range_of(measured).more, measured.range);
  EXPECT_EQ(assumed(once, "another").source, once.source);
  EXPECT_EQ(assumed(once, "another").assumed_from, once.assumed_from);
}

TEST(Cards, AreNamedHoweverTheyAreSpelt) {
  for (const char* name : {"RTX4090", "rtx 4090", "RTX_4090", "NVIDIA GeForce RTX 4090"}) {
    EXPECT_EQ(card_named(name).name, "rtx4090") << name;
  }
  EXPECT_EQ(card_named("H100 80GB").name, "h100-80gb");
  EXPECT_EQ(card_named("NVIDIA A100-SXM4-40GB").name, "a100-40gb");
  for (const Card& card : cards()) EXPECT_EQ(card_named(card.name).name, card.name);
}

TEST(Cards, AreNamedAsPeopleCallThem) {
  const std::vector<std::pair<const char*, const char*>> called = {
      {"4090", "rtx4090"},
      {"RTX 4090 24GB", "rtx4090"},
      {"4090 laptop", "rtx4090-laptop"},
      {"RTX 4090 Mobile", "rtx4090-laptop"},
      {"3090", "rtx3090"},
      {"h100", "h100-80gb"},
      {"H100 SXM", "h100-80gb"},
      {"H100 PCIe 80GB", "h100-80gb-pcie"},
      {"a100", "a100-80gb"},
      {"A100 40G", "a100-40gb"},
      {"Tesla T4", "t4"},
      {"T4 16GB", "t4"},
      {"A10 24GB", "a10"},
      {"L40S 48GB", "l40s"},
      {"V100 32GB", "v100-32gb"},
      {"RTX 3080", "rtx3080-10gb"},
      {"3080 12GB", "rtx3080-12gb"},
      {"4060 Ti", "rtx4060ti-8gb"},
      {"4060 Ti 16GB", "rtx4060ti-16gb"},
      {"rtx5060ti", "rtx5060ti-16gb"},
      {"5060 ti 8g", "rtx5060ti-8gb"},
      {"A6000", "rtx-a6000"},
      {"RTX PRO 6000", "rtx-pro-6000"},
      {"P40", "p40"},
      {"B200", "b200"},
      {"B300", "b300"},
      {"DGX Spark", "gb10"},
      {"Jetson AGX Orin", "jetson-agx-orin-64gb"},
      {"Jetson Thor", "jetson-agx-thor"},
      {"gh200", "gh200-96gb"},
      {"h200 141gb", "h200"},
      {"2070 8GB", "rtx2070"},
  };
  for (const auto& [name, card] : called) EXPECT_EQ(card_named(name).name, card) << name;
}

TEST(Cards, OfOneNameAndSeveralSizesAreAllNamed) {
  EXPECT_EQ(card_called("a100").others, std::vector<std::string>({"a100-40gb"}));
  EXPECT_EQ(card_called("4060ti").others, std::vector<std::string>({"rtx4060ti-16gb"}));
  EXPECT_TRUE(card_called("a100-40gb").others.empty());
  EXPECT_TRUE(card_called("4090").others.empty());
}

TEST(Cards, SeveralAtOnceAreAskedAboutByTheirNumber) {
  expect_bad_input([] { card_named("2x3090"); }, {"more than a card; --gpus 2 --gpu 3090"});
}

TEST(Cards, WhatIsCloseIsSuggested) {
  expect_bad_input([] { card_named("rtx4900"); },
                   {"gpu: unknown 'rtx4900'; did you mean 'rtx4090'"});
}

TEST(Cards, UnknownNameSaysWhereTheKnownAre) {
  expect_bad_input([] { card_named("voodoo2"); },
                   {"gpu: unknown 'voodoo2'", "fit --list", "rtx4090"});
  expect_bad_input([] { card_named("rtx5099"); }, {"gpu: unknown 'rtx5099'; did you mean"});
}

/// The catalogue with one value replaced, or taken away where `value` is discarded.
std::string changed(const char* pointer, const Json& value) {
  Json catalogue = Json::parse(data_text("gpus.json"));
  const Json::json_pointer at(pointer);
  if (value.is_discarded()) {
    catalogue[at.parent_pointer()].erase(at.back());
  } else {
    catalogue[at] = value;
  }
  return catalogue.dump();
}

TEST(Cards, ReadStrictly) {
  const Json absent(Json::value_t::discarded);
  const std::vector<std::tuple<const char*, Json, const char*>> cases = {
      {"/schema", 1, "schema"},
      {"/schema", absent, "schema"},
      {"/cards", Json::array(), "cards"},
      {"/cards", Json::object(), "cards"},
      {"/extra", 1, "extra"},
      {"/cards/0", 7, "card 1"},
      {"/cards/1/name", absent, "name"},
      {"/cards/1/name", "rtx4090", "twice"},
      {"/cards/1/nmae", "x", "nmae"},
      {"/cards/0/arch", "90", "sm_90"},
      {"/cards/0/arch", "sm_x0", "sm_90"},
      {"/cards/0/arch", "sm_1234567", "sm_90"},
      {"/cards/0/multiprocessors", absent, "multiprocessors"},
      {"/cards/0/multiprocessors/value", 0, "value"},
      {"/cards/0/multiprocessors/source", absent, "source"},
      {"/cards/0/bandwidth", 1008, "bandwidth"},
      {"/cards/0/bandwidth/source", "", "source"},
      {"/cards/0/flops", absent, "flops"},
      {"/cards/0/flops/fp32", absent, "fp32"},
      {"/cards/0/flops/bf61", 1e12, "bf61"},
      {"/cards/0/flops/bf16", "fast", "bf16"},
      {"/cards/0/flops/source", absent, "source"},
      {"/cards/0/traits/l2_bytes", 0, "l2_bytes"},
      {"/cards/0/traits/clock_khz", 1.5, "clock_khz"},
      {"/cards/0/traits/memory_bus_bits", -1, "memory_bus_bits"},
      {"/cards/0/traits/pci_device", 65'536, "pci_device"},
      {"/cards/0/traits/ecc", "on", "ecc"},
      {"/cards/0/traits/l1_bytes", 1, "l1_bytes"},
      {"/cards/0/traits/source", absent, "source"},
      {"/cards/0/stands_for_sizes", 1, "stands_for_sizes"},
      {"/cards/0/total_bytes", 25'757'220'864, "total_bytes"},
      {"/cards/0/total_bytes/value", -1, "value"},
      {"/cards/0/total_bytes/value", 1.5, "value"},
      {"/cards/0/total_bytes/source", absent, "source"},
      {"/cards/0/total_bytes/source", "", "source"},
      {"/cards/0/overhead", absent, "overhead"},
      {"/cards/0/overhead/assumed_from", "a100-40gb", "assumed_from"},
      {"/cards/0/overhead/assumed_from", "none", "assumed_from"},
      {"/cards/0/overhead/context", 3, "context"},
      {"/cards/4/overhead/context", absent, "context"},
      {"/cards/4/overhead/source", absent, "source"},
      {"/cards/4/overhead/cudnn/bytes", "10", "bytes"},
      {"/cards/4/overhead/cudnn/mib", 10, "mib"},
      {"/cards/4/overhead/runtimes", absent, "runtimes"},
      {"/cards/4/overhead/runtimes", 3, "runtimes"},
      {"/cards/4/overhead/runtimes/0", 3, "runtimes"},
      {"/cards/4/overhead/runtimes/0/runtime", absent, "runtime"},
      {"/cards/4/overhead/runtimes/0/runtime", "torch", "runtime"},
      {"/cards/4/overhead/runtimes/0/parts", absent, "parts"},
      {"/cards/4/overhead/runtimes/0/parts/cublass", 3, "cublass: no part of pytorch's; context"},
      {"/cards/4/overhead/runtimes/0/parts/context/bytes", -1, "bytes"},
  };
  EXPECT_EQ(parse_cards(changed("/schema", 3), "text").size(), cards().size());
  for (const auto& [pointer, value, part] : cases) {
    SCOPED_TRACE(pointer);
    const std::string text = changed(pointer, value);
    expect_bad_input([&] { parse_cards(text, "text"); }, {"text", part});
  }
  expect_bad_input([] { parse_cards("{", "text"); }, {"text"});
}

TEST(Overhead, IsKeyedByRuntimeAndRelease) {
  Overhead overhead;
  EXPECT_EQ(overhead.of("theirs"), nullptr);
  const std::vector<RuntimeOverhead> rows = {
      {"theirs", "1.0", {{"context", 1}}}, {"ours", "", {}}, {"theirs", "2.0", {{"context", 2}}}};
  overhead.runtimes = std::make_shared<const std::vector<RuntimeOverhead>>(rows);
  EXPECT_EQ((*overhead.of("theirs", "1.0"))["context"], 1U);
  EXPECT_EQ((*overhead.of("theirs", "1.5"))["context"], 2U) << "the last that was measured";
  EXPECT_EQ(overhead.of("others"), nullptr);
  expect_bad_input([&] { (*overhead.of("theirs"))["streams"]; }, {"theirs's streams"});
}

TEST(PoolCapacity, IsWhatIsLeftInWholeGranules) {
  const Overhead overhead{3 * kMiB, 2 * kMiB, kMiB, ""};
  EXPECT_EQ(pool_capacity(100 * kMiB, overhead), 94 * kMiB);
  EXPECT_EQ(pool_capacity(101 * kMiB, overhead), 94 * kMiB);
  EXPECT_EQ(pool_capacity(102 * kMiB - 1, overhead), 94 * kMiB);
  EXPECT_EQ(pool_capacity(102 * kMiB, overhead), 96 * kMiB);
  EXPECT_EQ(pool_capacity(102 * kMiB, overhead, kMiB), 94 * kMiB);
  EXPECT_EQ(Pool::kGranularity, 2 * kMiB);
}

TEST(PoolCapacity, IsNothingWhereOverheadAndHeadroomTakeAll) {
  const Overhead overhead{3 * kMiB, 2 * kMiB, kMiB, ""};
  EXPECT_EQ(pool_capacity(0, overhead), 0U);
  EXPECT_EQ(pool_capacity(6 * kMiB, overhead), 0U);
  EXPECT_EQ(pool_capacity(8 * kMiB - 1, overhead), 0U);
  EXPECT_EQ(pool_capacity(100 * kMiB, overhead, 94 * kMiB), 0U);
  EXPECT_EQ(pool_capacity(100 * kMiB, overhead, ~std::uint64_t{0}), 0U);
}

}  // namespace
}  // namespace vramfit
