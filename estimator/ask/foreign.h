#pragma once

#include <string>

#include "runtimes/runtime.h"

namespace vramfit {

/// The row of a flag of that runtime's own; null where there is none. `value`: what follows it.
const ForeignWord* foreign_word_of(const Runtime& runtime, const std::string& flag,
                                   const std::string& value);

/// The row of a flag, of the runtime that is asked about or of trainers and generators; null where
/// there is none. Throws BadInput where another runtime alone has one.
const ForeignWord* foreign_word(const Runtime& runtime, const std::string& flag,
                                const std::string& value);

/// The same of "-t", which is that runtime's alone.
const ForeignWord* foreign_word_by_one_dash(const Runtime& runtime, const std::string& text,
                                            const std::string& value);

}  // namespace vramfit
