#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "bench/rows/case.h"
#include "model/transformer/run.h"

namespace vramfit::bench {

/// A row's counters. Bytes are exact below 2^53; a value that is no number is a defect and throws,
/// as JSON has no way to write it.
class Counters {
 public:
  void set(const std::string& name, double value);
  void set(const std::string& name, std::uint64_t value) { set(name, static_cast<double>(value)); }
  const std::map<std::string, double>& values() const { return values_; }

 private:
  std::map<std::string, double> values_;
};

/// `prefix`_allocated, _reserved and _<category> at the peak, _step<n>_<stage>_{after,peak}; _host,
/// what was taken of the host's memory, where that is anything.
/// `prefix` is "pred" or "mem". Loading counts to step 1; of steps only the first two, as what
/// tensors take is the same in all later ones.
void count_run(Counters& counters, const std::string& prefix, const RunReport& report);

/// mem_device_used at its highest, mem_step<n>_<stage>_device_used, and mem_unattributed: what at
/// the highest neither pool, context nor libraries account for, as the row's card has those; what
/// there is beside the pool by part, mem_{context,cublaslt,cudnn}, and mem_modules, all else.
/// Nothing on devices that cannot say.
void count_device_use(Counters& counters, const Case& row, const Measurement& measured);

/// params and params_stored.
void count_model(Counters& counters, const ModelConfig& config);

/// params_trained: those of adapters, where there are any.
void count_trained(Counters& counters, const ModelConfig& config, const TrainingOptions& options);

/// pred_device_used on the row's card: `reserved` and what context and libraries take. Nothing
/// where there is no card.
void count_card(Counters& counters, const Case& row, std::uint64_t reserved);

/// article_*, where the article states figures for this row.
void count_article(Counters& counters, const Row& row);

/// article_formula: the article's will_it_fit for this row, with the model's true shape.
void count_article_formula(Counters& counters, const Case& row);

}  // namespace vramfit::bench
