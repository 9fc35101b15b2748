#include "estimator/fit/completion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "estimator/ask/help.h"
#include "estimator/fit/man_page.h"
#include "estimator/runtimes.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit::fit {
namespace {

bool holds_part(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Completion, HasEverySettingOfEveryRuntime) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion(shell, flag_helps());
    EXPECT_TRUE(holds_part(script, "qwen2.5-7b")) << shell;
    EXPECT_TRUE(holds_part(script, "rtx4090")) << shell;
    for (const Runtime* runtime : runtimes()) {
      for (const Setting& setting : runtime->settings()) {
        EXPECT_TRUE(holds_part(script, setting.name)) << shell << ": " << setting.name;
      }
    }
  }
  expect_bad_input([] { completion("csh", {}); }, {"completion: unknown 'csh'; bash, zsh or fish"});
}

TEST(ManPage, HasEveryFlag) {
  const std::string page = man_page(flag_helps());
  EXPECT_TRUE(page.starts_with(".TH VRAMFIT 1"));
  std::istringstream lines(page);
  std::size_t flags = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line == ".TP") ++flags;
  }
  EXPECT_EQ(flags, flag_helps().size());
}

TEST(Help, IsAScreenOfFlagsThatThereAre) {
  const std::string text = short_help();
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
  const std::vector<FlagHelp> flags = flag_helps();
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 2)) {
    const std::string name =
        text.substr(at, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at) - at);
    const bool known = std::any_of(flags.begin(), flags.end(), [&](const FlagHelp& flag) {
      return flag.name == name || flag.name.ends_with("," + name) || name == "--help";
    });
    EXPECT_TRUE(known) << name;
  }
}

}  // namespace
}  // namespace vramfit::fit
