#include "runtimes/vllm/recurrent.h"

#include <utility>

#include "model/errors.h"
#include "runtimes/vllm/elements.h"
#include "runtimes/vllm/limits.h"

namespace vramfit::vllm {
namespace {

/// One that sees a token alone keeps nothing.
std::int64_t kernel_of(const Config& config, const char* key) {
  return config.json().integer(key, 2, kMostKernel);
}

Recurrent delta_net(const Config& config) {
  return {.by = Mixing::DeltaNet,
          .key_heads = config.integer({"linear_num_key_heads"}, kMostWidth),
          .value_heads = config.integer({"linear_num_value_heads"}, kMostWidth),
          .key_dim = config.integer({"linear_key_head_dim"}, kMostWidth),
          .value_dim = config.integer({"linear_value_head_dim"}, kMostWidth),
          .kernel = kernel_of(config, "linear_conv_kernel_dim")};
}

Recurrent mamba2(const Config& config, std::int64_t hidden) {
  Recurrent of{.by = Mixing::Mamba2,
               .key_heads = config.integer_or({"mamba_n_groups"}, 1, 1),
               .value_heads = config.integer({"mamba_n_heads"}, kMostWidth),
               .key_dim = config.integer({"mamba_d_state"}, kMostWidth),
               .kernel = kernel_of(config, "mamba_d_conv")};
  const std::int64_t expanded = config.integer_or({"mamba_expand"}, 2, 1) * hidden;
  const std::int64_t width = config.json().has("mamba_head_dim")
                                 ? of.value_heads * config.integer({"mamba_head_dim"}, kMostWidth)
                                 : config.integer_or({"mamba_d_ssm"}, expanded, 1);
  if (width % of.value_heads != 0) {
    config.json().fail("mamba_n_heads", "does not share out " + std::to_string(width) +
                                            " channels evenly; a divisor");
  }
  of.value_dim = width / of.value_heads;
  of.biased = config.truth("mamba_proj_bias", false);
  of.convolution_biased = config.truth("mamba_conv_bias", true);
  of.normed = config.truth("mamba_rms_norm", config.model_type() != "falcon_h1");
  return of;
}

Recurrent short_convolution(const Config& config, std::int64_t hidden, bool own_width) {
  const bool biased = config.truth("conv_bias", false);
  return {.by = Mixing::ShortConvolution,
          .value_heads = 1,
          .value_dim = own_width ? config.integer({"conv_dim"}, kMostWidth) : hidden,
          .kernel = kernel_of(config, "conv_L_cache"),
          .biased = biased,
          .convolution_biased = biased};
}

void require_narrow(const Config& config, const Recurrent& of) {
  const auto fits = [](std::int64_t heads, std::int64_t dim) {
    return heads == 0 || dim <= kMostWidth / heads;
  };
  if (fits(of.key_heads, of.key_dim) && fits(of.value_heads, of.value_dim)) return;
  throw BadInput(config.json().source() +
                 ": heads of layers that keep a state are together wider than " +
                 std::to_string(kMostWidth) + "; narrower ones");
}

/// Of a type that states are kept in (MambaDType).
std::int64_t bytes_of(const std::string& type, std::int64_t otherwise) {
  if (type == "auto") return otherwise;
  return type == "float32" ? 4 : 2;
}

bool beside_attention(const Shape& shape) { return shape.layers.front().also_state; }

/// Where ranks are more than groups, each has one (extra_groups_for_head_shards).
std::int64_t keys_of_rank(const Recurrent& of, std::int64_t ranks) {
  if (of.by != Mixing::Mamba2 || of.key_heads % ranks == 0) return of.keys() / ranks;
  return of.key_dim;
}

/// What its caller holds, what is projected, and where what comes out is written.
Alive mamba2_held(const Shape& shape, std::int64_t ranks) {
  const Recurrent& of = shape.recurrent;
  const std::int64_t values = of.values() / ranks;
  Alive alive(beside_attention(shape) ? 4 : shape.norms == 1 ? 2 : 3, shape.hidden);
  alive.push_back(2 * values + 2 * keys_of_rank(of, ranks) + of.value_heads / ranks);
  alive.push_back(values);
  return alive;
}

class Tensors {
 public:
  Tensors(const Shape& shape, std::int64_t ranks)
      : of_(shape.recurrent),
        hidden_(shape.hidden),
        multiplied_(beside_attention(shape)),
        keys_(keys_of_rank(of_, ranks)),
        values_(of_.values() / ranks),
        heads_(of_.value_heads / ranks) {}

  std::vector<Weight> operator()() {
    switch (of_.by) {
      case Mixing::None:
        break;
      case Mixing::DeltaNet:
        delta_net();
        break;
      case Mixing::Mamba2:
        mamba2();
        break;
      case Mixing::ShortConvolution:
        short_convolution();
        break;
    }
    return std::move(list_);
  }

 private:
  void whole(std::int64_t rows, std::int64_t columns = 1, bool fp32 = false,
             std::vector<std::int64_t> slices = {}) {
    list_.push_back({.rows = rows, .columns = columns, .fp32 = fp32, .slices = std::move(slices)});
  }

  void linear(std::int64_t rows, std::int64_t columns, std::vector<std::int64_t> slices = {}) {
    if (slices.empty()) slices = {rows};
    list_.push_back({.kind = WeightKind::Linear,
                     .rows = rows,
                     .columns = columns,
                     .slices = std::move(slices)});
    if (of_.biased) whole(rows);
  }

