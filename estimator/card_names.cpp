#include "estimator/card_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "estimator/names.h"
#include "model/errors.h"

namespace vramfit {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
/// What a driver shows of a card's memory may be less than it is sold with by so much: ECC's
/// share, a sixteenth, and what the driver keeps.
constexpr double kShownLess = 0.08;

/// Of a name what people say: folded, and without its maker's words in front.
std::string bare(std::string_view name) {
  constexpr std::array<std::string_view, 10> kBrands = {
      "nvidia", "amd", "apple", "radeon", "geforce", "tesla", "quadro", "titan", "rtx", "gtx"};
  std::string key = folded(name);
  for (const std::string_view brand : kBrands) {
    if (key.starts_with(brand) && key.size() > brand.size()) key.erase(0, brand.size());
  }
  return key;
}

/// A name that ends in a size, "4060ti16gb".
struct Sized {
  std::string stem;
  double gb = 0;
};

/// Of a folded name, which has no gap between the two: every way to read it.
std::vector<Sized> sized(std::string key) {
  if (key.ends_with("gb")) key.pop_back();
  if (!key.ends_with("g")) return {};
  key.pop_back();
  constexpr std::size_t kMostDigits = 3;
  std::vector<Sized> ways;
  for (std::size_t digits = 1; digits <= kMostDigits && digits < key.size(); ++digits) {
    const std::size_t at = key.size() - digits;
    if (std::isdigit(static_cast<unsigned char>(key[at])) == 0) break;
    if (key[at] != '0') ways.push_back({key.substr(0, at), std::stod(key.substr(at))});
  }
  return ways;
}

bool has_size(const Card& card, double gb) {
  return std::abs(static_cast<double>(card.vram) / kGiB - gb) <= kShownLess * gb;
}

/// What it is called but for its size, all bare.
std::vector<std::string> keys_of(const Card& card) {
  std::vector<std::string> keys = {bare(card.name), bare(card.title)};
  for (const std::string& title : card.other_titles) keys.push_back(bare(title));
  for (const std::string& name : card.also) keys.push_back(bare(name));
  return keys;
}

bool has_key(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether it is called so, and has that size.
bool has_size_and_name(const Card& card, const Sized& called) {
  if (!has_size(card, called.gb)) return false;
  const std::vector<std::string> keys = keys_of(card);
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    const std::vector<Sized> ways = sized(key);
    return key == called.stem || std::any_of(ways.begin(), ways.end(), [&](const Sized& own) {
             return own.stem == called.stem;
           });
  });
}

template <typename Condition>
std::vector<const Card*> cards_where(const Condition& holds_for) {
  std::vector<const Card*> found;
  for (const std::vector<Card>* list : {&cards(), &other_cards()}) {
    for (const Card& card : *list) {
      if (holds_for(card)) found.push_back(&card);
    }
  }
  return found;
}

/// Cards other than this one whose name goes on from `key` with a size.
std::vector<std::string> other_sizes(const Card& card, const std::string& key) {
  std::vector<std::string> names;
  for (const Card& other : cards()) {
    const std::string name = bare(other.name);
    const bool goes_on = name.size() > key.size() && name.starts_with(key) &&
                         name.find_first_of("0123456789", key.size()) == key.size();
    if (&other != &card && goes_on && !sized(name).empty()) names.push_back(other.name);
  }
  return names;
}

[[noreturn]] void refuse_card(std::string_view name) {
  std::vector<std::string> names;
  for (const std::vector<Card>* list : {&cards(), &other_cards()}) {
    for (const Card& card : *list) names.push_back(card.name);
  }
  std::string known = did_you_mean(name, names);
  if (known.empty()) {
    known = "; one of those that vramfit --list shows, such as " + names.front() + ".";
  }
  throw BadInput("gpu: unknown '" + std::string(name) + "'" + known +
                 " Any other by its size: --vram 8GiB");
}

}  // namespace

std::optional<CalledCard> find_card(std::string_view name) {
  // As it is listed: what a sweep asks by a million times is not folded.
  if (const Card* card = card_whose_name([&](std::string_view own) { return own == name; })) {
    return CalledCard{*card, {}};
  }
  const std::string key = bare(name);
  if (const Card* card = card_whose_name([&](std::string_view own) { return bare(own) == key; })) {
    return CalledCard{*card, {}};
  }
  const auto by_name = cards_where([&](const Card& card) { return bare(card.name) == key; });
  if (by_name.size() == 1) return CalledCard{*by_name.front(), {}};
  const auto by_other = cards_where([&](const Card& card) {
    return std::any_of(card.also.begin(), card.also.end(),
                       [&](const std::string& also) { return bare(also) == key; });
  });
  if (by_other.size() == 1) {
    return CalledCard{*by_other.front(), other_sizes(*by_other.front(), key)};
  }
  const auto by_title = cards_where([&](const Card& card) { return has_key(keys_of(card), key); });
  if (by_title.size() == 1) return CalledCard{*by_title.front(), {}};
  for (const Sized& called : sized(key)) {
    const auto by_size =
        cards_where([&](const Card& card) { return has_size_and_name(card, called); });
    if (!by_size.empty()) return CalledCard{*by_size.front(), {}};
  }
  return std::nullopt;
}

bool names_several(std::string_view name) {
  const std::size_t times = name.find_first_not_of("0123456789");
  const bool counted = times != std::string_view::npos && times > 0 && times + 1 < name.size();
  return counted && (name[times] == 'x' || name[times] == 'X');
}

CalledCard card_called(std::string_view name) {
  if (std::optional<CalledCard> called = find_card(name)) return *std::move(called);
  if (names_several(name)) {
    const std::size_t times = name.find_first_of("xX");
    throw BadInput("gpu: '" + std::string(name) + "' is more than a card; --gpus " +
                   std::string(name.substr(0, times)) + " --gpu " +
                   std::string(name.substr(times + 1)));
  }
  refuse_card(name);
}

const Card& card_named(std::string_view name) { return card_called(name).card; }

}  // namespace vramfit
