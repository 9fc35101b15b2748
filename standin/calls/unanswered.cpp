#include "standin/calls/unanswered.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>

#include "standin/calls/answers.h"

namespace vramfit::standin {
namespace {

struct Function {
  Function(std::string its_library, std::string its_name)
      : library(std::move(its_library)), name(std::move(its_name)), gives(given_by(name)) {}

  std::string library;
  std::string name;
  const Gives* gives;
  std::atomic<std::uint64_t> calls = 0;
  std::atomic<const void*> caller = nullptr;  ///< the last
  std::set<std::string> files;                ///< of callers, for count_unknown()
};

struct State {
  std::mutex mutex;
  std::deque<Function> functions;
  std::atomic<bool> strict = false;
};

State& state() {
  static State* the = new State;  // called from others' destructors
  return *the;
}

Function& function(const std::string& library, const std::string& name) {
  for (Function& known : state().functions) {
    if (known.library == library && known.name == name) return known;
  }
  return state().functions.emplace_back(library, name);
}

void count(Function& called, const void* caller) {
  ++called.calls;
  called.caller = caller;
  if (!state().strict) return;
  std::fprintf(stderr, "vramfit run --strict: the program called %s of %s, which is not known\n",
               called.name.c_str(), called.library.c_str());
  ::_exit(3);
}

}  // namespace

void* unanswered(const std::string& library, const std::string& name) {
  const std::lock_guard lock(state().mutex);
  return &function(library, name);
}

bool count_unknown(const std::string& library, const std::string& name, const void* caller) {
  const std::lock_guard lock(state().mutex);
  Function& called = function(library, name);
  count(called, caller);
  return called.files.insert(file_around(caller)).second;
}

std::string file_around(const void* address) {
  Dl_info found = {};
  return ::dladdr(address, &found) != 0 && found.dli_fname ? found.dli_fname : "";
}

std::vector<UnknownCall> unknown_calls() {
  const std::lock_guard lock(state().mutex);
  std::vector<UnknownCall> found;
  for (const Function& each : state().functions) {
    if (each.calls == 0) continue;
    found.push_back({each.library, each.name, each.calls, file_around(each.caller), each.gives});
  }
  return found;
}

void end_at_unknown_calls() { state().strict = true; }

}  // namespace vramfit::standin

extern "C" {

/// `arguments`: six of registers, the address that is returned to, those of the stack.
__attribute__((used)) void vramfit_standin_count(void* about, const std::uint64_t* arguments) {
  using namespace vramfit::standin;
  Function& called = *static_cast<Function*>(about);
  constexpr int kInRegisters = 6;
  count(called, reinterpret_cast<const void*>(arguments[kInRegisters]));
  if (!called.gives) return;
  for (int i = 0; i < called.gives->numbers; ++i) {
    const int number = called.gives->argument + i;
    const std::uint64_t to = arguments[number < kInRegisters ? number : number + 1];
    if (to != 0) std::memset(reinterpret_cast<void*>(to), 0, called.gives->bytes);
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
