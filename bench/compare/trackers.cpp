#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/compare/report.h"

namespace vramfit::bench::compare {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// "pred_device_used" as a slug of bencher.dev's.
std::string slug(std::string counter) {
  std::replace(counter.begin(), counter.end(), '_', '-');
  return counter;
}

/// The counters that are tracked over time: of a measured row its three levels, of another the
/// predicted ones; largest batches and rates.
bool is_tracked(const std::string& counter, const ReportRow& row) {
  const Counter meaning = counter_called(counter);
  if (meaning.kind == Kind::Time) return counter.ends_with("tokens_per_second");
  const std::string prefix = row.measured ? "mem_" : "pred_";
  for (const char* level : {"allocated", "reserved", "device_used", "max_batch", "max_seq"}) {
    if (counter == prefix + level) return true;
  }
  return counter == "median";
}

std::string text_of(const OrderedJson& json) {
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace

std::string bmf_text(const RunFile& run) {
  OrderedJson json = OrderedJson::object();
  for (const ReportRow& row : run.rows) {
    OrderedJson measures = OrderedJson::object();
    for (const auto& [counter, values] : row.counters) {
      if (!is_tracked(counter, row)) continue;
      const Quartiles q = quartiles_of(values);
      OrderedJson measure = {{"value", *value_of(row, counter)}};
      if (values.size() > 1) {
        measure["lower_value"] = q.lower;
        measure["upper_value"] = q.upper;
      }
      measures[slug(counter)] = std::move(measure);
    }
    if (!measures.empty()) json[row.name] = std::move(measures);
  }
  return text_of(json);
}

std::string smaller_is_better_text(const RunFile& run) {
  OrderedJson json = OrderedJson::array();
  for (const ReportRow& row : run.rows) {
    for (const auto& [counter, values] : row.counters) {
      if (!is_tracked(counter, row) || !is_bytes(counter_called(counter).kind)) continue;
      json.push_back({{"name", row.name + " " + counter},
                      {"unit", "bytes"},
                      {"value", *value_of(row, counter)},
                      {"extra", "commit " + run.fact("commit") + ", " + run.fact("device")}});
    }
  }
  return text_of(json);
}

}  // namespace vramfit::bench::compare
