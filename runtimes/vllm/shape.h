#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/config/model_config.h"

// What vLLM's model classes read of a config, as far as memory depends on it.
namespace vramfit::vllm {

class Config;
struct Architecture;

/// What a layer keeps of a sequence.
enum class Keeps : std::uint8_t {
  All,      ///< keys and values of every token
  Window,   ///< of the last `window`
  Chunk,    ///< of the last ones from a multiple of `window` on
  Latent,   ///< one latent a token: MLA
  State,    ///< as much of any sequence: what is recurrent
  Nothing,  ///< an MLP alone
};

struct Layer {
  Keeps keeps = Keeps::All;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  ///< of keys; values are as wide, but in MLA
  std::int64_t window = 0;
  bool also_state = false;  ///< beside its attention it has what is recurrent
  bool experts = false;     ///< its MLP is a mixture
  bool mlp = true;          ///< it has one
  std::int64_t ffn = 0;     ///< its dense MLP's inner width

  std::int64_t q_width() const { return heads * head_dim; }
  bool attends() const { return keeps != Keeps::State && keeps != Keeps::Nothing; }
  bool has_state() const { return keeps == Keeps::State || also_state; }
};

/// Norms of queries and keys: none, one weight that heads share, or as many as heads are wide, the
/// last also computed op by op in fp32; or without a weight, in fp32.
enum class QkNorm : std::uint8_t { None, Head, Whole, WholeInFp32, Bare };

/// What of a model's class takes adapters besides its products (embedding_modules).
enum class Adapted : std::uint8_t {
  Nothing,    ///< not even these: it has no LoRA
  Products,   ///< nothing else
  Embedding,  ///< what is embedded
  Head,       ///< and the head
  HeadTwice,  ///< and a head that is the embedding once more as such
};

/// A layer's mixture.
struct Experts {
  std::int64_t count = 0;
  std::int64_t used = 0;    ///< of each token
  std::int64_t width = 0;   ///< of each one
  std::int64_t shared = 0;  ///< of those that every token passes, together
  bool shared_gated = false;
  bool biased = false;  ///< theirs and their router's products
  bool router_in_fp32 = false;
  bool router_stored = false;  ///< as other products are
  bool corrected = false;      ///< which ones a token goes to, by a bias of each (noaux_tc)
};

/// Ranks and widths of MLA.
struct Latent {
  std::int64_t q_rank = 0;  ///< 0: queries are projected at once
  std::int64_t kv_rank = 0;
  std::int64_t nope = 0;
  std::int64_t rope = 0;
  std::int64_t value = 0;
};

/// How a layer that keeps a state mixes tokens.
enum class Mixing : std::uint8_t {
  None,
  DeltaNet,          ///< a linear attention
  Mamba2,            ///< a state-space model
  ShortConvolution,  ///< a gated convolution, and no matrix
};

/// Such layers' heads, and how many tokens their convolution sees. Mamba-2's groups are heads of
/// keys, whose width is its state's; a short convolution has one head of values.
struct Recurrent {
  Mixing by = Mixing::None;
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_dim = 0;  ///< of each head
  std::int64_t value_dim = 0;
  std::int64_t kernel = 0;
  bool biased = false;  ///< its products
  bool convolution_biased = false;
  bool normed = false;            ///< before what goes out
  bool matrices_in_fp32 = false;  ///< where no argument says otherwise

