#include "estimator/ask/contradictions.h"

#include "estimator/ask/unsupported.h"
#include "estimator/runtimes.h"
#include "model/errors.h"
#include "model/quantity.h"

namespace vramfit {
namespace {

/// Throws where both are given.
void not_both(bool a, const std::string& a_flag, bool b, const std::string& b_flag,
              const char* what) {
  if (a && b) throw BadInput(a_flag + " and " + b_flag + " contradict each other: " + what);
}

void only_with(bool given, const std::string& flag, bool condition, const char* what) {
  if (given && !condition) throw BadInput(flag + ": only with " + what);
}

void refuse_contradicting_flags(const FitOptions& o) {
  const char* const one_model = "one model at a time";
  not_both(o.model.has_value(), "--model", o.config.has_value(), "--config", one_model);
  not_both(o.model.has_value(), "--model", o.params.has_value(), "--params", one_model);
  not_both(o.config.has_value(), "--config", o.params.has_value(), "--params", one_model);
  for (const auto& other : {o.model, o.config, o.params}) {
    not_both(o.gguf.has_value(), "--gguf", other.has_value(), "--model, --config and --params",
             one_model);
  }
  for (const auto& other : {o.model, o.config, o.params, o.gguf}) {
    not_both(o.tape.has_value(), "--tape", other.has_value(),
             "--model, --config, --params and --gguf", "a tape has its model");
  }
  only_with(o.hidden.has_value(), "hidden", o.params.has_value(), "--params");
  only_with(o.layers.has_value(), "layers", o.params.has_value(), "--params");
  for (const std::string& axis : o.searches) {
    not_both(true, "--max-" + axis, o.flags.contains(axis), "--" + axis, "one is searched for");
  }
  if (o.searches.size() > 1) {
    not_both(true, "--max-" + o.searches[0], true, "--max-" + o.searches[1],
             "one search at a time");
  }
}

/// "--max-batch and --max-seq": the searches that a runtime has.
std::string searches_of(const Runtime& runtime) {
  std::vector<std::string> names;
  for (const SearchAxis& axis : runtime.axes()) names.push_back("--max-" + std::string(axis.name));
  return all_of(names);
}

/// "--runtime pytorch, the default": those that have the setting.
std::string runtimes_with(const std::string& setting) {
  std::string list;
  for (const Runtime* runtime : runtimes()) {
    if (!runtime->knows(setting)) continue;
    list += (list.empty() ? "" : " or ") + std::string("--runtime ") + runtime->name();
    if (runtime == &default_runtime()) list += ", the default";
  }
  return list;
}

/// Settings that the runtime does not have, or not for what is asked.
void refuse_strange_settings(const FitOptions& o, const Runtime& runtime) {
  using enum Setting::With;
  for (const auto& [name, value] : o.flags) {
    const Setting* setting = find(runtime.settings(), name);
    if (setting == nullptr) throw BadInput(name + ": only under " + runtimes_with(name));
    only_with(setting->with == Training, name, o.train, "--train");
    only_with(setting->with == Inference, name, !o.train, "inference, without --train");
  }
}

/// Throws where an answer is asked for that the runtime does not give.
void refuse_unless_can(bool asked, const std::string& flag, const char* why_not) {
  if (asked && why_not != nullptr) throw BadInput(flag + ": " + why_not);
}

void refuse_strange_answers(const FitOptions& o, const Runtime& runtime) {
  const SearchAxis* search = search_of(o, runtime);
  only_with(o.beyond_positions, "beyond-positions", search != nullptr && search->of_positions,
            "--max-seq");
  refuse_unless_can(o.formulas, "formulas", runtime.can().no_formulas);
  refuse_unless_can(o.advise, "advise", runtime.can().no_advice);
  if (search == nullptr) return;
  if (const char* instead = said_instead(runtime.settings(), o.flags, search->name)) {
    not_both(true, "--max-" + std::string(search->name), true, std::string("--") + instead,
             "one is searched for");
  }
  const std::string without = "; without " + searches_of(runtime);
  if (o.advise) throw BadInput("advise: of a run of one size" + without);
  if (o.formulas) throw BadInput("formulas: what they say is of one size" + without);
}

}  // namespace

const SearchAxis* search_of(const FitOptions& o, const Runtime& runtime) {
  if (o.searches.empty()) return nullptr;
  for (const SearchAxis& axis : runtime.axes()) {
    if (axis.name == o.searches.front()) return &axis;
  }
  throw BadInput("max-" + o.searches.front() + ": not under --runtime " + runtime.name() + "; " +
                 searches_of(runtime));
}

void refuse_contradictions(const FitOptions& o, const Runtime& runtime) {
  refuse_contradicting_flags(o);
  refuse_unless_can(o.train, "train", runtime.can().no_training);
  refuse_quantized_precision(o.flags, runtime);
  refuse_strange_settings(o, runtime);
  refuse_strange_answers(o, runtime);
}

void refuse_strange_timelines(const FitOptions& o, const Runtime& runtime, bool every_card) {
  if (!o.snapshot && !o.trace && !o.verify) return;
  const std::string flag = o.verify ? "verify" : o.snapshot ? "snapshot" : "trace";
  if (search_of(o, runtime) != nullptr) {
    throw BadInput(flag + ": of a run of one size; without " + searches_of(runtime));
  }
  if (every_card) throw BadInput(flag + ": of a run on one card; --gpu or --vram names it");
  refuse_unless_can(true, flag, runtime.can().no_timelines);
  const bool another = o.snapshot || o.trace || o.formulas || o.advise || o.strict || o.verbose;
  if (o.verify && another) {
    throw BadInput(
        "verify: is an answer of its own; without --snapshot, --trace, --formulas, --advise, "
        "--strict and --verbose");
  }
  if (o.snapshot && o.trace && *o.snapshot == *o.trace) {
    throw BadInput("trace: '" + *o.trace + "' is --snapshot's file; another one");
  }
}

}  // namespace vramfit
