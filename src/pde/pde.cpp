#include "stap/pde/pde.h"

#include "stap/pde/burgers.h"
#include "stap/pde/ins.h"

namespace stap {

std::span<const PdeRow> pde_table() {
  static const PdeRow rows[] = {
      {{"burgers", "u_t + u u_x = (viscosity/pi) u_xx on a periodic interval", &burgers_fields()},
       [](const config::Value& options, int threads) {
         return make_burgers(config::read(burgers_fields(), options, "pde"), threads);
       }},
      {{"ins", "vorticity of an incompressible flow on a periodic rectangle", &ins_fields()},
       [](const config::Value& options, int threads) {
         return make_ins(config::read(ins_fields(), options, "pde"), threads);
       }},
  };
  return rows;
}

}  // namespace stap
