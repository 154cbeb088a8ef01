#include "market/data_source.h"

#include <filesystem>
#include <functional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/lease.h"
#include "core/private_folder.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/data/store.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool needs_program(const Study& study, const DataRequest& request) {
  if (study.initial_program) return true;
  return request.foreign && (request.test > 0 || request.cluster > 1 ||
                             make_sampler(study, study.grid)->warm_up() > 0);
}

[[noreturn]] void throw_not_made(const std::string& why) {
  throw Error(
      ErrorKind::data,
      fmt::format("pool or test set must be made by a program that the configuration names, "
                  "and only 'stap generate' and 'stap run' start those ({}): give 'stap "
                  "generate' the run's folder, then the same command again",
                  why));
}

// In the place of the study's own.
class NobodysSampler final : public Sampler {
 public:
  explicit NobodysSampler(const Grid& grid) : Sampler("nobody", grid, 0.0) {}

 private:
  void fill(const Rng&, std::span<double>) const override { throw_not_made("they are not there"); }
};

// Makes and reads the data of one study.
class DataSource {
 public:
  DataSource(const Study& study, std::shared_ptr<const Solver> solver, DataRequest request,
             Observer& observer, const StopAsked& stop, AskForData ask)
      : study_(study),
        solver_(std::move(solver)),
        request_(std::move(request)),
        observer_(observer),
        stop_(stop),
        only_look_(ask == AskForData::no_program && needs_program(study_, request_)) {}

  // Fills in what the study does not read from files.
  void fill(Problem& problem) {
    if (request_.pool == 0 && request_.test == 0) return;
    problem.identity.data_key = data_key(request_);
    const fs::path cache = cache_folder();
    if (only_look_) return look(cache / problem.identity.data_key, problem);
    if (!cache.empty()) {
      const fs::path folder = cache / problem.identity.data_key;
      try {
        return fill_from_cache(folder, problem);
      } catch (const Error& error) {
        // Not where it was begun: what was solved is there, and can be gone on with.
        if (error.kind() != ErrorKind::storage || is_there(folder / "config.yaml")) throw;
        observer_.warning(fmt::format(
            "data are not cached: {}; set STAP_CACHE to a folder, or to 'off'", error.what()));
      }
    }
    const PrivateFolder folder({}, "stap-data");
    if (!make(folder.path() / "data", stop_)) throw Stopped();
    read(folder.path() / "data", problem);
  }

 private:
  // Whatever is missing or damaged stays so.
  void look(const fs::path& folder, Problem& problem) {
    if (!folder.has_parent_path() || !is_generated(request_, folder))
      throw_not_made(folder.has_parent_path() ? fmt::format("there are none in {}", folder.string())
                                              : "STAP_CACHE is off");
    try {
      make(folder, stop_);
      read(folder, problem);
    } catch (const Error& error) {
      throw_not_made(error.what());
    }
  }

  // False: it was stopped.
  bool make(const fs::path& folder, const StopAsked& stop) {
    const std::unique_ptr<Sampler> sampler = only_look_
                                                 ? std::make_unique<NobodysSampler>(solver_->grid())
                                                 : make_sampler(study_, solver_->grid());
    return generate(request_, *sampler, solver_, folder, observer_, stop).finished;
  }

  void read(const fs::path& folder, Problem& problem) const {
    const StudyOptions& o = study_.options;
    if (request_.pool > 0)
      problem.pool = read_pool(folder / "pool.h5", solver_->grid(), o.cluster, request_.pool,
                               solver_->parameters());
    if (request_.test > 0)
      problem.test = read_test_set(folder / "test.h5", solver_->grid(), o.cluster + o.steps,
                                   request_.test, solver_->parameters());
  }

  // Any file of the cache may be missing or damaged: then it is made anew.
  void fill_from_cache(const fs::path& folder, Problem& problem) {
    try {
      make_in_turn(folder, {});
      return read(folder, problem);
    } catch (const Error& error) {
      const bool damage = error.kind() == ErrorKind::data || error.kind() == ErrorKind::config;
      if (!damage || !is_there(folder)) throw;
      observer_.warning(fmt::format("cached data are made anew: {}", error.what()));
      std::error_code ignored;
      if (!fs::is_directory(folder, ignored)) fs::remove(folder, ignored);
    }
    make_in_turn(folder, [&] {
      if (!is_sound(folder, problem)) empty(folder);  // another process may have made it by now
    });
    read(folder, problem);
  }

  bool is_sound(const fs::path& folder, Problem& problem) {
    if (!is_generated(request_, folder)) return false;
    try {
      make(folder, stop_);  // only looks
      read(folder, problem);
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  static void empty(const fs::path& folder) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (!is_lock_file(entry.path().filename().string())) fs::remove_all(entry.path(), ignored);
  }

  // One process makes the data, here or on another machine; who comes later waits for it, and goes
  // on with what there is if it dies. With something to `prepare` they are made anew.
  void make_in_turn(const fs::path& folder, const std::function<void()>& prepare) {
    if (is_there(folder) && !fs::is_directory(folder))
      throw Error(ErrorKind::data, fmt::format("{} is a file", folder.string()));
    for (bool said = false, prepared = !prepare;;) {
      try {
        if (!prepared) {
          make_folder(folder);
          const std::unique_ptr<Lease> lock = lock_folder(folder);
          prepare();
          prepared = true;
        }
        if (make(folder, stop_)) return;
        throw Stopped();
      } catch (const InUse&) {
      }
      const std::optional<LockHolder> holder = lock_holder(folder);
      if (!std::exchange(said, true))
        observer_.warning(fmt::format("waiting for another process that makes the data in {}{}",
                                      folder.string(), holder ? ": " + holder->who : ""));
      if (stop_ && stop_()) throw Stopped();
      std::this_thread::sleep_for(kPatience);
    }
  }

  const Study& study_;
  std::shared_ptr<const Solver> solver_;
  DataRequest request_;
  Observer& observer_;
  const StopAsked& stop_;
  bool only_look_;
};

}  // namespace

void fill_data(Problem& problem, const Study& study, std::shared_ptr<const Solver> solver,
               DataRequest request, Observer& observer, const StopAsked& stop, AskForData ask) {
  DataSource(study, std::move(solver), std::move(request), observer, stop, ask).fill(problem);
}

}  // namespace stap
