#pragma once

#include <string>
#include <string_view>

#include "stap/config/complaints.h"
#include "stap/config/value.h"

namespace stap {

/// "name" or "name(key=value,...)" as a section, its values with this origin. Throws Error(config)
/// saying what is wrong with it.
config::Value parse_choice(std::string_view text, const config::Origin& origin = {});

/// `method: sbal+stap` or `sbal(exponent=2)+stap(proposals=10)` written out as the sections base
/// and steps (`full` where there is no +), or, where it names a planner, as the section planner;
/// what a document without `method` says stays. Every value has the origin of the method.
void expand_method(config::Value& document, config::Complaints& complaints);
/// Throws Error(config).
void expand_method(config::Value& document);

/// The shorthand of what a document with every field says, options that are not the default
/// included. An entry that is not in the tables, from the folder of another program's run, comes
/// with all its options; "" where there is no method.
std::string method_text(const config::Value& effective);

}  // namespace stap
