#include "bench/families/overhead.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace vramfit::bench {
namespace {

using Json = nlohmann::json;

constexpr const char* kLazy = "LAZY";
constexpr const char* kEager = "EAGER";
constexpr const char* kEagerModules = "modules:eager";
constexpr const char* kParts[] = {"driver_reserved", "context", "cublaslt", "cudnn", "modules"};

std::string part_of(const std::string& row) {
  const std::string part = row.substr(row.find('/') + 1);
  return part == "modules:lazy" ? "modules" : part;
}

std::string mib(double bytes) { return Json(bytes / (1 << 20)).dump() + " MiB"; }

Json stated(const Spread& spread) {
  const std::string source = "median of " + std::to_string(OverheadRows::kProcesses) +
                             " processes, from " + mib(spread.min) + " to " + mib(spread.max);
  return {{"bytes", static_cast<std::uint64_t>(std::max(spread.median, 0.0))}, {"source", source}};
}

}  // namespace

Result sample_overhead(RealDevice& device) {
  Result result;
  for (const auto& [part, bytes] : device.overhead()) result.counters.set(part, bytes);
  return result;
}

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

const std::vector<std::string>& OverheadRows::names() {
  static const std::vector<std::string> list = {
      "Overhead/driver_reserved", "Overhead/context",      "Overhead/cublaslt",
      "Overhead/cudnn",           "Overhead/modules:lazy", "Overhead/modules:eager"};
  return list;
}

const OverheadRows::Samples& OverheadRows::samples(const std::string& module_loading) {
  const auto known = samples_.find(module_loading);
  if (known != samples_.end()) return known->second;
  Samples taken;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kProcesses; ++i) {
    const Result sample = sampler_(module_loading);
    if (!sample.error.empty()) throw std::runtime_error(sample.error);
    for (const char* part : kParts) taken[part].push_back(sample.counters.values().at(part));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  seconds_ = took.count() / kProcesses;
  return samples_.emplace(module_loading, std::move(taken)).first->second;
}

std::vector<double> OverheadRows::values(const std::string& part) {
  if (part != kEagerModules) return samples(kLazy).at(part);
  // Eager loading moves code from where it is used to where context and handles are made, so it is
  // all of them together that can be compared.
  const Samples& lazy = samples(kLazy);
  const Samples& eager = samples(kEager);
  std::vector<double> sums(kProcesses, 0);
  for (const char* from : {"context", "cublaslt", "cudnn", "modules"}) {
    const double bare = from == std::string("modules") ? 0 : spread_of(lazy.at(from)).median;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += eager.at(from)[i] - bare;
  }
  return sums;
}

Result OverheadRows::run(const std::string& name) {
  Result result;
  try {
    const Spread spread = spread_of(values(part_of(name)));
    result.counters.set("min", spread.min);
    result.counters.set("median", spread.median);
    result.counters.set("max", spread.max);
    result.counters.set("processes", static_cast<double>(kProcesses));
    result.seconds = seconds_;
  } catch (const std::runtime_error& error) {
    result = failure(error.what());
  }
  return result;
}

std::string OverheadRows::profile(const std::map<std::string, std::string>& facts) {
  Json overhead = {{"source", "measured on " + facts.at("gpu") + ", driver " + facts.at("driver") +
                                  ", CUDA " + facts.at("cuda") + ", commit " + facts.at("commit")}};
  for (const char* part : kParts) overhead[part] = stated(spread_of(values(part)));
  Json json = {{"schema", 1}, {"overhead", overhead}};
  for (const char* fact : {"gpu", "driver", "cuda", "cublas", "cudnn"}) json[fact] = facts.at(fact);
  return json.dump(2) + "\n";
}

}  // namespace vramfit::bench
