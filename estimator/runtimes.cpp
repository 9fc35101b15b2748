#include "estimator/runtimes.h"

#include <algorithm>

#include "estimator/models.h"
#include "estimator/releases.h"
#include "model/config/families.h"
#include "model/errors.h"
#include "runtimes/article/runtime.h"
#include "runtimes/llamacpp/runtime.h"
#include "runtimes/recorded/runtime.h"
#include "runtimes/vllm/runtime.h"
#include "runtimes/vramfit/runtime.h"

namespace vramfit {

const pytorch::PyTorchRuntime& current_pytorch() {
  static const pytorch::PyTorchRuntime runtime(releases(), current_release().name);
  return runtime;
}

const std::vector<const Runtime*>& runtimes() {
  static const std::vector<const Runtime*> list = {
      &current_pytorch(),          &vramfit_runtime(),
      &article::article_runtime(), &llamacpp::llamacpp_runtime(),
      &vllm::vllm_runtime(),       &recorded::recorded_runtime()};
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

std::vector<std::string> readers_of(const ModelSource& source) {
  std::vector<std::string> names;
  for (const Runtime* runtime : runtimes()) {
    try {
      if (runtime->read_model(source)) names.emplace_back(runtime->name());
    } catch (const BadInput&) {
      continue;  // it has no such architecture either
    }
  }
  return names;
}

std::vector<std::string> runtimes_of(const std::string& model) {
  try {
    const std::string type = model_named(model).family;
    const auto family =
        std::find_if(families().begin(), families().end(),
                     [&](const FamilyReader& one) { return one.model_type == type; });
    std::vector<std::string> names;
    for (const Runtime* runtime : runtimes()) {
      if (runtime->runs(*family)) names.emplace_back(runtime->name());
    }
    return names;
  } catch (const UnreadModel& unread) {
    if (unread.source() == nullptr) return {};
    return readers_of(*unread.source());
  }
}

}  // namespace vramfit
