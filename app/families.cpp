#include "families.h"

#include "stap/nn/options.h"

namespace stap::app {

std::span<const config::Family> families() {
  // One row per section; a section of named entries is named_family(key, text, its own table).
  static const config::Family rows[] = {
      config::plain_family("network", "shape of the Fourier neural operator", fno_fields()),
      config::plain_family("train", "how networks are trained", fit_fields()),
  };
  return rows;
}

}  // namespace stap::app
