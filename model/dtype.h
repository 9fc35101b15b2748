#pragma once

#include <cstdint>
#include <string>

namespace vramfit {

/// What one element is. What is known of each stands in the table of formats, model/format.h.
enum class DType : std::uint8_t { Fp64, Fp32, Fp16, Bf16, Int32, Fp8, Int8 };

const char* name(DType dtype);

/// "fp32", "fp16", "bf16" or "fp64"; throws BadInput on anything else.
DType parse_precision(const std::string& text);

/// The type that torch calls so: "bfloat16". Throws BadInput where nothing is run in it.
DType dtype_of_torch(const std::string& name);

}  // namespace vramfit
