#include "model/transformer/data_parallel.h"

namespace vramfit {

DataParallel::DataParallel(Model& model, const Mesh& mesh)
    : model_(model), mesh_(mesh), units_(model.weights, model.config.layers) {
  if (mesh_.alone()) return;
  Weights& weights = model.weights;
  if (mesh.shards_parameters()) parameters_.emplace(model.context, weights, units_, mesh);
  if (mesh.shards_gradients()) {
    gradients_.emplace(model.context, weights, units_, mesh);
    weights.set_gradient_source([this](Parameter& p) { return gradients_->place(p); });
  } else if (mesh.shards_states()) {
    weights.set_gradient_source([this](Parameter& p) { return whole_gradient(p); });
  }
  updated_.resize(static_cast<std::size_t>(units_.count()));
}

Tensor DataParallel::whole_gradient(Parameter& parameter) {
  Kept& kept = *parameter.kept;
  kept.gradient =
      model_.context.gradient(parameter.spec.name, parameter.spec.shape, kept.shard.whole);
  return gradient_in(model_.context, kept.gradient, parameter.spec);
}

void DataParallel::forward_enters(int unit) {
  if (mesh_.alone()) return;
  if (parameters_) {
    // Backward starts with the head, and the last block is still there for it.
    return parameters_->acquire(unit, unit == units_.head() ? unit - 1 : unit + 1);
  }
  model_.context.device.run(Await{updated_[static_cast<std::size_t>(unit)]});
}

void DataParallel::backward_enters(int unit) {
  if (gradients_) gradients_->enter(unit);
  // Nothing of the embeddings is needed but their gradients' place.
  if (parameters_ && unit != units_.head() && unit != Units::kEmbeddings) {
    parameters_->acquire(unit, unit == Units::of_block(0) ? -1 : unit - 1);
  }
}

void DataParallel::backward_leaves(int unit, bool last_micro_batch) {
  if (mesh_.alone()) return;
  if (gradients_) return gradients_->reduce();
  if (!last_micro_batch) return;
  mesh_.shards_states() ? scatter_sums(unit) : reduce_all(unit);
}

void DataParallel::reduce_all(int unit) {
  AllReduce sum{{}, mesh_.ranks, sums_};
  for (const std::size_t i : units_.completed(unit)) {
    const Parameter& p = model_.weights.all()[i];
    if (p.trained) sum.tensors.push_back(&p.gradient);
  }
  if (!sum.tensors.empty()) model_.context.device.run(sum);
}

void DataParallel::scatter_sums(int unit) {
  std::vector<Tensor> own;
  ReduceScatter sum{{}, mesh_.rank, sums_};
  own.reserve(units_.completed(unit).size());
  for (const std::size_t i : units_.completed(unit)) {
    const Parameter& p = model_.weights.all()[i];
    if (!p.trained) continue;
    own.push_back(p.own_gradient());
    sum.parts.push_back({p.kept->gradient, own.back(), false});
  }
  if (!own.empty()) model_.context.device.run(sum);
}

void DataParallel::backward_ends(bool last_micro_batch, const Tensor& loss) {
  if (parameters_) parameters_->release();
  if (gradients_) gradients_->release();
  if (last_micro_batch && !mesh_.alone()) {
    model_.context.device.run(AllReduce{{&loss}, mesh_.ranks, sums_});
  }
}

void DataParallel::await_sums() {
  if (!mesh_.alone()) model_.context.device.run(Await{sums_});
}

void DataParallel::parameters_updated() {
  if (mesh_.alone() || !mesh_.shards_states() || mesh_.shards_parameters()) return;
  for (int unit = 0; unit < units_.count(); ++unit) {
    std::vector<Tensor> own;
    AllGather values{{}, updated_[static_cast<std::size_t>(unit)]};
    own.reserve(units_.completed(unit).size());
    for (const std::size_t i : units_.completed(unit)) {
      const Parameter& p = model_.weights.all()[i];
      if (!p.trained) continue;
      own.push_back(p.own_value());
      values.parts.push_back({own.back(), p.kept->value});
    }
    if (!own.empty()) model_.context.device.run(values);
  }
}

}  // namespace vramfit
