#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stap/nn/engine.h"

namespace stap {

/// What a model was trained in; empty for one that no run has made.
struct ModelOrigin {
  std::string run{};  ///< its run_id()
  std::size_t round = 0;
  std::string data{};     ///< a hash of the training set
  std::size_t stage = 0;  ///< of the round's training (study.stages)
  /// Errors on what is held back, after each stage that was trained when the file was written; none
  /// where training has no stages. What is not finite is infinite.
  std::vector<double> held_back{};

  bool operator==(const ModelOrigin&) const = default;
};

/// What the states of a model are. Networks do not need it; users of a file that stands by itself
/// do.
struct ModelProblem {
  std::string name{};                   ///< of the equation or solver; empty: the file does not say
  std::vector<std::string> channels{};  ///< their names
  double dt = 0.0;                      ///< between two states

  bool operator==(const ModelProblem&) const = default;
};

/// A trained committee and what is needed to use it or to go on training.
struct Model {
  NetworkSpec spec;
  std::vector<MemberState> members;
  std::size_t cluster = 1;  ///< k: its states are clusters of k (stap/core/cluster.h)
  ModelOrigin origin{};
  std::string bars{};  ///< error bars of these networks, as JSON (stap/eval/error_bars.h); or empty
  ModelProblem problem{};
};

/// A hash of the members' weights and scaling, as sixteen digits: what was measured of these
/// networks is true of no others.
std::string digest(const Model& model);

/// Writes a safetensors file (format "model/4", with a seal): member m's weights as "m/NAME", its
/// optimiser as "m/adam1/NAME" and "m/adam2/NAME", its running average, where there is one, as
/// "m/average/NAME", its scaling as "m/mean" and "m/deviation"; as metadata the spec, what a reader
/// must know of ("requires": the family and all that is not in every model), step counts, origin
/// (of stages, where there are any), error bars, where there are any, the cluster, where it is not
/// 1, and the problem, if it has a name. Written aside and renamed.
/// Throws Error(storage).
void write_model(const std::filesystem::path& path, const Model& model);

/// Reads it back, bit for bit, and files of earlier versions ("model/2", "model/3"). Throws
/// Error(data) if the file is missing, damaged, of another format, inconsistent or requires what
/// this program does not know; reading never runs code and never reads outside the file.
Model read_model(const std::filesystem::path& path);

}  // namespace stap
