#include "bench/ledgers/gzip.h"

#include <zlib.h>

#include <array>
#include <stdexcept>

#include "model/errors.h"

namespace vramfit::bench {
namespace {

constexpr int kGzip = 16 + MAX_WBITS;  ///< zlib's window bits for gzip's header and trailer
constexpr std::size_t kChunk = std::size_t{1} << 16;

Bytef* input(const std::string& text) {
  // zlib reads it only.
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
}

}  // namespace

std::string gzip(const std::string& text) {
  z_stream stream{};
  constexpr int kMemory = 9;
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::runtime_error("zlib: cannot begin to pack");
  }
  std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = input(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("zlib: cannot pack");
  return packed;
}

std::string gunzip(const std::string& bytes, const std::string& source, std::size_t at_most) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzip) != Z_OK)
    throw std::runtime_error("zlib: cannot begin to unpack");
  stream.next_in = input(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::array<char, kChunk> chunk{};
  int status = Z_OK;
  while (status == Z_OK && text.size() <= at_most) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(chunk.data(), chunk.size() - stream.avail_out);
  }
  const bool whole = status == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  if (text.size() > at_most) throw BadInput(source + ": unpacks to too much; a ledger of bench");
  if (!whole) throw BadInput(source + ": is no whole gzip file; a ledger of bench");
  return text;
}

}  // namespace vramfit::bench
