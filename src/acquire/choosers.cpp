#include "stap/acquire/methods.h"

namespace stap {

std::span<const ChooserRow> chooser_table() {
  static const ChooserRow rows[] = {
      {{"full", "all steps: the full-trajectory baseline", &no_fields()},
       [](const config::Value& options) {
         config::read(no_fields(), options, "steps");
         return make_full();
       }},
      {{"stap", "search for the steps of largest variance reduction per step bought",
        &stap_fields()},
       [](const config::Value& options) {
         return make_stap(config::read(stap_fields(), options, "steps"));
       }},
  };
  return rows;
}

}  // namespace stap
