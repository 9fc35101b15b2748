#include "estimator/fit/text.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

namespace vramfit::fit {
namespace {

constexpr double kGb = 1e9;
constexpr double kMillion = 1e6;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr std::size_t kNameCharacters = 40;

std::string sizes_text(const Workload& workload, Search search) {
  const std::int64_t batch = batch_of(workload);
  const std::int64_t seq = seq_of(workload);
  if (search == Search::Batch) return fmt::format("the largest batch x {} tokens", seq);
  if (search == Search::Seq) return fmt::format("batch {} x the longest sequence", batch);
  return fmt::format("batch {} x {} tokens", batch, seq);
}

}  // namespace

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string gb(std::uint64_t bytes, int decimals) {
  const double size = static_cast<double>(bytes) / kGb;
  const double smallest = std::pow(10.0, -decimals);
  if (bytes > 0 && size < smallest / 2) return fmt::format("<{:.{}f}", smallest, decimals);
  return fmt::format("{:.{}f}", size, size < kMillion ? decimals : 0);
}

int table_decimals(const Estimate& estimate) { return estimate.total < 10'000'000'000 ? 3 : 2; }

std::string moment(Stage stage, int step) {
  switch (stage) {
    case Stage::Forward:
    case Stage::Backward:
    case Stage::Optimizer:
    case Stage::ZeroGrad:
      return fmt::format("in {} of step {}", name(stage), step);
    case Stage::Loaded:
      return "while loading";
    case Stage::Prefill:
    case Stage::Decode:
      return fmt::format("in {}", name(stage));
    case Stage::Outside:
      break;
  }
  return "between stages";
}

std::string both_units(std::uint64_t bytes) {
  return fmt::format("{} GB ({:.2f} GiB)", gb(bytes), static_cast<double>(bytes) / kGiB);
}

std::string short_name(const ModelConfig& model) {
  return model.name.size() <= kNameCharacters ? model.name
                                              : model.name.substr(0, kNameCharacters - 3) + "...";
}

std::string workload_text(const Workload& workload, Search search) {
  const auto* training = std::get_if<TrainingOptions>(&workload);
  std::string text =
      fmt::format("{} in {}", training ? "training" : "inference", name(precision_of(workload)));
  if (training != nullptr) text += fmt::format(" with {}", training->optimizer.name);
  text += ", " + sizes_text(workload, search);
  if (training != nullptr && training->accumulate > 1) {
    text += fmt::format(", {} micro-batches a step", training->accumulate);
  }
  if (training == nullptr) {
    const std::int64_t tokens = std::get<GenerationOptions>(workload).generate;
    text += fmt::format(", {} new token{}", tokens, tokens == 1 ? "" : "s");
  }
  return text + fmt::format(", {} attention", name(attention_of(workload)));
}

std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream words(text.substr(std::min(text.find_first_not_of(' '), text.size())));
  std::string line = text.substr(0, text.find_first_not_of(' '));
  std::string lines;
  bool fresh = true;
  for (std::string word; words >> word;) {
    if (!fresh && line.size() + 1 + word.size() > kColumns) {
      lines += line + "\n";
      line = std::string(indent, ' ');
      fresh = true;
    }
    line += (fresh ? "" : " ") + word;
    fresh = false;
  }
  return lines + line + "\n";
}

std::string runtime_text(const Workload& workload) {
  const char* more = std::holds_alternative<TrainingOptions>(workload)
                         ? "it keeps activations and logits that vramfit computes again or in "
                           "pieces, and holds on to what its allocator rounds up"
                         : "its temporaries are larger, and it holds on to what its allocator "
                           "rounds up";
  return fmt::format(
      "runtime: vramfit, this project's own step. PyTorch needs more for the same: {}.", more);
}

}  // namespace vramfit::fit
