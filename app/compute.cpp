#include "stap/nn/compute.h"
#include "commands.h"

namespace stap::app {

void apply_compute(const Globals& globals, config::Value& document) {
  if (!globals.device.empty()) config::apply_override(document, "compute.device=" + globals.device);
  if (!globals.precision.empty())
    config::apply_override(document, "compute.precision=" + globals.precision);
}

ComputeOptions compute_options(const Globals& globals) {
  config::Value document;
  apply_compute(globals, document);
  const config::Value* section = document.find("compute");
  return section != nullptr ? config::read(compute_fields(), *section, "compute")
                            : ComputeOptions{};
}

}  // namespace stap::app
