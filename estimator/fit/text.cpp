#include "estimator/fit/text.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "estimator/ask/titles.h"
#include "estimator/fit/terminal.h"
#include "model/quantity.h"

namespace vramfit::fit {
namespace {

constexpr double kGb = 1e9;
constexpr double kMillion = 1e6;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

}  // namespace

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
    case Stage::Compile:
      return step == 0 ? "while compiling" : fmt::format("in compile of step {}", step);
    case Stage::Loaded:
      return "while loading";
    case Stage::Prefill:
    case Stage::Decode:
      return fmt::format("in {}", name(stage));
    case Stage::Profile:
      return "in the engine's profile run";
    case Stage::KvCache:
      return "as the KV cache is made";
    case Stage::WarmUp:
      return "in the engine's warm-up";
    case Stage::Serve:
      return "while serving";
    case Stage::Sample:
      return step == 0 ? "while serving requests that are sampled"
                       : fmt::format("in sampling of step {}", step);
    case Stage::Sleep:
      return "as the engine falls asleep";
    case Stage::WakeUp:
      return "as the engine wakes up";
    case Stage::Outside:
      break;
  }
  return "between stages";
}

std::string both_units(std::uint64_t bytes) {
  return fmt::format("{} GB ({:.2f} GiB)", gb(bytes), static_cast<double>(bytes) / kGiB);
}

std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream words(text.substr(std::min(text.find_first_not_of(' '), text.size())));
  std::string line = text.substr(0, text.find_first_not_of(' '));
  std::string lines;
  const std::size_t most = columns();
  bool fresh = true;
  for (std::string word; words >> word;) {
    if (!fresh && line.size() + 1 + word.size() > most) {
      lines += line + "\n";
      line = std::string(indent, ' ');
      fresh = true;
    }
    line += (fresh ? "" : " ") + word;
    fresh = false;
  }
  return lines + line + "\n";
}

std::string model_line(const ModelConfig& model, std::int64_t parameters) {
  if (parameters == 0) return short_name(model) + "\n";
  return fmt::format("{}: {} parameters\n", short_name(model), grouped(parameters));
}

namespace {

/// Of a card's own overhead beside the one that is assumed.
std::string may_take(const Overhead& overhead) {
  const Range range = range_of(overhead);
  std::string text = "yours may take up to " + gb(range.less) + " GB less";
  if (range.more > 0) text += " or " + gb(range.more) + " more";
  if (!overhead.doubt) return text;
  return text + (overhead.doubt->reports > 0 ? ", as people report of it"
                                             : ", as people report of other cards");
}

}  // namespace

std::string rests_on(const Request& request, const Estimate& estimate) {
  const std::string about = request.workload->about();
  std::string text = "rests on: " + about.substr(0, about.find(". "));
  if (const auto error = request.workload->reserved_error(); error && *error > 0) {
    text += fmt::format("; at worst {:.1f} % off where it was measured", 100 * *error);
  }
  const Overhead& overhead = estimate.overhead;
  const std::string whose =
      overhead.assumed_from.empty()
          ? overhead.source
          : fmt::format("the {}'s, assumed; {}", overhead.assumed_from, may_take(overhead));
  return wrapped(text, 2) + wrapped("driver and context overhead: " + whose, 2);
}

std::string runtime_text(const Request& request) { return "runtime: " + request.workload->about(); }

}  // namespace vramfit::fit
