#pragma once

// What tests have of the JSON library is compiled once for all of them, in json_once.cpp: without,
// it is most of what compiling many of them takes. Nobody includes it: it is in the precompiled
// header. Its parts are the library's own affair, so that only those of a known release are named.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#if NLOHMANN_JSON_VERSION_MAJOR == 3 && NLOHMANN_JSON_VERSION_MINOR == 11

// For each kind of JSON: the library's own parts, as they parse a string or a stream.
#define VRAMFIT_JSON_ONCE(DECLARED, JSON)                                                        \
  DECLARED template class std::vector<JSON>;                                                     \
  DECLARED template class nlohmann::detail::serializer<JSON>;                                    \
  DECLARED template class nlohmann::detail::json_sax_dom_parser<JSON>;                           \
  DECLARED template class nlohmann::detail::json_sax_dom_callback_parser<JSON>;                  \
  DECLARED template class nlohmann::detail::lexer<JSON, vramfit::TextInput>;                     \
  DECLARED template class nlohmann::detail::parser<JSON, vramfit::TextInput>;                    \
  DECLARED template class nlohmann::detail::lexer<JSON, nlohmann::detail::input_stream_adapter>; \
  DECLARED template class nlohmann::detail::parser<JSON, nlohmann::detail::input_stream_adapter>

namespace vramfit {
using TextInput = nlohmann::detail::iterator_input_adapter<std::string::const_iterator>;
}

extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
VRAMFIT_JSON_ONCE(extern, nlohmann::json);
VRAMFIT_JSON_ONCE(extern, nlohmann::ordered_json);

#endif
