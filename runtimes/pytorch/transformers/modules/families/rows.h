#pragma once

#include "runtimes/pytorch/transformers/modules/family.h"

namespace vramfit::pytorch {

// One row a family, each in a file of its own.
extern const Family kLlama;
extern const Family kMistral;
extern const Family kQwen2;
extern const Family kGpt2;
extern const Family kGemma;
extern const Family kPhi;
extern const Family kGptNeox;
extern const Family kQwen3;
extern const Family kOlmo2;
extern const Family kPhi3;
extern const Family kGranite;
extern const Family kGemma2;
extern const Family kGemma3Text;

}  // namespace vramfit::pytorch
