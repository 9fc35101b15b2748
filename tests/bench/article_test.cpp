#include "bench/rows/article.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "bench/data/data_folder.h"
#include "bench/rows/sweep.h"

namespace vramfit::bench {
namespace {

TEST(Article, FiguresAreWholeBytes) {
  const auto& inference = article_figures("Inference/llama2-7b/fp16/batch:8/seq:2048");
  EXPECT_EQ(inference.at("article_allocated"), 22.2e9);
  EXPECT_EQ(inference.at("article_parameters"), 14e9);
  const auto& cache = article_figures("KvCache/llama2-7b/fp16/batch:8/seq:2048");
  EXPECT_EQ(cache.at("article_kv_cache"), 8.2e9);
  EXPECT_EQ(cache.at("article_kv_bytes_per_token"), 524288);
}

TEST(Article, TheWaterfallsHighestStageStandsForThePeak) {
  const auto& training = article_figures("Training/llama2-7b/fp16/adamw/batch:4/seq:512");
  EXPECT_EQ(training.at("article_step1_forward_after"), 22.4e9);
  EXPECT_EQ(training.at("article_step1_zero_grad_after"), 70e9);
  EXPECT_EQ(training.at("article_allocated"), 84e9);
}

TEST(Article, MostRowsAreNotInIt) {
  EXPECT_TRUE(article_figures("Training/llama2-7b/bf16/adamw/batch:4/seq:512").empty());
}

// A row that is spelled differently there would silently have no article beside it.
TEST(Article, NamesOnlyRowsOfTheSweep) {
  std::set<std::string> names;
  for (const Row& row : expand(default_sweep())) names.insert(row.name());
  int checked = 0;
  const std::function<void(const nlohmann::json&)> check = [&](const nlohmann::json& value) {
    if (value.is_object() && value.contains("row") && value.at("row").is_string()) {
      EXPECT_EQ(names.count(value.at("row")), 1U) << value.at("row");
      ++checked;
    }
    for (const auto& item : value.items()) {
      // What is near may be a run of PyTorch alone: the report's tests know those.
      if (item.value().is_structured() && item.key() != "near") check(item.value());
    }
  };
  for (const auto& file : std::filesystem::directory_iterator(data_folder("article"))) {
    check(nlohmann::json::parse(read_text(file.path())));
  }
  EXPECT_GE(checked, 30);
}

}  // namespace
}  // namespace vramfit::bench
