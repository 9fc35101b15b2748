#include "standin/calls/shells.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

#include "standin/calls/answers.h"
#include "standin/calls/unanswered.h"
#include "standin/elf/image.h"
#include "standin/elf/shell.h"

namespace vramfit::standin {
namespace {

struct State {
  std::recursive_mutex mutex;
  std::filesystem::path folder;
  std::vector<std::string> loaded;                         ///< sonames, one a shell
  std::set<std::pair<std::string, std::string>> exported;  ///< soname, and name@version
  std::set<std::filesystem::path> seen;
};

State& state() {
  static State* the = new State;  // called from others' destructors
  return *the;
}

/// What a file must not be called: PyTorch looks for "libcudart.so" among the files that are
/// mapped, and loads every wheel's library where it finds it. The driver's is what linkers look
/// for.
std::string file_name(const std::string& soname) {
  if (soname.starts_with("libcuda.so")) return soname;
  std::string name = soname.substr(3);
  const auto at = name.find(".so");
  if (at != std::string::npos) name.erase(at, 3);
  return name;
}

using Exports = std::map<std::string, std::vector<Export>>;  ///< by soname

/// Success, wherever a status is returned.
int do_nothing() { return 0; }

/// The library that an unversioned symbol is of, by its name; empty where none is.
std::string owner_of(const std::string& name, const std::vector<std::string>& sonames) {
  std::string owner;
  std::size_t longest = 0;  // cuSPARSELt's names begin as cuSPARSE's do
  for (const std::string& soname : sonames) {
    const Library* library = library_of(soname);
    if (!library) continue;
    for (const std::string_view prefix : library->prefixes) {
      // A word begins behind it: curl_easy_init is not the driver's.
      if (prefix.size() <= longest || !name.starts_with(prefix) ||
          std::islower(static_cast<unsigned char>(name[prefix.size()])))
        continue;
      owner = soname;
      longest = prefix.size();
    }
  }
  return owner;
}

/// A library's file beside the one that needs it, or beside what that one links to: conda-forge's
/// torch/lib has links into the environment's lib/, where all are. Empty where there is none.
std::filesystem::path beside(const std::filesystem::path& path, const std::string& soname) {
  std::error_code absent;
  for (const auto& file : {path, std::filesystem::canonical(path, absent)}) {
    auto found = file.parent_path() / soname;
    if (std::filesystem::exists(found, absent)) return found;
  }
  return {};
}

void add_wanted(const std::filesystem::path& path, Exports& exports) {
  State& s = state();
  if (const std::string soname = soname_for(path); !soname.empty()) {
    exports[soname];
    return;
  }
  if (!s.seen.insert(path).second) return;
  // Of what it is linked against; and of what is in the process, though it does not say so.
  std::vector<std::string> sonames;
  for (const std::string& soname : read_needed(path)) {
    if (library_of(soname)) {
      sonames.push_back(soname);
      exports[soname];
    } else if (const auto found = beside(path, soname); !found.empty()) {
      add_wanted(found, exports);
    }
  }
  sonames.insert(sonames.end(), s.loaded.begin(), s.loaded.end());
  if (sonames.empty()) return;
  for (const Wanted& wanted : read_image(path).wanted) {
    const std::string soname =
        wanted.library.empty() ? owner_of(wanted.name, sonames) : wanted.library;
    if (soname.empty() || !library_of(soname)) continue;
    exports[soname].push_back(
        {wanted.name, wanted.version, wanted.data ? std::max(wanted.bytes, std::uint64_t{8}) : 0});
  }
}

void load(const std::string& soname, const std::string& file, const std::vector<Export>& exports) {
  State& s = state();
  Shell shell = make_shell(file == file_name(soname) ? soname : file, exports);
  const auto path = s.folder / file;
  // Under a name of its own first: another process may be loading the file just now.
  const auto partial = s.folder / (file + "." + std::to_string(::getpid()));
  std::ofstream out(partial, std::ios::binary);
  out.write(reinterpret_cast<const char*>(shell.file.data()),
            static_cast<std::streamsize>(shell.file.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path.string());
  std::filesystem::rename(partial, path);
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle) throw std::runtime_error(::dlerror());
  link_map* map = nullptr;
  ::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map));
  const Library* library = library_of(soname);
  const std::uint64_t begin = map->l_addr + shell.entries;
  auto* entries = reinterpret_cast<Shell::Entry*>(begin);  // NOLINT(performance-no-int-to-ptr)
  for (const std::string& name : shell.functions) {
    Shell::Entry& entry = *entries++;
    entry.target = library->find(name);
    if (entry.target) continue;
    if (library->is_silent(name)) {
      entry.target = reinterpret_cast<const void*>(&do_nothing);
    } else {
      entry = {unknown_function(), unanswered(soname, name)};
    }
  }
  s.loaded.push_back(soname);
}

