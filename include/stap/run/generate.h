#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "stap/core/observer.h"
#include "stap/run/study_data.h"

namespace stap {

/// What `generate` has done.
struct Generated {
  bool finished = false;  ///< false: stopped after a block; the same call continues
  double seconds = 0.0;   ///< spent on blocks, all calls together
  std::string pool_sha256{}, test_sha256{};  ///< of the values; empty unless finished
};

/// Makes the data of a request in a folder, whatever happens in between:
///
///   config.yaml      the request (format data/1): sections, sizes, seed, version, instruction set
///   pool.h5          `states` [pool, k C, X...]
///   test.h5          `trajectory` [test, k + steps, C, X...]
///   journal.jsonl    how long every block took
///   parts/           finished blocks, until their file is whole
///
/// The same bits as make_study_data gives. The files carry the request and their SHA-256 as
/// attributes and no times, so that a call that was killed anywhere and made again ends with the
/// same bytes. `stop` is asked after every block. Memory: one block of at most 64 MiB, and what its
/// solver needs. `solver` is that of request.pde. Progress: phases "pool" and "test set".
/// Throws Error(config), with the differences, for a folder of another request and for one that
/// holds other things, Error(data) for a folder of another format or damaged files, Error(storage),
/// and as make_study_data.
Generated generate(const DataRequest& request, const Solver& solver,
                   const std::filesystem::path& folder, int threads, Observer& observer,
                   const std::function<bool()>& stop);

}  // namespace stap
