#include "tests/runtimes/llamacpp/recorded.h"

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "model/gguf/types.h"
#include "runtimes/llamacpp/architectures/read_hparams.h"

namespace vramfit::llamacpp {
namespace {

using json = nlohmann::ordered_json;

gguf::Value value_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  gguf::Array array{value.size(), {}};
  for (const json& each : value) {
    array.numbers.push_back(each.is_boolean() ? std::int64_t{each.get<bool>()}
                                              : each.get<std::int64_t>());
  }
  return array;
}

ModelTensor tensor_of(const std::string& name, const json& entry) {
  ModelTensor tensor{name, {1, 1, 1, 1}, *gguf::type_named(entry[1].get<std::string>())};
  for (std::size_t i = 0; i < entry[0].size(); ++i) tensor.ne[i] = entry[0][i];
  return tensor;
}

}  // namespace

std::vector<json> recorded_lines(const char* file) {
  std::ifstream in(std::string(VRAMFIT_LLAMACPP) + "/" + file);
  if (!in) throw std::runtime_error(std::string("cannot read ") + file);
  std::vector<json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

gguf::Metadata recorded_metadata(const json& row) {
  gguf::Metadata metadata(row["model"].get<std::string>());
  for (const auto& [key, value] : row["metadata"].items()) metadata.set(key, value_of(value));
  return metadata;
}

Model model_of_row(const json& row) {
  Model model{read_hparams(recorded_metadata(row)), {}, {0}, 32};
  std::map<std::int64_t, std::vector<ModelTensor>> layers;
  for (const auto& [name, entries] : row["tensors"].items()) {
    for (const json& entry : entries) {
      if (entry.size() < 3) {
        model.tensors.push_back(tensor_of(name, entry));
        continue;
      }
      for (const json& range : entry[2]) {
        for (std::int64_t i = range[0]; i <= range[1]; ++i) {
          std::string full = name;
          full.replace(4, 1, std::to_string(i));  // "blk.N."
          layers[i].push_back(tensor_of(full, entry));
        }
      }
    }
  }
  for (const auto& [layer, tensors] : layers) {
    model.tensors.insert(model.tensors.end(), tensors.begin(), tensors.end());
  }
  return model;
}

const Model& recorded_model(const std::string& name) {
  static const std::map<std::string, Model> models = [] {
    std::map<std::string, Model> result;
    for (const json& row : recorded_lines("models.jsonl")) {
      result.emplace(row["model"], model_of_row(row));
    }
    return result;
  }();
  return models.at(name);
}

Placement recorded_placement(const json& args) {
  Placement placement;
  placement.gpu_layers = args.value("ngl", -1);
  placement.cpu_moe_layers = args.value("ncmoe", 0);
  placement.main_gpu = args.value("mg", 0);
  if (args.value("sm", "layer") == "none") placement.split = SplitMode::None;
  for (const json& share : args.value("ts", json::array())) {
    placement.tensor_split.push_back(share);
  }
  for (const json& each : args.value("ot", json::array())) {
    placement.overrides.emplace_back(each[0], each[1]);
  }
  return placement;
}

ContextOptions recorded_options(const json& args) {
  const auto type = [&](const char* key) {
    return *gguf::type_named(args.value(key, std::string("f16")));
  };
  ContextOptions options;
  options.context = args.value("ctx", 4096);
  options.batch = args.value("batch", 2048);
  options.ubatch = args.value("ubatch", 512);
  options.sequences = args.value("seqs", 1);
  options.outputs_max = args.value("outputs", 0);
  options.unified = args.value("unified", 0) != 0;
  options.type_k = type("ctk");
  options.type_v = type("ctv");
  const std::string flash = args.value("fa", std::string("auto"));
  options.flash = flash == "on"    ? FlashAttention::On
                  : flash == "off" ? FlashAttention::Off
                                   : FlashAttention::Auto;
  options.swa_full = args.value("swafull", 0) != 0;
  options.offload_kqv = args.value("kvo", 1) != 0;
  options.offload_ops = args.value("opo", 1) != 0;
  return options;
}

std::vector<Device> recorded_devices(const std::string& gpus) {
  static const std::map<std::string, Device> kKnown = {{"h200", {0, 900, 132}},
                                                       {"rtx4090", {0, 890, 128}},
                                                       {"rtx3090", {0, 860, 82}},
                                                       {"a100", {0, 800, 108}}};
  std::vector<Device> devices;
  std::istringstream names(gpus);
  for (const std::uint64_t free : recorded_free(gpus)) {
    std::string name;
    std::getline(names, name, ';');
    devices.push_back(kKnown.at(name));
    devices.back().free = free;
  }
  return devices;
}

std::vector<Device> devices_of_machine(const json& cards) {
  std::vector<Device> devices;
  for (const json& card : cards) {
    devices.push_back({card[0], 10 * card[1].get<int>(), 0});
  }
  return devices;
}

std::vector<std::uint64_t> recorded_free(const std::string& gpus) {
  std::vector<std::uint64_t> free;
  std::istringstream names(gpus);
  for (std::string name; std::getline(names, name, ';');) {
    // The total less a context, where layers are shared out by it.
    free.push_back(name == "h200"      ? 149'557'477'376
                   : name == "rtx4090" ? 24'700'387'328
                                       : 24'744'558'592);
  }
  return free;
}

}  // namespace vramfit::llamacpp
