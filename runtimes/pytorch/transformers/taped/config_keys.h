#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "model/config/model_config.h"
#include "runtimes/pytorch/transformers/taped/op_tape.h"

namespace vramfit::pytorch {

/// Whole numbers of a model's config, by their keys; of keys that it leaves out, what its class has
/// for them.
class ConfigKeys {
 public:
  /// The tape must outlive it. Throws BadInput where the source is no config.
  ConfigKeys(const ModelSource& source, const OpTape& tape);

  /// Whether there is a number, or its class makes one.
  bool has(const std::string& key) const;
  /// Whether it is said to be null, and null is taken for nothing else.
  bool is_null(const std::string& key) const;
  /// A list of words; empty where there is none.
  std::vector<std::string> words(const std::string& key) const;
  /// Whether there is something, of whatever kind; what is null is not there.
  bool names(const std::string& key) const;
  /// Whether it is that number, or a list that has it.
  bool is(const std::string& key, std::int64_t number) const;
  /// Throws BadInput where there is none.
  std::int64_t operator()(const std::string& key) const;

 private:
  std::int64_t value(const std::string& key, int nested) const;
  const Expression* made_of(const std::string& key) const;

  const OpTape& tape_;
  std::map<std::string, std::int64_t, std::less<>> own_;
  std::map<std::string, std::vector<std::string>, std::less<>> lists_;
  std::set<std::string, std::less<>> nulls_;
  std::set<std::string, std::less<>> others_;  ///< texts and fractions, which are no sizes
};

}  // namespace vramfit::pytorch
