#include "standin/elf/shell.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

namespace vramfit::standin {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kCode = 16;  ///< bytes of a function's code

std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }

/// The System V ABI's hash of a symbol or a version.
std::uint32_t elf_hash(const std::string& name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    const std::uint32_t top = hash & 0xf0000000U;
    hash = (hash ^ (top >> 24)) & ~top;
  }
  return hash;
}

class Strings {
 public:
  std::uint32_t add(const std::string& text) {
    const auto [at, fresh] = offsets_.emplace(text, static_cast<std::uint32_t>(bytes_.size()));
    if (fresh) bytes_.append(text).push_back('\0');
    return at->second;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
  std::map<std::string, std::uint32_t> offsets_ = {{"", 0}};
};

/// The file as it grows: addresses are offsets, so that a place in it is a place in memory.
class Bytes {
 public:
  std::uint64_t size() const { return bytes_.size(); }
  std::uint64_t align(std::uint64_t unit) {
    bytes_.resize(round_up(bytes_.size(), unit));
    return bytes_.size();
  }
  std::uint64_t add(const void* data, std::size_t count) {
    const std::uint64_t at = bytes_.size();
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + count);
    return at;
  }
  template <class T>
  std::uint64_t add(const T& value) {
    return add(&value, sizeof value);
  }
  template <class T>
  std::uint64_t add_all(const std::vector<T>& values) {
    return add(values.data(), values.size() * sizeof(T));
  }
  std::uint64_t skip(std::uint64_t count) {
    const std::uint64_t at = bytes_.size();
    bytes_.resize(at + count);
    return at;
  }
  template <class T>
  void put(std::uint64_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// lea r11, [rip + entry]; jmp [rip + entry]: `entry` begins with the address to jump to.
std::array<unsigned char, kCode> code(std::uint64_t here, std::uint64_t entry) {
  std::array<unsigned char, kCode> text = {0x4c, 0x8d, 0x1d, 0, 0, 0,    0,    0xff,
                                           0x25, 0,    0,    0, 0, 0xcc, 0xcc, 0xcc};
  const auto lea = static_cast<std::uint32_t>(entry - (here + 7));
  const auto jump = static_cast<std::uint32_t>(entry - (here + 13));
  std::memcpy(&text[3], &lea, sizeof lea);
  std::memcpy(&text[9], &jump, sizeof jump);
  return text;
}

/// What a linker that links against the file wants to see, beside what a loader does.
struct Section {
  const char* name;
  Elf64_Word type;
  std::uint64_t flags;
  std::uint64_t at;
  std::uint64_t size;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::uint64_t entry = 0;
};

std::vector<Elf64_Word> hash_table(const std::vector<std::string>& names) {
  const auto count = static_cast<Elf64_Word>(names.size());
  std::vector<Elf64_Word> table(2 + 2 * std::size_t{count}, 0);
  table[0] = table[1] = count;
  for (Elf64_Word i = 1; i < count; ++i) {
    Elf64_Word& bucket = table[2 + elf_hash(names[i]) % count];
    table[2 + count + i] = bucket;
    bucket = i;
  }
  return table;
}

}  // namespace

Shell make_shell(const std::string& soname, const std::vector<Export>& all) {
  std::vector<Export> exports = all;
  std::set<std::pair<std::string, std::string>> seen;
  std::erase_if(exports, [&](const Export& e) { return !seen.emplace(e.name, e.version).second; });

  // Versions: the first is the file's own name, by convention; symbols' follow from 2 on.
  Strings strings;
  std::map<std::string, std::uint16_t> versions;
  std::vector<std::string> version_names = {soname};
  for (const Export& e : exports) {
    if (e.version.empty() || versions.contains(e.version)) continue;
    version_names.push_back(e.version);
    versions[e.version] = static_cast<std::uint16_t>(version_names.size());
  }

  Shell shell;
  Bytes file;
  const std::uint64_t header_at = file.skip(sizeof(Elf64_Ehdr));
  constexpr std::size_t kSegments = 4;
  const std::uint64_t segments_at = file.skip(kSegments * sizeof(Elf64_Phdr));

  std::vector<std::string> names = {""};
  std::vector<Elf64_Sym> symbols(1);
  std::vector<std::uint16_t> indices = {0};
  for (const Export& e : exports) {
    names.push_back(e.name);
    Elf64_Sym symbol = {};
    symbol.st_name = strings.add(e.name);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, e.data ? STT_OBJECT : STT_FUNC);
    symbol.st_size = e.data ? e.data : kCode;
    symbols.push_back(symbol);
    indices.push_back(e.version.empty() ? std::uint16_t{1} : versions[e.version]);
  }
  const std::uint32_t soname_string = strings.add(soname);
  std::vector<std::uint32_t> version_strings;
  for (const std::string& name : version_names) version_strings.push_back(strings.add(name));

