#include "standin/calls/unanswered.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "standin/calls/answers.h"

namespace vramfit::standin {
namespace {

struct Calls {
  std::atomic<std::uint64_t> number = 0;
  std::atomic<const void*> caller = nullptr;  ///< the last
  const Gives* gives = nullptr;
  bool as_zero = false;
};

using Functions = std::map<std::pair<std::string, std::string>, Calls>;  ///< by soname and name
using Function = Functions::value_type;

struct State {
  std::mutex mutex;
  Functions functions;
  std::set<std::pair<Function*, std::string>> callers;  ///< files, of count_unknown()
  std::atomic<bool> strict = false;
};

State& state() {
  static State* the = new State;  // called from others' destructors
  return *the;
}

void count(Function& called, const void* caller) {
  ++called.second.number;
  called.second.caller = caller;
  if (!state().strict) return;
  const auto& [library, name] = called.first;
  std::fprintf(stderr, "vramfit run --strict: the program called %s of %s, which is not known\n",
               name.c_str(), library.c_str());
  ::_exit(3);
}

}  // namespace

void* unanswered(const std::string& library, const std::string& name) {
  const std::lock_guard lock(state().mutex);
  Function& function = *state().functions.try_emplace({library, name}).first;
  function.second.gives = given_by(name);
  function.second.as_zero = function.second.gives != nullptr;
  return &function;
}

bool count_unknown(const std::string& library, const std::string& name, const void* caller,
                   bool as_zero) {
  const std::lock_guard lock(state().mutex);
  Function& function = *state().functions.try_emplace({library, name}).first;
  function.second.as_zero = as_zero;
  count(function, caller);
  return state().callers.emplace(&function, file_around(caller)).second;
}

std::string file_around(const void* address) {
  Dl_info found = {};
  return ::dladdr(address, &found) != 0 && found.dli_fname ? found.dli_fname : "";
}

std::vector<UnknownCall> unknown_calls() {
  const std::lock_guard lock(state().mutex);
  std::vector<UnknownCall> found;
  for (const auto& [name, calls] : state().functions) {
    if (calls.number == 0) continue;
    found.push_back(
        {name.first, name.second, calls.number, file_around(calls.caller), calls.as_zero});
  }
  return found;
}

void end_at_unknown_calls() { state().strict = true; }

}  // namespace vramfit::standin

extern "C" {

/// `arguments`: six of registers, the address that is returned to, those of the stack.
__attribute__((used)) void vramfit_standin_count(void* about, void* const* arguments) {
  using namespace vramfit::standin;
  Function& called = *static_cast<Function*>(about);
  constexpr int kInRegisters = 6;
  count(called, arguments[kInRegisters]);
  const Gives* gives = called.second.gives;
  for (int i = 0; gives && i < gives->numbers; ++i) {
    const int number = gives->argument + i;
    void* to = arguments[number < kInRegisters ? number : number + 1];
    if (to) std::memset(to, 0, gives->bytes);
  }
}

void vramfit_standin_unknown();
}

// The entry is in r11, and what it is about behind its target.
asm(R"(
.text
.globl vramfit_standin_unknown
.hidden vramfit_standin_unknown
.type vramfit_standin_unknown, @function
vramfit_standin_unknown:
  pushq %r9
  pushq %r8
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  movq 8(%r11), %rdi
  movq %rsp, %rsi
  subq $8, %rsp
  call vramfit_standin_count
  addq $56, %rsp
  xorl %eax, %eax
  ret
)");

const void* vramfit::standin::unknown_function() {
  return reinterpret_cast<const void*>(&vramfit_standin_unknown);
}
