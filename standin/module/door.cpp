#include "standin/module/door.h"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "model/ops/outliers.h"
#include "standin/calls/shells.h"
#include "standin/calls/unanswered.h"
#include "standin/copies.h"
#include "standin/kernels/kernels.h"
#include "standin/libraries/cudnn.h"
#include "standin/machine.h"

namespace {

using namespace vramfit::standin;

/// Runs it; what it throws becomes a text.
template <class Function>
const char* told(Function&& function) {
  thread_local std::string text;
  text.clear();
  try {
    function();
  } catch (const std::exception& error) {
    text = error.what();
  }
  return text.c_str();
}

/// In the words of recorded runs (docs/record.md).
const char* name(vramfit::DriverCode code) {
  switch (code) {
    case vramfit::DriverCode::FirstKernel:
      return "first_kernel";
    case vramfit::DriverCode::Asserts:
      return "asserts";
    case vramfit::DriverCode::Blas:
      return "blas";
    case vramfit::DriverCode::BlasHandle:
      return "blas_handle";
    case vramfit::DriverCode::Attention:
      return "attention";
    case vramfit::DriverCode::BackwardAttention:
      return "backward_attention";
    case vramfit::DriverCode::Other:
      break;
  }
  return "other";
}

std::string demangled(const char* name) {
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(name, nullptr, nullptr, nullptr), &std::free);
  return plain ? plain.get() : name;
}

}  // namespace

const char* vramfit_standin_start(const char* facts) {
  return told([facts] {
    start(read_facts(facts));
    if (machine().facts.strict) end_at_unknown_calls();
  });
}

const char* vramfit_standin_load(const char* files, const char* folder) {
  return told([files, folder] {
    std::vector<std::filesystem::path> paths;
    std::istringstream lines(files);
    for (std::string line; std::getline(lines, line);) paths.emplace_back(line);
    stand_in_for(paths, folder);
  });
}

const char* vramfit_standin_soname(const char* file) {
  thread_local std::string soname;
  soname = soname_for(file);
  return soname.c_str();
}

void vramfit_standin_tell_cudnn_version(std::uint64_t version) { tell_cudnn_version(version); }

std::uint64_t vramfit_standin_twin_distance() { return AddressSpace::kBytes; }

void vramfit_standin_know(std::uint64_t address, std::uint64_t bytes, int knowledge, int kind) {
  const Locked locked;
  if (Device* gpu = locked->owner(address)) {
    gpu->memory.values().set(address, bytes, static_cast<Knowledge>(knowledge),
                             static_cast<Kind>(kind));
  }
}

int vramfit_standin_known(std::uint64_t address, std::uint64_t bytes, int kind) {
  const Locked locked;
  Device* gpu = locked->owner(address);
  if (!gpu) return 0;
  return static_cast<int>(gpu->memory.values().least(address, bytes, static_cast<Kind>(kind)));
}

void vramfit_standin_forget_floats() {
  const Locked locked;
  for (Device& gpu : locked->devices) gpu.memory.values().forget_floats();
}

void vramfit_standin_look_at_copies(int look) { look_at_copies(look != 0); }
void vramfit_standin_next_read(std::int64_t value) { next_read(value); }
void vramfit_standin_no_more_reads() { no_more_reads(); }

const char* vramfit_standin_kernels() {
  thread_local std::string text;
  const Locked locked;
  std::map<std::string, std::uint64_t> launches;  // several libraries may have one of a name
  for (const auto& [function, kernel] : kernels().all()) {
    if (kernel.launches > 0) launches[demangled(kernel.name)] += kernel.launches;
  }
  text = nlohmann::json(launches).dump();
  return text.c_str();
}

std::int64_t vramfit_standin_outlier_columns(const char* activation, int gated, std::int64_t hidden,
                                             std::int64_t rows, std::int64_t columns,
                                             double quantile) {
  const double chance = activation == nullptr
                            ? vramfit::outlier_chance(1)
                            : vramfit::hidden_outlier_chance(activation, gated != 0, hidden, 1);
  return vramfit::outlier_columns(chance, rows, columns, quantile);
}

void vramfit_standin_reset_peak(int device) { Locked()->gpu(device).memory.reset_peak(); }

const char* vramfit_standin_report() {
  thread_local std::string text;
  const Locked locked;
  nlohmann::json report;
  report["devices"] = nlohmann::json::array();
  for (const Device* device : locked->visible()) {
    const DeviceMemory& memory = device->memory;
    nlohmann::json loads = nlohmann::json::array();
    for (const DeviceMemory::Load& load : memory.loads()) {
      loads.push_back({name(load.code), load.bytes, load.allocations});
    }
    report["devices"].push_back({{"used", memory.used()},
                                 {"peak_used", memory.peak_used()},
                                 {"libraries", memory.libraries()},
                                 {"free", memory.free_bytes()},
                                 {"total", memory.total()},
                                 {"loads", std::move(loads)}});
  }
  report["host"] = {{"locked", locked->host.bytes()},
                    {"peak_locked", locked->host.peak()},
                    {"peak_managed", locked->host.managed_peak()}};
  report["unknown_calls"] = nlohmann::json::array();
  for (const UnknownCall& call : unknown_calls()) {
    report["unknown_calls"].push_back({{"library", call.library},
                                       {"name", call.name},
                                       {"calls", call.calls},
                                       {"by", call.by},
                                       {"as_zero", call.as_zero}});
  }
  report["unknown_reads"] = unknown_reads();
  report["doubtful_events"] = locked->streams.doubtful();
  text = report.dump();
  return text.c_str();
}
