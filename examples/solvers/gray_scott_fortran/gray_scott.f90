! Gray-Scott (reaction.f90) as a worker of stap.
program gray_scott
  use reaction
  use stap_solver
  implicit none
  type(stap_step) :: info
  real(stap_real), allocatable :: state(:, :, :)
  real(stap_real) :: du, dv, f, k

  call stap_open(info, "gray_scott")
  if (info%axes /= 2 .or. info%channels /= 2) then
    call stap_failed("expected two axes and the channels u and v")
    stop 1
  end if
  allocate (state(info%points(2), info%points(1), 2))

  do while (stap_next(info, state))
    du = stap_parameter(info, "Du", 2e-5_stap_real)
    dv = stap_parameter(info, "Dv", 1e-5_stap_real)
    f = stap_parameter(info, "F", 0.04_stap_real)
    k = stap_parameter(info, "k", 0.06_stap_real)
    call react(state, info%dt, info%lengths(1) / info%points(1), &
               info%lengths(2) / info%points(2), du, dv, f, k)
    call stap_answer(state)
  end do
end program gray_scott
