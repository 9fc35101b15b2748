#pragma once

#include <cstdint>
#include <string>

namespace vramfit {

/// How a tensor's elements are stored.
enum class DType : std::uint8_t { Fp64, Fp32, Fp16, Bf16, Int32 };

const char* name(DType dtype);

/// "fp32", "fp16", "bf16" or "fp64"; throws BadInput on anything else.
DType parse_precision(const std::string& text);

/// Bytes that `elements` elements take. The one place that knows: formats that store blocks with
/// scales have no element size, so nothing else may multiply one.
std::uint64_t storage_bytes(DType dtype, std::int64_t elements);

bool is_16_bit(DType dtype);

/// What sums over `dtype` are kept in, and with them row statistics: fp32, or fp64 for fp64.
DType accumulation_dtype(DType dtype);

}  // namespace vramfit
