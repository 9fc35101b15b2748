// What an op of ATen's table asks of the allocator. A call a line of standard input, as JSON:
//   {"gpu": "h200", "release": "2.11", "op": "mul.Tensor", "args": [{"tensor": [2, 3], "strides":
//   [3, 1],
//    "dtype": "float32", "grad": true}, 2.0], "autocast": "bfloat16", "roots": [0]}
// `release` absent: the one that was measured. A type is {"dtype": …}. A tensor that wants a
// gradient is a leaf's clone, unless it overlaps itself. `roots`: of results that have a gradient,
// those that backward begins at; absent: all.
//
// A line each answers with bytes that come (+) and go (-): in the op, as Python drops its arguments
// and results, and in backward: {"op": […], "drop": […], "backward": […]}. Or with {"refused": …}.
// `names` as the one argument: all that the table has, a line each.
#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "estimator/budget.h"
#include "estimator/card_names.h"
#include "estimator/releases.h"
#include "model/errors.h"
#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/autograd/engine.h"
#include "runtimes/pytorch/torch/ops/view.h"

namespace vramfit::pytorch {
namespace {

using Json = nlohmann::json;

ScalarType type_of(const std::string& name) {
  if (const auto type = aten::type_named(name)) return *type;
  throw BadInput("no type: " + name);
}

Dims dims_of(const Json& list) {
  Dims dims;
  for (const Json& each : list) dims.push_back(each);
  return dims;
}

class Machine {
 public:
  Machine(const std::string& gpu, const std::string& release)
      : tape_(1),
        context_(tape_, release_named(release), gpu_of(budget_of(card_named(gpu))),
                 kUnlimitedBytes) {
    for (const bool backward : {false, true}) {  // what cuBLAS takes once
      const Setting thread(context_.backward_thread, backward);
      context_.cublas.use_lt(context_);
    }
  }

  Json events_of(const Json& call) {
    const aten::Op op = aten::find_op(call.at("op").get<std::string>());
    if (op == nullptr) throw BadInput("not known");
    leaves_.clear();
    std::vector<aten::Value> arguments;
    for (const Json& each : call.at("args")) arguments.push_back(value(each));
    std::optional<AutocastScope> autocast;
    autocast.emplace(context_.autocast, call.contains("autocast")
                                            ? Autocast::State(type_of(call.at("autocast")))
                                            : std::nullopt);
    tape_.take();
    Json told;
    std::vector<Tensor> results = op(aten::Call(context_, arguments));
    told["op"] = taken();

    std::vector<Edge> edges;
    std::vector<Tensor> given;
    std::vector<Tensor> kept;  // the caller has them too
    std::size_t place = 0;
    for (const Tensor& result : results) {
      if (!result.defined() || !result.requires_grad()) continue;
      if (wanted(call, place++)) {
        edges.push_back(gradient_edge(result));
        given.push_back(like(result));
        kept.push_back(given.back());
      }
    }
    tape_.take();
    arguments.clear();
    results.clear();
    told["drop"] = taken();
    autocast.reset();
    if (!edges.empty()) {
      const Setting thread(context_.backward_thread, true);
      backward(context_, edges, given);
      edges.clear();
    }
    told["backward"] = taken();
    kept.clear();
    for (const Tensor& leaf : leaves_) leaf.impl()->grad.reset();
    return told;
  }

 private:
  static bool wanted(const Json& call, std::size_t place) {
    if (!call.contains("roots")) return true;
    const auto& roots = call.at("roots");
    return std::find(roots.begin(), roots.end(), place) != roots.end();
  }

  /// torch.empty_like
  static Tensor like(const Tensor& a) { return clone(a.detach()); }

  aten::Value value(const Json& told) {
    if (told.is_null()) return {};
    if (told.is_boolean()) return told.get<bool>();
    if (told.is_number_integer()) return told.get<std::int64_t>();
    if (told.is_number()) return told.get<double>();
    if (told.is_string()) return told.get<std::string>();
    if (told.is_array()) {
      std::vector<aten::Value> list;
      for (const Json& each : told) list.push_back(value(each));
      return list;
    }
    const ScalarType type = type_of(told.at("dtype"));
    if (!told.contains("tensor")) return type;
    const Dims sizes = dims_of(told.at("tensor"));
    const Dims strides = dims_of(told.at("strides"));
    std::int64_t extent = sizes.product() == 0 ? 0 : 1;
    for (int i = 0; i < sizes.rank() && extent > 0; ++i) extent += (sizes[i] - 1) * strides[i];
    Tensor leaf = as_strided(empty(context_, {extent}, type), sizes, strides);
    if (!told.value("grad", false)) return leaf;
    leaf.impl()->requires_grad = true;
    leaves_.push_back(leaf);
    return leaf.is_non_overlapping_and_dense() ? clone(leaf) : leaf;
  }

  Json taken() {
    Json events = Json::array();
    for (const Act& act : tape_.take().acts) {
      const auto bytes = static_cast<std::int64_t>(act.bytes);
      if (bytes == 0) continue;  // which PyTorch asks no memory for
      if (act.kind == Act::Kind::Allocate) events.push_back(bytes);
      if (act.kind == Act::Kind::Free) events.push_back(-bytes);
    }
    return events;
  }

  Tape tape_;
  Context context_;
  std::vector<Tensor> leaves_;
};

int answer() {
  std::map<std::string, Machine> machines;
  for (std::string line; std::getline(std::cin, line);) {
    const Json call = Json::parse(line);
    Json told;
    try {
      const std::string gpu = call.at("gpu");
      const std::string release = call.value("release", current_release().name);
      told = machines.try_emplace(gpu + release, gpu, release).first->second.events_of(call);
    } catch (const BadInput& refused) {
      told = {{"refused", refused.what()}};
    }
    std::cout << told << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace vramfit::pytorch

int main(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == "names") {
    for (const auto name : vramfit::pytorch::aten::op_names()) std::cout << name << "\n";
    return 0;
  }
  return vramfit::pytorch::answer();
}
