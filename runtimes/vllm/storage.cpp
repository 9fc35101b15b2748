#include "runtimes/vllm/storage.h"

#include "model/errors.h"

namespace vramfit::vllm {
namespace {

Storage of_linears(const std::string& quantization) {
  if (quantization.empty()) return Storage::Plain;
  if (quantization == "fp8") return Storage::Fp8;
  if (quantization == "awq" || quantization == "awq_marlin" || quantization == "gptq" ||
      quantization == "gptq_marlin") {
    return Storage::Packed;
  }
  if (quantization == "bitsandbytes") return Storage::Nf4;
  if (quantization == "mxfp4" || quantization == "gpt_oss_mxfp4") return Storage::Mxfp4;
  throw BadInput("quant: what " + quantization +
                 " keeps is not predicted; fp8, awq, gptq, mxfp4, bitsandbytes, or none");
}

}  // namespace

std::string quantization_of(const Shape& shape, const Options& options) {
  const std::string& named =
      options.quantization.empty() ? shape.quantization : options.quantization;
  const Storage storage = of_linears(named);
  if (shape.quantization.empty() && (storage == Storage::Packed || storage == Storage::Mxfp4)) {
    throw BadInput("quant: " + named +
                   " is how a checkpoint is stored, and this one is not; fp8, bitsandbytes, or a "
                   "model that is");
  }
  return named;
}

Storage storage_of(const Weight& weight, const Shape& shape, const Options& options) {
  if (weight.kind == WeightKind::Whole) return Storage::Plain;
  const Storage storage = of_linears(quantization_of(shape, options));
  if (storage == Storage::Mxfp4 && weight.kind != WeightKind::Experts) return Storage::Plain;
  return storage;
}

bool is_quantized_as_it_loads(const Weight& weight, const Shape& shape, const Options& options) {
  return shape.quantization.empty() && storage_of(weight, shape, options) == Storage::Fp8;
}

}  // namespace vramfit::vllm
