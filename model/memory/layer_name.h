#pragma once

#include <string>

namespace vramfit {

/// A tensor's name as text taken apart: "layers.3.mlp.up" is "mlp.up" of layer 3.
struct LayerName {
  std::string base;  ///< the whole name where it is of no layer
  int layer = -1;

  std::string text() const;
  /// "layers.*.mlp.up": what it is called in every layer.
  std::string of_all_layers() const;
};

LayerName layer_name(const std::string& name);

}  // namespace vramfit
