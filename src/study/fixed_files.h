#pragma once

#include "stap/core/fixed_fields.h"
#include "stap/study/study.h"

namespace stap {

/// The fixed fields that a problem of a user's own names as files; null: none. Throws Error.
SharedFixedFields read_fixed_fields(const Study& study, const Grid& grid);

/// Why states with these fields are not mapped onto such states; empty if they are.
std::string broken_by(const Symmetry& symmetry, const Grid& grid, const FixedFields& fields);

}  // namespace stap
