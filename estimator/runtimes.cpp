#include "estimator/runtimes.h"

#include <algorithm>

#include "estimator/models.h"
#include "estimator/releases.h"
#include "model/config/families.h"
#include "model/errors.h"
#include "runtimes/article/runtime.h"
#include "runtimes/llamacpp/runtime.h"
#include "runtimes/vramfit/runtime.h"

namespace vramfit {

const pytorch::PyTorchRuntime& current_pytorch() {
  static const pytorch::PyTorchRuntime runtime(current_release());
  return runtime;
}

const std::vector<const Runtime*>& runtimes() {
  static const std::vector<const Runtime*> list = {&current_pytorch(), &vramfit_runtime(),
                                                   &article::article_runtime(),
                                                   &llamacpp::llamacpp_runtime()};
  return list;
}

const Runtime& default_runtime() { return *runtimes().front(); }

std::vector<SearchAxis> all_axes() {
  std::vector<SearchAxis> axes;
  for (const Runtime* runtime : runtimes()) {
    for (const SearchAxis& axis : runtime->axes()) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
    }
  }
  return axes;
}

std::vector<std::string> runtime_names() {
  std::vector<std::string> names;
  for (const Runtime* runtime : runtimes()) names.emplace_back(runtime->name());
  return names;
}

const Runtime* find_runtime(std::string_view name) {
  for (const Runtime* runtime : runtimes()) {
    if (name == runtime->name()) return runtime;
  }
  return nullptr;
}

const Runtime& runtime_named(const std::string& name) {
  if (const Runtime* runtime = find_runtime(name)) return *runtime;
  throw BadInput("runtime: unknown '" + name + "'; " + one_of(runtime_names()));
}

namespace {

/// Whether a runtime has a reader of its own for a config that no family reads.
bool reads(const Runtime& runtime, const UnreadModel& unread) {
  try {
    return unread.source() != nullptr && runtime.read_model(*unread.source()).has_value();
  } catch (const BadInput&) {  // what its architecture lacks here
    return false;
  }
}

}  // namespace

std::vector<std::string> runtimes_of(const std::string& model) {
  std::vector<std::string> names;
  const auto add_those = [&names](const auto& run_it) {
    for (const Runtime* runtime : runtimes()) {
      if (run_it(*runtime)) names.emplace_back(runtime->name());
    }
  };
  try {
    const std::string type = model_named(model).family;
    const auto family =
        std::find_if(families().begin(), families().end(),
                     [&](const FamilyReader& one) { return one.model_type == type; });
    add_those([&](const Runtime& runtime) { return runtime.runs(*family); });
  } catch (const UnreadModel& unread) {
    add_those([&](const Runtime& runtime) { return reads(runtime, unread); });
  }
  return names;
}

}  // namespace vramfit
