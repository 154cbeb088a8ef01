/* The example that users get, as they get it. */
#include "../../interfaces/c/heat.c"
