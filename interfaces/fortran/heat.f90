! u_t = D u_xx on a periodic line, as a worker; stap_solver.f90 says how to compile it.
program heat
  use stap_solver
  implicit none
  integer, parameter :: small = 100  ! explicit steps in one learned step
  type(stap_step) :: info
  real(stap_real), allocatable :: u(:)
  real(stap_real) :: h, r
  integer :: j

  call stap_open(info, "heat")
  allocate (u(info%points(1)))
  do while (stap_next(info, u))
    h = info%lengths(1) / info%points(1)
    r = stap_parameter(info, "D", 0.1_stap_real) * (info%dt / small) / h**2
    if (r > 0.5_stap_real) then
      call stap_failed("the grid is too fine for 100 explicit steps")
      cycle
    end if
    do j = 1, small
      u = u + r * (cshift(u, 1) - 2 * u + cshift(u, -1))
    end do
    call stap_answer(u)
  end do
end program heat
