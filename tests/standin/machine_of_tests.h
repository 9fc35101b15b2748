#pragma once

#include <string>

#include "standin/calls/shells.h"
#include "standin/card/facts.h"

namespace vramfit::standin {

/// Two small GPUs of 1 GiB, a tenth of which others hold, whose every load is another size.
Facts facts_of_tests();

/// Makes a process's machine of them, where there is none yet.
void start_machine_of_tests();

/// Calls what stands in for a library's function as a program would that asked for it by name.
template <class... Arguments>
int call(const std::string& soname, const std::string& name, Arguments... arguments) {
  start_machine_of_tests();
  return reinterpret_cast<int (*)(Arguments...)>(function_named(soname, name))(arguments...);
}
template <class... Arguments>
int cuda(const std::string& name, Arguments... arguments) {
  return call("libcudart.so.13", name, arguments...);
}

}  // namespace vramfit::standin
