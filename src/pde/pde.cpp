#include "stap/pde/pde.h"

#include "stap/pde/burgers.h"
#include "stap/pde/cns.h"

namespace stap {

std::span<const PdeRow> pde_table() {
  static const PdeRow rows[] = {
      {{"burgers", "u_t + u u_x = (viscosity/pi) u_xx on a periodic interval", &burgers_fields()},
       [](const config::Value& options, int threads) {
         return make_burgers(config::read(burgers_fields(), options, "pde"), threads);
       }},
      {{"cns", "compressible Navier-Stokes for an ideal gas on a periodic rectangle",
        &cns_fields()},
       [](const config::Value& options, int threads) {
         return make_cns(config::read(cns_fields(), options, "pde"), threads);
       }},
  };
  return rows;
}

}  // namespace stap
