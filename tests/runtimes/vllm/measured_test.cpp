// What vLLM 0.26 made of an H200, and what it refused (data/reference/vllm/memory.jsonl).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "estimator/ask/ask.h"
#include "estimator/fit/model_files.h"
#include "model/errors.h"
#include "tests/support/scratch_folder.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBlocksError = 0.0003;
/// Of starts of many models, which vramfit run tells of: the last of them are steps that nothing
/// compiles, of which a tensor or two are not told.
constexpr double kStandinError = 0.001;
/// Of the steps that are told of, what the profile run's peak may be off by. Of weights in few bits
/// and of experts, whose kernels are others'.
constexpr double kPeakError = 0.05;
/// Of published shapes; what is compiled is the furthest off.
constexpr double kPublishedError = 0.0015;
/// Of random starts; nine in ten of them are closer than kStandinError.
constexpr double kRandomError = 0.003;
/// Of a refusal's figures, which are rounded to a hundredth of a GiB.
constexpr double kFigureError = 0.01;
constexpr double kRounding = 0.011;

std::vector<Json> lines_of(const char* file) {
  std::ifstream in(std::string(VRAMFIT_VLLM) + "/" + file);
  std::vector<Json> rows;
  for (std::string line; std::getline(in, line);) rows.push_back(Json::parse(line));
  return rows;
}

std::vector<Json> measured() {
  std::vector<Json> rows = lines_of("memory.jsonl");
  rows.erase(rows.begin());  // of all of them
  return rows;
}

/// An argument of vllm.LLM as a flag.
void add(std::vector<std::string>& flags, std::string name, const Json& value) {
  std::replace(name.begin(), name.end(), '_', '-');
  if (value == true) return flags.push_back("--" + name);
  flags.push_back("--" + name);
  flags.push_back(value.is_string() ? value.get<std::string>() : value.dump());
}

std::optional<double> figure(std::string word) {
  while (!word.empty() && std::strchr("(),.", word.back()) != nullptr) word.pop_back();
  word.erase(0, word.find_first_not_of('('));
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  return word.empty() || *end != '\0' ? std::nullopt : std::optional(value);
}

/// What is said, word for word, but for a hundredth of its figures. vLLM may say more behind it.
void expect_same(const std::string& said, const std::string& was) {
  std::istringstream ours(said);
  std::istringstream theirs(was);
  for (std::string a, b; ours >> a;) {
    ASSERT_TRUE(theirs >> b) << was;
    const auto one = figure(a);
    const auto other = figure(b);
    if (one && other) {
      EXPECT_NEAR(*one, *other, std::max(kFigureError * *other, kRounding)) << said;
    } else {
      EXPECT_EQ(a, b) << said;
    }
  }
}

/// Its `serving`.
Json foretold(const std::string& gpu, bool warm, const Json& engine, const Json& config,
              std::uint64_t ballast = 0) {
  std::vector<std::string> flags = {
      "--runtime", "vllm",    "--gpu",           gpu,
      "--engine",  "offline", "--compile-cache", warm ? "warm" : "cold"};
  for (const auto& [name, value] : engine.items()) add(flags, name, value);
  if (ballast > 0) flags.insert(flags.end(), {"--headroom", std::to_string(ballast)});
  FitOptions options = parse_options(flags);
  options.config_json = config.dump();
  Environment disk;
  disk.model = fit::model_on_disk;
  return Json::parse(ask(options, disk).json()).at("serving");
}

Json foretold(const Json& row) {
  const Json& at = row.at("case");
  Json config = at.at("arch");
  config.update(at.at("config"));
  return foretold("h200", at.at("compile_cache") == "warm", at.at("engine"), config,
                  at.at("ballast"));
}

