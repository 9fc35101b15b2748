#include "tests/support/digest.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace vramfit {
namespace {

constexpr std::uint64_t kPrime = 1099511628211U;

std::map<std::string, std::string> read_digests(const std::string& path) {
  std::map<std::string, std::string> digests;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    digests[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return digests;
}

void write_digests(const std::string& path, const std::map<std::string, std::string>& digests) {
  std::ofstream file(path);
  for (const auto& [name, digest] : digests) file << name << '\t' << digest << '\n';
  ASSERT_TRUE(file.good()) << path;
}

}  // namespace

void EventDigest::add(char kind, Stage stage, int step, Category category, std::uint64_t bytes,
                      std::uint64_t offset) {
  const std::string line = std::string(1, kind) + " " + name(stage) + " " + std::to_string(step) +
                           " " + name(category) + " " + std::to_string(bytes) + " " +
                           std::to_string(offset) + "\n";
  for (const char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kPrime;
  ++events_;
}

std::string EventDigest::text() const {
  static constexpr const char* kDigits = "0123456789abcdef";
  std::string hex;
  for (int shift = 60; shift >= 0; shift -= 4) hex += kDigits[hash_ >> shift & 15U];
  return hex + ": " + std::to_string(events_) + " events";
}

void expect_digests(const std::string& file, const std::map<std::string, std::string>& digests) {
  const std::string path = std::string(VRAMFIT_DIGESTS) + "/" + file;
  if (std::getenv("VRAMFIT_WRITE_DIGESTS") != nullptr) return write_digests(path, digests);
  const std::map<std::string, std::string> expected = read_digests(path);
  EXPECT_FALSE(expected.empty()) << path << ": cannot be read, or is empty";
  for (const auto& [name, digest] : expected) {
    const auto found = digests.find(name);
    EXPECT_EQ(found == digests.end() ? "gone" : found->second, digest) << name;
  }
  EXPECT_EQ(digests.size(), expected.size()) << "a new row: VRAMFIT_WRITE_DIGESTS=1";
}

}  // namespace vramfit
