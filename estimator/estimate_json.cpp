#include "estimator/estimate_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kComponents = {
    Category::Parameters, Category::Gradients, Category::OptimizerState, Category::Activations,
    Category::KvCache,    Category::Workspace, Category::Inputs,         Category::Communication};

Json asked_json(const Request& request) {
  Json json = {{"model", request.model.name}};
  json.update(request.workload->asked());
  return json;
}

Json model_json(const ModelConfig& model, const Estimate& estimate) {
  return {{"name", model.name},
          {"family", model.family},
          {"parameters", estimate.parameters},
          {"parameters_stored", estimate.parameters_stored},
          {"layers", model.layers},
          {"hidden", model.hidden}};
}

Json gpu_json(const Budget& budget) {
  return {{"name", budget.gpu.empty() ? Json(nullptr) : Json(budget.gpu)},
          {"title", budget.title},
          {"arch", arch_text(budget)}};
}

Json components_json(const MemoryUse& peak) {
  Json json;
  for (const Category category : kComponents) json[name(category)] = peak.by_category[category];
  return json;
}

Json stages_json(const std::vector<StageRecord>& stages) {
  Json list = Json::array();
  for (const StageRecord& record : stages) {
    list.push_back({{"step", record.step},
                    {"name", name(record.stage)},
                    {"before", record.before},
                    {"after", record.after},
                    {"peak", record.peak},
                    {"reserved", record.reserved},
                    {"peak_reserved", record.peak_reserved},
                    {"device_used", record.device_used}});
  }
  return list;
}

Json devices_json(const std::vector<DeviceParts>& devices) {
  Json list = Json::array();
  for (const DeviceParts& device : devices) {
    Json parts = Json::object();
    for (const auto& [part, bytes] : device.parts) parts[part] = bytes;
    list.push_back({{"device", device.device}, {"parts", std::move(parts)}});
  }
  return list;
}

Json serving_json(const Serving& serving) {
  Json json = {{"requested", serving.requested},
               {"weights", serving.weights},
               {"activations", serving.activations},
               {"outside_torch", serving.outside},
               {"graphs", serving.graphs},
               {"available", serving.available},
               {"needed", serving.needed},
               {"blocks", serving.blocks},
               {"block_size", serving.block_size},
               {"tokens", serving.tokens},
               {"concurrency", serving.concurrency},
               {"max_model_len", serving.length},
               {"longest", serving.longest},
               {"max_num_batched_tokens", serving.batched_tokens},
               {"max_num_seqs", serving.sequences},
               {"beyond_at_rest", serving.beyond_at_rest},
               {"beyond_serving", serving.beyond_serving},
               {"least_utilization", serving.least_share},
               {"most_utilization", serving.most_share},
               {"command", serving.command}};
  json["refusal"] = serving.refusal.empty() ? Json(nullptr) : Json(serving.refusal);
  return json;
}

Json machine_json(const std::vector<CardEstimate>& cards) {
  Json list = Json::array();
  for (const CardEstimate& card : cards) {
    list.push_back({{"gpu", card.name},
                    {"title", card.title},
                    {"vram", card.vram},
                    {"total", card.total},
                    {"margin", card.margin},
                    {"verdict", name(card.verdict)}});
  }
  return list;
}

Json uncertainty_json(const Estimate& estimate) {
  return estimate.uncertainty ? as_json(*estimate.uncertainty, estimate.fits) : Json();
}

/// What holds on one card.
Json verdict_json(const Request& request, const Estimate& estimate) {
  const Budget& budget = request.budget;
  const Overhead& overhead = estimate.overhead;
  Json json = {{"fits", estimate.fits},
               {"verdict", name(estimate.verdict)},
               {"uncertainty", uncertainty_json(estimate)},
               {"gpu", gpu_json(budget)},
               {"vram", budget.vram},
               {"headroom", budget.headroom},
               {"held_by_others", budget.held},
               {"capacity", estimate.capacity},
               {"overhead", overhead.total()},
               {"overhead_source", overhead.source},
               {"overhead_parts",
                {{"driver_reserved", overhead.driver_reserved},
                 {"context", overhead.context},
                 {"libraries", overhead.libraries}}},
               {"total", estimate.total},
               {"margin", estimate.margin},
               {"levels",
                {{"allocated", estimate.levels.allocated},
                 {"reserved", estimate.levels.reserved},
                 {"device_used", estimate.levels.device_used},
                 {"managed", estimate.levels.managed},
                 {"host", estimate.levels.host}}},
               {"components", components_json(estimate.peak)},
               {"peak", {{"stage", name(estimate.peak.stage)}, {"step", estimate.peak.step}}}};
  if (estimate.missing) {
    const MissingMemory& missing = *estimate.missing;
    json["out_of_memory"] = {{"stage", name(missing.stage)},
                             {"step", missing.step},
                             {"tensor", missing.name.text()},
                             {"component", name(missing.category)},
                             {"requested", missing.requested}};
  }
  if (estimate.on_host) {
    json["on_host"] = {{"layers", estimate.on_host->layers}, {"bytes", estimate.on_host->bytes}};
  } else {
    json["on_host"] = nullptr;
  }
  if (estimate.serving) json["serving"] = serving_json(*estimate.serving);
  if (!estimate.devices.empty()) json["devices"] = devices_json(estimate.devices);
  if (!estimate.cards.empty()) json["machine"] = machine_json(estimate.cards);
  json["stages"] = stages_json(estimate.stages);
  json["notes"] = estimate.notes;
  return json;
}

Json opening(bool fits, const Request& request, const Estimate& estimate) {
  return {{"schema", kEstimateSchema},
          {"runtime", request.workload->runtime().name()},
          {"release", request.workload->release()},
          {"fits", fits},
          {"asked", asked_json(request)},
          {"model", model_json(request.model, estimate)}};
}

}  // namespace

Json estimate_json(const Request& request, const Estimate& estimate) {
  Json json = opening(estimate.fits, request, estimate);
  json.update(verdict_json(request, estimate));
  return json;
}

Json estimates_json(const std::vector<Request>& requests, const std::vector<Estimate>& estimates) {
  const bool any = std::any_of(estimates.begin(), estimates.end(),
                               [](const Estimate& estimate) { return estimate.fits; });
  Json json = opening(any, requests.front(), estimates.front());
  Json list = Json::array();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    list.push_back(verdict_json(requests[i], estimates[i]));
  }
  const auto best =
      std::min_element(estimates.begin(), estimates.end(),
                       [](const Estimate& a, const Estimate& b) { return a.verdict < b.verdict; });
  json["verdict"] = name(best->verdict);
  json["cards"] = std::move(list);
  return json;
}

}  // namespace vramfit
