// The machines that a job may use, and the slots that they hold.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stap {

struct Host {
  std::string name;
  std::size_t cpus = 0;  ///< 0: not said

  bool operator==(const Host&) const = default;
};

struct Allocation {
  std::string
      source{};  ///< where it is from, for messages; empty: there is none, only this machine
  std::vector<Host> hosts{};
  std::size_t cpus_per_rank = 0;  ///< SLURM_CPUS_PER_TASK; 0: not said, so one

  /// Whether programs may come to run on another machine than this one.
  bool on_other_nodes() const;
  /// "4 hosts with 8 CPUs (SLURM_JOB_NODELIST)".
  std::string text() const;
};

/// From a host file, if one is named (a line a host: "name", "name slots=4" or "name:4"; a name
/// that comes again adds up; # begins a comment), else from SLURM_JOB_NODELIST and
/// SLURM_JOB_CPUS_PER_NODE, else from PBS_NODEFILE, else this machine and the cores that this
/// process may use. Throws Error(config) for what cannot be read.
Allocation read_allocation(const std::filesystem::path& host_file);

/// Hosts of a list as Slurm writes it: "n[1-3,07],gpu1" is n1, n2, n3, n07, gpu1. Throws
/// Error(config).
std::vector<std::string> hosts_in(std::string_view list);
/// Numbers as Slurm counts them: "2(x3),1" is 2, 2, 2, 1. Throws Error(config).
std::vector<std::size_t> counts_in(std::string_view list);

/// The hosts of every slot that fits, if one takes `nodes` hosts and `ranks` ranks spread over them
/// evenly: on each as many CPUs as that is ranks, times `cpus_per_rank`. Slots go where most is
/// free, so that few share a host while there are others.
std::vector<std::vector<std::string>> places_in(const Allocation& allocation, std::size_t ranks,
                                                std::size_t nodes);

}  // namespace stap
