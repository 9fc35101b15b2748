#include "model/quantity.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

TEST(ParseBytes, KnowsBothKindsOfUnit) {
  const std::vector<std::pair<const char*, std::uint64_t>> cases = {
      {"0", 0},
      {"24000000000", 24'000'000'000},
      {"24GB", 24'000'000'000},
      {"24gb", 24'000'000'000},
      {"24 GB", 24'000'000'000},
      {"24GiB", 25'769'803'776},
      {"81559MiB", 85'520'809'984},
      {"1.5GB", 1'500'000'000},
      {"0.5KiB", 512},
      {"12.345678TB", 12'345'678'000'000},
      {"7kB", 7'000},
      {"7B", 7},
      {"3MB", 3'000'000},
      {"2TiB", 2'199'023'255'552},
      {"1152921504606846976", std::uint64_t{1} << 60},
      {"1048576TiB", std::uint64_t{1} << 60},
  };
  for (const auto& [text, bytes] : cases) EXPECT_EQ(parse_bytes("vram", text), bytes) << text;
}

TEST(ParseBytes, RefusesEverythingElse) {
  for (const char* text : {"",
                           " ",
                           "GB",
                           "24G",
                           "24Gb/s",
                           "-1",
                           "-24GB",
                           "+24GB",
                           "1e9",
                           "0x10",
                           "24GB ",
                           "24  GB",
                           "24,5GB",
                           ".5GB",
                           "24.GB",
                           "1.5",
                           "1.5B",
                           "1.2345678GB",
                           "1152921504606846977",
                           "1048576.000001TiB",
                           "1048577TiB",
                           "18446744073709551616",
                           "99999999999999999999999GB",
                           "inf",
                           "nan",
                           "24GB\n",
                           "twenty-four"}) {
    expect_bad_input([&] { parse_bytes("vram", text); }, {"vram: is '", ";"});
  }
}

TEST(ParseBytes, ShowsLittleOfALongText) {
  const std::string text(100'000, '9');
  expect_bad_input([&] { parse_bytes("vram", text); }, {"99…'"});
  expect_bad_input([] { parse_bytes("vram", "1\x1b[2J"); }, {"'1?[2J'"});
}

TEST(ParseCount, KnowsThousandsToTrillions) {
  const std::vector<std::pair<const char*, double>> cases = {
      {"7B", 7e9},      {"7b", 7e9},
      {"350M", 350e6},  {"6.738415616B", 6'738'415'616.0},
      {"1.5T", 1.5e12}, {"6738415616", 6'738'415'616.0},
      {"2 k", 2000}};
  for (const auto& [text, count] : cases) EXPECT_DOUBLE_EQ(parse_count("params", text), count);
}

TEST(ParseCount, RefusesEverythingElse) {
  for (const char* text : {"", "B", "0", "0.0B", "-7B", "7GB", "7BB", "seven", "1e9", "nan", "0.4",
                           "1234567890123456789", "0.0000000000000000001B"}) {
    expect_bad_input([&] { parse_count("params", text); }, {"params: is '", "7B"});
  }
}

TEST(ParseWhole, TakesWholeNumbersOnly) {
  EXPECT_EQ(parse_whole("batch", "0"), 0);
  EXPECT_EQ(parse_whole("batch", "-3"), -3);
  EXPECT_EQ(parse_whole("batch", "9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"", "4.0", "4 ", " 4", "4x", "0x4", "1e3", "+4", "four",
                           "9223372036854775808", "99999999999999999999"}) {
    expect_bad_input([&] { parse_whole("batch", text); }, {"batch: is '", "a whole number"});
  }
}

}  // namespace
}  // namespace vramfit
