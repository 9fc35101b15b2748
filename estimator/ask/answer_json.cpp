#include "estimator/ask/answer_json.h"

#include <nlohmann/json.hpp>

#include "estimator/estimate_json.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

/// Of an axis of names: which is the largest, and what the next would lack.
void add_largest_name(Json& json, const std::string& key, const SearchAxis& axis,
                      const Answer& answer) {
  const auto name = [&](std::int64_t size) {
    return size > 0 ? Json(answer.request.workload->name_of(axis, size)) : Json(nullptr);
  };
  json[key] = name(answer.largest->size);
  json[key + "_surely"] = name(answer.band.surely);
  json[key + "_possibly"] = name(answer.band.possibly);
  json["next"] = nullptr;
  if (!answer.next) return;
  json["next"] = {{"name", name(answer.largest->next)},
                  {"total", answer.next->total},
                  {"margin", answer.next->margin}};
}

void add_largest(Json& json, const std::string& key, const Answer& answer) {
  const Largest& largest = *answer.largest;
  json[key] = json["largest"] = largest.size;
  json["largest_surely"] = answer.band.surely;
  json["largest_possibly"] = answer.band.possibly;
  json["search_step"] = largest.step;
  json["search_next"] = largest.next > 0 ? Json(largest.next) : Json(nullptr);
  json["search_from"] = largest.from ? Json(*largest.from) : Json(nullptr);
  json["largest_without_holes"] = largest.holes ? Json(largest.without_holes()) : Json(nullptr);
  json["holes"] = largest.holes ? Json(*largest.holes) : Json(nullptr);
}

void add_formulas(Json& json, const Answer& answer) {
  Json list = Json::array();
  for (const FormulaAnswer& formula : answer.formulas) {
    list.push_back({{"name", formula.name},
                    {"form", formula.form},
                    {"source", formula.source},
                    {"total", formula.total ? Json(*formula.total) : Json(nullptr)},
                    {"fits", formula.total ? Json(formula.fits) : Json(nullptr)}});
  }
  json["formulas"] = std::move(list);
}

void add_own_choice(Json& json, const OwnChoice& choice) {
  json["own_choice"] = Json::object();
  for (const auto& [flag, value] : choice.flags) json["own_choice"][json_key(flag)] = value;
  if (!choice.failure.empty()) json["own_choice_failure"] = choice.failure;
}

void add_changes(Json& json, const Answer& answer) {
  json["verdict_changes_with"] = Json::array();
  for (const Change& change : answer.changes) {
    json["verdict_changes_with"].push_back(
        {{"choice", change.choice}, {"verdict", name(change.verdict)}});
  }
}

Json change_json(const SettingChange& change, const std::optional<double>& slowdown) {
  return {{"kind", change.kind},
          {"from", change.from},
          {"to", change.to},
          {"slowdown", slowdown ? Json(*slowdown) : Json(nullptr)}};
}

Json advice_json(const Advice& advice) {
  Json json = {{"changes", Json::array()},
               {"verdict", name(advice.estimate.verdict)},
               {"total", advice.estimate.total},
               {"margin", advice.estimate.margin},
               {"slowdown", nullptr},
               {"steps", Json::array()},
               {"flags", flags_text(advice)},
               {"without", without(advice)},
               {"script", Json::object()}};
  if (const auto slowdown = advice.slowdown()) json["slowdown"] = *slowdown;
  const std::vector<SettingChange> changes = advice.changes();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    json["steps"].push_back(change_json(changes[i], advice.slowdowns[i]));
  }
  for (const Choice& choice : advice.choices) {
    json["changes"].push_back(choice.label);
    if (!choice.launch.empty()) json["launch"] = choice.launch;
    for (const auto& [call, argument] : choice.script) json["script"][call].push_back(argument);
  }
  return json;
}

void add_advice(Json& json, const Advised& advised) {
  json["advice"] = Json::array();
  for (const Advice& advice : advised.list) json["advice"].push_back(advice_json(advice));
  json["on_several_gpus"] = Json::array();
  for (const Advice& advice : advised.on_several_gpus) {
    json["on_several_gpus"].push_back(advice_json(advice));
  }
  json["fits_on"] = advised.cards;
}

}  // namespace

std::string json_text(const Question& question, const std::vector<Answer>& answers) {
  std::vector<Request> requests;
  std::vector<Estimate> estimates;
  for (const Answer& answer : answers) {
    requests.push_back(answer.request);
    estimates.push_back(answer.estimate);
  }
  Json json = question.every_card ? estimates_json(requests, estimates)
                                  : estimate_json(requests.front(), estimates.front());
  json["asked"]["assumed"] = question.assumed;
  json["asked"]["runs_with"] = question.runs_with;
  // What is searched for was not asked for, but is the answer, which may be another on each card.
  const std::string searched = question.search == nullptr ? "" : json_key(question.search->name);
  if (question.search != nullptr) json["asked"][searched] = nullptr;
  if (!question.every_card) add_changes(json, answers.front());
  if (question.advise) add_advice(json, *answers.front().advised);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Json& card = question.every_card ? json["cards"][i] : json;
    if (question.search != nullptr && question.search->of_names) {
      add_largest_name(card, "max_" + searched, *question.search, answers[i]);
    } else if (question.search != nullptr) {
      add_largest(card, "max_" + searched, answers[i]);
    }
    if (question.formulas) add_formulas(card, answers[i]);
    if (answers[i].own_choice) add_own_choice(card, *answers[i].own_choice);
  }
  // Names from files may hold anything.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vramfit
