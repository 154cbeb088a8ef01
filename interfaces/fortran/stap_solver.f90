! stap_solver.f90: makes your Fortran program a worker of `stap`.
!
!   gfortran -O2 -c stap_solver.f90
!   gcc -O2 -I../c -c stap_solver_f.c          (../c is where stap_solver.h lies)
!   gfortran -O2 heat.f90 stap_solver.o stap_solver_f.o -o heat
!
!   call stap_open(info, "heat")
!   ... allocate u and v of info%values numbers ...
!   do while (stap_next(info, u))
!     ... make v of u: the state that follows it after info%dt ...
!     call stap_answer(v)                (or: call stap_failed("did not converge"))
!   end do
!
! heat.f90 beside this file is a whole one; call stap_serve(step, "heat") does the same with a
! routine of a module of yours. Every step begins from `u` alone: nothing may be remembered from the one before.
! States are [channel][x][y] in C order, which is u(y, x, channel) in Fortran: points(1) is x,
! points(2) is y. Arrays of any rank will do, as long as they have info%values numbers one behind
! the other. Configuration: solver: {name: worker, argv: [./heat]}. What the program prints goes to
! its log; it must not read from stdin. With MPI (solver.connect: socket) rank 0 calls what is here;
! u and info (plain bytes, storage_size(info) / 8 of them) are broadcast: see stap_solver.h.
module stap_solver
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: stap_step, stap_real, stap_open, stap_next, stap_answer, stap_failed, stap_close
  public :: stap_heartbeat, stap_heartbeat_every, stap_parameter, stap_channel, stap_serve

  integer, parameter :: stap_real = c_double
  ! As in stap_solver.h.
  integer, parameter :: axes_most = 3, channels_most = 32, parameters_most = 64, name_most = 32

  ! The problem, and the step that is to be made.
  type, bind(c) :: stap_step
    real(c_double) :: time                     ! of the input state
    real(c_double) :: dt                       ! by which to advance it
    integer(c_size_t) :: values                ! numbers of a state: channels x points
    integer(c_int) :: step, steps              ! this is step 0, 1, ... of so many in a row
    integer(c_int) :: axes, channels, parameters
    integer(c_int) :: slot                     ! number of this worker among those of a run
    integer(c_int) :: points(axes_most)        ! per axis; 1 for an axis that is not there
    integer(c_int) :: reserved_
    real(c_double) :: lengths(axes_most)       ! of the periodic domain
    real(c_double) :: parameter(parameters_most)
    character(kind=c_char) :: parameter_name(name_most, parameters_most)
    character(kind=c_char) :: channel_name(name_most, channels_most)
    character(kind=c_char) :: problem(name_most)
  end type stap_step

  abstract interface
    ! Makes one step of v from u; `why` comes empty, and a failure says there why it is one.
    subroutine stap_step_routine(u, v, info, why)
      import :: stap_step, c_double
      type(stap_step), intent(in) :: info
      real(c_double), intent(in) :: u(info%values)
      real(c_double), intent(out) :: v(info%values)
      character(len=*), intent(inout) :: why
    end subroutine stap_step_routine
  end interface

  interface
    function c_open(name, info) bind(c, name="stap_open") result(status)
      import :: c_int, c_char, stap_step
      character(kind=c_char), intent(in) :: name(*)
      type(stap_step), intent(out) :: info
      integer(c_int) :: status
    end function c_open

    function c_next(info, u) bind(c, name="stap_next") result(more)
      import :: c_int, c_double, stap_step
      type(stap_step), intent(inout) :: info
      real(c_double), intent(inout) :: u(*)
      integer(c_int) :: more
    end function c_next

    function c_answer(states, steps) bind(c, name="stap_answer") result(status)
      import :: c_int, c_double
      real(c_double), intent(in) :: states(*)
      integer(c_int), value :: steps
      integer(c_int) :: status
    end function c_answer

    function c_failed(text, retry) bind(c, name="stap_failed") result(status)
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int), value :: retry
      integer(c_int) :: status
    end function c_failed

    function c_parameter(info, name, otherwise) bind(c, name="stap_parameter") result(value)
      import :: c_char, c_double, stap_step
      type(stap_step), intent(in) :: info
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: otherwise
      real(c_double) :: value
    end function c_parameter

    ! Before stap_open: promises that stap_heartbeat is called at least so often (seconds) while a
    ! step is made, so that a program that hangs is noticed soon. Without it, signs are not sent.
    subroutine stap_heartbeat_every(seconds) bind(c, name="stap_heartbeat_every")
      import :: c_double
      real(c_double), value :: seconds
    end subroutine stap_heartbeat_every

    ! Cheap: sends a sign only when one is due.
    subroutine stap_heartbeat() bind(c, name="stap_heartbeat")
    end subroutine stap_heartbeat

    subroutine stap_close() bind(c, name="stap_close")
    end subroutine stap_close
  end interface

