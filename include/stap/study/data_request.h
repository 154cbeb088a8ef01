#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stap/config/value.h"
#include "stap/core/parameters.h"
#include "stap/study/study.h"

namespace stap {

/// Which data. Candidate i of the pool depends on (pde, initial, data_seed, i) alone, trajectory i
/// of the test set likewise, on another random stream: not on how many there are.
struct DataRequest {
  config::Value pde;        ///< section `pde`, with its name and every option
  std::string solver{};     ///< name of a solver that is not that of `pde`; else empty
  bool foreign = false;     ///< the solver is a program of the user's own
  config::Value initial;    ///< section `initial`, likewise
  std::size_t pool = 0;     ///< 0: no pool is made
  std::size_t test = 0;     ///< 0: no test set is made
  std::size_t steps = 1;    ///< L of the test trajectories
  std::size_t cluster = 1;  ///< k: an initial condition is the last k states of the warm-up
  std::uint64_t data_seed = 0;
  std::string fixed_sha256{};               ///< of a mask and fields in files of the user's own
  std::vector<ParameterDraw> parameters{};  ///< that vary: a part of `pde`, read
};
/// All that decides about the bits, in one order (version and instruction set among them, unless
/// the solver is foreign).
config::Value data_document(const DataRequest& request);
/// The name under which the data are cached: the SHA-256 of that.
std::string data_key(const DataRequest& request);
/// config.yaml of a folder of these data, and the key that one describes. Throws Error(data).
inline constexpr std::string_view kDataFormat = "data/2";
config::Value data_folder_document(const DataRequest& request);
std::string data_key(const config::Value& folder_document);
/// What must be made for a study: nothing of what comes from files.
DataRequest data_request(const Study& study);

/// Where data are cached: $STAP_CACHE, else $XDG_CACHE_HOME/stap, else $HOME/.cache/stap. Empty,
/// which means nowhere, if STAP_CACHE is "off" or empty, or if none of them is set. An entry is a
/// folder called data_key(), as generate() makes it (stap/market).
std::filesystem::path cache_folder();

/// Where a file (pool.h5, test.h5) of a data key is in the cache, or would be; empty if there is no
/// cache.
std::filesystem::path cached_file(const std::string& data_key, const char* file);

}  // namespace stap
