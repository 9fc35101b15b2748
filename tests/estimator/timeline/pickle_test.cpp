#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "estimator/timeline/pickle_reader.h"
#include "estimator/timeline/pickle_writer.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using Kind = PickleValue::Kind;
using namespace std::string_literals;

const std::string kProtocol4 = "\x80\x04"s;

void expect_refused(const std::string& program, const char* why) {
  SCOPED_TRACE(why);
  expect_bad_input([&] { const Pickle pickle(kProtocol4 + program); }, {why});
}

TEST(Pickle, ReadsWhatWasWritten) {
  PickleWriter writer;
  writer.open_dict();
  writer.text("numbers");
  writer.open_list();
  const std::vector<std::int64_t> numbers = {0,
                                             255,
                                             256,
                                             65535,
                                             65536,
                                             -1,
                                             std::int64_t{1} << 40,
                                             std::numeric_limits<std::int64_t>::min(),
                                             std::numeric_limits<std::int64_t>::max()};
  for (const std::int64_t number : numbers) writer.integer(number);
  writer.close();
  writer.text("others");
  writer.open_list();
  writer.none();
  writer.boolean(true);
  writer.real(0.5);
  writer.pair(1, -2);
  writer.text("numbers");
  writer.text(std::string(300, 'x'));
  writer.close();
  const PickleWriter::Reference others = writer.remember();
  writer.text("again");
  writer.again(others);
  writer.close();
  const Pickle pickle(writer.take());
  const PickleValue* list = pickle.find(pickle.root(), "numbers");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(pickle.list(*list)->size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ((*pickle.list(*list))[i].integer, numbers[i]);
  }
  const Pickle::List& rest = *pickle.list(*pickle.find(pickle.root(), "others"));
  ASSERT_EQ(rest.size(), 6U);
  EXPECT_EQ(rest[0].kind, Kind::None);
  EXPECT_EQ(rest[1].integer, 1);
  EXPECT_EQ(rest[2].real, 0.5);
  EXPECT_EQ((*pickle.list(rest[3]))[1].integer, -2);
  EXPECT_EQ(pickle.text(rest[4]), "numbers");
  EXPECT_EQ(pickle.text(rest[5])->size(), 300U);
  EXPECT_EQ(pickle.list(*pickle.find(pickle.root(), "again")), &rest) << "kept once";
}

TEST(Pickle, HandsOverLongListsInPieces) {
  PickleWriter writer;
  writer.open_list();
  for (int i = 0; i < 2500; ++i) writer.integer(i);
  writer.close();
  const std::string bytes = writer.take();
  EXPECT_EQ(std::count(bytes.begin() + 2, bytes.begin() + 20, '('), 1);
  const Pickle pickle(bytes);
  ASSERT_EQ(pickle.list(pickle.root())->size(), 2500U);
  EXPECT_EQ(pickle.list(pickle.root())->back().integer, 2499);
}

TEST(Pickle, NeverRunsAnything) {
  expect_refused("cos\nsystem\n(U\x02lsR.", "GLOBAL");
  expect_refused("\x8c\x02os\x8c\x06system\x93.", "STACK_GLOBAL");
  expect_refused("N)R.", "REDUCE");
  expect_refused("NNb.", "BUILD");
  expect_refused("(ios\nsystem\n.", "INST");
  expect_refused("(No.", "OBJ");
  expect_refused("N)\x81.", "NEWOBJ");
  expect_refused("N)}\x92.", "NEWOBJ_EX");
  expect_refused("\x82\x01.", "EXT1");
  expect_refused("P1\n.", "PERSID");
  expect_refused("NQ.", "BINPERSID");
  expect_refused("C\x01x.", "SHORT_BINBYTES");
  expect_refused("\x8f.", "EMPTY_SET");
  expect_refused("\xff.", "byte 255 is no pickle opcode");
}

TEST(Pickle, RefusesWhatIsDamaged) {
  expect_bad_input([] { const Pickle pickle("PK\x03\x04"); }, {"no pickle"});
  expect_bad_input([] { const Pickle pickle(""); }, {"no pickle"});
  expect_bad_input([] { const Pickle pickle("\x80\x01."); }, {"protocol 1"});
  expect_refused("", "ends in the middle");
  expect_refused(
      "X\xff\xff\xff\xff"
      "abc.",
      "ends in the middle");
  expect_refused(
      "\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
      "abc.",
      "ends in the middle");
  expect_refused(".", "left over");
  expect_refused("NN.", "left over");
  expect_refused("(N.", "left over");
  expect_refused("a.", "empty stack");
  expect_refused("e.", "no mark");
  expect_refused("N(Ne.", "appends to what is no list");
  expect_refused("N(Nu.", "sets items of no dict");
  expect_refused("}(Nu.", "sets items of no dict");
  expect_refused("h\x01.", "not kept");
  expect_refused("Nr\xff\xff\xff\x7f.", "memo has gaps");
}

/// A list of ten references to a list of ten references to …: 10^100 values if each was copied.
TEST(Pickle, KeepsSharedValuesOnce) {
  std::string program = "]\x94"s;
  for (char level = 0; level < 100; ++level) {
    program += "](";
    for (int i = 0; i < 10; ++i) program += "h"s + level;
    program += "e\x94"s;
  }
  program += '(';  // what is left on the stack is gathered
  std::string whole = kProtocol4 + "(" + program.substr(0, program.size() - 1) + "l.";
  const Pickle pickle(whole);
  EXPECT_EQ(pickle.list(pickle.root())->size(), 101U);
}

TEST(Pickle, BoundsWhatItKeeps) {
  constexpr std::size_t kMost = 1000;
  for (const std::string& values : {std::string(kMost + 1, '('), "N" + std::string(kMost, '\x94'),
                                    std::string(kMost + 1, ']')}) {
    expect_bad_input([&] { const Pickle pickle(kProtocol4 + values, kMost); },
                     {"more than 1000 values"});
    expect_bad_input([&] { const Pickle pickle(kProtocol4 + values); }, {"ends in the middle"});
  }
}

TEST(Pickle, MayHoldItself) {
  const Pickle pickle(kProtocol4 +
                      "]\x94h\x00"
                      "a."s);
  EXPECT_EQ(pickle.list(pickle.root())->front().index, pickle.root().index);
}

}  // namespace
}  // namespace vramfit
