#include "stap/ic/ic.h"

#include "stap/ic/burgers.h"
#include "stap/ic/gas_waves.h"
#include "stap/ic/gaussian_field.h"
#include "stap/ic/sines.h"

namespace stap {

std::span<const SamplerRow> sampler_table() {
  static const SamplerRow rows[] = {
      {{"sines", "sum of sines of random amplitude, phase and wave number", &sines_fields()},
       [](const config::Value& options, const Grid& grid) {
         return make_sines(config::read(sines_fields(), options, "initial"), grid);
       }},
      {{"burgers-as-coded", "sines, constants, sign, absolute value and window, as programmed",
        &burgers_as_coded_fields()},
       [](const config::Value& options, const Grid& grid) {
         return make_burgers_as_coded(config::read(burgers_as_coded_fields(), options, "initial"),
                                      grid);
       }},
      {{"gaussian-field", "Gaussian random field with a power-law spectrum, one or two axes",
        &gaussian_field_fields()},
       [](const config::Value& options, const Grid& grid) {
         return make_gaussian_field(config::read(gaussian_field_fields(), options, "initial"),
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
