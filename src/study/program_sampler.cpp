#include "stap/study/program_sampler.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/couple/program.h"

namespace stap {
namespace {

ProgramCall call_of(const ProgramSamplerOptions& options, const Grid& grid, std::uint64_t seed) {
  return {.argv = options.argv,
          .placeholders = {{"seed", fmt::format("{}", seed)}},
          .scratch = options.scratch,
          .seconds_most = options.seconds,
          .values_most = grid.values()};
}

class ProgramSampler final : public Sampler {
 public:
  ProgramSampler(ProgramSamplerOptions options, const Grid& grid)
      : Sampler("program", grid, options.warm_up), options_(std::move(options)) {}

  bool expensive() const override { return true; }

 private:
  void fill(const Rng& rng, std::span<double> state) const override {
    std::ranges::copy(draw_one(rng.key() & 0x7fffffffu), state.begin());
  }

  std::vector<double> draw_one(std::uint64_t seed) const {
    Array<double> array;
    try {
      array = output_of(call_of(options_, grid(), seed));
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("the initial condition of seed {} cannot be drawn: {}",
                                            seed, error.what()));
    }
    std::vector<std::size_t> wanted{grid().channels};
    wanted.insert(wanted.end(), grid().points.begin(), grid().points.end());
    if (array.shape != wanted)
      throw Error(ErrorKind::solver,
                  fmt::format("{} wrote an array of {}, expected {}", options_.argv.words[0],
                              shape_text(array.shape), shape_text(wanted)));
    return std::move(array.values);
  }

  ProgramSamplerOptions options_;
};

}  // namespace

const config::Fields<ProgramSamplerOptions>& program_sampler_fields() {
  using O = ProgramSamplerOptions;
  static const config::Fields<O> fields{
      {"argv", &O::argv, "the program and its arguments; {seed}, {output} (.npy) and {here}",
       config::Affects::source},
      {"warm_up", &O::warm_up, "how long a drawn state is evolved before it is used",
       config::at_least(0), "time"},
      {"seconds", &O::seconds, "that one draw may take", config::Affects::machine,
       config::above(0).at_most(1e9), "s"},
      {"scratch", &O::scratch, "where its folders are made; empty: the system's",
       config::Affects::machine},
  };
  return fields;
}

std::unique_ptr<Sampler> make_program_sampler(const ProgramSamplerOptions& options,
                                              const Grid& grid) {
  const auto mentions = [&](const char* name) {
    return std::ranges::any_of(options.argv.words, [&](const std::string& word) {
      return word.find(name) != std::string::npos;
    });
  };
  if (options.argv.words.empty() || !mentions("{seed}") || !mentions("{output}"))
    throw Error(ErrorKind::config,
                "argv must name a program with {seed} and {output} among its arguments, for "
                "example argv: [./draw, \"{seed}\", \"{output}\"]");
  check_call(call_of(options, grid, 0));
  return std::make_unique<ProgramSampler>(options, grid);
}

}  // namespace stap
