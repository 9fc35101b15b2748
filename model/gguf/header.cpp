#include "model/gguf/header.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "model/checked.h"
#include "model/errors.h"
#include "model/gguf/byte_reader.h"
#include "model/gguf/types.h"

namespace vramfit::gguf {
namespace {

// What files have at most. ggml has no such bounds beside 64 bits; the largest models have some
// thousands of tensors and some dozen keys.
constexpr std::uint64_t kMostKeys = 1 << 16;
constexpr std::uint64_t kMostTensors = 1 << 17;
constexpr std::size_t kLongestKey = (1 << 16) - 1;  // gguf.md
constexpr std::size_t kLongestName = 63;            // GGML_MAX_NAME
constexpr std::uint64_t kLongestKeptText = 4096;
/// In all lists: those of a tokenizer have some hundred thousand. Each is looked at.
constexpr std::uint64_t kMostTexts = 1 << 24;
constexpr std::uint64_t kMostKeptNumbers = 1024;  // twice LLAMA_MAX_LAYERS

// The least that one takes: lengths, types, counts and offsets.
constexpr std::uint64_t kLeastKeyBytes = 8 + 1 + 4 + 1;
constexpr std::uint64_t kLeastTensorBytes = 8 + 1 + 4 + 4 + 8;

/// gguf.h: enum gguf_type.
enum class ValueType : std::uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  String,
  Array,
  U64,
  I64,
  F64,
  Count
};

std::int64_t saturated(std::uint64_t number) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(number, kMost));
}

/// A number or truth. Others are no scalars.
std::optional<Value> read_scalar(ByteReader& in, ValueType type) {
  switch (type) {
    case ValueType::U8:
      return std::int64_t{in.read<std::uint8_t>()};
    case ValueType::I8:
      return std::int64_t{in.read<std::int8_t>()};
    case ValueType::U16:
      return std::int64_t{in.read<std::uint16_t>()};
    case ValueType::I16:
      return std::int64_t{in.read<std::int16_t>()};
    case ValueType::U32:
      return std::int64_t{in.read<std::uint32_t>()};
    case ValueType::I32:
      return std::int64_t{in.read<std::int32_t>()};
    case ValueType::U64:
      return saturated(in.read<std::uint64_t>());
    case ValueType::I64:
      return std::int64_t{in.read<std::int64_t>()};
    case ValueType::F32:
      return double{in.read<float>()};
    case ValueType::F64:
      return in.read<double>();
    case ValueType::Bool:
      return in.read<std::uint8_t>() != 0;
    default:
      return std::nullopt;
  }
}

std::uint64_t bytes_of(ValueType type) {
  switch (type) {
    case ValueType::U8:
    case ValueType::I8:
    case ValueType::Bool:
      return 1;
    case ValueType::U16:
    case ValueType::I16:
      return 2;
    case ValueType::U32:
    case ValueType::I32:
    case ValueType::F32:
      return 4;
    default:
      return 8;
  }
}

/// The number or the truth in a value; none in one that has a fraction.
std::optional<std::int64_t> whole(const Value& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  return std::nullopt;
}

class HeaderReader {
 public:
  HeaderReader(std::istream& in, std::uint64_t size, const std::string& source)
      : in_(in, size, source), header_{Metadata(source), 32, {}, 0} {}

  Header read() {
    read_version();
    const auto tensors = in_.read<std::uint64_t>();
    const auto keys = in_.read<std::uint64_t>();
    check_count("keys", keys, kMostKeys, kLeastKeyBytes);
    check_count("tensors", tensors, kMostTensors, kLeastTensorBytes);
    for (std::uint64_t i = 0; i < keys; ++i) read_pair();
    header_.alignment = alignment();
    header_.tensors.reserve(static_cast<std::size_t>(tensors));
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor();
    if (!header_.tensors.empty()) header_.missing_bytes = count_missing();
    return std::move(header_);
  }

 private:
  void read_version() {
    constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
    if (in_.left() < 24 || in_.read<std::uint32_t>() != kMagic) in_.fail("not a GGUF file");
    const auto version = in_.read<std::uint32_t>();
    if (version >= 2 && version <= 3) return;
    in_.fail((version & 0xFFFFU) == 0 ? "it is big-endian; a little-endian GGUF file"
                                      : "GGUF version " + std::to_string(version) + "; 2 or 3");
  }

  // llama_tensor_weight's constructor: what pads the last tensor's data need not be there.
  std::uint64_t count_missing() const {
    const std::uint64_t last = header_.tensors.back().bytes();
    const std::uint64_t data = data_ - (round_up(last, header_.alignment) - last);
    const std::uint64_t position = in_.position();
    const std::uint64_t padding = round_up(position, header_.alignment) - position;
    const std::uint64_t left = in_.left() - std::min(in_.left(), padding);
    return data - std::min(data, left);
  }

  void check_count(const char* of, std::uint64_t count, std::uint64_t most, std::uint64_t least) {
    const std::uint64_t fit = std::min(most, in_.left() / least);
    if (count > fit) {
      in_.fail("a header of " + std::to_string(count) + " " + of + "; at most " +
               std::to_string(fit) + " in a file of its size");
    }
  }

