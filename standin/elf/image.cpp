#include "standin/elf/image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <span>
#include <utility>

namespace vramfit::standin {
namespace {

/// A file's bytes, read as they are asked for: libtorch_cuda.so has half a gigabyte of them.
class Mapped {
 public:
  explicit Mapped(const std::filesystem::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status = {};
    if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      const auto bytes = static_cast<std::size_t>(status.st_size);
      void* start = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
      if (start != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(start), bytes};
    }
    ::close(file);
  }
  ~Mapped() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  /// `count` of T at `offset`; empty where the file ends before, or none can lie there.
  template <class T>
  std::span<const T> at(std::uint64_t offset, std::uint64_t count) const {
    if (offset % alignof(T) != 0 || offset > bytes_.size() ||
        count > (bytes_.size() - offset) / sizeof(T))
      return {};
    return {reinterpret_cast<const T*>(bytes_.data() + offset), count};
  }
  template <class T>
  const T* one(std::uint64_t offset) const {
    const auto found = at<T>(offset, 1);
    return found.empty() ? nullptr : found.data();
  }
  std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const char* start = reinterpret_cast<const char*>(bytes_.data() + offset);
    return {start, ::strnlen(start, bytes_.size() - offset)};
  }

 private:
  std::span<const std::byte> bytes_;
};

/// Past every file's end.
constexpr std::uint64_t kNowhere = std::uint64_t{1} << 62;

/// The dynamic section's tables, as offsets into the file.
class Dynamic {
 public:
  explicit Dynamic(const Mapped& file) : file_(file) {
    const auto* header = file.one<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64) {
      return;
    }
    segments_ = file.at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_DYNAMIC) continue;
      for (const Elf64_Dyn& entry :
           file.at<Elf64_Dyn>(segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn))) {
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_NEEDED) {
          needed_.push_back(entry.d_un.d_val);
        } else {
          values_[entry.d_tag] = entry.d_un.d_val;
        }
      }
    }
  }

  std::vector<std::string> needed() const {
    std::vector<std::string> names;
    for (const std::uint64_t name : needed_) names.push_back(string(name));
    return names;
  }

  std::string string(std::uint64_t offset) const {
    return file_.text(offset_of(DT_STRTAB) + offset);
  }

  /// The table's place in the file; past every file's end where there is no such table.
  std::uint64_t offset_of(Elf64_Sxword tag) const {
    const auto found = values_.find(tag);
    if (found == values_.end()) return kNowhere;
    for (const Elf64_Phdr& s : segments_) {
      if (s.p_type == PT_LOAD && found->second >= s.p_vaddr &&
          found->second - s.p_vaddr < s.p_filesz) {
        return found->second - s.p_vaddr + s.p_offset;
      }
    }
    return kNowhere;
  }

  std::uint64_t value(Elf64_Sxword tag) const {
    const auto found = values_.find(tag);
    return found == values_.end() ? 0 : found->second;
  }

  /// Versions by the index that symbols name them with: the version, and the library it is asked
  /// of.
  std::map<std::uint16_t, std::pair<std::string, std::string>> needed_versions() const {
    std::map<std::uint16_t, std::pair<std::string, std::string>> versions;
    std::uint64_t at = offset_of(DT_VERNEED);
    for (std::uint64_t n = value(DT_VERNEEDNUM); n > 0; --n) {
      const auto* need = file_.one<Elf64_Verneed>(at);
      if (!need) break;
      std::uint64_t entry = at + need->vn_aux;
      for (unsigned k = 0; k < need->vn_cnt; ++k) {
        const auto* version = file_.one<Elf64_Vernaux>(entry);
        if (!version) break;
        versions[version->vna_other] = {string(version->vna_name), string(need->vn_file)};
        if (version->vna_next == 0) break;  // the last, whatever the count says
        entry += version->vna_next;
      }
      if (need->vn_next == 0) break;
      at += need->vn_next;
    }
    return versions;
  }

  /// How many symbols there are: no table says so, but the one that they are looked up in does.
  std::uint64_t symbols() const {
    if (const auto* hash = file_.one<std::uint32_t>(offset_of(DT_HASH) + 4)) return *hash;
    const std::uint64_t table = offset_of(DT_GNU_HASH);
    const auto header = file_.at<std::uint32_t>(table, 4);
    if (header.empty()) return 0;
    const std::uint64_t buckets = table + 16 + std::uint64_t{header[2]} * 8;
    std::uint32_t last = 0;
    for (const std::uint32_t first : file_.at<std::uint32_t>(buckets, header[0])) {
      last = std::max(last, first);
    }
    if (last < header[1]) return header[1];  // it defines none
    const std::uint64_t chains = buckets + std::uint64_t{header[0]} * 4;
    while (true) {
      const auto* chain = file_.one<std::uint32_t>(chains + (std::uint64_t{last} - header[1]) * 4);
      if (!chain) return 0;
      ++last;
      if ((*chain & 1U) != 0) return last;
    }
  }

 private:
  const Mapped& file_;
  std::span<const Elf64_Phdr> segments_;
  std::map<Elf64_Sxword, std::uint64_t> values_;
  std::vector<std::uint64_t> needed_;
};

}  // namespace

Image read_image(const std::filesystem::path& path) {
  const Mapped file(path);
  const Dynamic dynamic(file);
  Image image;
  image.needed = dynamic.needed();
  const std::uint64_t count = dynamic.symbols();
  const auto symbols = file.at<Elf64_Sym>(dynamic.offset_of(DT_SYMTAB), count);
  const auto indices = file.at<std::uint16_t>(dynamic.offset_of(DT_VERSYM), count);
  const auto versions = dynamic.needed_versions();
  for (std::size_t i = 1; i < symbols.size(); ++i) {
    const Elf64_Sym& symbol = symbols[i];
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (binding == STB_LOCAL) continue;
    if (symbol.st_shndx != SHN_UNDEF || binding == STB_WEAK) continue;
    Wanted wanted;
    wanted.name = dynamic.string(symbol.st_name);
    wanted.data = type == STT_OBJECT;
    wanted.bytes = symbol.st_size;
    if (!indices.empty()) {
      const auto version = versions.find(indices[i] & 0x7fffU);
      if (version != versions.end()) std::tie(wanted.version, wanted.library) = version->second;
    }
    image.wanted.push_back(std::move(wanted));
  }
  return image;
}

std::vector<std::string> read_needed(const std::filesystem::path& path) {
  const Mapped file(path);
  return Dynamic(file).needed();
}

}  // namespace vramfit::standin
