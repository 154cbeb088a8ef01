// Uses the installed library: a pattern, and the walk through it.
#include <iostream>

#include "stap/core/error.h"
#include "stap/core/pattern.h"
#include "stap/core/rng.h"
#include "stap/core/walk.h"

int main() {
  const stap::Pattern pattern = stap::Pattern::parse("0110100");
  const double draw = stap::Rng(2026).split("consumer", 1).uniform(0);

  stap::Walk walk(pattern);
  std::size_t steps = 0;
  for (; walk.next() != stap::Walk::Next::nothing; ++steps) walk.advance();

  bool refused = false;
  try {
    stap::Pattern::parse("01x");
  } catch (const stap::Error& error) {
    refused = error.kind() == stap::ErrorKind::config;
  }

  std::cout << "pattern " << pattern.text() << " costs " << pattern.cost() << " solver steps; "
            << walk.bought() << " bought in a walk of " << steps << "; a draw: " << draw << '\n';
  return pattern.cost() == 3 && walk.bought() == 3 && steps == 5 && draw >= 0 && draw < 1 && refused
             ? 0
             : 1;
}
