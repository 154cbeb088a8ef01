#pragma once

#include <string>
#include <vector>

#include "stap/config/value.h"

namespace stap {

/// One axis of a sweep: a key and its values as written. The key `extends` names presets or files:
/// a run's document is then laid over the one of its value.
struct GridAxis {
  std::string key;
  std::vector<std::string> values;
  std::string origin{};  ///< "study.yaml:3:3" where a file says it; for messages
};
/// "method=random,sbal+stap": commas inside brackets do not count; "seed=0..4,7" has the integers
/// from 0 to 4, and 7. Throws Error(config), also for more than 100,000 values.
GridAxis parse_axis(const std::string& text);

/// The axes of a sweep: those of the document's map `sweep` (a key, and its value or a list of
/// them), which is taken out of it, but for keys that `settings` ("key=value", already in the
/// document) fix; then those of `grid`, each in the place of one of the same key or else at the
/// end. Throws Error(config).
std::vector<GridAxis> take_axes(config::Value& document, const std::vector<std::string>& settings,
                                const std::vector<std::string>& grid);
/// One run of a sweep.
struct SweepRun {
  std::string name;  ///< of its folder: "method=sbal+stap,seed=1"
  config::Value document;
  std::string written{};  ///< the name with all characters, as earlier versions gave it
  std::vector<std::string> settings{};  ///< "key=value" of each axis
};
/// Every combination, the last axis fastest. Names are those of the keys and values, with "_" for
/// "/"; odd values (blanks, quotes) and long names are shortened, with some digits of a hash that
/// tells them apart. Throws Error(config), also if two runs would share a folder or there are more
/// than 100,000.
std::vector<SweepRun> expand_grid(const config::Value& base, const std::vector<GridAxis>& axes);

/// For what works on one run: the document of the only run that `document` (called `name` by the
/// user) stands for once `settings` are in it. Throws Error(config), naming the axes of its map
/// `sweep` that are open, if there are several.
config::Value only_run(config::Value document, const std::vector<std::string>& settings,
                       const std::string& name);

}  // namespace stap
