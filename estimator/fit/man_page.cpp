#include "estimator/fit/man_page.h"

#include <algorithm>

#include "estimator/version.h"

namespace vramfit::fit {
namespace {

/// What troff takes for its own: a backslash, a dash, a line that begins with a point.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '-') result += '\\';
    if (c == '.' && (result.empty() || result.back() == '\n')) result += "\\&";
    result += c;
  }
  return result;
}

std::vector<std::string> groups_of(const std::vector<FlagHelp>& flags) {
  std::vector<std::string> groups;
  for (const FlagHelp& flag : flags) {
    if (std::find(groups.begin(), groups.end(), flag.group) == groups.end()) {
      groups.push_back(flag.group);
    }
  }
  return groups;
}

}  // namespace

std::string man_page(const std::vector<FlagHelp>& flags) {
  std::string text = ".TH VRAMFIT 1 \"\" \"" + escaped(kVersionLine) + "\"\n";
  text +=
      ".SH NAME\nvramfit \\- says how much GPU memory a transformer needs, before anything runs\n";
  text += ".SH SYNOPSIS\n.B vramfit\n[\\fIMODEL\\fR] [\\fICARD\\fR] [\\fIFLAGS\\fR]\n";
  text +=
      ".SH DESCRIPTION\nRuns a training or inference step on paper, allocation by allocation, on "
      "one "
      "card or on every known one, and says what it takes and whether it fits.\n";
  for (const std::string& group : groups_of(flags)) {
    text += ".SH " + (group.empty() ? std::string("OPTIONS") : escaped(group)) + "\n";
    for (const FlagHelp& flag : flags) {
      if (flag.group != group) continue;
      text += ".TP\n.B " + escaped(flag.name) + (flag.takes_value ? " \\fIVALUE\\fR" : "") + "\n" +
              escaped(flag.help) + "\n";
    }
  }
  text +=
      ".SH COMMANDS\nOf the Python package, each with \\-\\-help: vramfit check, run, record, "
      "model, "
      "compare, submit\\-case.\n";
  return text +
         ".SH EXIT STATUS\n0 it fits, on at least one card; 1 it does not; 2 bad input; 3 anything "
         "else.\n";
}

}  // namespace vramfit::fit
