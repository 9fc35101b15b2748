#include "estimator/ask/foreign.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "estimator/runtimes.h"
#include "model/errors.h"

namespace vramfit {
namespace {

bool is_called(const ForeignWord& word, std::string_view name) {
  for (std::string_view names = word.names; !names.empty();) {
    const std::string_view first = names.substr(0, names.find(' '));
    if (first == name) return true;
    names.remove_prefix(std::min(first.size() + 1, names.size()));
  }
  return false;
}

/// The row of that flag, of what was typed for it; null where there is none.
const ForeignWord* word_among(std::span<const ForeignWord> words, std::string_view name,
                              const std::string& value) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const ForeignWord& word) {
    return (word.only.empty() || word.only == value) && is_called(word, name);
  });
  return found == words.end() ? nullptr : &*found;
}

}  // namespace

const ForeignWord* foreign_word_of(const Runtime& runtime, const std::string& flag,
                                   const std::string& value) {
  return word_among(runtime.foreign_words(), flag, value);
}

const ForeignWord* foreign_word(const Runtime& runtime, const std::string& flag,
                                const std::string& value) {
  if (const ForeignWord* word = word_among(runtime.foreign_words(), flag, value)) return word;
  if (const ForeignWord* word = word_among(general_foreign_words(), flag, value)) return word;
  for (const Runtime* other : runtimes()) {
    if (word_among(other->foreign_words(), flag, value) == nullptr) continue;
    throw BadInput(flag + ": only under --runtime " + other->name());
  }
  return nullptr;
}

const ForeignWord* foreign_word_by_one_dash(const Runtime& runtime, const std::string& text,
                                            const std::string& value) {
  const bool one = text.size() > 1 && text[0] == '-' && text[1] != '-';
  if (!one) return nullptr;
  const ForeignWord* word = word_among(runtime.foreign_words(), text, value);
  return word != nullptr ? word : word_among(runtime.foreign_words(), text.substr(1), value);
}

}  // namespace vramfit
