! Gray-Scott on a periodic square, explicit steps with the five-point stencil, as a worker:
!
!   u_t = Du lap(u) - u v^2 + F (1 - u),   v_t = Dv lap(v) + u v^2 - (F + k) v
!
! A state is [channel][x][y] in C order, so (y, x, channel) here.
program gray_scott
  use stap_solver
  implicit none
  type(stap_step) :: info
  real(stap_real), allocatable :: state(:, :, :), made(:, :)
  real(stap_real) :: hx, hy, du, dv, f, k, small
  integer :: i, steps

  call stap_open(info, "gray_scott")
  if (info%axes /= 2 .or. info%channels /= 2) then
    call stap_failed("expected two axes and the channels u and v")
    stop 1
  end if
  allocate (state(info%points(2), info%points(1), 2), made(info%points(2), info%points(1)))
  hx = info%lengths(1) / info%points(1)
  hy = info%lengths(2) / info%points(2)

  do while (stap_next(info, state))
    du = stap_parameter(info, "Du", 2e-5_stap_real)
    dv = stap_parameter(info, "Dv", 1e-5_stap_real)
    f = stap_parameter(info, "F", 0.04_stap_real)
    k = stap_parameter(info, "k", 0.06_stap_real)
    ! As many steps as the stencil needs: half of what is stable, and none longer than 1.
    steps = ceiling(info%dt * max(1.0_stap_real, 4 * du * (1 / hx**2 + 1 / hy**2)))
    small = info%dt / steps
    do i = 1, steps
      associate (u => state(:, :, 1), v => state(:, :, 2))
        made = u * v**2
        u = u + small * (du * laplacian(u) - made + f * (1 - u))
        v = v + small * (dv * laplacian(v) + made - (f + k) * v)
      end associate
    end do
    call stap_answer(state)
  end do

contains

  function laplacian(w) result(l)
    real(stap_real), intent(in) :: w(:, :)
    real(stap_real) :: l(size(w, 1), size(w, 2))
    l = (cshift(w, 1, 2) - 2 * w + cshift(w, -1, 2)) / hx**2 &
      + (cshift(w, 1, 1) - 2 * w + cshift(w, -1, 1)) / hy**2
  end function laplacian
end program gray_scott
