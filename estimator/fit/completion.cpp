#include "estimator/fit/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "estimator/cards.h"
#include "estimator/models.h"
#include "model/errors.h"

namespace vramfit::fit {
namespace {

std::vector<std::string> names_of_models() {
  std::vector<std::string> names = model_names();
  for (const std::string& name : more_model_names()) names.push_back(name);
  for (const std::string& name : shape_names()) names.push_back(name);
  return names;
}

std::vector<std::string> names_of_cards() {
  std::vector<std::string> names;
  for (const Card& card : cards()) names.push_back(card.name);
  return names;
}

/// Of bash, and of zsh, which can read bash's.
std::string of_bash(const std::vector<FlagHelp>& flags) {
  std::vector<std::string> names;
  for (const FlagHelp& flag : flags) names.push_back(flag.name);
  return fmt::format(R"(_vramfit() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  local models="{}"
  local cards="{}"
  case "$before" in
    --gpu) COMPREPLY=($(compgen -W "$cards" -- "$word")); return;;
    --model) COMPREPLY=($(compgen -W "$models" -- "$word")); return;;
    --config|--gguf|--tape|--lengths|--verify) COMPREPLY=($(compgen -f -- "$word")); return;;
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "{}" -- "$word"));;
    *) COMPREPLY=($(compgen -W "$models $cards" -- "$word"));;
  esac
}}
complete -o default -F _vramfit vramfit
)",
                     fmt::join(names_of_models(), " "), fmt::join(names_of_cards(), " "),
                     fmt::join(names, " "));
}

std::string of_fish(const std::vector<FlagHelp>& flags) {
  std::string text =
      fmt::format("complete -c vramfit -a '{} {}'\n", fmt::join(names_of_models(), " "),
                  fmt::join(names_of_cards(), " "));
  for (const FlagHelp& flag : flags) {
    const bool is_long = flag.name.starts_with("--");
    if (!is_long) continue;
    text += fmt::format("complete -c vramfit -l {}{}\n", flag.name.substr(2),
                        flag.takes_value ? " -r" : "");
  }
  return text;
}

}  // namespace

std::string completion(const std::string& shell, const std::vector<FlagHelp>& flags) {
  if (shell == "bash") return of_bash(flags);
  if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + of_bash(flags);
  if (shell == "fish") return of_fish(flags);
  throw BadInput("completion: unknown '" + shell + "'; bash, zsh or fish");
}

}  // namespace vramfit::fit
