#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stap/folder/run_records.h"
#include "stap/report/picture.h"
#include "stap/results/run_result.h"

namespace stap {

/// One channel of a trajectory: truth and prediction on one scale, and prediction - truth on one
/// that is symmetric about 0. 1-D: time to the right, space up. 2-D: all frames as tiles, `columns`
/// in a row, x to the right and y up in each.
struct FieldChannel {
  std::string name;
  Picture truth, prediction, error;
};
/// A trajectory of the extracts as pictures, whole or thinned.
struct Field {
  ExtractKind kind = ExtractKind::best;
  std::size_t trajectory = 0, round = 0;  ///< of the test set; whose committee predicts
  double rmse = 0;                        ///< of the mean model; infinite if it diverged
  std::size_t dimensions = 1;
  std::size_t width = 0, height = 0;  ///< of a tile; 1-D: times and points
  std::size_t columns = 1;
  std::vector<double> times{};    ///< of the pictures' columns or tiles
  std::vector<double> lengths{};  ///< of the domain
  std::vector<double> bought{};   ///< share of the chosen trajectories, by step; may be empty
  std::vector<FieldChannel> channels{};
};

/// `pixels_most`: of one picture; times are left out first (at most every second one), then points.
/// `channels`: their names. Throws Error(config), with those there are, unless the kind is there.
Field make_field(const RunExtracts& extracts, ExtractKind kind,
                 const std::vector<std::string>& channels, std::size_t pixels_most);

/// Truth, prediction and error side by side with colour bars. 2-D: the frame nearest to `time`
/// (NaN: the last).
std::string svg_text(const Field& field, std::size_t channel, double time,
                     const FigureStyle& style);

}  // namespace stap
