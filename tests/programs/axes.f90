! For worker_test.cpp: counts steps in channel 1, numbers the points of the grid in channel 2.
module axes_of_a_step
  use stap_solver
  implicit none
contains
  subroutine step(u, v, info, why)
    type(stap_step), intent(in) :: info
    real(stap_real), intent(in) :: u(info%values)
    real(stap_real), intent(out) :: v(info%values)
    character(len=*), intent(inout) :: why

    if (info%time < 0) why = "too early"
    print "(a, 1x, a, 2(1x, i0), 2(1x, f0.2))", stap_channel(info, 1), stap_channel(info, 2), &
      info%slot, info%steps, stap_parameter(info, "a", 0d0), stap_parameter(info, "z", 9d0)
    call fill(u, v, info%points(2), info%points(1))
  end subroutine step

  subroutine fill(u, v, ny, nx)
    integer, intent(in) :: ny, nx
    real(stap_real), intent(in) :: u(ny, nx, 2)
    real(stap_real), intent(out) :: v(ny, nx, 2)
    integer :: x, y

    v(:, :, 1) = u(:, :, 1) + 1
    do x = 1, nx
      do y = 1, ny
        v(y, x, 2) = 100 * (x - 1) + (y - 1)
      end do
    end do
  end subroutine fill
end module axes_of_a_step

program axes
  use stap_solver, only: stap_serve
  use axes_of_a_step, only: step
  implicit none

  call stap_serve(step, "axes")
end program axes