/// A shell of a soname's own name with all that we answer; later ones hold what that one lacks.
void load_all(Exports exports) {
  State& s = state();
  for (auto& [soname, wanted] : exports) {
    const bool first = s.exported.emplace(soname, "").second;
    const Library* library = library_of(soname);
    if (first) {
      for (const auto& table : library->answers) {
        for (const Answer& answer : table) {
          wanted.push_back({std::string(answer.name), library->versioned ? soname : "", 0});
        }
      }
    }
    std::erase_if(wanted, [&, &name = soname](const Export& e) {
      return !s.exported.emplace(name, e.name + "@" + e.version).second;
    });
    if (first) {
      load(soname, file_name(soname), wanted);
    } else if (!wanted.empty()) {
      // A forked process has the same folder.
      load(soname,
           file_name(soname) + ".more" + std::to_string(::getpid()) + "-" +
               std::to_string(s.loaded.size()),
           wanted);
    }
  }
}

}  // namespace

void stand_in_for(const std::vector<std::filesystem::path>& files,
                  const std::filesystem::path& folder) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.folder = folder;
  Exports exports;
  for (const auto& file : files) add_wanted(file, exports);
  // What is never linked against, but opened by name.
  if (!exports.empty() && !s.exported.contains({"libcuda.so.1", ""})) {
    exports["libcuda.so.1"];
    exports["libnvidia-ml.so.1"];
  }
  load_all(std::move(exports));
}

namespace {

/// A copy that a wheel brings along is told by a hash: libcudart.faf08d9a.so.13,
/// libcudart-faf08d9a.
void erase_hash(std::string& name) {
  constexpr std::size_t kHash = 9;  // behind a dot or a dash, eight digits
  const auto at = name.find(".so");
  if (at == std::string::npos || at < kHash) return;
  const std::string hash = name.substr(at - kHash, kHash);
  if ((hash[0] == '.' || hash[0] == '-') &&
      std::all_of(hash.begin() + 1, hash.end(),
                  [](unsigned char digit) { return std::isxdigit(digit) != 0; })) {
    name.erase(at - kHash, kHash);
  }
}

}  // namespace

std::string soname_for(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  erase_hash(name);
  const auto at = name.find(".so");
  if (at == std::string::npos) return {};
  const std::string stem = name.substr(0, at + 3) + ".";
  if (name.size() <= stem.size()) {
    for (const auto& [soname, symbol] : state().exported) {
      if (soname.starts_with(stem)) return soname;
    }
    return {};
  }
  const std::string soname = name.substr(0, name.find('.', stem.size()));
  return soname.starts_with(stem) && library_of(soname) ? soname : std::string();
}

void* function_named(const std::string& soname, const std::string& name) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const Library* library = library_of(soname);
  if (!library) return nullptr;
  if (const void* found = library->find(name)) return const_cast<void*>(found);
  const std::string version = library->versioned ? soname : "";
  if (!s.exported.contains({soname, name + "@" + version})) {
    load_all({{soname, {{name, version, 0}}}});
  }
  return version.empty() ? ::dlsym(RTLD_DEFAULT, name.c_str())
                         : ::dlvsym(RTLD_DEFAULT, name.c_str(), version.c_str());
}

}  // namespace vramfit::standin
