// vramfit._core: the estimator for Python. All that takes time runs without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "estimator/ask/answer_timeline.h"
#include "estimator/ask/ask.h"
#include "estimator/ask/astray.h"
#include "estimator/ask/card_facts.h"
#include "estimator/ask/runtimes_json.h"
#include "estimator/ask/spellings.h"
#include "estimator/ask/verify.h"
#include "estimator/cards.h"
#include "estimator/files/user_file.h"
#include "estimator/fit/model_files.h"
#include "estimator/fit/program.h"
#include "estimator/fit/verify_text.h"
#include "estimator/models.h"
#include "estimator/timeline/recording.h"
#include "estimator/timeline/snapshot.h"
#include "estimator/timeline/trace.h"
#include "estimator/version.h"
#include "model/config/hugging_face.h"
#include "model/errors.h"
#include "python/dry_run.h"
#include "python/sweep_rows.h"

namespace nb = nanobind;

namespace {

using vramfit::Asked;
using vramfit::BadInput;
using vramfit::FitOptions;

FitOptions options_of(const std::string& flags, const std::vector<std::string>& more) {
  return vramfit::options_of(vramfit::python::parsed(flags), more);
}

Asked ask(const std::string& flags, const std::vector<std::string>& more) {
  return vramfit::ask(options_of(flags, more), vramfit::fit::this_machine());
}

vramfit::Timeline timeline_of(const Asked& asked) {
  if (asked.question.every_card || asked.question.search != nullptr) {
    throw BadInput("snapshot: of a run of one size on one card; gpu or vram names it");
  }
  return vramfit::timeline_of(asked.answers.front());
}

/// Whether both agree, the comparison as JSON and as text. Without a pickle it is read.
std::tuple<bool, std::string, std::string> verify(const std::string& flags,
                                                  const std::optional<std::string>& pickle,
                                                  const std::string& called) {
  FitOptions options = options_of(flags, {});
  options.verify = called;
  return vramfit::in_typed_names(options.typed, [&] {
    const vramfit::Question question =
        vramfit::resolve_question(options, vramfit::fit::this_machine());
    const vramfit::Verification verification =
        verified(pickle ? vramfit::recording_of(*pickle, called) : vramfit::read_recording(called),
                 called, question);
    return std::tuple(verification.agree(), verification_json(verification, question),
                      vramfit::fit::verification_text(verification, question));
  });
}

/// Of flags gpu, vram and headroom, as typed.
std::string card_facts(const std::string& flags) {
  const FitOptions options = options_of(flags, {});
  return vramfit::in_typed_names(options.typed, [&] {
    return vramfit::card_facts(options, vramfit::fit::this_machine()).dump();
  });
}

/// Questions make and drop the same few megabytes again and again, which glibc gives back to the
/// kernel each time until it has once seen a large block freed. The process's settings stay as they
/// are.
void keep_freed_memory() {
  constexpr std::size_t kLarge = std::size_t{1} << 24;  // bytes
  void* volatile block = std::malloc(kLarge);
  std::free(block);
}

}  // namespace

NB_MODULE(_core, m) {
  keep_freed_memory();
  using Released = nb::call_guard<nb::gil_scoped_release>;
  nb::exception<BadInput>(m, "BadInput", PyExc_ValueError).attr("__module__") = "vramfit";
  m.attr("version_line") = vramfit::kVersionLine;
  nb::class_<Asked>(m, "Asked")
      .def("fits", &Asked::yes, Released())
      .def("json", &Asked::json, Released())
      .def(
          "text",
          [](const Asked& asked, bool verbose) {
            return vramfit::fit::answer_text(asked.question, asked.answers, {verbose, false});
          },
          nb::arg("verbose") = false, Released())
      .def("snapshot",
           [](const Asked& asked) {
             std::string pickle;
             {
               const nb::gil_scoped_release released;
               pickle = memory_snapshot(timeline_of(asked));
             }
             return nb::bytes(pickle.data(), pickle.size());
           })
      .def(
          "trace", [](const Asked& asked) { return chrome_trace(timeline_of(asked)); }, Released());
  m.def("own_flag", &vramfit::canonical_flag, nb::arg("theirs"));
  m.def(
      "own_flags",
      [](const std::string& flags, const std::vector<std::string>& more) {
        return vramfit::own_flags(vramfit::python::parsed(flags), more);
      },
      nb::arg("flags"), nb::arg("more"), Released());
  m.def("runtimes", [] { return vramfit::runtimes_json().dump(); });
  m.def("astray", &vramfit::astray, nb::arg("flags"), Released());
  m.def(
      "in_canonical_names",
      [](const std::vector<std::string>& typed) {
        vramfit::CommandLine line = vramfit::in_canonical_names(typed);
        return std::pair(std::move(line.arguments), std::move(line.passed_over));
      },
      nb::arg("typed"), Released());
  m.def("config_text", &vramfit::fit::config_text, nb::arg("called"), Released());
  m.def("ask", &ask, nb::arg("flags"), nb::arg("more"), Released());
  m.def(
      "verify",
      [](const std::string& flags, const std::optional<nb::bytes>& pickle,
         const std::string& called) {
        std::optional<std::string> bytes;
        if (pickle) bytes.emplace(pickle->c_str(), pickle->size());
        const nb::gil_scoped_release released;
        return verify(flags, bytes, called);
      },
      nb::arg("flags"), nb::arg("pickle").none(), nb::arg("called"));
  m.def(
      "read_file",
      [](nb::bytes path, const std::string& flag, const std::string& expected) {
        const std::string name(path.c_str(), path.size());
        std::string text;
        {
          const nb::gil_scoped_release released;
          text = vramfit::read_user_file(name, flag.c_str(), expected.c_str(),
                                         vramfit::kMaxConfigBytes);
        }
        return nb::bytes(text.data(), text.size());
      },
      nb::arg("path"), nb::arg("flag"), nb::arg("expected"));
  m.def("rows", &vramfit::python::rows, nb::arg("flags"), nb::arg("points"), Released());
  m.attr("columns") = vramfit::python::columns();
  m.def("card_facts", &card_facts, nb::arg("flags"), Released());
  m.def("dry_run_verdict", &vramfit::python::dry_run_verdict, nb::arg("run"), Released());
  m.def("dry_run_text", &vramfit::python::dry_run_text, nb::arg("run"), nb::arg("top") = 0,
        Released());
  m.def("models", [] {
    std::vector<std::string> names = vramfit::model_names();
    for (const auto& more : {vramfit::more_model_names(), vramfit::shape_names()}) {
      names.insert(names.end(), more.begin(), more.end());
    }
    return names;
  });
  m.def("cards", [] {
    std::vector<std::tuple<std::string, std::string, std::uint64_t, std::string>> list;
    for (const auto* cards : {&vramfit::cards(), &vramfit::other_cards()}) {
      for (const vramfit::Card& card : *cards) {
        list.emplace_back(card.name, card.title, card.vram, name(card.platform));
      }
    }
    return list;
  });
  m.def("run", &vramfit::fit::run, nb::arg("arguments"), nb::arg("otherwise") = "", Released());
}
