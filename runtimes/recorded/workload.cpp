#include "runtimes/recorded/workload.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/errors.h"
#include "model/transformer/sizes.h"
#include "runtimes/pytorch/torch/memory/libraries.h"
#include "runtimes/pytorch/torch/tensor/cublas_workspace.h"

namespace vramfit::recorded {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

Symbols symbols_of(const RunTape& tape, const std::vector<std::int64_t>& values) {
  return [&](const std::string& name) {
    for (std::size_t i = 0; i < tape.varied.size(); ++i) {
      if (tape.varied[i].name == name) return values[i];
    }
    throw BadInput("'" + name + "' is none of what is varied");
  };
}

std::string in_line(std::size_t line) { return "tape: line " + std::to_string(line) + ": "; }

std::int64_t value_of(const Expression& expression, std::size_t line, const Symbols& symbols) {
  try {
    return expression.value(symbols);
  } catch (const BadInput& error) {
    throw BadInput(in_line(line) + error.what());
  }
}

/// Of what is asked for somewhere; where a size is none it may be of what is not asked for there.
Sizes sizes_at(const RunTape& tape, const std::vector<std::int64_t>& values) {
  Sizes sizes;
  const Symbols symbols = symbols_of(tape, values);
  sizes.met.push_back(true);
  for (const Condition& condition : tape.conditions) {
    const std::int64_t value = value_of(condition.expression, condition.line, symbols);
    sizes.met.push_back((value > condition.bound) == condition.above);
  }
  std::vector<bool> asked(tape.sizes.size(), false);
  for (const Step& step : tape.steps) {
    for (const Act& act : step.acts) {
      if (act.kind == Act::Kind::Allocate && sizes.met[act.when]) asked[act.size] = true;
    }
  }
  for (std::size_t i = 0; i < tape.sizes.size(); ++i) {
    const auto& [expression, line] = tape.sizes[i];
    const std::int64_t bytes = asked[i] ? value_of(expression, line, symbols) : 1;
    if (bytes < 1 || bytes > kMostBytes) {
      throw BadInput(in_line(line) + "asks for " + std::to_string(bytes) + " bytes at these sizes");
    }
    sizes.bytes.push_back(static_cast<std::uint64_t>(bytes));
  }
  return sizes;
}

/// "what is asked for is another from some batch*seq between 2560 and 4096 on; 3072 is taken"
std::vector<std::string> doubts_at(const RunTape& tape, const std::vector<std::int64_t>& values) {
  std::vector<std::string> notes;
  const Symbols symbols = symbols_of(tape, values);
  for (const Condition& condition : tape.conditions) {
    const std::int64_t value = value_of(condition.expression, condition.line, symbols);
    if (value <= condition.low || value >= condition.high) continue;
    std::string note = "what is asked for is another from some " + condition.text + " between " +
                       std::to_string(condition.low) + " and " + std::to_string(condition.high) +
                       " on, which was not recorded closer; " + std::to_string(condition.bound) +
                       " is taken";
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }
  return notes;
}

/// "batch 2 to 7, seq 128 to 320"
std::string ranges(const RunTape& tape) {
  std::string text;
  for (const Varied& varied : tape.varied) {
    text += (text.empty() ? "" : ", ") + varied.name + " " + std::to_string(varied.least) + " to " +
            std::to_string(varied.most);
  }
  return text;
}

}  // namespace

TapedRun::TapedRun(std::shared_ptr<const RunTape> tape, std::vector<std::int64_t> values)
    : tape_(std::move(tape)),
      values_(std::move(values)),
      sizes_(sizes_at(*tape_, values_)),
      doubtful_(doubts_at(*tape_, values_)) {}

std::optional<std::size_t> TapedRun::place_of(const SearchAxis& axis) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (tape_->varied[i].name == axis.name) return i;
  }
  return std::nullopt;
}

std::int64_t TapedRun::size(const SearchAxis& axis) const {
  const auto place = place_of(axis);
  return place ? values_[*place] : 1;
}

std::shared_ptr<const Workload> TapedRun::resized(const SearchAxis& axis, std::int64_t size) const {
  const auto place = place_of(axis);
  if (!place) {
    throw BadInput("max-" + std::string(axis.name) + ": " + tape_->command +
                   " was not recorded with another; vramfit record --vary " +
                   std::string(axis.name));
  }
  std::vector<std::int64_t> values = values_;
  values[*place] = size;
  return std::make_shared<TapedRun>(tape_, std::move(values));
}