  std::int64_t keys() const { return key_heads * key_dim; }
  std::int64_t values() const { return value_heads * value_dim; }
};

struct Draft;

/// A tensor of what sees.
struct Tile {
  std::int64_t rows = 0;
  std::int64_t columns = 1;
  std::int64_t shares = 0;  ///< heads or channels that ranks share out; 0: each has all of it
};

/// What the first runner's profile run shows the model: items of the most tokens. In elements.
struct Shown {
  std::int64_t tokens = 0;   ///< of an item, that the text gets; 0: not known here
  std::int64_t patches = 0;  ///< of an item
  std::int64_t given = 0;    ///< of a patch, as it comes
  std::int64_t alive = 0;    ///< of a patch, at its layers' widest place
  std::int64_t merged = 0;   ///< of a token, made of layers before the last one
  std::int64_t made = 0;     ///< of a token, that comes out
};

struct Shape {
  std::string name;          ///< for people
  std::string architecture;  ///< the class that vLLM runs it by
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
  std::int64_t positions = 0;     ///< that the config says it was made for
  std::int64_t usual_length = 0;  ///< of a request where none is asked for; 0: as many
  /// Rows of each table of rotations, and how many such tables there are.
  std::int64_t rotary_rows = 0;
  std::int64_t rotary_dim = 0;
  std::int64_t rotary_tables = 0;
  std::int64_t rotary_stretch = 1;  ///< the first one's rows are so many times as many
  bool rotary_in_fp32 = false;      ///< whatever type the model is of
  std::int64_t norms = 2;           ///< of the residual stream, a layer
  /// Where its layers run op by op: tensors as wide as the residual stream that are held besides,
  /// as norms and sums are written elsewhere, or gate and up until down is done.
  std::int64_t outlived = 0;
  std::int64_t outlived_attending = 0;  ///< the same, while it attends
  bool rotates_elsewhere = false;       ///< the same: queries and keys
  bool sums_elsewhere = false;          ///< the residual stream is written anew
  bool hands_on = false;       ///< the same: a layer what it projected, until the next one is done
  bool rotates_apart = false;  ///< a step's rotations are there by themselves, for all layers
  bool tied = false;
  bool fused = false;     ///< its checkpoints have queries, keys and values in one, and gate and up
  bool frees_up = false;  ///< gate and up are let go before what comes of them is multiplied
  Adapted adapted = Adapted::Nothing;
  bool sees = false;      ///< its class does
  std::int64_t deep = 0;  ///< layers of what sees whose states a step's tokens get besides
  bool sees_videos = false;
  bool tower_may_be_whole = false;  ///< of each rank (Seeing)
  bool tower_stored = false;        ///< in few bits, as the text is
  std::vector<Tile> tower;          ///< by which; nothing: what it is of is not known here
  Shown shown;                      ///< to it
  bool gated = true;                ///< gate and up are one linear
  bool learned_positions = false;
  bool gated_attention = false;  ///< queries come with a gate as wide
  bool keeps_own_type = false;   ///< its cache is of the model's type, whatever is asked for
  bool normed_twice = false;     ///< attention's and MLP's inputs are there at once
  bool norm_bias = false;
  QkNorm qk_norm = QkNorm::None;
  bool qkv_bias = false;
  bool out_bias = false;
  bool mlp_bias = false;
  bool head_bias = false;
  bool scaled_logits = false;  ///< or capped: a copy of them more
  std::vector<Layer> layers;
  std::int64_t first_layer = 0;  ///< of a stage's: how many the stages before it have
  bool first = true;             ///< of a pipeline's stages: it embeds
  bool last = true;              ///< it has the head
  Experts experts;
  std::shared_ptr<const Draft> draft = {};  ///< a model that drafts for it; null: none does
  std::string rotations;  ///< what its table of rotations is computed of: alike where this is
  Latent latent;
  Recurrent recurrent;
  std::string quantization;  ///< the config's quant_method; empty: none
  std::int64_t bits = 0;     ///< of its weights
  std::int64_t group = 0;    ///< inputs that share a scale; 0: a whole row, or all
  bool zero_points = false;
  bool packed = false;          ///< in compressed-tensors: several in a word
  bool floats = false;          ///< in compressed-tensors: fp8
  bool byte_inputs = false;     ///< what is multiplied by them is, too
  bool row_scales = false;      ///< of a byte each: a scale a row, or one of all of it
  std::int64_t scale_tile = 0;  ///< or one of each square of so many; 0: neither

  std::int64_t default_length() const { return usual_length > 0 ? usual_length : positions; }
  bool keeps_up() const { return gated && !frees_up; }
  bool hybrid() const { return recurrent.by != Mixing::None; }
  bool mixture() const { return experts.count > 0; }
  /// Whether a product adds a row, for which cuBLASLt takes a workspace.
  bool adds_rows() const { return qkv_bias || out_bias || mlp_bias; }
  /// Whether vLLM 0.26 runs it by its second model runner where no argument says which.
  bool second_runner() const;
};

/// Of a model that a reader has a shape of, that shape; of others, their config. Throws BadInput
/// where it is none of the architectures that are known here.
Shape shape_of(const ModelConfig& model);
/// Of a config alone.
Shape shape_of(const ModelSource& source);
/// As if it was of that class.
Shape shape_as(const Config& config, const std::string& name, const Architecture& architecture);
/// Whether models of that type are run, of the families that readers have.
bool runs_family(std::string_view model_type);
/// As much of a config as the door asks, where its architecture is known here.
ModelConfig described(const ModelSource& source);

}  // namespace vramfit::vllm
