#include "runtimes/llamacpp/ggml/fusion.h"

#include <algorithm>
#include <array>
#include <optional>

namespace vramfit::llamacpp::ggml {
namespace {

using OpList = std::vector<Op>;

bool first_source_is(const Tensor& node, const Tensor* source) {
  return node.source_count > 0 && node.sources[0] == source;
}

/// Nodes of one split, by their place in the whole graph.
class SplitNodes {
 public:
  SplitNodes(const Graph& graph, std::size_t begin, std::size_t end)
      : graph_(graph), begin_(begin), end_(end) {}

  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  Tensor& operator[](std::size_t i) const { return *graph_.nodes[i]; }
  bool has(std::size_t i, Op op) const { return i < end_ && (*this)[i].op == op; }
  /// Whether node `i` is `op` of the node before it.
  bool follows(std::size_t i, Op op) const {
    return has(i, op) && first_source_is((*this)[i], &(*this)[i - 1]);
  }

  /// Whether nodes from `first` on are `ops`, and those beside `outputs` are used among them
  /// alone: ggml_can_fuse_subgraph.
  bool can_fuse(std::size_t first, const OpList& ops,
                const std::vector<std::size_t>& outputs) const {
    if (first + ops.size() > end_) return false;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Tensor& node = (*this)[first + i];
      if (node.op != ops[i]) return false;
      if (std::find(outputs.begin(), outputs.end(), first + i) != outputs.end()) continue;
      if (node.output || uses_among(first + i + 1, first + ops.size(), node) != uses(node)) {
        return false;
      }
      if (node.is_view() && !node.view_of->weight && !within(first, ops.size(), node.view_of)) {
        return false;
      }
    }
    return true;
  }

 private:
  std::int32_t uses(const Tensor& node) const { return graph_.uses[node.id]; }

  std::int32_t uses_among(std::size_t from, std::size_t to, const Tensor& of) const {
    std::int32_t count = 0;
    for (std::size_t i = from; i < to; ++i) {
      const auto& sources = (*this)[i].sources;
      count += static_cast<std::int32_t>(std::count(sources.begin(), sources.end(), &of));
    }
    return count;
  }

  bool within(std::size_t first, std::size_t count, const Tensor* tensor) const {
    for (std::size_t i = first; i < first + count; ++i) {
      if (graph_.nodes[i] == tensor) return true;
    }
    return false;
  }

  const Graph& graph_;
  std::size_t begin_;
  std::size_t end_;
};

/// Lists what is kept, by until when, each tensor once.
class Kept {
 public:
  void add(Tensor* tensor, const Tensor* until) {
    auto it = std::find_if(all_.begin(), all_.end(),
                           [until](const KeptUntil& k) { return k.until == until; });
    if (it == all_.end()) it = all_.insert(all_.end(), {until, {}});
    if (std::find(it->kept.begin(), it->kept.end(), tensor) == it->kept.end()) {
      it->kept.push_back(tensor);
    }
  }

  std::vector<KeptUntil> take() { return std::move(all_); }

 private:
  std::vector<KeptUntil> all_;
};

// --- The weighted sum of experts: ggml_cuda_match_moe_weighted_reduction.

struct WeightedSum {
  Tensor* experts = nullptr;
  Tensor* expert_scale = nullptr;
  Tensor* weights = nullptr;
  std::size_t nodes = 0;  ///< from the first product to the last sum
};

constexpr std::int64_t kMostExpertsSummed = 15;  // MOE_WEIGHTED_REDUCTION_MAX_EXPERTS

/// The two sources of a product, if one holds a weight for each row of the other.
bool split_product(const Tensor& mul, Tensor*& full, Tensor*& weights) {
  if (mul.op != Op::Mul || !contiguous(mul)) return false;
  const auto is_full = [&](const Tensor& t) {
    return t.type == kF32 && contiguous(t) && same_shape(t, mul);
  };
  const auto is_weights = [&](const Tensor& t) {
    return t.type == kF32 && contiguous(t) && t.ne == Shape{1, mul.ne[1], mul.ne[2], mul.ne[3]};
  };
  for (const std::size_t i : {0U, 1U}) {
    if (!is_full(*mul.sources[i]) || !is_weights(*mul.sources[1 - i])) continue;
    full = mul.sources[i];
    weights = mul.sources[1 - i];
    return true;
  }
  return false;
}

std::optional<WeightedSum> weighted_sum(const SplitNodes& split, std::size_t first) {
  const Tensor* weighted = &split[first];
  WeightedSum sum;
  std::size_t products = 1;
  if (!split_product(*weighted, sum.experts, sum.weights)) return std::nullopt;
  Tensor* scaled = nullptr;
  Tensor* route = nullptr;
  if (split.has(first + 1, Op::Mul) && split_product(split[first + 1], scaled, route) &&
      scaled == weighted) {
    sum.expert_scale = sum.weights;
    sum.weights = route;
    weighted = &split[first + 1];
    products = 2;
  }
  const std::int64_t used = weighted->ne[1];
  if (used < 2 || used > kMostExpertsSummed) return std::nullopt;

  // A view of each expert's rows, then a sum of the first two, of that and the third, …
  const auto count = static_cast<std::size_t>(used);
  const std::size_t views = first + products;
  const std::size_t sums = views + count;
  sum.nodes = products + 2 * count - 1;
  if (first + sum.nodes > split.end()) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& view = split[views + i];
    if (view.op != Op::View || view.view_of != weighted ||
        view.view_offset != i * weighted->nb[1] || view.nb[1] != weighted->nb[2]) {
      return std::nullopt;
    }
  }
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const Tensor& add = split[sums + i];
    const Tensor& left = i == 0 ? split[views] : split[sums + i - 1];
    if (add.op != Op::Add || add.sources[0] != &left || add.sources[1] != &split[views + i + 1]) {
      return std::nullopt;
    }
  }
  OpList ops(products, Op::Mul);
  ops.insert(ops.end(), count, Op::View);
  ops.insert(ops.end(), count - 1, Op::Add);
  if (!split.can_fuse(first, ops, {first + sum.nodes - 1})) return std::nullopt;
  return sum;
}