  const auto table = hash_table(names);
  const std::uint64_t hash_at = (file.align(8), file.add_all(table));
  const std::uint64_t symbols_at = (file.align(8), file.skip(symbols.size() * sizeof(Elf64_Sym)));
  const std::uint64_t strings_at = file.add(strings.bytes().data(), strings.bytes().size());
  const std::uint64_t indices_at = (file.align(2), file.add_all(indices));
  file.align(8);
  const std::uint64_t versions_at = file.size();
  for (std::size_t i = 0; i < version_names.size(); ++i) {
    Elf64_Verdef version = {};
    version.vd_version = VER_DEF_CURRENT;
    version.vd_flags = i == 0 ? VER_FLG_BASE : 0;
    version.vd_ndx = static_cast<Elf64_Half>(i + 1);
    version.vd_cnt = 1;
    version.vd_hash = elf_hash(version_names[i]);
    version.vd_aux = sizeof(Elf64_Verdef);
    version.vd_next =
        i + 1 < version_names.size() ? sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux) : 0;
    file.add(version);
    file.add(Elf64_Verdaux{version_strings[i], 0});
  }
  const std::uint64_t versions_end = file.size();

  // Functions, then, on pages of their own, their entries and the objects.
  const auto functions = static_cast<std::uint64_t>(
      std::count_if(exports.begin(), exports.end(), [](const Export& e) { return e.data == 0; }));
  const std::uint64_t code_at = (file.align(kCode), file.skip(functions * kCode));
  const std::uint64_t code_end = file.size();
  const std::uint64_t dynamic_at = file.align(kPage);
  const std::vector<Elf64_Dyn> dynamic = {
      {DT_SONAME, {soname_string}},
      {DT_HASH, {hash_at}},
      {DT_STRTAB, {strings_at}},
      {DT_SYMTAB, {symbols_at}},
      {DT_STRSZ, {strings.bytes().size()}},
      {DT_SYMENT, {sizeof(Elf64_Sym)}},
      {DT_VERSYM, {indices_at}},
      {DT_VERDEF, {versions_at}},
      {DT_VERDEFNUM, {version_names.size()}},
      {DT_NULL, {0}},
  };
  file.add_all(dynamic);
  shell.entries = (file.align(16), file.skip(functions * sizeof(Shell::Entry)));
  std::uint64_t function = 0;
  for (std::size_t i = 0; i < exports.size(); ++i) {
    Elf64_Sym& symbol = symbols[i + 1];
    symbol.st_shndx = exports[i].data ? 7 : 6;  // .data, .text below
    if (exports[i].data) {
      symbol.st_value = (file.align(64), file.skip(exports[i].data));
      continue;
    }
    symbol.st_value = code_at + function * kCode;
    file.put(symbol.st_value,
             code(symbol.st_value, shell.entries + function * sizeof(Shell::Entry)));
    shell.functions.push_back(exports[i].name);
    ++function;
  }
  const std::uint64_t data_end = file.align(16);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    file.put(symbols_at + i * sizeof(Elf64_Sym), symbols[i]);
  }

  const std::vector<Section> sections = {
      {"", SHT_NULL, 0, 0, 0},
      {".hash", SHT_HASH, SHF_ALLOC, hash_at, table.size() * sizeof(Elf64_Word), 2, 0, 4},
      {".dynsym", SHT_DYNSYM, SHF_ALLOC, symbols_at, symbols.size() * sizeof(Elf64_Sym), 3, 1,
       sizeof(Elf64_Sym)},
      {".dynstr", SHT_STRTAB, SHF_ALLOC, strings_at, strings.bytes().size()},
      {".gnu.version", SHT_GNU_versym, SHF_ALLOC, indices_at, indices.size() * 2, 2, 0, 2},
      {".gnu.version_d", SHT_GNU_verdef, SHF_ALLOC, versions_at, versions_end - versions_at, 3,
       static_cast<std::uint32_t>(version_names.size())},
      {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code_at, code_end - code_at},
      {".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, shell.entries, data_end - shell.entries},
      {".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, dynamic_at,
       dynamic.size() * sizeof(Elf64_Dyn), 3, 0, sizeof(Elf64_Dyn)},
      {".shstrtab", SHT_STRTAB, 0, 0, 0},
  };
  Strings section_names;
  for (const Section& section : sections) section_names.add(section.name);
  const std::uint64_t names_at =
      file.add(section_names.bytes().data(), section_names.bytes().size());
  const std::uint64_t sections_at = file.align(8);
  for (const Section& section : sections) {
    Elf64_Shdr header = {};
    const bool own = section.type == SHT_STRTAB && section.at == 0;
    header.sh_name = section_names.add(section.name);
    header.sh_type = section.type;
    header.sh_flags = section.flags;
    header.sh_addr = section.at;
    header.sh_offset = own ? names_at : section.at;
    header.sh_size = own ? section_names.bytes().size() : section.size;
    header.sh_link = section.link;
    header.sh_info = section.info;
    header.sh_addralign = section.type == SHT_NULL ? 0 : 1;
    header.sh_entsize = section.entry;
    file.add(header);
  }

  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = segments_at;
  header.e_shoff = sections_at;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = kSegments;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  file.put(header_at, header);
  const auto segment = [](Elf64_Word type, Elf64_Word flags, std::uint64_t at, std::uint64_t end,
                          std::uint64_t alignment) {
    return Elf64_Phdr{type, flags, at, at, at, end - at, end - at, alignment};
  };
  const Elf64_Phdr segments[kSegments] = {
      segment(PT_LOAD, PF_R | PF_X, 0, code_end, kPage),
      segment(PT_LOAD, PF_R | PF_W, dynamic_at, data_end, kPage),
      segment(PT_DYNAMIC, PF_R | PF_W, dynamic_at, dynamic_at + dynamic.size() * sizeof(Elf64_Dyn),
              8),
      segment(PT_GNU_STACK, PF_R | PF_W, 0, 0, 16),
  };
  file.put(segments_at, segments);
  shell.file = file.take();
  return shell;
}

}  // namespace vramfit::standin
