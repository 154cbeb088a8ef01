#pragma once

#include <initializer_list>

#include "stap/config/affects.h"
#include "stap/config/value.h"

namespace stap {

/// The parts of an effective configuration that affect one of these, as the field tables say it.
config::Value affecting(const config::Value& document,
                        std::initializer_list<config::Affects> these);
/// The rest, with sections that nobody knows.
config::Value not_affecting(const config::Value& document,
                            std::initializer_list<config::Affects> these);

/// All that a Problem depends on: runs in which it is the same share one.
config::Value problem_part(const config::Value& document);

}  // namespace stap
