#include "estimator/runtimes.h"

#include <algorithm>

#include "model/errors.h"
#include "runtimes/article/runtime.h"
#include "runtimes/pytorch/runtime.h"
#include "runtimes/vramfit/runtime.h"

namespace vramfit {

const std::vector<const Runtime*>& runtimes() {
  static const std::vector<const Runtime*> list = {&pytorch::pytorch_runtime(), &vramfit_runtime(),
                                                   &article::article_runtime()};
  return list;
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

const Flag* find_flag(const Runtime& runtime, const std::string& name) {
  const std::vector<Flag>& flags = runtime.flags();
  const auto found =
      std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

}  // namespace vramfit