contains

  ! Connects and learns the problem. Where it cannot, `status` is not 0; without it, it stops.
  subroutine stap_open(info, name, status)
    type(stap_step), intent(out) :: info
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: status
    integer :: found

    found = c_open(trim(name) // c_null_char, info)
    if (present(status)) then
      status = found
    else if (found /= 0) then
      stop 1
    end if
  end subroutine stap_open

  ! Waits for the next step to make, with its input in u; .false.: end. The first call says that
  ! the program is set up.
  logical function stap_next(info, u)
    type(stap_step), intent(inout) :: info
    real(c_double), intent(inout) :: u(*)

    stap_next = c_next(info, u) /= 0
    if (.not. stap_next) call stap_close()
  end function stap_next

  ! The state behind the step, or of several (1 .. info%steps - info%step) one behind the other.
  subroutine stap_answer(v, steps)
    real(c_double), intent(in) :: v(*)
    integer, intent(in), optional :: steps
    integer(c_int) :: made, ignored

    made = 1
    if (present(steps)) made = int(steps, c_int)
    ignored = c_answer(v, made)
  end subroutine stap_answer

  ! Why the step could not be made; retry: the same might work another time. Before stap_next: why
  ! the program cannot be set up.
  subroutine stap_failed(text, retry)
    character(len=*), intent(in) :: text
    logical, intent(in), optional :: retry
    integer(c_int) :: again, ignored

    again = 0
    if (present(retry)) again = merge(1, 0, retry)
    ignored = c_failed(trim(text) // c_null_char, again)
  end subroutine stap_failed

  ! A parameter of the problem by its name, or `otherwise`.
  real(c_double) function stap_parameter(info, name, otherwise)
    type(stap_step), intent(in) :: info
    character(len=*), intent(in) :: name
    real(c_double), intent(in) :: otherwise

    stap_parameter = c_parameter(info, trim(name) // c_null_char, otherwise)
  end function stap_parameter

  ! The name of channel 1, 2, ...
  function stap_channel(info, channel) result(name)
    type(stap_step), intent(in) :: info
    integer, intent(in) :: channel
    character(len=:), allocatable :: name
    integer :: i

    name = ""
    do i = 1, name_most
      if (info%channel_name(i, channel) == c_null_char) exit
      name = name // info%channel_name(i, channel)
    end do
  end function stap_channel

  ! All of the above with one routine of yours that makes a step.
  subroutine stap_serve(step, name)
    procedure(stap_step_routine) :: step
    character(len=*), intent(in) :: name
    type(stap_step) :: info
    real(c_double), allocatable :: u(:), v(:)
    character(len=500) :: why

    call stap_open(info, name)
    allocate (u(info%values), v(info%values))
    do while (stap_next(info, u))
      why = ""
      call step(u, v, info, why)
      if (why == "") then
        call stap_answer(v)
      else
        call stap_failed(why)
      end if
    end do
  end subroutine stap_serve
end module stap_solver
