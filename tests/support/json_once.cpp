#include "tests/support/json_once.h"

#ifdef VRAMFIT_JSON_ONCE
template class nlohmann::basic_json<>;
template class nlohmann::basic_json<nlohmann::ordered_map>;
VRAMFIT_JSON_ONCE(, nlohmann::json);
VRAMFIT_JSON_ONCE(, nlohmann::ordered_json);
#endif
