#include "stap/ic/ic.h"

#include "stap/ic/burgers.h"
#include "stap/ic/gas_waves.h"

namespace stap {

std::span<const SamplerRow> sampler_table() {
  static const SamplerRow rows[] = {
      {{"burgers-paper", "sum of sines of random wave number, as printed", &burgers_paper_fields()},
       [](const config::Value& options, const Grid& grid) {
         return make_burgers_paper(config::read(burgers_paper_fields(), options, "initial"), grid);
       }},
      {{"burgers-as-coded", "sines, constants, sign, absolute value and window, as programmed",
        &burgers_as_coded_fields()},
       [](const config::Value& options, const Grid& grid) {
         return make_burgers_as_coded(config::read(burgers_as_coded_fields(), options, "initial"),
                                      grid);
       }},
      {{"gas-waves", "random waves of density, velocity and pressure, possibly windowed",
        &gas_waves_fields()},
       [](const config::Value& options, const Grid& grid) {
         return make_gas_waves(config::read(gas_waves_fields(), options, "initial"), grid);
       }},
  };
  return rows;
}

}  // namespace stap
