#include "stap/ic/ic.h"

#include "stap/ic/burgers.h"
#include "stap/ic/gas_waves.h"
#include "stap/ic/gaussian_field.h"
#include "stap/ic/sines.h"
#include "stap/ic/white_noise.h"

namespace stap {

namespace {

// A maker of options of one type, as a row keeps it.
template <class Options>
auto made(const config::Fields<Options>& (*fields)(),
          std::unique_ptr<Sampler> (*make)(const Options&, const Grid&)) {
  return [fields, make](const config::AnyOptions& options, const MakeContext& context) {
    return make(options.as(fields()), context.needed_grid());
  };
}

config::Registry<SamplerRow>& table() {
  static config::Registry<SamplerRow> rows(
      "initial", "how initial conditions are drawn", config::Affects::problem,
      {
          {{"sines", "sum of sines of random amplitude, phase and wave number", &sines_fields()},
           made(&sines_fields, &make_sines)},
          {{"burgers-as-coded", "sines, constants, sign, absolute value and window, as programmed",
            &burgers_as_coded_fields()},
           made(&burgers_as_coded_fields, &make_burgers_as_coded)},
          {{"gaussian-field", "Gaussian random field with a power-law spectrum, one or two axes",
            &gaussian_field_fields()},
           made(&gaussian_field_fields, &make_gaussian_field)},
          {{"gas-waves", "random waves of density, velocity and pressure, possibly windowed",
            &gas_waves_fields()},
           made(&gas_waves_fields, &make_gas_waves)},
          {{"white-noise", "normal values, each on its own, of any channels",
            &white_noise_fields()},
           made(&white_noise_fields, &make_white_noise)},
      },
      {"file", "program"});
  return rows;
}

}  // namespace

const config::Registry<SamplerRow>& sampler_table() {
  return table();
}

void add_sampler(SamplerRow row) {
  table().add(std::move(row));
}

}  // namespace stap
