#include "runtimes/recorded/runtime.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "model/config/model_config.h"
#include "model/errors.h"
#include "runtimes/recorded/run_tape.h"
#include "runtimes/recorded/workload.h"

namespace vramfit::recorded {
namespace {

/// "width=512,depth=4", of names that have no flag of their own.
std::vector<std::pair<std::string, std::int64_t>> read_at(const std::string& list) {
  std::vector<std::pair<std::string, std::int64_t>> values;
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, end);
    const std::size_t equals = part.find('=');
    std::int64_t value = 0;
    const char* const last = part.data() + part.size();
    const char* const first = part.data() + std::min(equals, part.size() - 1) + 1;
    const auto [stop, error] = std::from_chars(first, last, value);
    if (equals == std::string_view::npos || error != std::errc() || stop != last) {
      throw BadInput("at: '" + std::string(part) + "' is no NAME=N");
    }
    values.emplace_back(part.substr(0, equals), value);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return values;
}

std::string names_of(const RunTape& tape) {
  std::vector<std::string> names;
  for (const Varied& varied : tape.varied) names.push_back(varied.name);
  return names.empty() ? "nothing" : all_of(names);
}

void set(const RunTape& tape, const std::string& name, std::int64_t value,
         std::vector<std::int64_t>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (tape.varied[i].name != name) continue;
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (value < 1 || value > kMost) {
      throw BadInput(name + ": " + std::to_string(value) + " is no whole number from 1");
    }
    values[i] = value;
    return;
  }
  throw BadInput(name + ": the tape does not vary it; it varies " + names_of(tape));
}

class RecordedRuntime final : public Runtime {
 public:
  const char* name() const override { return "recorded"; }

  const Settings& settings() const override {
    using enum Setting::With;
    using enum Setting::Takes;
    static const Settings rows = {
        {.name = "batch", .help = "what the script was recorded with as batch", .takes = Number},
        {.name = "seq", .help = "what the script was recorded with as seq", .takes = Number},
        {.name = "at", .help = "others that were varied: width=512,depth=4", .takes = Text},
    };
    return rows;
  }

  bool runs(const FamilyReader&) const override { return false; }

  const Capabilities& can() const override {
    static const Capabilities can = {
        .no_formulas = "a script's run has no formula; without --tape",
        .as_stored = false,
        .assumed = {},  // its text says all that it is played at
        .granularity = std::uint64_t{2} << 20,
        .measured_parts = {},
    };
    return can;
  }

  const std::vector<SearchAxis>& axes() const override { return batch_and_seq(); }

  std::optional<ModelConfig> read_model(const ModelSource& source) const override {
    if (source.tape.empty()) return std::nullopt;
    ModelConfig model;
    model.name = command_of(source.tape);
    return model;
  }

 private:
  std::shared_ptr<const Workload> read(const Flags& flags, bool /*training*/,
                                       const ModelConfig& model) const override {
    if (model.source == nullptr || model.source->tape.empty()) {
      throw BadInput("runtime: recorded plays --tape FILE, which vramfit record writes");
    }
    auto tape = std::make_shared<const RunTape>(read_run_tape(model.source->tape));
    std::vector<std::int64_t> values;
    for (const Varied& varied : tape->varied) values.push_back(varied.recorded);
    for (const char* const flag : {"batch", "seq"}) {
      if (has(flags, flag)) set(*tape, flag, whole(flags, flag, 1), values);
    }
    for (const auto& [name, value] : read_at(typed(flags, "at").value_or(""))) {
      set(*tape, name, value, values);
    }
    return std::make_shared<TapedRun>(std::move(tape), std::move(values));
  }
};

}  // namespace

const Runtime& recorded_runtime() {
  static const RecordedRuntime runtime;
  return runtime;
}

const Runtime& TapedRun::runtime() const { return recorded_runtime(); }

}  // namespace vramfit::recorded
