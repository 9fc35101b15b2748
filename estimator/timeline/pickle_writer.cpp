#include "estimator/timeline/pickle_writer.h"

#include <cstring>
#include <limits>

#include "estimator/timeline/pickle_opcodes.h"

namespace vramfit {
namespace {

using Op = PickleOpcode;

constexpr int kProtocol = 4;

/// As many as Python's own pickler hands over at once; readers keep them on a stack.
constexpr std::uint32_t kItemsAtOnce = 1000;

constexpr std::uint8_t byte_of(Op opcode) { return static_cast<std::uint8_t>(opcode); }

}  // namespace

PickleWriter::PickleWriter() {
  put(byte_of(Op::Proto));
  put(kProtocol);
}

void PickleWriter::put_bytes(std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) put(static_cast<std::uint8_t>(value >> (8 * i)));
}

void PickleWriter::begin_value() {
  if (open_.empty()) return;
  Container& container = open_.back();
  const std::uint32_t at_once = container.dict ? 2 * kItemsAtOnce : kItemsAtOnce;
  if (container.values == at_once) hand_over(container);
  if (container.values++ == 0) put(byte_of(Op::Mark));
}

void PickleWriter::hand_over(Container& container) {
  if (container.values == 0) return;
  put(byte_of(container.dict ? Op::SetItems : Op::Appends));
  container.values = 0;
}

void PickleWriter::none() {
  begin_value();
  put(byte_of(Op::None));
}

void PickleWriter::boolean(bool value) {
  begin_value();
  put(byte_of(value ? Op::NewTrue : Op::NewFalse));
}

void PickleWriter::integer(std::int64_t value) {
  begin_value();
  put_integer(value);
}

void PickleWriter::put_integer(std::int64_t value) {
  using Int32 = std::numeric_limits<std::int32_t>;
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= 0 && value < 1 << 8) {
    put(byte_of(Op::BinInt1));
    put_bytes(bits, 1);
  } else if (value >= 0 && value < 1 << 16) {
    put(byte_of(Op::BinInt2));
    put_bytes(bits, 2);
  } else if (value >= Int32::min() && value <= Int32::max()) {
    put(byte_of(Op::BinInt));
    put_bytes(bits, 4);
  } else {
    constexpr int kBytes = 8;  // two's complement; longer than it must be is allowed
    put(byte_of(Op::Long1));
    put(kBytes);
    put_bytes(bits, kBytes);
  }
}

void PickleWriter::real(double value) {
  begin_value();
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  put(byte_of(Op::BinFloat));
  for (int i = 7; i >= 0; --i) put(static_cast<std::uint8_t>(bits >> (8 * i)));
}

void PickleWriter::text(std::string_view value) {
  begin_value();
  const auto [known, is_new] = texts_.try_emplace(std::string(value), remembered_);
  if (!is_new) return put_reference(known->second);
  if (value.size() < 1 << 8) {
    put(byte_of(Op::ShortBinUnicode));
    put_bytes(value.size(), 1);
  } else {
    put(byte_of(Op::BinUnicode));
    put_bytes(value.size(), 4);
  }
  out_ += value;
  remember();
}

void PickleWriter::pair(std::int64_t first, std::int64_t second) {
  begin_value();
  put_integer(first);
  put_integer(second);
  put(byte_of(Op::Tuple2));
}

void PickleWriter::open_list() {
  begin_value();
  put(byte_of(Op::EmptyList));
  open_.push_back({false, 0});
}

void PickleWriter::open_dict() {
  begin_value();
  put(byte_of(Op::EmptyDict));
  open_.push_back({true, 0});
}

void PickleWriter::close() {
  hand_over(open_.back());
  open_.pop_back();
}

PickleWriter::Reference PickleWriter::remember() {
  put(byte_of(Op::Memoize));
  return remembered_++;
}

void PickleWriter::again(Reference reference) {
  begin_value();
  put_reference(reference);
}

void PickleWriter::put_reference(Reference reference) {
  const bool is_short = reference < 1 << 8;
  put(byte_of(is_short ? Op::BinGet : Op::LongBinGet));
  put_bytes(reference, is_short ? 1 : 4);
}

std::string PickleWriter::take() {
  put(byte_of(Op::Stop));
  return std::move(out_);
}

}  // namespace vramfit
