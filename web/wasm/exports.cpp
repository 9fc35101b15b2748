// What JavaScript calls: a question is written where vramfit_input() says, and each function leaves
// its text where vramfit_output() says, until the next call. They return what `fit` exits with.
#include <cstddef>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "estimator/ask/answer_timeline.h"
#include "estimator/ask/ask.h"
#include "estimator/ask/astray.h"
#include "estimator/timeline/snapshot.h"
#include "estimator/timeline/trace.h"
#include "model/errors.h"
#include "model/printable.h"
#include "web/wasm/catalogue.h"

/// JavaScript's: what vramfit_output() has is known so far, and more will come.
extern "C" void vramfit_told();

#define VRAMFIT_EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace {

constexpr int kFits = 0;
constexpr int kDoesNotFit = 1;
constexpr int kBadInput = 2;
constexpr int kFailed = 3;

// A module has one caller: JavaScript's thread.
std::string input;
std::string output;

/// The text, or the one line that says why there is none.
int answered(const std::function<int()>& task) {
  try {
    return task();
  } catch (const vramfit::BadInput& error) {
    output = vramfit::one_line(error.what(), vramfit::kLongestMessage);
    return kBadInput;
  } catch (const std::exception& error) {
    output = vramfit::one_line(error.what(), vramfit::kLongestMessage);
    return kFailed;
  }
}

/// As options_of() takes them; where there are no paths, a `config` in quotes is what a file holds.
vramfit::FitOptions options() {
  auto flags = nlohmann::json::parse(input, nullptr, false);
  if (flags.is_discarded()) throw vramfit::BadInput("flags: not JSON");
  if (!flags.is_object() || !flags.contains("config") || !flags["config"].is_string()) {
    return vramfit::options_of(flags);
  }
  const auto config = flags["config"].get<std::string>();
  const auto name = flags.value("model", nlohmann::json());
  flags.erase("config");
  flags.erase("model");
  vramfit::FitOptions options = vramfit::options_of(flags);
  options.config_json = config;
  if (name.is_string()) options.model = name.get<std::string>();
  return options;
}

vramfit::Asked asked() { return vramfit::ask(options()); }

vramfit::Timeline timeline() {
  const vramfit::Asked run = asked();
  if (run.question.every_card) {
    throw vramfit::BadInput("a run on one card has a timeline; gpu or vram names it");
  }
  if (run.question.search != nullptr) {
    throw vramfit::BadInput("a run of one size has a timeline; without max-batch and max-seq");
  }
  return timeline_of(run.answers.front());
}

}  // namespace

/// Room for a question of so many bytes of JSON.
VRAMFIT_EXPORT(vramfit_input) char* vramfit_input(std::size_t bytes) {
  input.resize(bytes);
  return input.data();
}

VRAMFIT_EXPORT(vramfit_output) const char* vramfit_output() { return output.data(); }
VRAMFIT_EXPORT(vramfit_output_bytes) std::size_t vramfit_output_bytes() { return output.size(); }

/// What `vramfit --json` prints, and meanwhile what is known of it.
VRAMFIT_EXPORT(vramfit_ask) int vramfit_ask() {
  return answered([] {
    const vramfit::Asked run = vramfit::ask(options(), {}, [](const std::string& so_far) {
      output = so_far;
      vramfit_told();
    });
    output = run.json();
    return run.yes() ? kFits : kDoesNotFit;
  });
}

/// The same but for `verdict_changes_with`, which takes as long again: what a slider waits for.
VRAMFIT_EXPORT(vramfit_estimate) int vramfit_estimate() {
  return answered([] {
    vramfit::Question question = vramfit::resolve_question(options(), {});
    question.alternatives.clear();
    const std::vector<vramfit::Answer> answers = vramfit::answer(question);
    const vramfit::Asked run{std::move(question), answers};
    output = run.json();
    return run.yes() ? kFits : kDoesNotFit;
  });
}

/// The run as PyTorch's memory snapshot, pickled.
VRAMFIT_EXPORT(vramfit_snapshot) int vramfit_snapshot() {
  return answered([] {
    output = vramfit::memory_snapshot(timeline());
    return kFits;
  });
}

/// The run as a Chrome trace.
VRAMFIT_EXPORT(vramfit_trace) int vramfit_trace() {
  return answered([] {
    output = vramfit::chrome_trace(timeline());
    return kFits;
  });
}

/// Settings that the rest of the question leaves without a meaning, by name.
VRAMFIT_EXPORT(vramfit_astray) int vramfit_astray() {
  return answered([] {
    const auto flags = nlohmann::json::parse(input);
    output = nlohmann::json(vramfit::astray(vramfit::own_flags(flags, {}))).dump();
    return kFits;
  });
}

/// What there is to choose from.
VRAMFIT_EXPORT(vramfit_catalogue) int vramfit_catalogue() {
  return answered([] {
    output = vramfit::catalogue();
    return kFits;
  });
}
