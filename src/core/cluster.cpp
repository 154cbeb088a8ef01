#include "stap/core/cluster.h"

#include <utility>

#include <fmt/format.h>

#include "core/grouped_steps.h"
#include "stap/core/error.h"

namespace stap {
namespace {

class ClusteredSolver final : public Solver {
 public:
  ClusteredSolver(std::shared_ptr<const Solver> single, std::size_t size)
      : Solver(single->name(), cluster_grid(single->grid(), size),
               static_cast<double>(size) * single->dt(), groups_at_once(*single, size)),
        single_(std::move(single)),
        size_(size) {}

  std::vector<std::string> parameters() const override { return single_->parameters(); }
  SharedFixedFields fixed() const override { return single_->fixed(); }
  FailurePolicy failure_policy() const override { return single_->failure_policy(); }
  bool expensive() const override { return single_->expensive(); }

 private:
  std::string guard(const Query& query) const override {
    return single_->refusal(first_of_group(*single_, query));
  }
  std::unique_ptr<SolverQueue> open_queue() const override {
    return make_grouped_queue(*single_, {.size = size_, .kept = size_});
  }

  std::shared_ptr<const Solver> single_;
  std::size_t size_;
};

}  // namespace

Grid cluster_grid(Grid grid, std::size_t size) {
  if (size == 0) throw Error(ErrorKind::config, "a cluster of 0 states, expected at least 1");
  grid.channels *= size;
  return grid;
}

Grid frame_grid(Grid clusters, std::size_t size) {
  if (size == 0 || clusters.channels % size != 0)
    throw Error(ErrorKind::config,
                fmt::format("{} channels cannot be clusters of {} states: expected a multiple",
                            clusters.channels, size));
  clusters.channels /= size;
  return clusters;
}

std::string multiples_beside(std::size_t number, std::size_t size) {
  const std::size_t below = number / size * size;
  return below == 0 ? fmt::format("{}", size) : fmt::format("{} or {}", below, below + size);
}

std::unique_ptr<Solver> make_clustered_solver(std::shared_ptr<const Solver> single,
                                              std::size_t size) {
  return std::make_unique<ClusteredSolver>(std::move(single), size);
}

}  // namespace stap
