#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/config/model_config.h"
#include "model/dtype.h"
#include "model/memory/memory_source.h"
#include "model/memory/run_report.h"
#include "model/transformer/sizes.h"
#include "runtimes/adjustments.h"
#include "runtimes/capabilities.h"
#include "runtimes/facts.h"
#include "runtimes/flags.h"
#include "runtimes/foreign_words.h"
#include "runtimes/gpu.h"
#include "runtimes/search_axis.h"
#include "runtimes/serving.h"
#include "runtimes/setting.h"

// The door to every runtime: whose step it is that a question is about. A runtime reads its flags
// into a workload, and runs that on paper, on a GPU of so many bytes.
namespace vramfit {

/// How closely a run is looked at.
struct Detail {
  /// Decode steps that are walked, evenly spread, where none is like another; at most.
  std::int64_t samples = 512;
  bool events = true;  ///< keep the whole ledger
  /// What is not looked at: once tensors hold more bytes than this, the run may end as one that ran
  /// out of memory.
  std::uint64_t most_tensors = kUnlimitedBytes;
};

/// How much of a run is walked. What repeats need not be walked to its end.
struct Extent {
  int steps = 2;  ///< of training, at most; without events, copies of the last may be missing
  std::function<bool(const Ledger&)> stop_when = {};   ///< asked after each step; none: go on
  std::int64_t micro_batches = std::int64_t{1} << 24;  ///< of each step, at most
  std::int64_t decodes = std::int64_t{1} << 24;        ///< of a generation, at most
  /// Bytes that may be had beyond the capacity, of which a run that looks at it knows nothing: what
  /// it would need.
  std::uint64_t extra_capacity = 0;
  /// Walk every layer, step and micro-batch by itself, also where one stands for others: what they
  /// are compared with in tests.
  bool exhaustive = false;
  Detail detail;
};

/// What of a model stays in the host's memory, and is copied to the GPU when it is needed.
struct OnHost {
  std::int64_t layers = 0;
  std::uint64_t bytes = 0;
  bool all = false;  ///< nothing is on the GPU, which has no part in the run then
};

/// What one of a run's devices, or the host, holds, part by part. Bytes.
struct DeviceParts {
  std::string device;  ///< "GPU 0"
  std::vector<std::pair<std::string, std::uint64_t>> parts;
};

/// What a run takes of one of several cards. Bytes.
struct CardUse {
  std::uint64_t reserved = 0;
  Overhead overhead;
};

/// What a run took, and what of the card is gone beside it.
struct Outcome {
  RunReport report;
  Overhead overhead;
  /// A longer extent would walk no more decode steps: all are there, or a sample that the runtime
  /// chose, where the cache grows with each and none is like another.
  bool all_decodes = true;
  bool sampled = false;  ///< decode steps were left out, and each would have been another
  /// Bytes that it may reserve beyond the report's, where a race decides.
  std::uint64_t may_reserve_more = 0;
  std::optional<OnHost> on_host;     ///< absent: the whole model is on the GPU
  std::vector<DeviceParts> devices;  ///< where a run is told of device by device
  std::vector<CardUse> cards;        ///< of a machine with cards of several kinds, each
  std::size_t card = 0;              ///< of these, the one that the report is of
  std::optional<Serving> serving;    ///< where it is an engine that fills its share
  std::vector<std::string> notes;    ///< what was assumed or left out, a line each
};

struct FamilyReader;
class Runtime;

/// What a run takes, beside what the card has. Each allows for what those before it do.
enum class Demand : std::uint8_t {
  Fixed,     ///< a run without limits says all
  Cached,    ///< the allocator gives back what it caches before it gives up: what takes more
             ///< without limits may fit
  Adapting,  ///< a run within limits is another also where the card has room for one without,
             ///< which is the one that is told of
  Elastic,   ///< what runs where, or how much is filled, is up to what the card has: a run without
             ///< limits says nothing
};

/// What a runtime would set by itself.
struct OwnChoice {
  Flags flags;
  std::string failure;  ///< why it gives up all the same, in its words; else empty
};

/// One run of a model under a runtime. Does not change: another size is another workload. What is
/// not said here is as of the plainest run: inference, of one size, about which nothing was
/// measured.
class Workload {
 public:
  virtual ~Workload() = default;

  virtual const Runtime& runtime() const = 0;
  /// The libraries its figures hold for, by name; null where it has none.
  virtual nlohmann::ordered_json release() const;
  virtual bool training() const { return false; }
  /// What others judge it by, where its runtime can be asked for what they say.
  virtual Facts facts() const { return {.weights = computes_in()}; }
  /// Whether what it takes depends on its sizes: otherwise there is nothing to search for.
  virtual bool has_sizes() const { return true; }
  /// The element type of its arithmetic; no card lacks this one.
  virtual DType computes_in() const { return DType::Fp32; }
  /// The oldest compute capability that it runs on, 10 · major + minor.
  virtual int oldest_sm() const { return 0; }
  virtual std::int64_t positions() const { return 0; }  ///< of a sequence when the run ends
  virtual std::int64_t decodes() const { return 0; }    ///< steps of it that add one position each
  virtual std::int64_t micro_batches() const { return 1; }  ///< in a step
  /// As published.
  virtual std::int64_t parameters(const ModelConfig& config) const;
  /// With what the runtime stores beside the published ones: rows that pad the vocabulary.
  virtual std::int64_t stored_parameters(const ModelConfig& config) const {
    return parameters(config);
  }

