#include "model/config/gemma_keys.h"
#include "model/config/readers.h"
#include "model/config/rope_keys.h"

namespace vramfit {

ModelConfig read_gemma(const JsonReader& json) {
  ModelConfig config = read_gemma_shape(json);
  read_rope(json, config);
  return config;
}

}  // namespace vramfit
