#include <nlohmann/json.hpp>

#include "estimator/ask/verify.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

/// Rises when the object changes.
constexpr int kVerifySchema = 1;

Json moment_json(const Moment& moment) {
  return {{"stage", name(moment.stage)}, {"step", moment.step}};
}

Json side_json(const std::optional<std::uint64_t>& bytes, const std::string& what) {
  if (!bytes) return nullptr;
  return {{"bytes", *bytes}, {"what", what}};
}

Json parting_json(const std::optional<Parting>& parting) {
  if (!parting) return nullptr;
  return {{"at", moment_json(parting->moment)},
          {"recorded_before", parting->recorded},
          {"at_free", parting->frees},
          {"run", side_json(parting->run_bytes, parting->run_what)},
          {"predicted", side_json(parting->predicted_bytes, parting->predicted_what)}};
}

Json list_json(const std::vector<Alike>& list) {
  Json json = Json::array();
  for (const Alike& alike : list) {
    json.push_back({{"bytes", alike.bytes}, {"count", alike.count}, {"what", alike.what}});
  }
  return json;
}

/// Why they do not agree.
Json parts_in(const Verification& v) {
  Json json = Json::array();
  if (v.first) json.push_back("allocations");
  if (v.reserved_differs) json.push_back("reserved");
  if (v.ending != Ending::Alike) json.push_back("ending");
  return json;
}

Json levels_json(std::uint64_t run, std::uint64_t predicted) {
  return {{"run", run}, {"predicted", predicted}};
}

}  // namespace

std::string verification_json(const Verification& v, const Question& question) {
  const Request& request = question.requests.front();
  Json json = {{"verify_schema", kVerifySchema},
               {"agree", v.agree()},
               {"parts_in", parts_in(v)},
               {"model", request.model.name},
               {"asked", request.workload->asked()},
               {"allocations",
                {{"recorded", v.recorded}, {"predicted", v.predicted}, {"matched", v.matched}}},
               {"first_difference", parting_json(v.first)},
               {"only_run", list_json(v.extra)},
               {"only_predicted", list_json(v.missing)},
               {"requested", levels_json(v.run_peak, v.predicted_peak)},
               {"peak_predicted_at", moment_json(v.peak_moment)},
               {"at_peak", list_json(v.at_peak)},
               {"reserved", levels_json(v.run_reserved, v.predicted_reserved)},
               {"freed_elsewhere", v.freed_elsewhere},
               {"overflowed", v.overflowed},
               {"out_of_memory", v.out_of_memory},
               {"late", nullptr},
               {"ends", v.ends ? moment_json(*v.ends) : Json(nullptr)},
               {"notes", v.notes}};
  if (v.late) {
    json["late"] = {{"at", moment_json(v.late->moment)},
                    {"in_use", levels_json(v.late->run_bytes, v.late->predicted_bytes)}};
  }
  // Names from files may hold anything.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vramfit
