// A trained surrogate in a C++ program: 64 states at once, on all cores or a GPU.
//
//   own_surrogate MODEL STEPS      MODEL: a run, or what 'stap export-model' wrote
//
// Prints how the mean and the size of each step's states change, and how far the networks differ.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <vector>

#include <stap/core/error.h>
#include <stap/eval/rollout.h>
#include <stap/folder/model_of.h>

int main(int argc, char** argv) try {
  if (argc != 3) return std::cerr << "own_surrogate MODEL STEPS\n", 2;
  const stap::Surrogate surrogate = stap::load_surrogate(stap::model_of(argv[1]), {});
  const std::size_t steps = std::strtoul(argv[2], nullptr, 10), rows = 64;

  // [row][channel][x][y]; here waves of 64 sizes, in your program the states that you have.
  stap::States<float> states(surrogate.grid(), rows);
  const std::size_t values = surrogate.grid().values();
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t v = 0; v < values; ++v)
      states.row(row)[v] = static_cast<float>(
          (1.0 + static_cast<double>(row) / 64.0) *
          std::sin(6.28318 * static_cast<double>(v) / static_cast<double>(values)));

  // What networks are told beside the state: parameters that vary, in physical units (here the
  // middle of each range). The number of the step is counted for you.
  stap::Conditions conditions;
  std::vector<double> parameters;
  for (const stap::ParameterDraw& draw : surrogate.engine->spec().parameters)
    parameters.push_back(0.5 * (draw.least() + draw.greatest()));
  for (std::size_t row = 0; row < rows; ++row) conditions.add(0, parameters);

  // The averaged model (kMean), then each network: how far they are apart is a warning.
  std::vector<std::vector<float>> average(steps);
  std::vector<double> size(steps, 0.0), apart(steps, 0.0);
  const int members = surrogate.committee->members();
  for (int member = stap::kMean; member < members; ++member)
    stap::roll_out(
        *surrogate.committee, states.view(), member, steps, rows,
        [&](std::size_t step, std::size_t, stap::StatesView<const float> made) {
          const std::size_t all = made.count * made.row_size;
          if (member == stap::kMean) average[step].assign(made.values, made.values + all);
          for (std::size_t v = 0; v < all; ++v) {
            const double mean = average[step][v], d = made.values[v] - mean;
            size[step] += member == stap::kMean ? mean * mean / static_cast<double>(all) : 0.0;
            apart[step] += member == stap::kMean ? 0.0 : d * d / static_cast<double>(all) / members;
          }
        },
        conditions.view());
  for (std::size_t step = 0; step < steps; ++step) {
    std::cout << "step " << step + 1 << ": states of size " << std::sqrt(size[step])
              << ", networks differ by " << std::sqrt(apart[step]) << '\n';
    if (!std::isfinite(size[step])) return 1;
  }
  return 0;
} catch (const stap::Error& error) {
  std::cerr << "own_surrogate: " << error.what() << '\n';
  return error.exit_code();
}