  /// qwen_gdn_linear_attn.py: queries, keys, values and a gate; what decays and what is learnt of
  /// each token; the convolution before, the norm behind.
  void delta_net() {
    whole(heads_);
    whole(heads_, 1, true);
    whole(2 * keys_ + values_, of_.kernel, false, {2 * keys_ + values_});
    linear(2 * keys_ + 2 * values_, hidden_, {keys_, keys_, values_, values_});
    linear(2 * heads_, hidden_, {heads_, heads_});
    whole(of_.value_dim);
    linear(hidden_, values_);
  }

  /// mamba_mixer2.py: the convolution; gate, values, keys, queries and steps; how heads decay, what
  /// they skip, and their steps' bias; what goes out, and the norm before it.
  void mamba2() {
    whole(2 * keys_ + values_, of_.kernel, false, {values_, keys_, keys_});
    if (of_.convolution_biased) whole(2 * keys_ + values_);
    linear(2 * values_ + 2 * keys_ + heads_, hidden_, {values_, values_, keys_, keys_, heads_});
    whole(heads_, 1, true);
    whole(heads_);
    whole(heads_);
    linear(hidden_, values_);
    if (of_.normed) whole(values_);
    if (multiplied_) whole(2 * values_ + 2 * keys_ + heads_);  // mup_vector
  }

  /// short_conv.py, whose products are whole whatever others are stored in.
  void short_convolution() {
    whole(values_, of_.kernel, false, {values_});
    if (of_.convolution_biased) whole(values_);
    whole(3 * values_, hidden_, false, {values_, values_, values_});
    if (of_.biased) whole(3 * values_);
    whole(hidden_, values_, false, {hidden_});
    if (of_.biased) whole(hidden_);
  }

  const Recurrent& of_;
  std::int64_t hidden_;
  bool multiplied_;
  std::int64_t keys_;
  std::int64_t values_;
  std::int64_t heads_;
  std::vector<Weight> list_;
};

}  // namespace

Recurrent recurrent_of(const Config& config, const Architecture& architecture,
                       std::int64_t hidden) {
  Recurrent of;
  switch (architecture.recurrent) {
    case Mixing::None:
      return of;
    case Mixing::DeltaNet:
      of = delta_net(config);
      break;
    case Mixing::Mamba2:
      of = mamba2(config, hidden);
      break;
    case Mixing::ShortConvolution:
      of = short_convolution(config, hidden, architecture.name == "Lfm2ForCausalLM");
      break;
  }
  require_narrow(config, of);
  // verify_and_update_config of the classes whose config says what matrices are kept in.
  const std::string kept = config.json().text_or("mamba_ssm_dtype", "");
  of.matrices_in_fp32 = kept.empty() ? architecture.matrices_in_fp32 : kept == "float32";
  return of;
}

std::vector<Weight> recurrent_weights(const Shape& shape, std::int64_t ranks) {
  return Tensors(shape, ranks)();
}

std::int64_t state_bytes(const Shape& shape, const Options& options) {
  const Recurrent& of = shape.recurrent;
  const std::int64_t ranks = options.tensor_parallel;
  const std::int64_t drafted = of.by == Mixing::ShortConvolution ? 0 : options.drafted;
  const std::int64_t convolved =
      (2 * keys_of_rank(of, ranks) + of.values() / ranks) * (of.kernel - 1 + drafted);
  const std::int64_t matrices = of.value_heads / ranks * of.key_dim * of.value_dim;
  const std::int64_t of_convolution = bytes_of(options.state_type, own_bytes(options));
  const std::int64_t of_matrices =
      of.matrices_in_fp32 && options.state_type == "auto" ? kWord : of_convolution;
  return convolved * of_convolution + matrices * bytes_of(options.matrix_type, of_matrices);
}

std::vector<Alive> recurrent_places(const Shape& shape, std::int64_t ranks, bool in_bytes) {
  const Recurrent& of = shape.recurrent;
  const std::int64_t keys = keys_of_rank(of, ranks);
  const std::int64_t values = of.values() / ranks;
  const std::int64_t heads = of.value_heads / ranks;
  const std::int64_t hidden = shape.hidden;
  switch (of.by) {
    case Mixing::None:
      return {};
    case Mixing::DeltaNet: {
      // What is projected; its queries, keys, values and gate once more, as they are put in order;
      // these side by side; what comes out, and its norm.
      Alive alive = {hidden, hidden, hidden, hidden, hidden,    2 * (keys + values), 2 * heads,
                     keys,   keys,   values, values, 2 * heads, 2 * keys + values,   values,
                     values};
      if (in_bytes) alive.push_back((values + kWord) / 2);
      return {alive};
    }
    case Mixing::Mamba2: {
      Alive held = mamba2_held(shape, ranks);
      Alive convolved = held;
      convolved.push_back(2 * keys + values);
      // The norm, and what goes out; or without one the gate in fp32, and what of it opens; of
      // groups that norm too, and its norm.
      const bool in_groups = of.key_heads > 1 && of.key_heads % ranks == 0;
      const Alive gated =
          of.normed && !in_groups ? Alive{values, hidden} : Alive{2 * values, 2 * values};
      held.insert(held.end(), gated.begin(), gated.end());
      return {convolved, held};
    }
    case Mixing::ShortConvolution:
      // Its three parts, the product of two, that by the third, and what comes out.
      return {{hidden, hidden, hidden, 3 * values, values, values, hidden}};
  }
  return {};
}

std::int64_t tried_bytes(const Shape& shape, const Options& options, std::int64_t tokens) {
  constexpr std::int64_t kEmptied = std::int64_t{256} << 20;
  if (shape.recurrent.by != Mixing::Mamba2) return 0;
  return allocated(mamba2_held(shape, options.tensor_parallel), tokens, own_bytes(options)) +
         kEmptied;
}

}  // namespace vramfit::vllm
