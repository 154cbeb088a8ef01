#include "stap/pde/pde.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/error.h"
#include "stap/pde/burgers.h"
#include "stap/pde/cns.h"
#include "stap/pde/ins.h"
#include "stap/pde/kdv.h"
#include "stap/pde/ks.h"

namespace stap {

std::span<const PdeRow> pde_table() {
  static const PdeRow rows[] = {
      {{"burgers", "u_t + u u_x = (viscosity/pi) u_xx on a periodic interval", &burgers_fields()},
       [](const config::Value& options, int threads) {
         return make_burgers(config::read(burgers_fields(), options, "pde"), threads);
       },
       [](const config::Value& options, int threads) {
         return make_burgers_rhs(config::read(burgers_fields(), options, "pde"), threads);
       }},
      {{"kdv", "u_t + u u_x + u_xxx = 0 on a periodic interval (Korteweg-de Vries)", &kdv_fields()},
       [](const config::Value& options, int threads) {
         return make_kdv(config::read(kdv_fields(), options, "pde"), threads);
       },
       [](const config::Value& options, int threads) {
         return make_kdv_rhs(config::read(kdv_fields(), options, "pde"), threads);
       }},
      {{"ks", "u_t + u_xx + u_xxxx + u u_x = 0 on a periodic interval (Kuramoto-Sivashinsky)",
        &ks_fields()},
       [](const config::Value& options, int threads) {
         return make_ks(config::read(ks_fields(), options, "pde"), threads);
       },
       [](const config::Value& options, int threads) {
         return make_ks_rhs(config::read(ks_fields(), options, "pde"), threads);
       }},
      {{"ins", "vorticity of an incompressible flow on a periodic rectangle", &ins_fields()},
       [](const config::Value& options, int threads) {
         return make_ins(config::read(ins_fields(), options, "pde"), threads);
       },
       [](const config::Value& options, int threads) {
         return make_ins_rhs(config::read(ins_fields(), options, "pde"), threads);
       }},
      {{"cns", "compressible Navier-Stokes for an ideal gas on a periodic rectangle",
        &cns_fields()},
       [](const config::Value& options, int threads) {
         return make_cns(config::read(cns_fields(), options, "pde"), threads);
       },
       [](const config::Value& options, int threads) {
         return make_cns_rhs(config::read(cns_fields(), options, "pde"), threads);
       }},
  };
  return rows;
}

std::unique_ptr<RightHandSide> make_rhs(const PdeRow& row, const config::Value& options,
                                        int threads, std::string_view method) {
  if (row.make_rhs != nullptr) return row.make_rhs(options, threads);
  std::vector<std::string> offering;
  for (const PdeRow& other : pde_table())
    if (other.make_rhs != nullptr) offering.push_back(other.name);
  throw Error(ErrorKind::config,
              fmt::format("{} needs a solver that offers its right-hand side; {} do, {} does not: "
                          "choose another base method or another equation",
                          method, fmt::join(offering, ", "), row.name));
}

}  // namespace stap
