! simulate STATE.npy MODEL STEPS: makes the same steps with the solver and with the surrogate that
! learned from it, and prints how far apart they are, the error bar, and what each took.
program simulate
  use reaction
  use stap_model
  implicit none
  integer, parameter :: n = 32
  type(stap_surrogate) :: model
  real(stap_model_real) :: exact(n, n, 2), before(n, n, 2), guessed(n, n, 2), spread(n, n, 2)
  real(stap_model_real) :: forecast(n, n, 2)
  real(stap_model_real) :: seconds(2), h, bar(1)
  character(len=1000) :: words(3)
  integer :: i, steps, file

  do i = 1, 3
    call get_command_argument(i, words(i))
  end do
  open (newunit=file, file=trim(words(1)), access="stream", form="unformatted", status="old")
  read (file, pos=129) exact              ! a .npy file as draw.f90 writes it: 128 bytes, then numbers
  close (file)
  call model%open(trim(words(2)))
  read (words(3), *) steps
  if (model%values /= size(exact)) error stop "the model is not of 32 x 32 points and two channels"
  h = model%lengths(1) / n
  guessed = exact
  seconds = 0
  call model%begin(exact, 0)

  do i = 0, steps - 1
    call model%committee(guessed, i, spread=spread)
    before = exact
    seconds(1) = seconds(1) - now()
    call react(exact, model%dt, h, h, 2e-5_stap_model_real, 1e-5_stap_model_real, &
               0.04_stap_model_real, 0.06_stap_model_real)
    seconds(1) = seconds(1) + now()
    seconds(2) = seconds(2) - now()
    call model%advance(guessed, i)
    seconds(2) = seconds(2) + now()
    call model%next(forecast, all=bar)
    print "(a, i0, 3(a, es8.2))", "step ", i + 1, ": error ", rms(guessed - exact), &
      " of a change of ", rms(exact - before), ", members differ by ", rms(spread)
    if (any(forecast /= guessed)) error stop "a forecast is not what advance makes"
    if (model%level > 0) print "(a, f4.2, a, es8.2)", "        with probability ", model%level, &
      " below ", bar(1) / sqrt(2.0)     ! a bar is of both channels together, rms() of each value
  end do
  print "(a, f7.3, a, f7.3, a)", "solver", 1e3 * seconds(1) / steps, " ms a step, surrogate", &
    1e3 * seconds(2) / steps, " ms"
  call model%close()

contains

  real(stap_model_real) function rms(w)
    real(stap_model_real), intent(in) :: w(:, :, :)
    rms = sqrt(sum(w**2) / size(w))
  end function rms

  real(stap_model_real) function now()
    integer(8) :: count, rate
    call system_clock(count, rate)
    now = real(count, stap_model_real) / rate
  end function now
end program simulate
