#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "stap/core/observer.h"
#include "stap/core/solver.h"
#include "stap/core/stop.h"
#include "stap/ic/sampler.h"
#include "stap/study/data_request.h"

namespace stap {

/// What `generate` has done.
struct Generated {
  bool finished = false;                     ///< false: stopped; the same call goes on
  double seconds = 0.0;                      ///< wall-clock, all calls together
  std::string pool_sha256{}, test_sha256{};  ///< of the values; empty where nothing was made
};

/// Makes the data of a request in a folder, whatever happens in between:
///
///   config.yaml      the request (format data/2)
///   pool.h5          `states` [pool, k C, X...]
///   test.h5          `trajectory` [test, k + steps, C, X...]
///   journal.jsonl    every answer of the solver, before it is used
///   answers.bin      their states, until both files are whole
///
/// The files carry the request, its key and their SHA-256 as attributes and no times, so that a
/// call that was killed anywhere and made again ends with the same bytes. A file that is gone is
/// made anew. `solver` makes single steps, `sampler` is that of request.initial. Progress: phases
/// "pool" and "test set". `have`: another folder of the request, whose files are copied where they
/// are there and whole. Throws Error(config), with the differences, for a folder of another
/// request, for one that holds other things, a request that cannot be or a warm-up that is too
/// short; InUse if another process works there; Error(data) for a folder of another format or
/// damaged files; Error(unavailable) for one of an earlier version; Error(storage);
/// Error(numerics) naming the initial condition or test trajectory that cannot be computed.
Generated generate(const DataRequest& request, const Sampler& sampler,
                   std::shared_ptr<const Solver> solver, const std::filesystem::path& folder,
                   Observer& observer, const StopAsked& stop,
                   const std::filesystem::path& have = {});

/// Whether generate() would have nothing to do in this folder, as far as a look at it tells.
bool is_generated(const DataRequest& request, const std::filesystem::path& folder);

}  // namespace stap
