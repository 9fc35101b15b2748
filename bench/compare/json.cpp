#include <nlohmann/json.hpp>

#include "bench/compare/causes.h"
#include "bench/compare/change_text.h"
#include "bench/compare/report.h"

namespace vramfit::bench::compare {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson optional(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

const char* name(Kind kind) {
  static constexpr const char* kNames[] = {"ledger", "reserved", "device_used", "fact",
                                           "time",   "rounding", "stated"};
  return kNames[static_cast<std::size_t>(kind)];
}

OrderedJson run_json(const RunFile& run) {
  return {{"path", run.path.string()}, {"context", run.context}, {"rows", run.rows.size()}};
}

OrderedJson quartiles_json(const RunFile& run, const std::string& row, const std::string& counter) {
  const ReportRow* found = run.find(row);
  const Quartiles q = quartiles_of(found->counters.at(counter));
  return {q.lower, q.median, q.upper};
}

OrderedJson change_json(const Report& report, const std::string& row, const Change& change) {
  OrderedJson json = {
      {"kind", name(change.kind)},
      {"old", optional(change.before)},
      {"new", optional(change.after)},
      {"difference", change.before && change.after ? OrderedJson(*change.after - *change.before)
                                                   : OrderedJson(nullptr)},
      {"differs", change.differs},
      {"worse", change.worse}};
  if (change.kind == Kind::Time) {
    if (change.before) json["old_quartiles"] = quartiles_json(report.before, row, change.counter);
    if (change.after) json["new_quartiles"] = quartiles_json(report.after, row, change.counter);
  }
  return json;
}

OrderedJson moved_json(const Moved& moved) {
  OrderedJson tensors = OrderedJson::array();
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
          {"tensors", std::move(tensors)},
          {"more_steps", moved.more_steps}};
}

OrderedJson row_json(const Report& report, const RowChange& row) {
  OrderedJson json = {{"row", row.row}, {"status", name(row.status)}, {"why", row.why}};
  json["counters"] = OrderedJson::object();
  for (const Change& change : row.changes) {
    json["counters"][change.counter] = change_json(report, row.row, change);
  }
  json["device_used"] = device_used_text(row);
  const auto moved = report.moved.find(row.row);
  if (moved != report.moved.end()) json["moved"] = moved_json(moved->second);
  return json;
}

OrderedJson cause_json(const Cause& cause) {
  return {{"what", cause.what},
          {"kind", name(cause.kind)},
          {"worse", cause.worse},
          {"least", cause.sized ? OrderedJson(cause.least) : OrderedJson(nullptr)},
          {"most", cause.sized ? OrderedJson(cause.most) : OrderedJson(nullptr)},
          {"rows", cause.rows}};
}

std::string text_of(const OrderedJson& json) {
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace

std::string json_text(const Report& report) {
  OrderedJson json = {{"schema", 1},
                      {"verdict", report.passes ? "same or better" : "worse"},
                      {"old", run_json(report.before)},
                      {"new", run_json(report.after)},
                      {"tolerances",
                       {{"reserved_bytes", report.rules.tolerances.reserved},
                        {"device_used_bytes", report.rules.tolerances.device_used},
                        {"source", report.rules.tolerances.source},
                        {"allowed_bytes", report.rules.allowance.bytes},
                        {"allowed_part", report.rules.allowance.part}}}};
  json["facts"] = OrderedJson::object();
  for (const FactChange& fact : report.facts) json["facts"][fact.fact] = {fact.before, fact.after};
  json["shares"] = OrderedJson::object();
  for (const Share& share : report.shares) json["shares"][share.part] = {share.before, share.after};
  json["causes"] = OrderedJson::array();
  for (const Cause& cause : causes(report.comparison, report.rules, report.moved)) {
    json["causes"].push_back(cause_json(cause));
  }
  json["rows"] = OrderedJson::array();
  for (const RowChange& row : report.comparison.rows) json["rows"].push_back(row_json(report, row));
  return text_of(json);
}

}  // namespace vramfit::bench::compare
