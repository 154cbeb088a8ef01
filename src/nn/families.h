// The rows of the families that are ours.
#pragma once

#include "stap/nn/family.h"

namespace stap {

FamilyRow fno_row();
FamilyRow dilated_row();

}  // namespace stap
