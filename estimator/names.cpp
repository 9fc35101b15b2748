#include "estimator/names.h"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace vramfit {
namespace {

constexpr std::size_t kSuggestions = 3;
/// A part of a name that is as long says something: "h100", "4090".
constexpr std::size_t kTellingPart = 3;
/// Of so many characters one may be wrong.
constexpr std::size_t kCharactersPerSlip = 3;

/// Characters to insert, delete, replace or swap with the next: optimal string alignment.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& least = table[i][j];
      if (i == 0 || j == 0) {
        least = i + j;
        continue;
      }
      least = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1,
                        table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) least = std::min(least, table[i - 2][j - 2] + 1);
    }
  }
  return table.back().back();
}

bool holds(const std::string& whole, const std::string& part) {
  return part.size() >= kTellingPart && whole.find(part) != std::string::npos;
}

}  // namespace

std::string folded(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c != '-' && c != '_' && c != '.' && c != ':' && c != ' ')
      text += static_cast<char>(std::tolower(byte));
  }
  return text;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 100;  // of what could be a slip
  const std::string key = folded(typed.substr(0, kLongest));
  struct Close {
    bool by_slips;  ///< rather than by what both hold
    std::size_t slips;
    std::string name;
  };
  std::vector<Close> close;
  for (const std::string& name : names) {
    const std::string candidate = folded(name);
    const std::size_t slips = distance(key, candidate);
    const bool slipped = slips <= std::max<std::size_t>(key.size() / kCharactersPerSlip, 1);
    const bool held = holds(candidate, key) || holds(key, candidate);
    if (slipped || held) close.push_back({!held, slips, name});
  }
  std::sort(close.begin(), close.end(), [](const Close& a, const Close& b) {
    return std::tie(a.by_slips, a.slips, a.name) < std::tie(b.by_slips, b.slips, b.name);
  });
  if (!close.empty() && !close.front().by_slips) {
    std::erase_if(close, [](const Close& one) { return one.by_slips; });
  }
  if (close.size() > kSuggestions) close.resize(kSuggestions);
  std::string text;
  for (std::size_t i = 0; i < close.size(); ++i) {
    text += i == 0 ? "; did you mean '" : i + 1 < close.size() ? ", '" : " or '";
    text += close[i].name + "'";
  }
  return text.empty() ? text : text + "?";
}

}  // namespace vramfit
