/* The part of stap_solver.f90 that is in C: compile it along, see there. */
#include "stap_solver.h"
