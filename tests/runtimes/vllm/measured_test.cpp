// What vLLM 0.26 made of an H200, and what it refused (data/reference/vllm/memory.jsonl).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "estimator/ask/ask.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBlocksError = 0.003;
/// Of the steps that are told of, what the profile run's peak may be off by. Of weights in few bits
/// and of experts, whose kernels are others'.
constexpr double kPeakError = 0.05;

std::vector<Json> measured() {
  std::ifstream in(std::string(VRAMFIT_VLLM) + "/memory.jsonl");
  std::vector<Json> rows;
  for (std::string line; std::getline(in, line);) {
    Json row = Json::parse(line);
    if (row.contains("case")) rows.push_back(std::move(row));
  }
  return rows;
}

/// An argument of vllm.LLM as a flag.
void add(std::vector<std::string>& flags, std::string name, const Json& value) {
  std::replace(name.begin(), name.end(), '_', '-');
  if (value == true) return flags.push_back("--" + name);
  flags.push_back("--" + name);
  flags.push_back(value.is_string() ? value.get<std::string>() : value.dump());
}

/// Its `serving`.
Json told(const Json& row) {
  const Json& at = row.at("case");
  std::vector<std::string> flags = {
      "--runtime",       "vllm",
      "--gpu",           "h200",
      "--engine",        "offline",
      "--compile-cache", at.at("compile_cache") == "warm" ? "warm" : "cold"};
  for (const auto& [name, value] : at.at("engine").items()) add(flags, name, value);
  if (const std::uint64_t ballast = at.at("ballast"); ballast > 0) {
    flags.insert(flags.end(), {"--headroom", std::to_string(ballast)});
  }
  FitOptions options = parse_options(flags);
  Json config = at.at("arch");
  config.update(at.at("config"));
  options.config_json = config.dump();
  return Json::parse(ask(options, {}).json()).at("serving");
}

TEST(Vllm, ItsBlocksAreThoseOfAnH200) {
  int held = 0;
  for (const Json& row : measured()) {
    const Json& vllm = row.at("result").at("vllm");
    if (!vllm.contains("num_gpu_blocks")) continue;
    SCOPED_TRACE(row.at("case").at("name"));
    const Json serving = told(row);
    EXPECT_TRUE(serving.at("refusal").is_null());
    EXPECT_NEAR(serving.at("blocks").get<double>() / vllm.at("num_gpu_blocks").get<double>(), 1,
                kBlocksError);
    EXPECT_NEAR(serving.at("concurrency").get<double>() / vllm.at("max_concurrency").get<double>(),
                1, kBlocksError);
    const Json& profile = vllm.at("profile");
    EXPECT_NEAR(serving.at("activations").get<double>() /
                    profile.at("raw_torch_peak_increase").get<double>(),
                1, kPeakError);
    ++held;
  }
  EXPECT_EQ(held, 9);
}

TEST(Vllm, ItRefusesWhatAnH200Refused) {
  int held = 0;
  for (const Json& row : measured()) {
    if (!row.at("result").contains("error")) continue;
    SCOPED_TRACE(row.at("case").at("name"));
    const std::string was = row.at("result").at("error").at("text");
    const std::string said = told(row).at("refusal");
    EXPECT_EQ(said.substr(0, 60), was.substr(0, 60));
    ++held;
  }
  EXPECT_EQ(held, 3);
}

}  // namespace
}  // namespace vramfit
