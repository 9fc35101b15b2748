#pragma once

#include <string>

namespace vramfit {

/// Reads `text` as a config.json, and where that works, the shape it describes as a program would.
/// True: it was read; false: it was refused with a BadInput. Anything else that happens, and a
/// message or a shape that breaks a promise of the reader, aborts.
bool survives_config(const std::string& text);

}  // namespace vramfit