std::int64_t TapedRun::limit(const SearchAxis& axis, const ModelConfig&) const {
  const auto place = place_of(axis);
  return place && !tape_->bounded.empty() ? tape_->varied[*place].most : kMaxBatch;
}

// Kernels change as sizes grow: what is smaller than all that it was made from is only noted.
void TapedRun::validate(const ModelConfig&) const {
  if (tape_->bounded.empty()) return;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Varied& varied = tape_->varied[i];
    if (values_[i] <= varied.most) continue;
    throw BadInput("tape: holds for " + ranges(*tape_) + " alone, not for " + varied.name + " " +
                   std::to_string(values_[i]) + "; record it at such sizes");
  }
}

std::vector<std::string> TapedRun::notes_on(const Gpu& gpu) const {
  std::vector<std::string> notes = doubtful_;
  if (!tape_->bounded.empty()) notes.push_back("the tape did not hold " + tape_->bounded);
  if (gpu.arch.sm != tape_->sm) {
    notes.push_back("recorded on sm_" + std::to_string(tape_->sm) +
                    ": what PyTorch chooses by card (attention's kernels, how sums are cut up) is "
                    "that card's; vramfit record --gpu for this one's");
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Varied& varied = tape_->varied[i];
    if (values_[i] >= varied.least && values_[i] <= varied.most) continue;
    notes.push_back(varied.name + " " + std::to_string(values_[i]) +
                    " is beyond what was recorded and checked (" + ranges(*tape_) +
                    "): kernels that PyTorch chooses by size may be others there");
    break;
  }
  if (!tape_->repeats && training()) {
    notes.push_back(std::to_string(tape_->steps.size() - 1) +
                    " steps were recorded, of which the last is not like the one before");
  }
  return notes;
}

Outcome TapedRun::run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig&,
                      const Extent& extent) const {
  const auto workspace_on = [](Arch arch) {
    return static_cast<std::uint64_t>(pytorch::cublas_workspace_bytes(arch));
  };
  const Card card{pytorch::library_sizes(gpu.overhead, {}), workspace_on(gpu.arch),
                  workspace_on({.sm = tape_->sm})};
  Outcome outcome;
  outcome.overhead = gpu.overhead;
  outcome.overhead.context = card.libraries.context;
  outcome.report = play(*tape_, sizes_, card, capacity, extent);
  if (!outcome.report.stages.empty()) {
    const StageRecord& last = outcome.report.stages.back();
    outcome.overhead.libraries = last.device_used - last.reserved - card.libraries.context;
  }
  outcome.notes = notes_on(gpu);
  return outcome;
}

std::vector<Adjustment> TapedRun::adjustments(const ModelConfig&) const {
  std::vector<Adjustment> list;
  if (place_of(kBatchAxis)) list.push_back(batch_adjustment(size(kBatchAxis)));
  if (place_of(kSeqAxis)) list.push_back(sequence_adjustment(size(kSeqAxis)));
  std::erase_if(list, [](const Adjustment& one) { return one.choices.empty(); });
  return list;
}

nlohmann::ordered_json TapedRun::asked() const {
  nlohmann::ordered_json json = {{"mode", training() ? "training" : "inference"}};
  for (const SearchAxis& axis : runtime().axes()) json[json_key(axis.name)] = size(axis);
  nlohmann::ordered_json at = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < values_.size(); ++i) at[tape_->varied[i].name] = values_[i];
  json["at"] = std::move(at);
  return json;
}

std::string TapedRun::text(const std::string&) const {
  std::string text = "its run, as it was recorded";
  for (std::size_t i = 0; i < values_.size(); ++i) {
    text += (i == 0 ? ", at " : ", ") + tape_->varied[i].name + " " + std::to_string(values_[i]);
  }
  return text;
}

std::string TapedRun::types() const { return tape_->made; }

std::string TapedRun::about() const {
  return "a recorded run, played on PyTorch 2.11's caching allocator. What was asked of it is what "
         "the script itself asked for, on " +
         (tape_->gpu.empty() ? "sm_" + std::to_string(tape_->sm) : tape_->gpu) + ", under " +
         tape_->made + ".";
}

}  // namespace vramfit::recorded
