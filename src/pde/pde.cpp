#include "stap/pde/pde.h"

#include <utility>

#include "stap/pde/burgers.h"
#include "stap/pde/cns.h"
#include "stap/pde/external.h"
#include "stap/pde/fhn.h"
#include "stap/pde/ins.h"
#include "stap/pde/kdv.h"
#include "stap/pde/ks.h"

namespace stap {

namespace {

// A maker of options of one type, as a row keeps it.
template <class Options>
auto made(const config::Fields<Options>& (*fields)(),
          std::unique_ptr<Solver> (*make)(const Options&, int threads)) {
  return [fields, make](const config::AnyOptions& options, const MakeContext& context) {
    return make(options.as(fields()), context.threads);
  };
}

// Likewise what tells how its parameters vary.
template <class Options>
auto varied(const config::Fields<Options>& (*fields)(),
            std::vector<ParameterDraw> (*parameters)(const Options&)) {
  return [fields, parameters](const config::AnyOptions& options) {
    return parameters(options.as(fields()));
  };
}

config::Registry<PdeRow>& table() {
  static config::Registry<PdeRow> rows(
      "pde", "the equation and its solver", config::Affects::problem,
      {
          {{"burgers", "u_t + u u_x = (viscosity/pi) u_xx on a periodic interval",
            &burgers_fields()},
           made(&burgers_fields, &make_burgers),
           {},
           varied(&burgers_fields, &burgers_parameters)},
          {{"kdv", "u_t + u u_x + u_xxx = 0 on a periodic interval (Korteweg-de Vries)",
            &kdv_fields()},
           made(&kdv_fields, &make_kdv)},
          {{"ks",
            "u_t + u_xx + hyperviscosity u_xxxx + u u_x = 0 on a periodic interval "
            "(Kuramoto-Sivashinsky)",
            &ks_fields()},
           made(&ks_fields, &make_ks),
           {},
           varied(&ks_fields, &ks_parameters)},
          {{"ins", "vorticity of an incompressible flow on a periodic rectangle", &ins_fields()},
           made(&ins_fields, &make_ins),
           {},
           varied(&ins_fields, &ins_parameters)},
          {{"cns", "compressible Navier-Stokes for an ideal gas on a periodic rectangle",
            &cns_fields()},
           made(&cns_fields, &make_cns),
           {},
           varied(&cns_fields, &cns_parameters)},
          {{"fhn", "diffusion-reaction of FitzHugh and Nagumo between walls without flux",
            &fhn_fields()},
           made(&fhn_fields, &make_fhn),
           {},
           varied(&fhn_fields, &fhn_parameters)},
          {{"external", "a problem of your own; the section solver says how its program is reached",
            &external_fields()},
           {},
           [](const config::AnyOptions& options) {
             return outline_of(options.as(external_fields()));
           },
           [](const config::AnyOptions& options) {
             return options.as(external_fields()).parameters.varied;
           }},
      });
  return rows;
}

}  // namespace

const config::Registry<PdeRow>& pde_table() {
  return table();
}

std::vector<ParameterDraw> varied_parameters(const config::Choice<PdeRow>& pde) {
  return pde && pde.row->varied ? pde.row->varied(pde.options) : std::vector<ParameterDraw>{};
}

void add_pde(PdeRow row) {
  table().add(std::move(row));
}

}  // namespace stap
