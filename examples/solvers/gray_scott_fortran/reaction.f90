! Explicit steps of Gray-Scott on a periodic square with the five-point stencil:
!
!   u_t = Du lap(u) - u v^2 + F (1 - u),   v_t = Dv lap(v) + u v^2 - (F + k) v
!
! A state is [channel][x][y] in C order, so (y, x, channel) here.
module reaction
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none

contains

  ! Advances a state by dt: as many steps as the stencil needs, half of what is stable, and none
  ! longer than 1.
  subroutine react(state, dt, hx, hy, du, dv, f, k)
    real(real64), intent(inout) :: state(:, :, :)
    real(real64), intent(in) :: dt, hx, hy, du, dv, f, k
    real(real64) :: made(size(state, 1), size(state, 2)), small
    integer :: i, steps
    steps = ceiling(dt * max(1.0_real64, 4 * du * (1 / hx**2 + 1 / hy**2)))
    small = dt / steps
    do i = 1, steps
      associate (u => state(:, :, 1), v => state(:, :, 2))
        made = u * v**2
        u = u + small * (du * laplacian(u) - made + f * (1 - u))
        v = v + small * (dv * laplacian(v) + made - (f + k) * v)
      end associate
    end do

  contains

    function laplacian(w) result(l)
      real(real64), intent(in) :: w(:, :)
      real(real64) :: l(size(w, 1), size(w, 2))
      l = (cshift(w, 1, 2) - 2 * w + cshift(w, -1, 2)) / hx**2 &
        + (cshift(w, 1, 1) - 2 * w + cshift(w, -1, 1)) / hy**2
    end function laplacian
  end subroutine react
end module reaction
