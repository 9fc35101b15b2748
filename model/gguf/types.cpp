#include "model/gguf/types.h"

#include <array>
#include <cctype>

namespace vramfit::gguf {
namespace {

struct TypeRow {
  std::uint32_t id;
  const char* name;              ///< ggml's
  const char* format = nullptr;  ///< its row's, where it is another
};

constexpr std::array kTypes = {
    TypeRow{0, "f32", "fp32"},   TypeRow{1, "f16", "fp16"}, TypeRow{2, "q4_0"},
    TypeRow{3, "q4_1"},          TypeRow{6, "q5_0"},        TypeRow{7, "q5_1"},
    TypeRow{8, "q8_0"},          TypeRow{9, "q8_1"},        TypeRow{10, "q2_K"},
    TypeRow{11, "q3_K"},         TypeRow{12, "q4_K"},       TypeRow{13, "q5_K"},
    TypeRow{14, "q6_K"},         TypeRow{15, "q8_K"},       TypeRow{16, "iq2_xxs"},
    TypeRow{17, "iq2_xs"},       TypeRow{18, "iq3_xxs"},    TypeRow{19, "iq1_s"},
    TypeRow{20, "iq4_nl"},       TypeRow{21, "iq3_s"},      TypeRow{22, "iq2_s"},
    TypeRow{23, "iq4_xs"},       TypeRow{24, "i8", "int8"}, TypeRow{25, "i16"},
    TypeRow{26, "i32", "int32"}, TypeRow{27, "i64"},        TypeRow{28, "f64", "fp64"},
    TypeRow{29, "iq1_m"},        TypeRow{30, "bf16"},       TypeRow{34, "tq1_0"},
    TypeRow{35, "tq2_0"},        TypeRow{39, "mxfp4"},      TypeRow{40, "nvfp4"},
    TypeRow{41, "q1_0"},         TypeRow{42, "q2_0"},
};

constexpr Format format_of(const TypeRow& type) {
  return *Format::named(type.format != nullptr ? type.format : type.name);
}

constexpr bool all_have_a_row() {
  for (const TypeRow& type : kTypes) {
    if (!Format::named(type.format != nullptr ? type.format : type.name)) return false;
  }
  return true;
}
static_assert(all_have_a_row());

bool equal_but_for_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(a[i])) !=
        std::tolower(static_cast<unsigned char>(b[i]))) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Format> type_of_id(std::uint32_t id) {
  for (const TypeRow& type : kTypes) {
    if (type.id == id) return format_of(type);
  }
  return std::nullopt;
}

std::optional<Format> type_named(std::string_view name) {
  for (const TypeRow& type : kTypes) {
    if (equal_but_for_case(type.name, name)) return format_of(type);
  }
  return std::nullopt;
}

const char* type_name(Format type) {
  for (const TypeRow& row : kTypes) {
    if (format_of(row) == type) return row.name;
  }
  return type.name();
}

}  // namespace vramfit::gguf
