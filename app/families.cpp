#include "families.h"

#include "stap/ic/ic.h"
#include "stap/nn/options.h"
#include "stap/pde/pde.h"

namespace stap::app {

std::span<const config::Family> families() {
  // One row per section; a section of named entries is named_family(key, text, its own table).
  static const config::Family rows[] = {
      config::named_family("pde", "the equation and its solver", pde_table()),
      config::named_family("initial", "how initial conditions are drawn", sampler_table()),
      config::plain_family("network", "shape of the Fourier neural operator", fno_fields()),
      config::plain_family("train", "how networks are trained", fit_fields()),
  };
  return rows;
}

}  // namespace stap::app