// --- The choice of experts: ggml_cuda_topk_moe_fusion.

struct Choice {
  OpList ops;
  std::size_t ids;  ///< the node that holds which experts were chosen
};

std::optional<Choice> choice_of_experts(const SplitNodes& split, std::size_t first) {
  const Tensor& gating = split[first];
  const bool sigmoid = gating.op == Op::Unary && gating.unary == Unary::Sigmoid;
  if (!sigmoid && gating.op != Op::SoftMax) return std::nullopt;
  std::size_t i = first + 1;
  if (!split.follows(i, Op::Reshape)) return std::nullopt;
  const Tensor& probabilities = split[i++];
  Choice choice{{gating.op, Op::Reshape}, 0};
  const Tensor* sorted = &gating;
  if (split.has(i, Op::Add) && first_source_is(split[i], &gating)) {
    sorted = &split[i++];
    choice.ops.push_back(Op::Add);
  }
  if (!split.has(i, Op::Argsort) || !first_source_is(split[i++], sorted)) return std::nullopt;
  if (!split.follows(i, Op::View)) return std::nullopt;
  choice.ids = i++;
  if (!split.has(i, Op::GetRows) || split[i].sources[0] != &probabilities ||
      split[i].sources[1] != &split[choice.ids]) {
    return std::nullopt;
  }
  choice.ops.insert(choice.ops.end(), {Op::Argsort, Op::View, Op::GetRows});
  ++i;

  // Weights that sum to one, and a scale.
  if (split.has(i, Op::Reshape)) {
    const bool norm = split.follows(i, Op::Reshape) && split.follows(i + 1, Op::SumRows) &&
                      split.follows(i + 2, Op::Clamp) && split.has(i + 3, Op::Div) &&
                      split[i + 3].sources[0] == &split[i] &&
                      split[i + 3].sources[1] == &split[i + 2] && split.follows(i + 4, Op::Reshape);
    if (!norm) return choice;
    choice.ops.insert(choice.ops.end(),
                      {Op::Reshape, Op::SumRows, Op::Clamp, Op::Div, Op::Reshape});
    i += 5;
  }
  if (split.follows(i, Op::Scale)) choice.ops.push_back(Op::Scale);
  return choice;
}

// ggml_cuda_should_use_topk_moe: a power of 2, or what some model has.
bool has_kernel(const SplitNodes& split, std::size_t first, const Choice& choice) {
  const Tensor& ids = split[choice.ids];
  const std::uint64_t experts = ids.nb[1] / ids.nb[0];
  const bool power = (experts & (experts - 1)) == 0 && experts <= 512;
  if (!power && experts != 288 && experts != 576) return false;
  const Tensor& gating = split[first];
  if (gating.op == Op::SoftMax && gating.sources[1] != nullptr) return false;
  return contiguous(*gating.sources[0]) && contiguous(split[first + choice.ops.size() - 1]);
}

}  // namespace

std::vector<KeptUntil> kept_by_fusion(const Graph& graph, std::size_t begin, std::size_t end) {
  const SplitNodes split(graph, begin, end);
  Kept kept;
  for (std::size_t i = begin; i < end; ++i) {
    if (split[i].op == Op::Mul) {
      if (const auto sum = weighted_sum(split, i)) {
        i += sum->nodes - 1;
        const Tensor* last = &split[i];
        kept.add(sum->experts, last);
        kept.add(sum->weights, last);
        if (sum->expert_scale != nullptr) kept.add(sum->expert_scale, last);
      }
    }
    const Op op = split[i].op;
    if (op != Op::Unary && op != Op::SoftMax) continue;
    const auto choice = choice_of_experts(split, i);
    if (!choice) continue;
    const std::size_t count = choice->ops.size();
    if (!split.can_fuse(i, choice->ops, {choice->ids, i + count - 1}) ||
        !has_kernel(split, i, *choice) || i + count >= graph.nodes.size()) {
      continue;
    }
    const Tensor* until = &split[i + count];
    for (std::size_t n = i; n < i + count; ++n) {
      kept.add(&split[n], until);
      for (Tensor* source : split[n].used_sources()) {
        if (source != nullptr) kept.add(source, until);
      }
    }
    i += count - 1;
  }
  return kept.take();
}

}  // namespace vramfit::llamacpp::ggml
