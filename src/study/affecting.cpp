#include "stap/study/affecting.h"

#include <algorithm>

#include "stap/study/study.h"

namespace stap {
namespace {

using config::Affects;
using config::Value;

Value part(const Value& document, std::initializer_list<Affects> these, bool wanted) {
  std::vector<config::Family> families = study_families();
  // Also where no planner is there to choose now: the run may be of a program that had one.
  if (planner_table().size() == 0) families.push_back(planner_table().family());
  return config::counting(families, document, !wanted, [&](Affects affects) {
    return (std::ranges::find(these, affects) != these.end()) == wanted;
  });
}

}  // namespace

Value affecting(const Value& document, std::initializer_list<Affects> these) {
  return part(document, these, true);
}

Value not_affecting(const Value& document, std::initializer_list<Affects> these) {
  return part(document, these, false);
}

Value problem_part(const Value& document) {
  return affecting(document, {Affects::problem, Affects::data, Affects::test, Affects::source});
}

}  // namespace stap
