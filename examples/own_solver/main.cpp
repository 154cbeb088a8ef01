// A solver of one's own through the whole loop: pool and test set are drawn and solved, networks
// are trained, two methods choose what to buy, and the table compares them.
//
//   own_solver FOLDER
//
// Killed or stopped, the same command goes on.
#include <cmath>
#include <iostream>
#include <memory>
#include <vector>

#include <stap/core/error.h>
#include <stap/pde/pde.h>
#include <stap/results/table.h>
#include <stap/results/table_format.h>
#include <stap/run/sweep.h>

// du/dt + c du/dx = nu d2u/dx2 on a periodic line of length 1.
struct Options {
  std::size_t points = 32;
  double speed = 1.0, viscosity = 0.002, dt = 0.1;
};

class AdvectionDiffusion final : public stap::BatchSolver {
 public:
  explicit AdvectionDiffusion(const Options& o)
      : BatchSolver("advection-diffusion", stap::make_grid(1, {o.points}, {1.0}), o.dt), o_(o) {}

 private:
  // One learned step of every query: upwind and central differences, many small Euler steps.
  void compute(std::span<const stap::Query* const> queries,
               std::span<stap::Answer* const> answers) const override {
    const double dx = grid().spacing(0), c = o_.speed, nu = o_.viscosity;
    const double steps = std::ceil(dt() * (c / dx + 2 * nu / (dx * dx)) / 0.9), h = dt() / steps;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      std::vector<double> u = queries[q]->state, next = u;
      for (std::size_t n = u.size(), s = 0; s < static_cast<std::size_t>(steps); ++s, u.swap(next))
        for (std::size_t i = 0; i < n; ++i) {
          const double left = u[(i + n - 1) % n], right = u[(i + 1) % n];
          next[i] =
              u[i] + h * (nu * (left - 2 * u[i] + right) / (dx * dx) - c * (u[i] - left) / dx);
        }
      answers[q]->status = stap::Answer::Status::ok;
      answers[q]->states = std::move(u);
    }
  }

  Options o_;
};

const stap::config::Fields<Options>& fields() {
  static const stap::config::Fields<Options> table{
      {"points", &Options::points, "grid points", stap::config::at_least(4)},
      {"speed", &Options::speed, "c", stap::config::at_least(0), "length/time"},
      {"viscosity", &Options::viscosity, "nu", stap::config::at_least(0), "length^2/time"},
      {"dt", &Options::dt, "length of one learned step", stap::config::above(0), "time"}};
  return table;
}

constexpr const char* kStudy = R"(
pde: {name: advection-diffusion, viscosity: 0.004}
initial: {name: sines}
network: {modes: [8], width: 8, lifting: 16, projection: 16, layers: 2}
train: {epochs: 40, batch: 8}
study: {steps: 6, pool: 60, test: 20, initial: 4, rounds: 2, budget: 12}
sweep: {method: [random, sbal+stap], study.seed: [0, 1]}
)";

int main(int argc, char** argv) try {
  if (argc != 2) return std::cerr << "give a folder for the results\n", 2;
  stap::add_pde({{"advection-diffusion", "u_t + c u_x = nu u_xx, by finite differences", &fields()},
                 [](const stap::config::AnyOptions& options, const stap::MakeContext&) {
                   return std::make_unique<AdvectionDiffusion>(options.as(fields()));
                 }});
  stap::config::Value study = stap::config::parse_yaml(kStudy, "own_solver");
  const auto axes = stap::take_axes(study, {}, {});
  stap::Observer quiet;
  stap::drive(stap::expand_grid(study, axes), argv[1], 0, quiet, {});
  std::cout << stap::tables_text(stap::make_tables(stap::read_results(argv[1])));
} catch (const stap::Error& error) {
  std::cerr << error.what() << '\n';
  return error.exit_code();
}
