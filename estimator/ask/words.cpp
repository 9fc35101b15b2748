#include "estimator/ask/words.h"

#include "estimator/ask/sizes.h"
#include "estimator/card_names.h"
#include "model/errors.h"

namespace vramfit {
namespace {

/// "7B", "13b", "350M", "1.5B"
bool is_count(const std::string& word) {
  const bool unit =
      word.ends_with("b") || word.ends_with("B") || word.ends_with("m") || word.ends_with("M");
  return unit && is_bare(word.substr(0, word.size() - 1));
}

bool is_card(const std::string& word) {
  return sold_as(word) || find_card(word) || names_several(word);
}

void place_model(const std::string& word, FitOptions& options) {
  if (is_count(word)) {
    options.params = word;
  } else if (word.ends_with(".gguf")) {
    options.gguf = word;
  } else if (word.ends_with(".tape")) {
    options.tape = word;
  } else {
    options.model = word;
  }
}

}  // namespace

void place_word(const std::string& word, FitOptions& options) {
  const bool has_model =
      options.model || options.config || options.gguf || options.tape || options.params;
  const bool has_card = options.gpu || options.vram;
  if (has_model && has_card) {
    throw BadInput("'" + word + "' belongs to no flag, and model and card are named without it");
  }
  if (!has_card && (has_model || is_card(word))) {
    options.gpu = word;
  } else {
    place_model(word, options);
  }
}

}  // namespace vramfit
