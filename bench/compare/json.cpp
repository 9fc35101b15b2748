#include <nlohmann/json.hpp>

#include "bench/compare/device_used.h"
#include "bench/compare/report.h"

namespace vramfit::bench::compare {
namespace {

using Json = nlohmann::ordered_json;

Json optional(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

const char* name(Kind kind) {
  static constexpr const char* kNames[] = {"ledger", "reserved", "device_used", "fact",
                                           "time",   "rounding", "stated"};
  return kNames[static_cast<std::size_t>(kind)];
}

Json run_json(const RunFile& run) {
  return {{"path", run.path.string()}, {"context", run.context}, {"rows", run.rows.size()}};
}

Json quartiles_json(const RunFile& run, const std::string& row, const std::string& counter) {
  const ReportRow* found = run.find(row);
  const Quartiles q = quartiles_of(found->counters.at(counter));
  return {q.lower, q.median, q.upper};
}

Json change_json(const Report& report, const std::string& row, const Change& change) {
  Json json = {{"kind", name(change.kind)},
               {"old", optional(change.before)},
               {"new", optional(change.after)},
               {"difference", change.before && change.after ? Json(*change.after - *change.before)
                                                            : Json(nullptr)},
               {"differs", change.differs},
               {"worse", change.worse}};
  if (change.kind == Kind::Time) {
    if (change.before) json["old_quartiles"] = quartiles_json(report.before, row, change.counter);
    if (change.after) json["new_quartiles"] = quartiles_json(report.after, row, change.counter);
  }
  return json;
}

Json moved_json(const Moved& moved) {
  Json tensors = Json::array();
  for (const MovedTensors& t : moved.tensors) {
    tensors.push_back({{"step", t.step},
                       {"stage", name(t.stage)},
                       {"category", name(t.category)},
                       {"tensor", t.tensor},
                       {"allocations", t.count},
                       {"bytes", t.bytes}});
  }
  return {{"event", moved.event},
          {"old", moved.before},
          {"new", moved.after},
          {"tensors", std::move(tensors)}};
}

Json row_json(const Report& report, const RowChange& row) {
  Json json = {{"row", row.row}, {"status", name(row.status)}, {"why", row.why}};
  json["counters"] = Json::object();
  for (const Change& change : row.changes) {
    json["counters"][change.counter] = change_json(report, row.row, change);
  }
  json["device_used"] = device_used_text(row);
  const auto moved = report.moved.find(row.row);
  if (moved != report.moved.end()) json["moved"] = moved_json(moved->second);
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string json_text(const Report& report) {
  Json json = {{"schema", 1},
               {"verdict", report.passes ? "same or better" : "worse"},
               {"old", run_json(report.before)},
               {"new", run_json(report.after)},
               {"tolerances",
                {{"reserved_bytes", report.rules.tolerances.reserved},
                 {"device_used_bytes", report.rules.tolerances.device_used},
                 {"source", report.rules.tolerances.source}}}};
  json["facts"] = Json::object();
  for (const FactChange& fact : report.facts) json["facts"][fact.fact] = {fact.before, fact.after};
  json["shares"] = Json::object();
  for (const Share& share : report.shares) json["shares"][share.part] = {share.before, share.after};
  json["rows"] = Json::array();
  for (const RowChange& row : report.comparison.rows) json["rows"].push_back(row_json(report, row));
  return text_of(json);
}

}  // namespace vramfit::bench::compare
