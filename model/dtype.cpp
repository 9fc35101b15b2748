#include "model/dtype.h"

#include "model/errors.h"
#include "model/format.h"
#include "model/printable.h"

namespace vramfit {

const char* name(DType dtype) { return Format(dtype).name(); }

DType parse_precision(const std::string& text) {
  for (const DType dtype : {DType::Fp32, DType::Fp16, DType::Bf16, DType::Fp64}) {
    if (text == name(dtype)) return dtype;
  }
  throw BadInput("precision: unknown '" + text + "'; one of fp32, fp16, bf16 (fp64 on the CPU)");
}

DType dtype_of_torch(const std::string& name) {
  if (name == "float32" || name == "float") return DType::Fp32;
  if (name == "float16" || name == "half") return DType::Fp16;
  if (name == "bfloat16") return DType::Bf16;
  throw BadInput("precision: the config says '" + shortened(name, 40) +
                 "', in which nothing is run; --precision fp32, fp16 or bf16");
}

}  // namespace vramfit
