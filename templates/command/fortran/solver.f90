! One learned step of a reaction-diffusion equation, u_t = D u_xx + u - u^3, on a periodic line.
!
!   ./solver input.npy output.npy dt length diffusion
!
! reads a state, advances it by dt and writes it. stap starts it once for every step, in a folder of
! its own. Replace step with your own solver; keep to one rule: the answer depends on the
! input file and the arguments alone.
program solver
  use, intrinsic :: iso_fortran_env, only: real64, int8
  implicit none
  real(real64), allocatable :: u(:)
  character(len=1), allocatable :: head(:)
  character(len=1000) :: input, output
  integer :: file, bytes

  call get_command_argument(1, input)
  call get_command_argument(2, output)

  ! A .npy file is a header and the values; the answer has the same header. States of two axes or
  ! several channels come in C order: [channel][x][y] is u(y, x, channel) here.
  open (newunit=file, file=trim(input), access="stream", form="unformatted", status="old")
  allocate (head(10))
  read (file) head
  bytes = 10 + ichar(head(9)) + 256 * ichar(head(10))
  deallocate (head)
  allocate (head(bytes))
  rewind (file)
  read (file) head
  inquire (file=trim(input), size=bytes)
  allocate (u((bytes - size(head)) / 8))
  read (file) u
  close (file)

  call step(u, argument(3), argument(4), argument(5))

  open (newunit=file, file=trim(output), access="stream", form="unformatted", status="replace")
  write (file) head, u
  close (file)

contains

  ! ---- your own solver goes here: u(i) stands at x = (i - 1) * length / n -----------------------
  subroutine step(u, dt, length, diffusion)
    real(real64), intent(inout) :: u(:)
    real(real64), intent(in) :: dt, length, diffusion
    real(real64) :: h
    integer :: k, small

    h = length / size(u)
    small = 1 + ceiling(dt * max(4 * diffusion / h**2, 20.0_real64))  ! stable inner steps
    do k = 1, small
      u = u + dt / small * (diffusion * (cshift(u, -1) - 2 * u + cshift(u, 1)) / h**2 + u - u**3)
    end do
    if (any(u /= u)) error stop "the step could not be made"  ! fails this query alone
  end subroutine step

  real(real64) function argument(number)
    integer, intent(in) :: number
    character(len=100) :: text

    call get_command_argument(number, text)
    read (text, *) argument
  end function argument
end program solver
