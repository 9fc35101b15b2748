#include "bench/rows/article.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "estimator/data.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

using Json = nlohmann::json;
using Figures = std::map<std::string, std::map<std::string, double>>;

/// Whole bytes: 8.2 · 1e9 is none in binary.
double from_gb(const Json& value) { return std::round(value.get<double>() * 1e9); }

Json read(const std::string& file) { return Json::parse(data_text("article/" + file)); }

bool names_row(const Json& cell) { return cell.contains("row") && cell.at("row").is_string(); }

void add_inference(Figures& figures, const Json& table) {
  for (const Json& row : table.at("rows")) {
    for (const Json& point : row.at("points")) {
      if (!names_row(point)) continue;
      auto& counters = figures[point.at("row")];
      counters["article_allocated"] = from_gb(point.at("peak"));
      counters["article_parameters"] = from_gb(row.at("model"));
    }
  }
}

/// The article gives no peak for its waterfall; the highest stage stands in for it.
void add_waterfall(Figures& figures, const Json& table) {
  for (const Json& stage : table.at("rows")) {
    if (!names_row(stage)) continue;
    auto& counters = figures[stage.at("row")];
    const double bytes = from_gb(stage.at("memory"));
    counters["article_step1_" + stage.at("stage").get<std::string>() + "_after"] = bytes;
    counters["article_allocated"] = std::max(counters["article_allocated"], bytes);
  }
}

/// Those single claims that are about one of a row's counters.
void add_claims(Figures& figures, const Json& file) {
  static const std::map<std::string, std::string> counter_of = {
      {"kv_bytes_per_token", "article_kv_bytes_per_token"},
      {"kv_cache_total", "article_kv_cache"},
      {"master_weights_optimizer", "article_optimizer_state"},
  };
  for (const Json& claim : file.at("claims")) {
    const auto counter = counter_of.find(claim.at("id").get<std::string>());
    if (counter == counter_of.end() || !names_row(claim)) continue;
    const Json& value = claim.at("value");
    figures[claim.at("row")][counter->second] =
        claim.at("unit") == "GB" ? from_gb(value) : value.get<double>();
  }
}

Figures read_all() {
  Figures figures;
  try {
    add_inference(figures, read("table1_inference.json"));
    add_waterfall(figures, read("table2_training_waterfall.json"));
    add_claims(figures, read("claims.json"));
  } catch (const Json::exception& error) {
    throw BadInput("data/article: not as data/README.md describes it: " +
                   std::string(error.what()));
  }
  return figures;
}

}  // namespace

const std::map<std::string, double>& article_figures(const std::string& row) {
  static const Figures figures = read_all();
  static const std::map<std::string, double> none;
  const auto it = figures.find(row);
  return it == figures.end() ? none : it->second;
}

}  // namespace vramfit::bench
