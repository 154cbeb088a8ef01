#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stap/core/rng.h"

namespace stap {

/// How a parameter of a problem is drawn, for each initial condition anew.
struct ParameterDraw {
  enum class Kind { uniform, log, list };

  std::string name{};
  Kind kind = Kind::uniform;
  std::vector<double> values{};  ///< least and greatest; of a list all of them

  double least() const;
  double greatest() const;
  bool operator==(const ParameterDraw&) const = default;
};

/// "uniform", "log", "list".
std::string_view to_string(ParameterDraw::Kind kind);

/// The most parameters of a problem that may vary.
inline constexpr std::size_t kVariedMost = 8;

/// The parameters of row `index` of the stream, in the order of `draws`. A value is a pure function
/// of stream, name and index: never of the other parameters or their order.
std::vector<double> draw_parameters(std::span<const ParameterDraw> draws, const Rng& stream,
                                    std::uint64_t index);
std::vector<std::string> names_of(std::span<const ParameterDraw> draws);

/// The values of parameters that vary, row by row; none where there are none.
struct RowParameters {
  std::vector<std::string> names{};
  std::vector<double> values{};  ///< [rows, names]

  void add(std::span<const double> of_row) {
    values.insert(values.end(), of_row.begin(), of_row.end());
  }
  std::span<const double> row(std::size_t r) const {
    return std::span(values).subspan(r * names.size(), names.size());
  }
};

/// A hash of what a step depends on; that of the state's bytes (hash64) where there are no
/// parameters.
std::uint64_t hash_of(std::span<const double> state, std::span<const double> parameters);

}  // namespace stap
