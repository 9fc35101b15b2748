#include "model/config/keys.h"

namespace vramfit {
namespace {

using Use = KeyRow::Use;

// Lists of families that rows share.
constexpr const char* kNotGpt2 =
    "llama mistral qwen2 gemma phi gpt_neox qwen3 olmo2 phi3 granite gemma2 gemma3_text";
constexpr const char* kGroupedQuery =
    "llama mistral qwen2 gemma phi qwen3 olmo2 phi3 granite gemma2 gemma3_text";
constexpr const char* kLlamaLike =
    "llama mistral qwen2 gemma qwen3 olmo2 phi3 granite gemma2 gemma3_text";
constexpr const char* kGemmas = "gemma gemma2 gemma3_text";

// A row for each thing that is done for the same reason. Families are those of families.cpp; keys
// those of transformers' config classes, of older releases and of other programs that write
// config.json.
constexpr KeyRow kKeyRows[] = {
    // The model.
    {"model_type", "", Use::Read, "", "the family"},
    {"architectures", "", Use::Read, "",
     "one with a language model's head (…ForCausalLM, …LMHeadModel) must be among them: other "
     "classes have no logits, or a head of their own"},
    {"dtype torch_dtype", "", Use::Read, "",
     "precision, where --precision is not given; dtype counts where both are there"},
    {"tie_word_embeddings", "", Use::Read, "", "whether the head is the embedding"},

    // Its shape.
    {"vocab_size", "", Use::Read, "", "rows of the embedding and of the head"},
    {"n_embd n_head n_layer n_inner n_positions", "gpt2", Use::Read, "",
     "width, heads, layers, the MLP's width (4 × n_embd if not said), learned positions"},
    {"hidden_size", "gpt2", Use::Refused, "null", "gpt2 calls it n_embd"},
    {"num_attention_heads", "gpt2", Use::Refused, "null", "gpt2 calls it n_head"},
    {"num_hidden_layers", "gpt2", Use::Refused, "null", "gpt2 calls it n_layer"},
    {"max_position_embeddings", "gpt2", Use::Refused, "null", "gpt2 calls it n_positions"},
    {"hidden_size num_attention_heads num_hidden_layers intermediate_size", kNotGpt2, Use::Read, "",
     "width, heads, layers, the MLP's width"},
    {"max_position_embeddings", kNotGpt2, Use::Read, "",
     "the positions it was made for: more are noted"},
    {"num_key_value_heads", "gpt_neox", Use::Refused, "null",
     "gpt_neox has as many as query heads; leave it out"},
    {"num_key_value_heads", kGroupedQuery, Use::Read, "",
     "heads of keys and values; must be there where transformers' default is a number of its own"},
    {"head_dim", "gpt2", Use::Refused, "null",
     "gpt2 has none; leave it out, heads are n_embd / n_head wide"},
    {"head_dim", "phi", Use::Refused, "null",
     "phi has none; leave it out, heads are hidden_size / heads wide"},
    {"head_dim", "gpt_neox", Use::Refused, "null",
     "gpt_neox has none; leave it out, heads are hidden_size / heads wide"},
    {"head_dim", kLlamaLike, Use::Read, "", "a head's width: even, at most 256"},

    // Layers.
    {"attention_bias", "mistral phi3", Use::Refused, "false", "its attention has no biases"},
    {"attention_bias", "qwen2", Use::Refused, "true", "its attention has biases on q, k and v"},
    {"attention_bias", "llama gemma gpt_neox qwen3 olmo2 granite gemma2 gemma3_text", Use::Read, "",
     "biases of attention's projections"},
    {"mlp_bias", "llama granite", Use::Read, "", "biases of the MLP's projections"},
    {"mlp_bias", "mistral qwen2 qwen3 olmo2 phi3", Use::Refused, "false", "its MLP has no biases"},
    {"lm_head_bias", "phi3", Use::Refused, "false", "its head has no bias"},
    {"activation_function", "gpt2", Use::Read, "",
     "which ops compute it: gelu_new or gelu_pytorch_tanh"},
    {"hidden_act hidden_activation", kGemmas, Use::Read, "",
     "which ops compute it: gelu_pytorch_tanh or gelu"},
    {"hidden_act", "llama mistral qwen2 phi gpt_neox qwen3 olmo2 phi3 granite", Use::Read, "",
     "which ops compute it: silu, or a gelu of phi and gpt_neox"},
    {"rms_norm_eps", kLlamaLike, Use::Read, "", "checked; memory does not depend on it"},
    {"layer_norm_eps", "phi gpt_neox", Use::Read, "", "checked; memory does not depend on it"},
    {"layer_norm_epsilon", "gpt2", Use::Read, "", "checked; memory does not depend on it"},
    {"qk_layernorm", "phi", Use::Read, "", "norms of q and k"},
    {"use_parallel_residual", "gpt_neox", Use::Read, "",
     "attention and MLP side by side, or one after the other"},
    {"embedding_multiplier attention_multiplier residual_multiplier logits_scaling", "granite",
     Use::Read, "", "checked; multiplied by always, so memory does not depend on them"},
    {"attn_logit_softcapping", "gemma2", Use::Read, "", "a tanh over attention's scores"},
    {"final_logit_softcapping", "gemma2 gemma3_text", Use::Read, "", "a tanh over the logits"},
    {"attn_logit_softcapping", "gemma3_text", Use::Ignored, "",
     "no attention function is given it"},
    {"use_bidirectional_attention", kGemmas, Use::Refused, "false", "attention is causal"},
    {"scale_attn_weights", "gpt2", Use::Refused, "true", "scores are scaled"},
    {"scale_attn_by_inverse_layer_idx reorder_and_upcast_attn", "gpt2", Use::Refused, "false",
     "another attention"},
    {"query_pre_attn_scalar", "gemma2 gemma3_text", Use::Ignored, "", "a factor"},

    // Dropout.
    {"attn_pdrop embd_pdrop resid_pdrop", "gpt2", Use::Read, "", "dropout in training"},
    {"attention_dropout", kNotGpt2, Use::Read, "", "dropout in training"},
    {"embd_pdrop resid_pdrop", "phi", Use::Read, "", "dropout in training"},
    {"resid_pdrop", "phi3", Use::Read, "", "dropout in training"},
    {"embd_pdrop", "phi3", Use::Ignored, "", "its model has no such dropout"},
    {"hidden_dropout", "gpt_neox", Use::Read, "", "dropout in training"},

    // Rotation and windows.
    {"rotary_emb_base rotary_pct", "gpt_neox", Use::Read, "",
     "rotation: its base, and how much of a head"},
    {"partial_rotary_factor", "gpt_neox", Use::Refused, "null",
     "gpt_neox calls it rotary_pct outside of rope_parameters"},
    {"rope_theta", kGroupedQuery, Use::Read, "", "rotation: its base"},
    {"rope_local_base_freq", "gemma3_text", Use::Read, "", "checked; memory does not depend on it"},
    {"partial_rotary_factor", "phi phi3", Use::Read, "", "how much of a head is rotated"},
    {"partial_rotary_factor", "llama mistral qwen2 gemma qwen3 olmo2 granite gemma2", Use::Read, "",
     "only 1"},
    {"rope_scaling rope_parameters", kNotGpt2, Use::Read, "",
     "rotation: default, linear, llama3, yarn, longrope or dynamic; each has as many frequencies, "
     "so "
     "memory differs by a block of 512 bytes at most"},
    {"original_max_position_embeddings", "phi3", Use::Ignored, "",
     "of longrope: a frequency's factor"},
    {"sliding_window", "mistral qwen2 qwen3 phi3 gemma2 gemma3_text", Use::Read, "",
     "tokens that a layer which slides attends to"},
    {"use_sliding_window", "mistral qwen2 qwen3", Use::Read, "", "whether any layer slides"},
    {"max_window_layers", "qwen2 qwen3", Use::Read, "", "layers before the first that slides"},
    {"layer_types", "llama mistral qwen2 qwen3 olmo2 phi3 granite gemma2 gemma3_text", Use::Read,
     "", "which layers slide"},
    {"sliding_window_pattern", "gemma3_text", Use::Read, "",
     "of so many layers the last does not slide"},
    {"_sliding_window_pattern", "gemma3_text", Use::Ignored, "",
     "written beside layer_types, which counts"},

    // How it is run.
    {"use_cache", "", Use::Noted, "true",
     "generate() then keeps no KV cache; what is shown has one. Training has none either way"},
    {"gradient_checkpointing", "", Use::Noted, "false",
     "transformers then trains with activation checkpointing; here --checkpoint full does"},
    {"attn_implementation _attn_implementation", "", Use::Noted, "\"sdpa\"",
     "which attention runs, --attention says"},
    {"output_hidden_states output_attentions", "", Use::Refused, "false",
     "outputs that would be kept"},
    {"is_encoder_decoder add_cross_attention", "", Use::Refused, "false", "only decoders are run"},

    // What no family here has.
    {"quantization quantization_config compression_config", "", Use::Refused, "null",
     "weights stored quantized are not predicted yet; nearest: without it, in 16 bits or by "
     "--quant"},
    {"use_mrope", "", Use::Refused, "false", "rotation in several dimensions"},
    {"per_layer_config", "", Use::Refused, "null",
     "layers that differ in shape are not supported; one shape for all"},
    {"text_config", "", Use::Refused, "null",
     "a multimodal model is answered by it, and within it none is read"},
    {"*expert* moe_*", "", Use::Refused, "null",
     "a mixture of experts, whose type has no tape; vramfit model runs it"},
    {"*_token_id *_token_ids *_token_index", "", Use::Ignored, "", "numbers of tokens"},
    {"vision* audio* speech* image* video* mm_* img_processor *_tower", "", Use::Refused, "null",
     "models of images or sound are not supported; a text model's config"},

    // What memory does not depend on.
    {"initializer_range", "", Use::Ignored, "", "the weights' values"},
    {"pretraining_tp", "", Use::Ignored, "", "GEMMs in slices, which transformers 5 has no more"},
    {"chunk_size_feed_forward", "", Use::Ignored, "", "no family here computes its MLP in chunks"},
    {"is_decoder", "", Use::Ignored, "", "all are"},
    {"return_dict use_return_dict", "", Use::Ignored, "", "how outputs are wrapped"},
    {"id2label label2id num_labels _num_labels problem_type finetuning_task classifier_dropout", "",
     Use::Ignored, "", "of classifiers, which architectures refuses"},
    {"hidden_dropout", "gpt2", Use::Ignored, "", "of classifiers, which architectures refuses"},
    {"attention_probs_dropout_prob hidden_dropout_prob", "gpt_neox", Use::Ignored, "",
     "its model reads other names"},
    {"summary_*", "gpt2", Use::Ignored, "", "of GPT2DoubleHeadsModel, which architectures refuses"},
    {"n_ctx n_special predict_special_tokens output_past", "gpt2", Use::Ignored, "",
     "of older releases; n_positions counts"},
    {"max_length min_length do_sample early_stopping num_beams temperature top_k top_p typical_p "
     "repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size "
     "bad_words_ids num_return_sequences output_scores return_dict_in_generate "
     "remove_invalid_values exponential_decay_length_penalty suppress_tokens begin_suppress_tokens "
     "epsilon_cutoff eta_cutoff encoder_repetition_penalty num_assistant_tokens "
     "num_assistant_tokens_schedule assistant_confidence_threshold assistant_lookbehind "
     "target_lookbehind num_beam_groups diversity_penalty",
     "", Use::Ignored, "", "transformers takes them from generation_config.json alone"},
    {"cache_implementation max_new_tokens task_specific_params prefix", "", Use::Ignored, "",
     "of generation, which transformers takes from generation_config.json"},
    {"_name_or_path name_or_path _commit_hash transformers_version transformers.js_config "
     "tokenizer_class auto_map custom_pipelines unsloth_* is_llama_config model_max_length "
     "max_sequence_length",
     "", Use::Ignored, "",
     "where it is from and who reads it; auto_map's own code is not run unless it is trusted"},
    {"pruned_heads torchscript tf_legacy_loss tie_encoder_decoder cross_attention_hidden_size "
     "use_bfloat16 _attn_implementation_autoset _flash_attn_2_enabled rope_interleaved",
     "", Use::Ignored, "", "of older releases; transformers 5 reads none of them"},
};

}  // namespace

std::span<const KeyRow> config_keys() { return kKeyRows; }

}  // namespace vramfit
