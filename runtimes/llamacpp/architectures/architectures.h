#pragma once

#include "runtimes/llamacpp/architectures/architecture.h"

namespace vramfit::llamacpp {

extern const Architecture kCommandR;
extern const Architecture kDeepseek2;
extern const Architecture kFalcon;
extern const Architecture kGemma2;
extern const Architecture kGemma3;
extern const Architecture kGemma4;
extern const Architecture kGlm4Moe;
extern const Architecture kGptOss;
extern const Architecture kGranite;
extern const Architecture kGraniteMoe;
extern const Architecture kLfm2;
extern const Architecture kLfm2Moe;
extern const Architecture kLlama;
extern const Architecture kMistral3;
extern const Architecture kOlmo2;
extern const Architecture kPhi3;
extern const Architecture kQwen2;
extern const Architecture kQwen3;
extern const Architecture kQwen3Moe;
extern const Architecture kQwen3Next;
extern const Architecture kStarcoder2;

}  // namespace vramfit::llamacpp
