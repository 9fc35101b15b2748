#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "estimator/releases.h"
#include "runtimes/pytorch/run.h"

namespace vramfit::pytorch {

/// One JSON object of each line.
std::vector<nlohmann::json> read_lines(const std::string& path);

/// The H200 that the measurements are from, and the release: a newer one may have other rules.
Gpu h200();
const Release& measured_release();

// A case of data/reference/measure_pytorch.py, as a run.
ModelConfig model_of(const nlohmann::json& test_case);
/// How its model is read, where it was read from a file.
std::optional<Pretrained> pretrained_of(const nlohmann::json& test_case);
TorchTraining training_of(const nlohmann::json& test_case);
/// Of one of its points, (batch, seq).
TorchGeneration generation_of(const nlohmann::json& test_case, const nlohmann::json& point);
/// Whether there is a rule for all that the case asks for. Compilers and mixtures of experts are
/// none of ours yet.
bool is_modelled(const nlohmann::json& test_case);
std::string title_of(const nlohmann::json& test_case);

}  // namespace vramfit::pytorch
