#pragma once

#include <memory>
#include <string>

namespace vramfit {

namespace gguf {
struct File;
}

/// What a model was read from, for runtimes that read more in it than a shape.
struct ModelSource {
  std::string name;                             ///< the model's, for people
  std::string config = {};                      ///< a config.json's text; empty: it is no config
  std::shared_ptr<const gguf::File> gguf = {};  ///< the header of a GGUF file; null: it is none
  std::string tape = {};  ///< the text of a run that was recorded; empty: it is none
  /// Of a smaller model that drafts what this one checks; null: none does.
  std::shared_ptr<const ModelSource> draft = {};
};

}  // namespace vramfit
