#include "estimator/runtimes.h"

#include <algorithm>

#include "estimator/releases.h"
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

const Runtime& runtime_named(const std::string& name) {
  std::string list;
  for (const Runtime* runtime : runtimes()) {
    if (name == runtime->name()) return *runtime;
    list += (list.empty()                   ? ""
             : runtime == runtimes().back() ? " or "
                                            : ", ") +
            std::string(runtime->name());
  }
  throw BadInput("runtime: unknown '" + name + "'; " + list);
}

}  // namespace vramfit
