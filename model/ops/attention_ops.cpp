#include "model/ops/attention_ops.h"

#include "model/errors.h"

namespace vramfit {

const char* name(AttentionForm form) { return form == AttentionForm::Flash ? "flash" : "cublas"; }

AttentionForm parse_attention(const std::string& text) {
  for (const AttentionForm form : {AttentionForm::Flash, AttentionForm::Cublas}) {
    if (text == name(form)) return form;
  }
  throw BadInput("attention: unknown '" + text + "'; flash or cublas");
}

}  // namespace vramfit
