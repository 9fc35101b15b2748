#include "estimator/ask/model.h"

#include "estimator/ask/sizes.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "model/config/hugging_face.h"
#include "model/errors.h"
#include "model/printable.h"
#include "model/quantity.h"
#include "model/transformer/assumed_llama.h"

namespace vramfit {
namespace {

using Text = std::optional<std::string>;

std::optional<std::int64_t> whole(const char* field, const Text& text) {
  return text ? std::optional(parse_whole(field, *text)) : std::nullopt;
}

ModelConfig model_called(const std::string& called, const Environment& environment) {
  if (const Text name = shipped_model(called)) return model_named(*name);
  if (environment.model) {
    if (std::optional<ModelConfig> model = environment.model(called)) return *std::move(model);
  }
  return model_named(called);
}

/// Its shape is for a runtime to read.
[[noreturn]] void throw_gguf(const std::string& path, const Environment& environment) {
  if (!environment.gguf) {
    throw BadInput("gguf: '" + path + "' is a path, and no files are read here; --model NAME");
  }
  const std::size_t folder = path.find_last_of('/');
  std::string name = path.substr(folder == std::string::npos ? 0 : folder + 1);
  if (name.ends_with(".gguf")) name.resize(name.size() - std::string_view(".gguf").size());
  auto file = std::make_shared<const gguf::File>(environment.gguf(path));
  throw UnreadModel(
      "gguf: is read by --runtime llama.cpp alone",
      std::make_shared<const ModelSource>(ModelSource{printable(name), {}, std::move(file)}));
}

/// It has no shape, and answers for its script alone.
[[noreturn]] void throw_tape(const std::string& path, const Environment& environment) {
  if (!environment.tape) {
    throw BadInput("tape: '" + path + "' is a path, and no files are read here; --model NAME");
  }
  throw UnreadModel("tape: is played by --runtime recorded alone",
                    std::make_shared<const ModelSource>(
                        ModelSource{.name = printable(path), .tape = environment.tape(path)}));
}

/// "13" is 13B, as nobody asks about a model of 13 parameters.
ModelConfig assumed_of(const std::string& params, const FitOptions& o) {
  const bool bare = is_bare(params);
  ModelConfig model = assumed_llama(parse_count("params", bare ? params + "B" : params),
                                    whole("hidden", o.hidden), whole("layers", o.layers));
  if (bare) model.notes.push_back("--params " + params + " is taken as " + params + "B");
  return model;
}

/// As the readers of shapes have it.
ModelConfig shape_of(const FitOptions& o, const Environment& environment) {
  if (o.config_json) return parse_hugging_face(*o.config_json, o.model.value_or("config"));
  if (o.model) return model_called(*o.model, environment);
  if (o.config) {
    if (environment.config) return environment.config(*o.config);
    throw BadInput("config: '" + *o.config + "' is a path, and no files are read here; its JSON");
  }
  if (o.gguf) throw_gguf(*o.gguf, environment);
  if (o.tape) throw_tape(*o.tape, environment);
  if (o.params) return assumed_of(*o.params, o);
  throw BadInput(
      "model: missing; --model NAME (vramfit --list), --config PATH, --gguf FILE or --params 7B");
}

/// Names the runtimes that read it, which its own message does not know.
std::string nearest_readers(const UnreadModel& unread) {
  std::string others;
  for (const std::string& other : readers_of(*unread.source())) {
    others += (others.empty() ? "; nearest: --runtime " : " or ") + other;
  }
  return others;
}

/// As the runtime itself reads it; nothing where it reads none.
std::optional<ModelConfig> own_reading(const Runtime& runtime,
                                       const std::shared_ptr<const ModelSource>& source) {
  if (source == nullptr) return std::nullopt;
  try {
    std::optional<ModelConfig> model = runtime.read_model(*source);
    if (model && model->source == nullptr) model->source = source;
    return model;
  } catch (const UnreadModel&) {
    throw;
  } catch (const BadInput& refusal) {
    const UnreadModel unread(refusal.what(), source);
    throw UnreadModel(unread.what() + nearest_readers(unread), source);
  }
}

/// Whether it was read of a part of what its config describes: no reader takes that key otherwise.
bool is_a_part(const ModelConfig& model) {
  return model.source != nullptr &&
         model.source->config.find("\"text_config\"") != std::string::npos;
}

/// Of a model that no reader has a shape of, or of a part alone, what the runtime makes of it.
ModelConfig model_for(const FitOptions& o, const Environment& environment, const Runtime& runtime) {
  try {
    ModelConfig model = shape_of(o, environment);
    if (!is_a_part(model)) return model;
    return own_reading(runtime, model.source).value_or(model);
  } catch (const UnknownModel& unknown) {
    if (std::optional<ModelConfig> model = own_reading(runtime, unknown.source())) {
      return *std::move(model);
    }
    if (unknown.source() == nullptr) throw;
    throw UnknownModel(unknown.what() + nearest_readers(unknown), unknown.source());
  } catch (const UnreadModel& unread) {
    if (std::optional<ModelConfig> model = own_reading(runtime, unread.source())) {
      return *std::move(model);
    }
    if (unread.source() == nullptr) throw;
    throw UnreadModel(unread.what() + nearest_readers(unread), unread.source());
  }
}

/// The model that drafts for it, where one does: by its name, its config's folder or its GGUF file.
void add_draft(const FitOptions& o, const Environment& environment, const Runtime& runtime,
               ModelConfig& model) {
  const std::optional<std::string> called = runtime.draft_named(o.flags);
  if (!called) return;
  FitOptions draft;
  (called->ends_with(".gguf") ? draft.gguf : draft.model) = called;
  auto source = std::make_shared<ModelSource>(*model.source);
  source->draft = model_for(draft, environment, runtime).source;
  model.source = std::move(source);
}

}  // namespace

ModelConfig model_of(const FitOptions& o, const Environment& environment, const Runtime& runtime) {
  ModelConfig model = model_for(o, environment, runtime);
  add_draft(o, environment, runtime, model);
  return model;
}

}  // namespace vramfit
