#include "python/sweep_rows.h"

#include <nlohmann/json.hpp>

#include "estimator/ask/sweep.h"
#include "estimator/fit/program.h"
#include "model/errors.h"
#include "model/memory/category.h"

namespace vramfit::python {
namespace {

using Json = nlohmann::json;

Row row_of(const Sweep::Result& result) {
  const Estimate& estimate = result.estimate;
  const auto bytes = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
  std::vector<std::int64_t> figures = {bytes(estimate.total),
                                       estimate.margin,
                                       bytes(estimate.levels.allocated),
                                       bytes(estimate.levels.reserved),
                                       bytes(estimate.levels.device_used),
                                       bytes(estimate.overhead.total())};
  for (std::size_t i = 0; i < kCategories; ++i) {
    figures.push_back(bytes(estimate.peak.by_category[static_cast<Category>(i)]));
  }
  return {name(estimate.verdict), result.fits, std::move(figures), ""};
}

Row row_at(Sweep& sweep, const Json& flags, const Json& point) {
  if (point.is_string()) return {"", false, {}, point.get<std::string>()};
  try {
    Json all = flags;
    all.update(point);
    return row_of(sweep(all));
  } catch (const BadInput& error) {
    return {"", false, {}, error.what()};
  }
}

}  // namespace

const std::vector<std::string>& columns() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list = {"total",    "margin",      "allocated",
                                     "reserved", "device_used", "overhead"};
    list.insert(list.end(), kCategoryNames.begin(), kCategoryNames.end());
    return list;
  }();
  return names;
}

Json parsed(const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception&) {
    throw BadInput("flags: a value that is no number, text, list or truth value");
  }
}

std::vector<Row> rows(const std::string& flags, const std::string& points) {
  const Json shared = parsed(flags);
  const Environment machine = fit::this_machine();
  Sweep sweep(machine);
  std::vector<Row> list;
  for (const Json& point : parsed(points)) list.push_back(row_at(sweep, shared, point));
  return list;
}

}  // namespace vramfit::python
