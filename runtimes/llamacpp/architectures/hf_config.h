#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/config/json_reader.h"

namespace vramfit::llamacpp {

/// A Hugging Face config.json as convert_hf_to_gguf sees it: the text's part of a multimodal model
/// laid over the whole (conversion/base.py: TextModel), and where rope is told, in one place.
class HfConfig {
 public:
  /// Throws BadInput that names `source` where it is none.
  static HfConfig parse(const std::string& text, const std::string& source);

  const std::string& source() const { return source_; }
  JsonReader json() const { return {*json_, source_}; }
  /// The class whose weights they are: get_model_architecture.
  std::string model_class() const;

  /// find_hparam: of these keys, the first that is there; null where none is.
  const char* first(std::initializer_list<const char*> keys) const;
  std::int64_t integer(std::initializer_list<const char*> keys, std::int64_t at_most) const;
  std::int64_t integer_or(std::initializer_list<const char*> keys, std::int64_t fallback,
                          std::int64_t at_most) const;
  std::optional<double> number(const char* key) const;
  bool truth(const char* key, bool fallback) const { return json().boolean_or(key, fallback); }

  std::int64_t layers() const;
  std::int64_t width() const;
  std::int64_t heads() const;
  std::int64_t heads_or(std::int64_t fallback) const;
  /// As config classes default it: width over heads.
  std::int64_t head_dim() const;

  /// rope_parameters, those of full attention where kinds of layers have their own.
  JsonReader rope() const;
  std::string rope_type() const;
  /// Of a head, where `part` is its share unless the config tells: partial_rotary_factor.
  std::int64_t rotated_dims(double part) const;

  /// Whether its checkpoint holds experts in MXFP4, which are written as they are.
  bool mxfp4() const;

  /// Of each layer whether layer_types has it so: 1 or 0.
  std::vector<std::int64_t> layers_of_type(const char* type) const;

 private:
  HfConfig(std::shared_ptr<const nlohmann::json> json, std::string source)
      : json_(std::move(json)), source_(std::move(source)) {}

  std::shared_ptr<const nlohmann::json> json_;
  std::string source_;
};

}  // namespace vramfit::llamacpp
