#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vramfit {

/// Writes Python's pickle format, protocol 4 (PEP 3154), of plain types alone: dicts, lists, tuples
/// of two, text, numbers, None. Whoever loads it runs nothing. Frames, which are optional, are
/// left out.
///
/// Values are written in order; those between open_…() and close() are the container's: of a dict
/// keys and values by turns.
class PickleWriter {
 public:
  /// What a value that was written is called where it stands again.
  using Reference = std::uint32_t;

  PickleWriter();

  void none();
  void boolean(bool value);
  void integer(std::int64_t value);
  void real(double value);
  /// UTF-8. Text that was written before is referred to.
  void text(std::string_view value);
  void pair(std::int64_t first, std::int64_t second);

  void open_list();
  void open_dict();
  void close();

  /// Keeps the container that was just closed, to be written again by its reference.
  Reference remember();
  void again(Reference reference);

  /// All of it; nothing can be added any more.
  std::string take();

 private:
  struct Container {
    bool dict;
    std::uint32_t values;  ///< since the last that were handed over
  };

  void begin_value();
  void hand_over(Container& container);
  void put(std::uint8_t byte) { out_ += static_cast<char>(byte); }
  void put_bytes(std::uint64_t value, int count);
  void put_integer(std::int64_t value);
  void put_reference(Reference reference);

  std::string out_;
  std::vector<Container> open_;
  std::unordered_map<std::string, Reference> texts_;
  Reference remembered_ = 0;
};

}  // namespace vramfit
