! A worker: a reaction-diffusion equation, u_t = D u_xx + u - u^3, on a periodic line.
!
! stap starts it once for every slot and then asks it for one step after the other; stap_solver.f90,
! beside this file, does the talking. What it prints goes to a log. Replace step with your own
! solver; keep to one rule: the answer depends on u and info alone.
program solver
  use stap_solver
  implicit none

  ! Set up before this what takes long: it is done once.
  call stap_serve(step, "solver")

contains

  ! ---- your own solver goes here: u(i) stands at x = (i - 1) * length / n. States of two axes or
  ! several channels come in C order: [channel][x][y] is u(y, x, channel) here.
  subroutine step(u, v, info, why)
    type(stap_step), intent(in) :: info
    real(stap_real), intent(in) :: u(info%values)
    real(stap_real), intent(out) :: v(info%values)
    character(len=*), intent(inout) :: why
    real(stap_real) :: h, diffusion
    integer :: k, small

    h = info%lengths(1) / info%points(1)
    diffusion = stap_parameter(info, "diffusion", 0.01_stap_real)
    small = 1 + ceiling(info%dt * max(4 * diffusion / h**2, 20.0_stap_real))  ! stable inner steps
    v = u
    do k = 1, small
      v = v + info%dt / small * (diffusion * (cshift(v, -1) - 2 * v + cshift(v, 1)) / h**2 + v - v**3)
    end do
    if (any(v /= v)) why = "the step could not be made"  ! fails this query alone
  end subroutine step
end program solver
