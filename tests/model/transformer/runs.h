#pragma once

#include <string>
#include <vector>

#include "runtimes/vramfit/dry_run.h"

namespace vramfit {

/// A dry run on a card without limits, of the H200's kind.
RunReport trained(const ModelConfig& config, const TrainingOptions& options, int steps = 3);
RunReport generated(const ModelConfig& config, const GenerationOptions& options);

/// The first record of that stage in that step; throws where there is none.
StageRecord stage_of(const RunReport& report, Stage stage, int step);

/// Two layers of a published model: all that matters of it, in little.
ModelConfig shallow(const std::string& name, std::int64_t layers = 2);

/// The stages' events of one step, to be compared with another's: the step and what was mapped are
/// left out, and unless `offsets`, also the places that blocks got.
std::vector<Event> story(const RunReport& report, int step, bool offsets);

/// Families of every kind: MHA and GQA, tied and untied, with and without biases and positions.
const std::vector<std::string>& every_kind_of_model();

/// Each optimizer with each precision it goes with, both forms of attention, one and two
/// micro-batches: every way a training run can differ, at 2 × 64 tokens.
std::vector<TrainingOptions> every_kind_of_training();

/// Every precision of linears, the head's too where it can be, over few tokens and more.
std::vector<GenerationOptions> every_precision_of_generation();

/// Adapters where PEFT has them and beside every linear, over every format of frozen weights that
/// goes with the model; few tokens and more.
std::vector<TrainingOptions> every_kind_of_adapters(const ModelConfig& config);

}  // namespace vramfit