  void read_pair() {
    const std::string key = in_.text(kLongestKey, "a key");
    if (key.empty()) in_.fail("a key without a name");
    if (header_.metadata.has(key)) header_.metadata.fail(key, "it is there twice");
    header_.metadata.set(key, read_value(key, read_type(key)));
  }

  ValueType read_type(const std::string& key) {
    const auto type = in_.read<std::uint32_t>();
    if (type >= static_cast<std::uint32_t>(ValueType::Count)) {
      header_.metadata.fail(key, "of type " + std::to_string(type) + "; 0 to 12");
    }
    return static_cast<ValueType>(type);
  }

  Value read_value(const std::string& key, ValueType type) {
    if (type == ValueType::Array) return read_array(key);
    if (type == ValueType::String) return read_text();
    return *read_scalar(in_, type);
  }

  /// Of a long one, as a chat's template, nothing is kept.
  std::string read_text() {
    const auto length = in_.read<std::uint64_t>();
    if (length > kLongestKeptText) {
      in_.skip(length);
      return "";
    }
    std::string text;
    for (std::uint64_t i = 0; i < length; ++i) text.push_back(in_.read<char>());
    return text;
  }

  Array read_array(const std::string& key) {
    const ValueType type = read_type(key);
    if (type == ValueType::Array)
      header_.metadata.fail(key, "an array of arrays; of numbers or text");
    Array array{in_.read<std::uint64_t>(), {}};
    if (array.length > in_.left() / bytes_of(type)) {
      header_.metadata.fail(key, "an array of " + std::to_string(array.length) +
                                     ", of which the file has not enough bytes");
    }
    if (type == ValueType::String) {
      texts_ += array.length;
      if (texts_ > kMostTexts) {
        header_.metadata.fail(key, "with those before, lists of " + std::to_string(texts_) +
                                       " texts; at most " + std::to_string(kMostTexts));
      }
      for (std::uint64_t i = 0; i < array.length; ++i) in_.skip(in_.read<std::uint64_t>());
    } else if (type == ValueType::F32 || type == ValueType::F64 ||
               array.length > kMostKeptNumbers) {
      in_.skip(array.length * bytes_of(type));
    } else {
      for (std::uint64_t i = 0; i < array.length; ++i) {
        array.numbers.push_back(*whole(*read_scalar(in_, type)));
      }
    }
    return array;
  }

  std::uint64_t alignment() const {
    const char* key = "general.alignment";
    const std::int64_t bytes = header_.metadata.integer_or(key, 32, 1, 1 << 30);
    if ((bytes & (bytes - 1)) != 0) {
      header_.metadata.fail(key, std::to_string(bytes) + "; a power of 2");
    }
    return static_cast<std::uint64_t>(bytes);
  }

  void read_tensor() {
    Tensor tensor{in_.text(kLongestName, "a tensor's name"), {1, 1, 1, 1}, DType::Fp32};
    const auto fail = [&](const std::string& what) {
      in_.fail("tensor " + shortened(tensor.name, kLongestName) + ": " + what);
    };
    if (!names_.insert(tensor.name).second) fail("it is there twice");
    const auto dims = in_.read<std::uint32_t>();
    if (dims > tensor.ne.size()) fail(std::to_string(dims) + " dimensions; at most 4");
    std::int64_t elements = 1;
    for (std::uint32_t i = 0; i < dims; ++i) {
      tensor.ne[i] = in_.read<std::int64_t>();
      if (tensor.ne[i] < 1) fail("a dimension of " + std::to_string(tensor.ne[i]) + "; 1 or more");
      if (__builtin_mul_overflow(elements, tensor.ne[i], &elements)) {
        fail("more elements than 63 bits count");
      }
    }
    const auto id = in_.read<std::uint32_t>();
    const std::optional<Format> type = type_of_id(id);
    if (!type) fail("of type " + std::to_string(id) + ", which is none of ggml's");
    tensor.type = *type;
    if (tensor.ne[0] % type->row().block != 0) {
      fail("rows of " + std::to_string(tensor.ne[0]) + " in " + type_name(*type) +
           "; a multiple of " + std::to_string(type->row().block));
    }
    const auto offset = in_.read<std::uint64_t>();
    if (offset != data_) {
      fail("its data begin at " + std::to_string(offset) + "; at " + std::to_string(data_) +
           ", behind what stands before");
    }
    if (elements > std::numeric_limits<std::int64_t>::max() / 8)
      fail("more bytes than 64 bits count");
    if (__builtin_add_overflow(data_, round_up(tensor.bytes(), header_.alignment), &data_)) {
      fail("with those before, more bytes than 64 bits count");
    }
    header_.tensors.push_back(std::move(tensor));
  }

  ByteReader in_;
  Header header_;
  std::set<std::string> names_;
  std::uint64_t texts_ = 0;  ///< in lists so far
  std::uint64_t data_ = 0;   ///< where the next tensor's begin, from the first's
};

}  // namespace

Header read_header(std::istream& in, std::uint64_t size, const std::string& source) {
  return HeaderReader(in, size, source).read();
}

}  // namespace vramfit::gguf
