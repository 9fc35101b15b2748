#include "model/dtype.h"

#include "model/checked.h"
#include "model/errors.h"

namespace vramfit {

const char* name(DType dtype) {
  switch (dtype) {
    case DType::Fp64:
      return "fp64";
    case DType::Fp32:
      return "fp32";
    case DType::Fp16:
      return "fp16";
    case DType::Bf16:
      return "bf16";
    case DType::Int32:
      return "int32";
  }
  return "?";
}

DType parse_precision(const std::string& text) {
  for (const DType dtype : {DType::Fp32, DType::Fp16, DType::Bf16, DType::Fp64}) {
    if (text == name(dtype)) return dtype;
  }
  throw BadInput("precision: unknown '" + text + "'; one of fp32, fp16, bf16 (fp64 on the CPU)");
}

std::uint64_t storage_bytes(DType dtype, std::int64_t elements) {
  const auto count = static_cast<std::uint64_t>(elements);
  switch (dtype) {
    case DType::Fp64:
      return checked_multiply(count, std::uint64_t{8});
    case DType::Fp32:
    case DType::Int32:
      return checked_multiply(count, std::uint64_t{4});
    case DType::Fp16:
    case DType::Bf16:
      return checked_multiply(count, std::uint64_t{2});
  }
  return 0;
}

bool is_16_bit(DType dtype) { return dtype == DType::Fp16 || dtype == DType::Bf16; }

DType accumulation_dtype(DType dtype) { return dtype == DType::Fp64 ? DType::Fp64 : DType::Fp32; }

}  // namespace vramfit
