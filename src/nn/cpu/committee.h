#pragma once

#include <memory>
#include <vector>

#include "nn/cpu/member.h"
#include "nn/cpu/network.h"
#include "stap/core/committee.h"

namespace stap::cpu {

/// A committee over members of one network; both must outlive it.
std::unique_ptr<Committee> make_committee(const Network& network,
                                          std::vector<const Member*> members, int threads);

}  // namespace stap::cpu
