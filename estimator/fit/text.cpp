#include "estimator/fit/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <sstream>

#include "estimator/releases.h"

namespace vramfit::fit {
namespace {

constexpr double kGb = 1e9;
constexpr double kMillion = 1e6;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr std::size_t kNameCharacters = 40;

std::string sizes_text(const Request& request, Search search) {
  const std::int64_t batch = batch_of(request);
  const std::int64_t seq = seq_of(request);
  if (search == Search::Batch) return fmt::format("the largest batch x {} tokens", seq);
  if (search == Search::Seq) return fmt::format("batch {} x the longest sequence", batch);
  return fmt::format("batch {} x {} tokens", batch, seq);
}

}  // namespace

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
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

namespace {

std::string tokens_text(std::int64_t tokens) {
  return fmt::format(", {} new token{}", tokens, tokens == 1 ? "" : "s");
}

std::string micro_batches_text(std::int64_t accumulate) {
  return accumulate > 1 ? fmt::format(", {} micro-batches a step", accumulate) : "";
}

std::string vramfit_text(const Request& request, const TrainingOptions& o, Search search) {
  return fmt::format("training in {} with {}, {}{}, {} attention", name(o.precision),
                     o.optimizer.name, sizes_text(request, search),
                     micro_batches_text(o.accumulate), name(o.attention));
}

std::string vramfit_text(const Request& request, const GenerationOptions& o, Search search) {
  return fmt::format("inference in {}, {}{}, {} attention", name(o.precision),
                     sizes_text(request, search), tokens_text(o.generate), name(o.attention));
}

std::string pytorch_text(const Request& request, const pytorch::TrainingOptions& o, Search search) {
  std::string text = fmt::format("training in {}", name(o.precision));
  if (o.autocast) text += fmt::format(" under {} autocast", name(*o.autocast));
  text +=
      fmt::format(" with {}, {}{}, {} attention", name(o.optimizer), sizes_text(request, search),
                  micro_batches_text(o.accumulate), name(o.attention));
  if (o.checkpoint) text += ", activation checkpointing";
  if (o.lora) {
    text += fmt::format(", LoRA of rank {} on {}", o.lora->rank, fmt::join(o.lora->targets, ", "));
  }
  return text;
}

std::string pytorch_text(const Request& request, const pytorch::GenerationOptions& o,
                         Search search) {
  return fmt::format("inference in {}, {}{}{}, {} attention", name(o.precision),
                     sizes_text(request, search), o.padded.value_or(o.batch > 1) ? ", padded" : "",
                     tokens_text(o.generate), name(o.attention));
}

}  // namespace

std::string workload_text(const Request& request, Search search) {
  if (request.pytorch) {
    return std::visit([&](const auto& o) { return pytorch_text(request, o, search); },
                      *request.pytorch);
  }
  return std::visit([&](const auto& o) { return vramfit_text(request, o, search); },
                    request.workload);
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

std::string runtime_text(const Request& request) {
  if (request.pytorch) {
    const pytorch::Release& release = current_release();
    return fmt::format(
        "runtime: PyTorch {} and transformers {}, eager mode. --runtime vramfit is this project's "
        "own step, which needs less.",
        short_text(release.torch), short_text(release.transformers));
  }
  const char* more = std::holds_alternative<TrainingOptions>(request.workload)
                         ? "it keeps activations and logits that vramfit computes again or in "
                           "pieces, and holds on to what its allocator rounds up"
                         : "its temporaries are larger, and it holds on to what its allocator "
                           "rounds up";
  return fmt::format(
      "runtime: vramfit, this project's own step. PyTorch needs more for the same: {}.", more);
}

}  // namespace vramfit::fit
