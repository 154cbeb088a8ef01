#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stap/config/value.h"

namespace stap {

/// The format of run folders, as their config.yaml says it.
inline constexpr std::string_view kRunFormat = "run/3";

struct Preset {
  std::string name, text;
};
/// The built-in ones (presets/**/*.yaml), by path without the ending.
std::span<const Preset> presets();
/// The one of this name (`overlays/` may be left out); null if there is none.
const Preset* find_preset(const std::string& name);
/// What a preset says about itself: the comment in its first line, and the lines of it that go on
/// with a small letter. One with a capital begins another sentence.
std::string preset_summary(const Preset& preset);

/// A configuration by name: a file, else a built-in preset (`overlays/` may be left out), else a
/// run folder, whose config.yaml is meant. If it says `extends: NAME` or `extends: [NAME, ...]`,
/// those come first, in this order, and it is laid over them (see overlay); a file's NAME is
/// relative to it or a preset, a preset's is a preset. The result has no `extends`, nor the
/// `format` of a run; a study's `sweep` stays (stap/study/axes.h). Then come `overlays`, in their
/// order. Throws Error(config): unknown names with a suggestion, circles with their members.
config::Value load_config(const std::string& name, const std::vector<std::string>& overlays = {});
/// A built-in one, whatever file of its name there may be.
config::Value load_preset(const Preset& preset);

/// Lays `over` over `document`: maps are merged key by key, and what `over` says wins. A named
/// section (pde, initial, base, ...) whose name changes loses the options of the old entry, but for
/// those that all have (Family::shared); an empty section changes nothing. `method` replaces base
/// and steps or planner, and the other way round.
void overlay(config::Value& document, const config::Value& over);

/// "seed=3" is short for "study.seed=3": the same for every field of `study` and `compute`.
std::string full_key(const std::string& key);
/// apply_override with short keys; what says the method replaces as in overlay. `extends=NAME`
/// settles the axis of a study that has it, and is refused elsewhere. `network.name=NAME` leaves
/// out the options of another family, as overlay does. `written`: how complaints name it, if not as
/// the assignment. Throws Error(config).
void apply_setting(config::Value& document, const std::string& assignment,
                   const std::string& written = "");
/// All of a command line, names of families before their options.
void apply_settings(config::Value& document, std::span<const std::string> assignments);
/// Which options of `before` are not in `after` because its network is of another family, as a
/// note; empty: none.
std::string left_out_note(const config::Value& before, const config::Value& after);

}  // namespace stap
