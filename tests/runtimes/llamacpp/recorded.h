#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/gguf/metadata.h"
#include "runtimes/llamacpp/base/model.h"
#include "runtimes/llamacpp/base/run_options.h"
#include "runtimes/llamacpp/compute_buffers.h"

// What data/reference/llamacpp/ holds.
namespace vramfit::llamacpp {

/// The lines of one of its files.
std::vector<nlohmann::ordered_json> recorded_lines(const char* file);

/// The key-value pairs of a row of models.jsonl or recipes.jsonl.
gguf::Metadata recorded_metadata(const nlohmann::ordered_json& row);
/// The model of a row of models.jsonl. Tensors without a layer come first, as in the measured
/// files.
Model model_of_row(const nlohmann::ordered_json& row);
/// The same by name: "llama2-7b Q4_K_M".
const Model& recorded_model(const std::string& name);

/// A case's `args` of how weights are placed.
Placement recorded_placement(const nlohmann::ordered_json& args);
/// A case's `args` of how its context was started.
ContextOptions recorded_options(const nlohmann::ordered_json& args);
/// A case's `gpus`: "rtx4090;rtx3090".
std::vector<Device> recorded_devices(const std::string& gpus);
/// A machine's `cards`: free bytes and compute capability of each.
std::vector<Device> devices_of_machine(const nlohmann::ordered_json& cards);
/// Bytes that were free on each of a case's `gpus`: "rtx4090;rtx3090".
std::vector<std::uint64_t> recorded_free(const std::string& gpus);

}  // namespace vramfit::llamacpp