TEST(Vllm, ItsBlocksAreThoseOfAnH200) {
  int held = 0;
  for (const Json& row : measured()) {
    const Json& vllm = row.at("result").at("vllm");
    if (!vllm.contains("num_gpu_blocks")) continue;
    SCOPED_TRACE(row.at("case").at("name"));
    const Json serving = foretold(row);
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

/// Its arguments, which name what drafts by its folder.
Json with_draft(Json engine, const Json& row, const std::filesystem::path& folder) {
  if (!row.contains("draft")) return engine;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << row.at("draft").dump();
  engine["speculative_config"]["model"] = folder.string();
  return engine;
}

TEST(Vllm, ItsBlocksAreThoseOfRunsOnTheStandin) {
  const ScratchFolder scratch;
  int held = 0;
  int refused = 0;
  for (const Json& row : lines_of("standin.jsonl")) {
    SCOPED_TRACE(row.at("name").get<std::string>() + row.at("engine").dump());
    const Json engine = with_draft(row.at("engine"), row, scratch / std::to_string(held));
    const Json serving = foretold(row.at("gpu"), row.at("warm"), engine, row.at("config"));
    if (row.contains("refusal")) {
      const std::string was = row.at("refusal");
      expect_same(serving.at("refusal"), was);
      ++refused;
      continue;
    }
    EXPECT_NEAR(serving.at("blocks").get<double>() / row.at("blocks").get<double>(), 1,
                kStandinError);
    EXPECT_EQ(serving.at("outside_torch"), row.at("counted").at("outside_torch"));
    EXPECT_EQ(serving.at("graphs"), row.at("counted").at("graphs"));
    ++held;
  }
  EXPECT_EQ(held, 71);
  EXPECT_EQ(refused, 3);
}

/// Shapes of published models, other sizes of families among them, cut to a few layers.
TEST(Vllm, BlocksOfPublishedShapesAreThoseOfRunsOnTheStandin) {
  const ScratchFolder scratch;
  int held = 0;
  for (const Json& row : lines_of("published.jsonl")) {
    SCOPED_TRACE(row.at("name").get<std::string>() + row.at("engine").dump());
    const Json engine = with_draft(row.at("engine"), row, scratch / std::to_string(held));
    const Json serving = foretold(row.at("gpu"), false, engine, row.at("config"));
    EXPECT_NEAR(serving.at("blocks").get<double>() / row.at("blocks").get<double>(), 1,
                kPublishedError);
    EXPECT_NEAR(serving.at("concurrency").get<double>() / row.at("concurrency").get<double>(), 1,
                kPublishedError);
    ++held;
  }
  EXPECT_GE(held, 77);
}

/// What llm-d's log of an H100 says of Mistral-Small-3.2-24B, with what sees (data/league).
TEST(Vllm, WeightsWithWhatSeesAreThoseThatWerePublished) {
  const Json config = Json::parse(R"({
    "architectures": ["Mistral3ForConditionalGeneration"], "model_type": "mistral3",
    "spatial_merge_size": 2, "torch_dtype": "bfloat16",
    "text_config": {"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 32768,
                    "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8,
                    "head_dim": 128, "vocab_size": 131072, "max_position_embeddings": 131072,
                    "sliding_window": null, "tie_word_embeddings": false},
    "vision_config": {"model_type": "pixtral", "hidden_size": 1024, "intermediate_size": 4096,
                      "num_hidden_layers": 24, "num_attention_heads": 16, "num_channels": 3,
                      "patch_size": 14, "image_size": 1540}})");
  const Json serving = foretold("h100-80gb", false, {{"max_model_len", 16000}}, config);
  constexpr double kGiB = 1 << 30;
  constexpr double kTold = 0.005;  // of two places
  EXPECT_NEAR(serving.at("weights").get<double>() / kGiB, 44.76, kTold);
}

/// Of the next release, op by op: nobody measured it on a GPU.
TEST(Vllm, BlocksOfTheNextReleaseAreThoseOfRunsOnTheStandin) {
  int held = 0;
  for (const Json& row : lines_of("release_0.33.jsonl")) {
    SCOPED_TRACE(row.at("name").get<std::string>() + row.at("engine").dump());
    Json engine = row.at("engine");
    engine["release"] = "0.33";
    const Json serving = foretold(row.at("gpu"), false, engine, row.at("config"));
    EXPECT_NEAR(serving.at("blocks").get<double>() / row.at("blocks").get<double>(), 1,
                kStandinError);
    ++held;
  }
  EXPECT_GE(held, 7);
}

/// vLLM's own refusals for want of memory; to others it does not come to that.
bool is_of_memory(const std::string& refusal) {
  for (const char* words :
       {"No available memory", "To serve at least one", "Cannot auto-fit", "CUDA out of memory"}) {
    if (refusal.find(words) != std::string::npos) return true;
  }
  return false;
}

/// scripts/vllm_questions, of a seed: a start of vLLM's each.
TEST(Vllm, RandomStartsAreToldAsTheyEnd) {
  int held = 0;
  int refused = 0;
  int close = 0;
  const ScratchFolder scratch;
  int unanswered = 0;
  for (const Json& row : lines_of("random.jsonl")) {
    const std::string question = row.at("question");
    SCOPED_TRACE(question + " " + row.at("name").get<std::string>() + row.at("engine").dump());
    Json serving;
    std::string why;
    try {
      const Json engine = with_draft(row.at("engine"), row, scratch / question);
      serving = foretold(row.at("gpu"), false, engine, row.at("config"));
      if (!serving.at("refusal").is_null()) why = serving.at("refusal");
    } catch (const BadInput& error) {
      why = error.what();
    }
    if (why.find("is not predicted") != std::string::npos) {
      ++unanswered;
      continue;
    }
    if (row.contains("refusal")) {
      EXPECT_NE(why, "") << row.at("refusal");
      if (is_of_memory(row.at("refusal"))) {
        EXPECT_TRUE(is_of_memory(why)) << why;
      }
      ++refused;
      continue;
    }
    EXPECT_EQ(why, "");
    if (!why.empty()) continue;
    const double off = serving.at("blocks").get<double>() / row.at("blocks").get<double>() - 1;
    EXPECT_NEAR(off, 0, kRandomError);
    EXPECT_NEAR(serving.at("concurrency").get<double>() / row.at("concurrency").get<double>(), 1,
                kRandomError);
    close += std::abs(off) <= kStandinError ? 1 : 0;
    ++held;
  }
  EXPECT_GE(held, 297);
  EXPECT_GE(refused, 90);
  EXPECT_EQ(unanswered, 0);
  EXPECT_GE(close, held * 9 / 10);
}

TEST(Vllm, ItRefusesWhatAnH200Refused) {
  int held = 0;
  for (const Json& row : measured()) {
    if (!row.at("result").contains("error")) continue;
    SCOPED_TRACE(row.at("case").at("name"));
    const std::string was = row.at("result").at("error").at("text");
    expect_same(foretold(row).at("refusal"), was);
    ++held;
  }
  EXPECT_EQ(held, 3);
}

}  // namespace
}  // namespace vramfit