  // Of its runtime's axes.
  virtual std::int64_t size(const SearchAxis& axis) const = 0;
  virtual std::shared_ptr<const Workload> resized(const SearchAxis& axis,
                                                  std::int64_t size) const = 0;
  /// The largest size the model takes in such a run, memory and other axes apart; less than 1
  /// where what is generated leaves no room.
  virtual std::int64_t limit(const SearchAxis&, const ModelConfig&) const { return kMaxBatch; }
  /// Sequences that share the positions which the axis counts, each as long as the model allows.
  virtual std::int64_t sequences_of(const SearchAxis&) const { return 1; }
  /// What a size is called: its number, unless the axis is one of names.
  virtual std::string name_of(const SearchAxis&, std::int64_t size) const {
    return std::to_string(size);
  }

  /// Throws BadInput where the model cannot be run so.
  virtual void validate(const ModelConfig&) const {}
  virtual Demand demand() const { return Demand::Fixed; }

  /// The run within `capacity` bytes, and the extent's beyond it. Running out of memory is a
  /// result. `config` is valid for it.
  virtual Outcome run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
                      const Extent& extent) const = 0;

  /// What its runtime would set by itself where a card leaves so many bytes to it, as flags;
  /// absent: it sets nothing.
  virtual std::optional<OwnChoice> own_choice(const Gpu&, std::uint64_t /*capacity*/) const {
    return std::nullopt;
  }

  /// What could be changed about it so that it takes less, the gentlest first.
  virtual std::vector<Adjustment> adjustments(const ModelConfig&) const { return {}; }
  /// On how many GPUs it could be instead, by which strategies; where it is on several, on more.
  virtual std::vector<Adjustment> gpu_adjustments() const { return {}; }

  /// The same run as others understand such flags, whose verdict may be another.
  virtual std::optional<Choice> also_meant() const { return std::nullopt; }
  /// What is seldom wanted of what was asked, a line each.
  virtual std::vector<std::string> cautions() const { return {}; }

  /// What was asked, as JSON has it: its task, and at least the sizes of its axes, which is all
  /// that this says.
  virtual nlohmann::ordered_json asked() const;
  /// The same in words around `sizes`, which are "batch 4 x 512 tokens".
  virtual std::string text(const std::string& sizes) const;
  /// What is stored in which type: "weights, gradients and optimizer states in bf16".
  virtual std::string types() const = 0;
  /// A paragraph: whose step it is, and how another runtime's differs.
  virtual std::string about() const = 0;
  /// The worst error of what is said to be reserved, as published, of what was measured; absent
  /// where nobody measured.
  virtual std::optional<double> reserved_error() const { return std::nullopt; }
};

/// How a command line was typed, which may be that of somebody's script.
struct Script {
  bool training = false;
  bool of_a_trainer = false;                        ///< some flags are a Trainer's own
  const std::map<std::string, std::string>& typed;  ///< by the name of a flag, what it was called
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual const char* name() const = 0;  ///< as --runtime spells it
  /// What a run can be told, precision, batch and seq among it: a row each.
  virtual const Settings& settings() const = 0;
  /// Flags of its program that are no settings here.
  virtual std::span<const ForeignWord> foreign_words() const { return {}; }
  bool knows(std::string_view setting) const { return find(settings(), setting) != nullptr; }
  /// Whether it has what the family's models are made of.
  virtual bool runs(const FamilyReader&) const { return true; }
  virtual const Capabilities& can() const;
  /// The sizes of a run, in the order that text has them.
  virtual const std::vector<SearchAxis>& axes() const = 0;
  /// The model that drafts for it, by its name, its config's folder or its GGUF file; none.
  virtual std::optional<std::string> draft_named(const Flags& flags) const {
    return typed(flags, "model-draft");
  }
  /// A model that no reader has a shape of, as far as the door asks; absent: it runs none such.
  virtual std::optional<ModelConfig> read_model(const ModelSource&) const { return std::nullopt; }
  /// Sets what such a script means beside what its flags say.
  virtual void complete(Flags&, const Script&) const {}
  /// Throws BadInput on a value that is wrong, and on settings that make no sense together. `flags`
  /// are of its settings.
  std::shared_ptr<const Workload> workload(const Flags& flags, bool training,
                                           const ModelConfig& model) const {
    require_sense(settings(), flags);
    return read(flags, training, model);
  }

 private:
  virtual std::shared_ptr<const Workload> read(const Flags& flags, bool training,
                                               const ModelConfig& model) const = 0;
};

}  // namespace vramfit
