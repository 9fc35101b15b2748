#include "estimator/ask/words.h"

#include <algorithm>

#include "estimator/ask/sizes.h"
#include "estimator/card_names.h"
#include "estimator/models.h"
#include "model/errors.h"

namespace vramfit {
namespace {

/// "7B", "13b", "350M", "1.5B"
bool is_count(const std::string& word) {
  const bool unit =
      word.ends_with("b") || word.ends_with("B") || word.ends_with("m") || word.ends_with("M");
  return unit && is_bare(word.substr(0, word.size() - 1));
}

/// Names of ours, which no card has, are looked at first: the others of all cards take longer.
bool is_card(const std::string& word) {
  for (const std::vector<std::string>& models : {model_names(), more_model_names()}) {
    if (std::find(models.begin(), models.end(), word) != models.end()) return false;
  }
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
