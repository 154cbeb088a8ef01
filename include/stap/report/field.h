#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stap/folder/run_records.h"
#include "stap/report/picture.h"
#include "stap/results/run_result.h"

namespace stap {

/// One channel of a trajectory: truth and predictions on one scale, and prediction - truth on one
/// that is symmetric about 0; so is that of states that have both signs. 1-D: time to the right,
/// space up. 2-D: all frames as tiles, `columns` in a row, x to the right and y up in each.
struct FieldChannel {
  std::string name;
  Picture truth;
  std::vector<Picture> predictions, errors;  ///< one of each for every model
};
/// Whose prediction is shown: of the averaged model of a method.
struct FieldModel {
  std::string label{};
  std::size_t group = 0;
  double rmse = 0;               ///< on this trajectory; infinite if it diverged
  std::vector<double> bought{};  ///< share of the chosen trajectories, by step; may be empty
};
/// A test trajectory as pictures, whole or thinned, with what one or more models make of it.
struct Field {
  ExtractKind kind = ExtractKind::best;
  std::size_t trajectory = 0, round = 0;  ///< of the test set; whose committees predict
  std::size_t dimensions = 1;
  std::size_t width = 0, height = 0;  ///< of a tile; 1-D: times and points
  std::size_t columns = 1;
  std::vector<double> times{};    ///< of the pictures' columns or tiles
  std::vector<double> lengths{};  ///< of the domain
  std::vector<FieldModel> models{};
  std::vector<FieldChannel> channels{};
};

/// A model with its extracts; all that are shown together have the same trajectories and times.
struct FieldSource {
  const RunExtracts* extracts;
  FieldModel model{};
};
bool same_trajectories(const RunExtracts& a, const RunExtracts& b);
/// `pixels_most`: of one picture; times are left out first (at most every second one), then points.
/// `channels`: their names. Throws Error(data), with those there are, unless the kind is there.
Field make_field(std::span<const FieldSource> sources, ExtractKind kind,
                 const std::vector<std::string>& channels, std::size_t pixels_most);

/// Truth, prediction and error side by side with axes and colour bars; of several models their
/// errors below their predictions. 2-D: the frame nearest to `time` (NaN: the last). On a page all
/// frames are there, for scripts.
std::string svg_text(const Field& field, std::size_t channel, double time,
                     const FigureStyle& style);

}  // namespace stap
