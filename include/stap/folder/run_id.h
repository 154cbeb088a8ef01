#pragma once

#include <string>
#include <string_view>

#include "stap/config/value.h"

namespace stap {

/// What a configuration says about the results: without where and how they are computed, where data
/// come from (what they are is the identity's business), and how many rounds there are.
config::Value essential_config(const config::Value& document);
/// A problem itself, wherever it was found.
config::Value essential_identity(config::Value identity);

/// Type of the journal's line that says whose it is (`run`), and what config.yaml and manifest.json
/// hold (`config`, `manifest`: their texts without seals): the first, and one for every change.
inline constexpr std::string_view kRunLine = "run";

/// Sixteen digits that stand for a run in all files of its folder, so that a file of another run in
/// their place is noticed: of the essential parts of its configuration, without its format, and of
/// its problem's identity.
std::string run_id(const config::Value& document, const config::Value& identity);

}  // namespace stap
