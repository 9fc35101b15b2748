#include <fmt/format.h>

#include "bench/rows/families.h"
#include "runtimes/article/formulas.h"

namespace vramfit::bench {
namespace {

constexpr double kSevenBillion = 7;  // parameters, as the article rounds its models'
constexpr double kThirteenBillion = 13;

FixedRow total_row(const article::Question& q) {
  const article::Answer answer = article::will_it_fit(q);
  Counters counters;
  counters.set("article_formula", answer.total());
  counters.set("article_formula_parameters", answer.parameters);
  counters.set("article_formula_gradients", answer.gradients);
  counters.set("article_formula_optimizer_state", answer.optimizer);
  counters.set("article_formula_activations", answer.activations);
  counters.set("article_formula_kv_cache", answer.kv_cache);
  const std::string optimizer = q.training ? "/" + q.optimizer : "";
  return {fmt::format("Article/will_it_fit/7B/{}{}/batch:{}/seq:{}", q.precision, optimizer,
                      q.batch, q.seq),
          counters};
}

FixedRow largest_batch_row(const article::Question& q) {
  Counters counters;
  counters.set("article_max_batch", static_cast<double>(article::find_max_batch_size(q)));
  return {fmt::format("Article/find_max_batch_size/7B/{}/seq:{}/vram:{}GB", q.precision, q.seq,
                      q.vram_gb),
          counters};
}

FixedRow multi_gpu_row(const std::string& strategy, std::int64_t gpus) {
  Counters counters;
  counters.set("article_formula",
               article::estimate_multi_gpu_memory(kThirteenBillion, gpus, strategy));
  return {fmt::format("Article/estimate_multi_gpu_memory/13B/{}/gpus:{}", strategy, gpus),
          counters};
}

/// Asked as the article asks, whose model has a round number of parameters.
article::Question question(const std::string& precision, std::int64_t batch, std::int64_t seq) {
  article::Question q;
  q.params_billion = kSevenBillion;
  q.precision = precision;
  q.batch = batch;
  q.seq = seq;
  return q;
}

}  // namespace

/// What the article's code answers to what its own tables ask: Table 2's case, Table 1's largest
/// in int4, Table 3's column of int8, and Table 4.
std::vector<FixedRow> article_rows() {
  std::vector<FixedRow> rows = {total_row(question("fp16", 4, 512))};
  article::Question generation = question("int4", 8, 2048);
  generation.training = false;
  rows.push_back(total_row(generation));
  for (const double vram_gb : {24, 40, 48, 80}) {
    article::Question q = question("int8", 1, 512);
    q.vram_gb = vram_gb;
    rows.push_back(largest_batch_row(q));
  }
  for (const char* strategy : {"data-parallel", "pipeline", "fsdp"}) {
    for (const std::int64_t gpus : {2, 4}) {
      rows.push_back(multi_gpu_row(strategy, gpus));
    }
  }
  return rows;
}

}  // namespace vramfit::bench
