#pragma once

#include <string>
#include <vector>

namespace vramfit {

/// A model of data/shapes.json: what memory depends on of its config.
struct ModelShape {
  std::string name;
  std::vector<std::string> also;  ///< its ids on the Hugging Face hub, and what people call it
  std::string like;               ///< the model whose config this one changes; empty: none
  std::string config;             ///< JSON: all of it, or what differs from that model's
};

/// In the file's order. Throws BadInput.
const std::vector<ModelShape>& model_shapes();

}  // namespace vramfit
