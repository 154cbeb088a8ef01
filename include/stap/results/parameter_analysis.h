#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stap/core/parameters.h"
#include "stap/data/transitions.h"

// Where along its parameters a surrogate errs, and which of their values were bought.
namespace stap {

struct RunResult;

/// A parameter's range in parts: of a list its values, else eight of equal length, in the logarithm
/// where it is drawn so.
struct ParameterBins {
  ParameterDraw draw;
  std::vector<double> edges;  ///< of n parts n + 1, ascending; of a list its n values

  explicit ParameterBins(ParameterDraw of);
  bool is_list() const { return draw.kind == ParameterDraw::Kind::list; }
  std::size_t count() const { return edges.size() - (is_list() ? 0 : 1); }
  /// Of a value; one outside the range is in the nearest.
  std::size_t bin_of(double value) const;
  double middle(std::size_t bin) const;
  /// "0.01 to 0.02", or a value.
  std::string text(std::size_t bin) const;
};

/// What is known of rows with parameters, row by row.
struct ParameterRows {
  RowParameters test{};             ///< of test trajectories
  std::vector<double> test_rmse{};  ///< of the averaged model on each
  RowParameters pool{};             ///< of candidates; none: not found
};

/// One parameter, by parts of its range.
struct ParameterAnalysis {
  ParameterBins bins;
  std::vector<std::size_t> test{}, pool{};  ///< trajectories, candidates
  std::vector<double> rmse{};  ///< mean over the trajectories; NaN without any, infinite if one is
  std::vector<std::size_t> chosen{}, steps{};  ///< trajectories, and solver steps bought of them
};

/// `steps`: of a transition.
std::vector<ParameterAnalysis> analyse_parameters(const std::vector<ParameterDraw>& draws,
                                                  const ParameterRows& rows,
                                                  const TransitionSet& transitions,
                                                  std::size_t steps);
/// Of several runs with the same bins: counts are added, errors geometric means of the runs that
/// have them. Empty where the bins are not the same.
std::vector<ParameterAnalysis> together(
    const std::vector<const std::vector<ParameterAnalysis>*>& runs);

/// Of the candidates of a run's pool: from the file that its manifest names, or the cache; none if
/// it is not there, or another pool.
RowParameters find_pool_parameters(const RunResult& run);

}  // namespace stap
