#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/transformer/model_precision.h"

namespace vramfit {

/// What weights are stored in.
inline std::vector<Format> quantized_formats() {
  std::vector<Format> formats;
  for (const FormatRow& row : kFormats) {
    const bool stored = row.scales == Scales::Row || row.scales == Scales::Block;
    if (stored && !row.packed()) formats.push_back(*Format::named(row.name));
  }
  return formats;
}

/// Precisions whose linears are stored so.
inline std::vector<const char*> quantized_names() {
  std::vector<const char*> names;
  for (const ModelPrecision& precision : model_precisions()) {
    if (precision.quantized()) names.push_back(precision.name);
  }
  return names;
}

/// The relative error of normal weights that are stored so, at most; theory says a little less.
inline double most_error(Format format) {
  for (const auto& [name, error] : {std::pair<std::string, double>{"fp8", 0.03},
                                    {"int8", 0.012},
                                    {"nf4", 0.1},
                                    {"int4", 0.12}}) {
    if (name == format.name()) return error;
  }
  throw std::logic_error(std::string("what ") + format.name() + " loses is not said");
}

/// As googletest wants names.
inline std::string test_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace vramfit
