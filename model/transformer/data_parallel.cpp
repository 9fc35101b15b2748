#include "model/transformer/data_parallel.h"

namespace vramfit {

DataParallel::DataParallel(Model& model, const Mesh& mesh)
    : model_(model),
      mesh_(mesh),
      units_(Units::of_blocks(model.weights, model.config.layers)),
      parts_(Units::of_halves(model.weights, model.config.layers)) {
  if (!mesh_.data_parallel()) return;
  Weights& weights = model.weights;
  if (mesh.shards_parameters()) parameters_.emplace(model.context, weights, units_, mesh);
  if (mesh.shards_gradients()) {
    gradients_.emplace(model.context, weights, parts_, mesh);
    weights.set_gradient_source([this](Parameter& p) { return gradients_->place(p); });
  } else if (mesh.shards_states()) {
    weights.set_gradient_source([this](Parameter& p) { return whole_gradient(p); });
  }
  updated_.resize(static_cast<std::size_t>(units_.count()));
}

Tensor DataParallel::whole_gradient(Parameter& parameter) {
  ShardStorage& storage = *parameter.storage;
  storage.gradient =
      model_.context.gradient(parameter.spec.name, parameter.spec.shape, storage.shard.whole);
  return gradient_in(model_.context, storage.gradient, parameter.spec);
}

void DataParallel::forward_enters(int unit) {
  if (!mesh_.data_parallel()) return;
  if (parameters_) {
    // Backward starts with the head, and the last block is still there for it.
    return parameters_->acquire(unit, unit == units_.head() ? unit - 1 : unit + 1);
  }
  model_.context.device.run(Await{updated_[static_cast<std::size_t>(unit)]});
}

void DataParallel::backward_enters_head() {
  if (gradients_) gradients_->enter(parts_.head());
}

void DataParallel::backward_leaves_head(bool last_micro_batch) {
  pass(parts_.head(), last_micro_batch);
}

void DataParallel::backward_enters_block(int layer) {
  const int unit = Units::of_block(layer);
  if (parameters_) parameters_->acquire(unit, layer == 0 ? -1 : unit - 1);
  if (gradients_) gradients_->enter(Units::of_mlp(layer));
}

void DataParallel::backward_passes_mlp(int layer, bool last_micro_batch) {
  pass(Units::of_mlp(layer), last_micro_batch);
  if (gradients_) gradients_->enter(Units::of_attention(layer));
}

void DataParallel::backward_leaves_block(int layer, bool last_micro_batch) {
  pass(Units::of_attention(layer), last_micro_batch);
}

void DataParallel::backward_enters_embeddings() {
  if (gradients_) gradients_->enter(Units::kEmbeddings);
}

void DataParallel::pass(int part, bool last_micro_batch) {
  if (!mesh_.data_parallel()) return;
  if (gradients_) return gradients_->reduce();
  if (!last_micro_batch) return;
  mesh_.shards_states() ? scatter_sums(part) : reduce_all(part);
  if (part > Units::of_mlp(0)) earlier_sums_ = sums_;
}

void DataParallel::reduce_all(int part) {
  AllReduce sum{{}, mesh_.ranks, sums_};
  for (const std::size_t i : parts_.own(part)) {
    const Parameter& p = model_.weights.all()[i];
    if (p.trained) sum.tensors.push_back(&p.gradient);
  }
  if (!sum.tensors.empty()) model_.context.device.run(sum);
}

void DataParallel::scatter_sums(int part) {
  std::vector<Tensor> own;
  ReduceScatter sum{{}, mesh_.rank, sums_};
  own.reserve(parts_.own(part).size());
  for (const std::size_t i : parts_.own(part)) {
    const Parameter& p = model_.weights.all()[i];
    if (!p.trained) continue;
    own.push_back(p.own_gradient());
    sum.parts.push_back({p.storage->gradient, own.back(), false});
  }
  if (!own.empty()) model_.context.device.run(sum);
}

void DataParallel::backward_ends(bool last_micro_batch, const Tensor& loss) {
  pass(Units::kEmbeddings, last_micro_batch);
  if (gradients_) gradients_->release();
  if (last_micro_batch && mesh_.data_parallel()) {
    model_.context.device.run(AllReduce{{&loss}, mesh_.ranks, sums_});
  }
}

std::vector<UpdatePart> DataParallel::update_parts(bool at_once) const {
  const std::vector<Parameter>& all = model_.weights.all();
  UpdatePart start{{}, true};
  UpdatePart rest{{}, false};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool starts = at_once || !mesh_.data_parallel() || units_.starts_with(i);
    if (all[i].trained) (starts ? start : rest).parameters.push_back(i);
  }
  if (rest.parameters.empty()) return {std::move(start)};
  if (mesh_.shards_parameters()) return {std::move(start), std::move(rest)};
  return {std::move(rest), std::move(start)};
}

void DataParallel::update_enters(const UpdatePart& part) {
  if (!mesh_.data_parallel()) return;
  model_.context.device.run(Await{part.of_start ? sums_ : earlier_sums_});
}

void DataParallel::update_leaves(const UpdatePart& part) {
  if (parameters_ && part.of_start) parameters_->gather_ahead();
}

void DataParallel::parameters_updated() {
  if (!mesh_.shards_states() || mesh_.shards_parameters()) return;
  for (int unit = 0; unit < units_.count(); ++unit) {
    std::vector<Tensor> own;
    AllGather values{{}, updated_[static_cast<std::size_t>(unit)]};
    own.reserve(units_.own(unit).size());
    for (const std::size_t i : units_.own(unit)) {
      const Parameter& p = model_.weights.all()[i];
      if (!p.trained) continue;
      own.push_back(p.own_value());
      values.parts.push_back({own.back(), p.storage->value});
    }
    if (!own.empty()) model_.context.device.run(values);
  }
}

}  // namespace vramfit
