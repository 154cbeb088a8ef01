#include "stap/study/program_sampler.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/config/value.h"
#include "stap/core/error.h"
#include "stap/couple/program.h"

namespace stap {
namespace {

constexpr const char* kParametersFile = "parameters";  // the placeholder

// `values`: of the parameters; empty: any will do.
ProgramCall call_of(const ProgramSamplerOptions& options, const Grid& grid,
                    std::span<const ParameterDraw> parameters, std::uint64_t seed,
                    std::span<const double> values = {}) {
  ProgramCall call{.argv = options.argv,
                   .placeholders = {{"seed", fmt::format("{}", seed)}},
                   .scratch = options.scratch,
                   .seconds_most = options.seconds,
                   .values_most = grid.values(),
                   .text = parameters.empty() ? "" : kParametersFile};
  for (std::size_t p = 0; p < parameters.size(); ++p)
    call.placeholders[parameters[p].name] =
        values.empty() ? std::string() : fmt::format("{}", values[p]);
  return call;
}

bool mentions(const ProgramSamplerOptions& options, const char* name) {
  return std::ranges::any_of(options.argv.words, [&](const std::string& word) {
    return word.find(name) != std::string::npos;
  });
}

class ProgramSampler final : public Sampler {
 public:
  ProgramSampler(ProgramSamplerOptions options, const Grid& grid,
                 std::vector<ParameterDraw> parameters)
      : Sampler("program", grid, options.warm_up),
        options_(std::move(options)),
        parameters_(std::move(parameters)) {}

  bool expensive() const override { return true; }
  bool draws_parameters() const override {
    return !parameters_.empty() && mentions(options_, "{parameters}");
  }

 private:
  void fill(const Rng& rng, std::span<double> state) const override { fill_row(rng, state, {}); }
  void fill_row(const Rng& rng, std::span<double> state,
                std::span<double> parameters) const override {
    const std::uint64_t seed = rng.key() & 0x7fffffffu;
    if (parameters.size() != parameters_.size())
      throw Error(ErrorKind::internal, fmt::format("a draw of {} parameters, expected {}",
                                                   parameters.size(), parameters_.size()));
    ProgramOutput drawn;
    try {
      drawn = output_of(call_of(options_, grid(), parameters_, seed, parameters));
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("the initial condition of seed {} cannot be drawn: {}",
                                            seed, error.what()));
    }
    std::vector<std::size_t> wanted{grid().channels};
    wanted.insert(wanted.end(), grid().points.begin(), grid().points.end());
    if (drawn.array.shape != wanted)
      refuse(seed, fmt::format("an array of {}, expected {}", shape_text(drawn.array.shape),
                               shape_text(wanted)));
    std::ranges::copy(drawn.array.values, state.begin());
    if (draws_parameters()) read_parameters(seed, drawn.text, parameters);
  }

  [[noreturn]] void refuse(std::uint64_t seed, const std::string& what) const {
    throw Error(ErrorKind::solver,
                fmt::format("{} wrote {} (seed {})", options_.argv.words[0], what, seed));
  }

  void read_parameters(std::uint64_t seed, const std::string& text,
                       std::span<double> values) const {
    config::Value given;
    try {
      given = config::parse_json(text, "{parameters}");
    } catch (const Error& error) {
      refuse(seed, fmt::format("parameters that cannot be read: {}", error.what()));
    }
    if (!given.is_map() || given.map()->size() != parameters_.size())
      refuse(seed,
             fmt::format("{} as parameters, expected a JSON map of {}", config::json_text(given, 0),
                         fmt::join(names_of(parameters_), ", ")));
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      const ParameterDraw& draw = parameters_[p];
      const config::Value* value = given.find(draw.name);
      const auto number = value != nullptr ? value->real() : std::nullopt;
      if (!number)
        refuse(seed, fmt::format("parameters without a number for {}: {}", draw.name,
                                 config::json_text(given, 0)));
      if (!(*number >= draw.least() && *number <= draw.greatest()))
        refuse(seed, fmt::format("{} = {}, expected {} to {} as the configuration says", draw.name,
                                 *number, draw.least(), draw.greatest()));
      values[p] = *number;
    }
  }

  ProgramSamplerOptions options_;
  std::vector<ParameterDraw> parameters_;
};

}  // namespace

const config::Fields<ProgramSamplerOptions>& program_sampler_fields() {
  using O = ProgramSamplerOptions;
  static const config::Fields<O> fields{
      {"argv", &O::argv,
       "the program and its arguments; {seed}, {output} (.npy), {here}, {NAME} of parameters that "
       "vary, and {parameters} (.json) if it draws them",
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
                                              const Grid& grid,
                                              std::vector<ParameterDraw> parameters) {
  if (options.argv.words.empty() || !mentions(options, "{seed}") || !mentions(options, "{output}"))
    throw Error(ErrorKind::config,
                "argv must name a program with {seed} and {output} among its arguments, for "
                "example argv: [./draw, \"{seed}\", \"{output}\"]");
  check_call(call_of(options, grid, parameters, 0));
  return std::make_unique<ProgramSampler>(options, grid, std::move(parameters));
}

}  // namespace stap
