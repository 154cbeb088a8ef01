// What a study says of its problem: symmetries, and means that stay.
#pragma once

#include "stap/config/complaints.h"
#include "stap/ic/sampler.h"
#include "stap/study/study.h"

namespace stap {

/// Complains about statements that cannot be meant, and of built-in solvers about those that do not
/// hold on one drawn state. `sampler` may be null: then nothing is tried.
void check_statements(const Study& study, const Sampler* sampler, config::Complaints& complaints);

}  // namespace stap
