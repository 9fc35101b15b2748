#pragma once

#include <cstdint>

namespace vramfit {

/// Python's pickle opcodes that make plain values, by the names that pickletools has.
enum class PickleOpcode : std::uint8_t {
  Mark = '(',
  Stop = '.',
  BinInt = 'J',
  BinInt1 = 'K',
  BinInt2 = 'M',
  None = 'N',
  BinFloat = 'G',
  BinUnicode = 'X',
  Append = 'a',
  Appends = 'e',
  BinGet = 'h',
  LongBinGet = 'j',
  BinPut = 'q',
  LongBinPut = 'r',
  SetItem = 's',
  SetItems = 'u',
  List = 'l',
  Dict = 'd',
  Tuple = 't',
  EmptyList = ']',
  EmptyDict = '}',
  EmptyTuple = ')',
  Proto = 0x80,
  Tuple1 = 0x85,
  Tuple2 = 0x86,
  Tuple3 = 0x87,
  NewTrue = 0x88,
  NewFalse = 0x89,
  Long1 = 0x8a,
  ShortBinUnicode = 0x8c,
  BinUnicode8 = 0x8d,
  Memoize = 0x94,
  Frame = 0x95,
};

}  // namespace vramfit
