#include "estimator/shapes.h"

#include <nlohmann/json.hpp>

#include "estimator/data.h"
#include "model/config/json_reader.h"
#include "model/errors.h"

namespace vramfit {
namespace {

constexpr const char* kShapesFile = "shapes.json";
constexpr std::int64_t kShapesSchema = 1;

ModelShape read_shape(const nlohmann::json& object, const std::string& place) {
  if (!object.is_object()) throw BadInput(place + ": not a JSON object");
  const JsonReader json(object, place);
  ModelShape shape;
  shape.name = json.text("name");
  shape.also.push_back(json.text("hub"));
  if (json.has("also")) {
    for (std::string& name : json.texts("also")) shape.also.push_back(std::move(name));
  }
  if (json.has("like")) shape.like = json.text("like");
  if (!json.object("config")) json.fail("config", "missing; what its config.json holds");
  shape.config = object.at("config").dump();
  return shape;
}

std::vector<ModelShape> read_shapes() {
  const nlohmann::json object =
      parse_json_object(data_text(kShapesFile), kShapesFile, "shapes of models");
  const JsonReader json(object, kShapesFile);
  json.integer("schema", kShapesSchema, kShapesSchema);
  const auto entries = object.find("shapes");
  if (entries == object.end() || !entries->is_array()) json.fail("shapes", "no list of models");
  std::vector<ModelShape> list;
  for (const nlohmann::json& entry : *entries) {
    list.push_back(
        read_shape(entry, std::string(kShapesFile) + ": " + std::to_string(list.size() + 1)));
  }
  return list;
}

}  // namespace

const std::vector<ModelShape>& model_shapes() {
  static const std::vector<ModelShape> list = read_shapes();
  return list;
}

}  // namespace vramfit
