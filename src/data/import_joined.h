// Several foreign files, one behind the other.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "stap/data/import.h"

namespace stap::foreign {

/// Reads trajectories of one file in blocks, the last of which stays.
class Blocks {
 public:
  /// One block at a time, of the first `trajectories`, each of `values` values.
  Blocks(std::filesystem::path file, ForeignData::Read read, std::size_t block,
         std::size_t trajectories, std::size_t values);
  std::vector<double> operator()(std::size_t trajectory);

 private:
  std::filesystem::path file_;
  ForeignData::Read read_;
  std::size_t block_, trajectories_, values_;
  std::size_t first_ = 0, count_ = 0;
  std::vector<double> states_;
};

class JoinedFiles {
 public:
  /// Throws as open_foreign does, and Error(data) for files that do not go together.
  JoinedFiles(std::span<const std::filesystem::path> files, const ImportOptions& options,
              bool times);

  std::size_t count() const { return firsts_.back(); }
  const ForeignData& like() const { return parts_.front(); }
  std::vector<std::string> notes() const;
  bool has_sources() const { return like().sources != nullptr; }

  /// One trajectory; quick if they are asked for in order.
  std::vector<double> read(std::size_t b);
  std::vector<double> sources(std::size_t b);
  std::span<const double> parameters(std::size_t b) const;
  /// For messages.
  std::string place(std::size_t b) const;

 private:
  std::size_t part_of(std::size_t b) const;

  std::vector<std::filesystem::path> files_;
  std::vector<ForeignData> parts_;
  std::vector<Blocks> states_, sources_;
  std::vector<std::size_t> firsts_{0};  // trajectories before each part, and in all
};

}  // namespace stap::foreign
