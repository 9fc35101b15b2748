#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/model/published_models.h"
#include "tests/model/transformer/runs.h"
#include "tests/support/scratch_folder.h"

namespace vramfit {
namespace {

struct Row {
  std::string model;
  TrainingOptions options;
};

/// An axis's values, or the usual one where the sweep does not say.
nlohmann::json values_of(const nlohmann::json& family, const char* axis, const char* usual) {
  return family.contains(axis) ? family[axis] : nlohmann::json::array({usual});
}

/// One rank, beside PEFT's usual targets or every linear; none where the family says nothing.
std::optional<LoraOptions> adapters_of(const nlohmann::json& family, const ModelConfig& config) {
  if (!family.contains("lora")) return std::nullopt;
  LoraOptions lora;
  lora.rank = family["lora"].at(0);
  lora.targets =
      family.contains("lora-targets") ? lora_targets(config) : usual_lora_targets(config);
  return lora;
}

/// The rows of data/sweep.json that train at a batch it gives.
std::vector<Row> training_rows() {
  const auto sweep = nlohmann::json::parse(text_of(models_folder().parent_path() / "sweep.json"));
  std::vector<Row> rows;
  for (const auto& family : sweep["families"]) {
    if (family["family"] != "Training") continue;
    for (const std::string model : family["model"]) {
      for (const std::string precision : family["precision"]) {
        for (const std::string optimizer : family["optimizer"]) {
          for (const std::int64_t batch : family["batch"]) {
            for (const std::int64_t seq : family["seq"]) {
              for (const std::string attention : values_of(family, "attention", "flash")) {
                for (const std::string checkpoint : values_of(family, "checkpoint", "none")) {
                  TrainingOptions options;
                  options.precision = parse_model_precision(precision);
                  options.optimizer = optimizer_named(optimizer);
                  options.attention = parse_attention(attention);
                  options.batch = batch;
                  options.seq = seq;
                  options.checkpointing.kind = parse_checkpoint(checkpoint);
                  options.lora = adapters_of(family, published(model));
                  rows.push_back({model, options});
                }
              }
            }
          }
        }
      }
    }
  }
  return rows;
}

TEST(Fragmentation, StaysWithinTheDesignsBounds) {
  constexpr std::uint64_t kMiB = 1 << 20;
  std::vector<double> ratios;
  for (const Row& row : training_rows()) {
    const RunReport report = trained(published(row.model), row.options, 3);
    const auto peak = static_cast<double>(report.peak.allocated);
    const auto reserved = static_cast<double>(report.reserved);
    EXPECT_GE(reserved, peak);
    EXPECT_LE(reserved, 1.03 * peak + 4 * kMiB)
        << row.model << " " << row.options.optimizer.name << " " << row.options.precision.name
        << " batch " << row.options.batch << " seq " << row.options.seq;
    ratios.push_back(reserved / peak);
  }
  ASSERT_GT(ratios.size(), 150U);
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  EXPECT_LE(*middle, 1.02);
}

}  // namespace
}  // namespace vramfit
