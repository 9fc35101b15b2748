#include "standin/card/facts.h"

#include <nlohmann/json.hpp>

namespace vramfit::standin {

int Facts::attribute(int number) const {
  const auto found = attributes.find(number);
  return found == attributes.end() ? 0 : found->second;
}

Facts read_facts(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  Facts facts;
  facts.title = json.at("title");
  facts.devices = json.at("devices");
  facts.total = json.at("total");
  facts.listed_total = json.at("listed_total");
  facts.taken = json.at("taken");
  for (const auto& [number, value] : json.at("attributes").items()) {
    facts.attributes[std::stoi(number)] = value;
  }
  const auto& loads = json.at("loads");
  facts.loads = {loads.at("context"),
                 loads.at("kernels"),
                 loads.at("blas"),
                 loads.at("more_blas"),
                 loads.at("attention"),
                 loads.at("backward_attention"),
                 loads.at("streams"),
                 loads.at("process_group"),
                 loads.at("collectives"),
                 loads.at("more_communicators"),
                 loads.at("more_collectives")};
  facts.driver_version = json.at("driver_version");
  facts.driver_name = json.at("driver_name");
  facts.late_events = json.at("late_events");
  facts.strict = json.at("strict");
  return facts;
}

}  // namespace vramfit::standin
