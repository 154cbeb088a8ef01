/* The Brusselator on a ring, advanced by CVODE of SUNDIALS (BDF, Newton with matrix-free GMRES):
 *
 *   u_t = Du u_xx + A - (B + 1) u + u^2 v,   v_t = Dv v_xx + B u - u^2 v
 */
#include "stap_solver.h" /* in interfaces/c; before all others */

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_spgmr.h>

static int rates(sunrealtype t, N_Vector y, N_Vector dydt, void* info_) {
  const stap_step* info = info_;
  const int n = info->points[0];
  const double a = stap_parameter(info, "A", 1), b = stap_parameter(info, "B", 3);
  const double per_h2 = n / info->lengths[0] * n / info->lengths[0];
  const double du = per_h2 * stap_parameter(info, "Du", 0.02);
  const double dv = per_h2 * stap_parameter(info, "Dv", 0.01);
  const double *u = N_VGetArrayPointer(y), *v = u + n;
  double *u_t = N_VGetArrayPointer(dydt), *v_t = u_t + n;
  (void)t;
  for (int i = 0; i < n; ++i) {
    const int left = (i + n - 1) % n, right = (i + 1) % n;
    const double made = u[i] * u[i] * v[i];
    u_t[i] = du * (u[left] - 2 * u[i] + u[right]) + a - (b + 1) * u[i] + made;
    v_t[i] = dv * (v[left] - 2 * v[i] + v[right]) + b * u[i] - made;
  }
  return 0;
}

/* CVODE's objects are made once: this is what a worker saves. */
struct integrator {
  void* cvode;
  N_Vector y;
};

static int set_up(struct integrator* my, const stap_step* info) {
  SUNContext context;
  if (SUNContext_Create(NULL, &context) != 0) return -1;
  my->y = N_VNew_Serial((sunindextype)info->values, context);
  my->cvode = CVodeCreate(CV_BDF, context);
  if (my->y == NULL || my->cvode == NULL) return -1;
  if (CVodeInit(my->cvode, rates, 0, my->y) != CV_SUCCESS) return -1;
  CVodeSStolerances(my->cvode, 1e-8, 1e-10);
  CVodeSetMaxNumSteps(my->cvode, 100000);
  return CVodeSetLinearSolver(my->cvode, SUNLinSol_SPGMR(my->y, SUN_PREC_NONE, 0, context), NULL);
}

static int step(const double* in, double* out, const stap_step* info, void* mine) {
  struct integrator* my = mine;
  sunrealtype reached;
  if (my->cvode == NULL && set_up(my, info) != 0) return stap_fail("CVODE cannot be set up");
  memcpy(N_VGetArrayPointer(my->y), in, info->values * sizeof(double));
  CVodeSetUserData(my->cvode, (void*)info);
  CVodeReInit(my->cvode, 0, my->y); /* forgets the steps of the call before */
  CVodeSetStopTime(my->cvode, info->dt);
  if (CVode(my->cvode, info->dt, my->y, &reached, CV_NORMAL) < 0)
    return stap_fail("CVODE did not reach dt"); /* this query fails; its log has the reason */
  memcpy(out, N_VGetArrayPointer(my->y), info->values * sizeof(double));
  return 0;
}

int main(int argc, char** argv) {
  struct integrator mine = {NULL, NULL};
  return stap_serve(argc, argv, step, &mine);
}
