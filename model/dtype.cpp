#include "model/dtype.h"

#include "model/errors.h"
#include "model/format.h"

namespace vramfit {

const char* name(DType dtype) { return Format(dtype).name(); }

DType parse_precision(const std::string& text) {
  for (const DType dtype : {DType::Fp32, DType::Fp16, DType::Bf16, DType::Fp64}) {
    if (text == name(dtype)) return dtype;
  }
  throw BadInput("precision: unknown '" + text + "'; one of fp32, fp16, bf16 (fp64 on the CPU)");
}

}  // namespace vramfit
