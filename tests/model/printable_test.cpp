#include "model/printable.h"

#include <gtest/gtest.h>

#include "model/errors.h"

namespace vramfit {
namespace {

using std::string_literals::operator""s;

TEST(Printable, KeepsLettersOfAnyScript) {
  for (const char* text : {"", "plain 'text'", "naïve", "模型", "модель", "🦙", "a…b"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ReplacesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\nb\tc\x1b[31m\x7f"), "a?b?c?[31m?");
  EXPECT_EQ(printable("\0end"s), "?end");
  EXPECT_EQ(printable("\u009b31m"), "?31m") << "an escape sequence's other beginning";
  EXPECT_EQ(printable("\u202egpj.exe"), "?gpj.exe") << "right to left";
  EXPECT_EQ(printable("a\u200bb\u2028c\ufeff"), "a?b?c?") << "no width, another line";
  EXPECT_EQ(printable("\u061c\u180e\ufe0f\ufff9\U000e0041"), "?????") << "no width either";
  EXPECT_EQ(printable("a\u00a0b\u3000c"), "a?b?c") << "spaces that are no ' '";
}

TEST(Printable, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("a\xff\xfe"), "a??");
  EXPECT_EQ(printable("\xc3"), "?") << "cut off";
  EXPECT_EQ(printable("\xe6\xa8"), "??");
  EXPECT_EQ(printable("\xc0\xaf"), "??") << "a slash in too many bytes";
  EXPECT_EQ(printable("\xed\xa0\x80"), "???") << "half of a pair";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????") << "beyond the last";
  EXPECT_EQ(printable("\x80z"), "?z");
}

TEST(Printable, IsShortenedBetweenCharacters) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abc…");
  EXPECT_EQ(shortened("éééé", 7), "éé…");
  EXPECT_EQ(shortened("éééé", 6), "é…");
  EXPECT_EQ(one_line("abcdefghij", 9), "abc…hij");
  EXPECT_EQ(one_line("ééééé", 8), "é…é");
  for (std::size_t size = 0; size < 400; ++size) {
    const std::string line = one_line(std::string(size, '\x80') + "模型模型", 30);
    EXPECT_LE(line.size(), 30U);
    EXPECT_EQ(printable(line), line);
  }
}

TEST(BadInputs, AreOneLineWhateverTheySay) {
  const BadInput error("model: unknown '" + std::string(100'000, '\x1b') + "'; one of two");
  const std::string message = error.what();
  EXPECT_LE(message.size(), kLongestMessage);
  EXPECT_EQ(message.rfind("model: unknown '????", 0), 0U) << message;
  EXPECT_NE(message.find("?'; one of two"), std::string::npos) << message;
}

}  // namespace
}  // namespace vramfit
