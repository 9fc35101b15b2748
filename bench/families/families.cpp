#include "bench/families.h"

#include <algorithm>

#include "bench/case.h"

namespace vramfit::bench {

const std::vector<Family>& families() {
  using enum Axis;
  static const std::vector<Axis> generation = {Model, Precision, Batch, Seq, Attention, Generate};
  static const std::vector<Family> list = {
      {"Training",
       {Model, Precision, Optimizer, Batch, Seq, Attention, Accumulate},
       true,
       check_training,
       run_training},
      {"Inference", generation, true, check_generation, run_inference},
      {"KvCache", generation, true, check_generation, run_kv_cache},
      {"OomCliff",
       {Model, Precision, Optimizer, Seq, Attention, Accumulate, Gpu},
       false,
       check_training,
       run_oom_cliff},
  };
  return list;
}

const Family* find_family(const std::string& name) {
  const auto found = std::find_if(families().begin(), families().end(),
                                  [&](const Family& family) { return name == family.name; });
  return found == families().end() ? nullptr : &*found;
}

}  // namespace vramfit::bench
