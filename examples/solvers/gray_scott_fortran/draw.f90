! draw SEED OUTPUT: one initial state [2][32][32] as .npy, u = 1 and v = 0 but for a few squares
! where v has grown.
program draw
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: n = 32
  real(real64) :: state(n, n, 2), at(3)
  character(len=1000) :: seed_text, output
  character(len=117) :: header
  integer, allocatable :: seeds(:)
  integer :: i, first, y, x, size, file

  call get_command_argument(1, seed_text)
  call get_command_argument(2, output)
  read (seed_text, *) first
  call random_seed(size=i)
  allocate (seeds(i))
  seeds = [(first + 37 * i, i = 1, ubound(seeds, 1))]
  call random_seed(put=seeds)

  state(:, :, 1) = 1
  state(:, :, 2) = 0
  do i = 1, 4
    call random_number(at)
    x = 1 + int(at(1) * (n - 8))
    y = 1 + int(at(2) * (n - 8))
    size = 3 + int(at(3) * 5)
    state(y:y + size, x:x + size, 1) = 0.5_real64
    state(y:y + size, x:x + size, 2) = 0.25_real64
  end do

  ! .npy: 10 bytes, then text that makes it 128 with them, then the numbers.
  header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 32, 32), }"
  open (newunit=file, file=trim(output), access="stream", form="unformatted", status="replace")
  write (file) char(147), "NUMPY", char(1), char(0), char(118), char(0), header, char(10), state
  close (file)
end program draw
