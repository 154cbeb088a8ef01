! A trained surrogate in a Fortran program: the step of interfaces/c/stap_model.c, which is linked
! beside this module.
!
!   use stap_model
!   type(stap_surrogate) :: model
!   call model%open("model.safetensors")             (ends the program where it cannot)
!   do i = 0, steps - 1
!     call model%advance(u, i)                        (in the place of your own step)
!   end do
!   call model%close()
!
! A state is [channel][x][y] in C order: u(y, x, channel), or u(x, channel) on one axis, of
! real(stap_model_real), contiguous. Of a model of several states at once (cluster) they follow one
! another. Where parameters vary, set them first; call begin with a state of your solver and next for
! a forecast with error bars. `member` is one of 0 to members - 1; left out: the members' average. Threads share no
! stap_surrogate: it has the memory of its steps; let each open its own.
module stap_model
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: stap_surrogate, stap_model_real

  integer, parameter :: stap_model_real = c_double
  integer(c_int), parameter :: average = -1

  type :: stap_surrogate
    integer :: axes = 0, points(2) = 1, channels = 0, members = 0
    integer :: values = 0        ! of what a step takes and gives
    integer :: cluster = 1       ! states of which that consists
    integer :: horizon = 0       ! steps that a time input runs over; 0: there is none
    real(c_double) :: lengths(2) = 0, dt = 0
    integer :: parameters = 0    ! that vary; see parameter()
    real(c_double) :: level = 0  ! of its error bars; 0: it was not calibrated
    integer :: bar_steps = 0     ! states that they reach ahead
    character(len=:), allocatable :: problem
    type(c_ptr), private :: model = c_null_ptr, work = c_null_ptr
  contains
    procedure :: open => open_model
    procedure :: close => close_model
    procedure :: advance => advance_state
    procedure :: step => make_step
    procedure :: rollout => make_rollout
    procedure :: committee => ask_members
    procedure :: adjoint => make_adjoint
    procedure :: parameter => parameter_name
    procedure :: set => set_parameters
    procedure :: begin => begin_forecast
    procedure :: next => next_state
  end type stap_surrogate

  ! stap_model_info of stap_model.h
  type, bind(c) :: model_info
    integer(c_int) :: axes
    integer(c_size_t) :: points(2)
    real(c_double) :: lengths(2)
    integer(c_size_t) :: channels, values
    integer(c_int) :: members, cluster
    real(c_double) :: dt
    integer(c_long) :: horizon
    type(c_ptr) :: problem, run
    integer(c_long) :: round
    type(c_ptr) :: family
    integer(c_int) :: walls(2), parameters
    real(c_double) :: level
    integer(c_long) :: bar_steps, bar_trajectories
    type(c_ptr) :: mask
  end type model_info

  ! stap_parameter_info of stap_model.h
  type, bind(c) :: parameter_info
    type(c_ptr) :: name
    real(c_double) :: least, greatest
  end type parameter_info

  interface
    function c_open(path, why, size) bind(c, name="stap_model_open") result(model)
      import :: c_ptr, c_char, c_size_t
      character(kind=c_char), intent(in) :: path(*)
      character(kind=c_char), intent(out) :: why(*)
      integer(c_size_t), value :: size
      type(c_ptr) :: model
    end function c_open
    subroutine c_close(model) bind(c, name="stap_model_close")
      import :: c_ptr
      type(c_ptr), value :: model
    end subroutine c_close
    function c_about(model) bind(c, name="stap_model_about") result(info)
      import :: c_ptr
      type(c_ptr), value :: model
      type(c_ptr) :: info
    end function c_about
    function c_work(model) bind(c, name="stap_model_work") result(work)
      import :: c_ptr
      type(c_ptr), value :: model
      type(c_ptr) :: work
    end function c_work
    subroutine c_work_free(work) bind(c, name="stap_work_free")
      import :: c_ptr
      type(c_ptr), value :: work
    end subroutine c_work_free
    function c_step(model, work, member, step, from, to) bind(c, name="stap_model_step") result(bad)
      import :: c_ptr, c_int, c_long
      type(c_ptr), value :: model, work, from, to
      integer(c_int), value :: member
      integer(c_long), value :: step
      integer(c_int) :: bad
    end function c_step
    function c_rollout(model, work, member, step, steps, from, states) &
        bind(c, name="stap_model_rollout") result(bad)
      import :: c_ptr, c_int, c_long, c_double
      type(c_ptr), value :: model, work
      integer(c_int), value :: member
      integer(c_long), value :: step, steps
      real(c_double), intent(in) :: from(*)
      real(c_double), intent(out) :: states(*)
      integer(c_int) :: bad
    end function c_rollout
    function c_members(model, work, step, from, mean, each, spread) &
        bind(c, name="stap_model_members") result(bad)
      import :: c_ptr, c_int, c_long, c_double
      type(c_ptr), value :: model, work, mean, each, spread
      integer(c_long), value :: step
      real(c_double), intent(in) :: from(*)
      integer(c_int) :: bad
    end function c_members
    function c_gradients(model, work, member, step, from, weights, gradient, by_parameter) &
        bind(c, name="stap_model_gradients") result(bad)
      import :: c_ptr, c_int, c_long, c_double
      type(c_ptr), value :: model, work, by_parameter
      integer(c_int), value :: member
      integer(c_long), value :: step
      real(c_double), intent(in) :: from(*), weights(*)
      real(c_double), intent(out) :: gradient(*)
      integer(c_int) :: bad
    end function c_gradients
    function c_parameter(model, number) bind(c, name="stap_model_parameter") result(info)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: model
      integer(c_size_t), value :: number
      type(c_ptr) :: info
    end function c_parameter
    function c_set(model, work, parameters) bind(c, name="stap_model_set") result(bad)
      import :: c_ptr, c_int, c_double
      type(c_ptr), value :: model, work
      real(c_double), intent(in) :: parameters(*)
      integer(c_int) :: bad
    end function c_set
    function c_begin(model, work, start, step, from) bind(c, name="stap_model_begin") result(bad)
      import :: c_ptr, c_int, c_long, c_double
      type(c_ptr), value :: model, work
      integer(c_int), value :: start
      integer(c_long), value :: step
      real(c_double), intent(in) :: from(*)
      integer(c_int) :: bad
    end function c_begin
    function c_next(model, work, state, all, channels, bands) bind(c, name="stap_model_next") &
        result(unlike)
      import :: c_ptr, c_int
      type(c_ptr), value :: model, work, state, all, channels, bands
      integer(c_int) :: unlike
    end function c_next
    function c_length(text) bind(c, name="strlen") result(n)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: n
    end function c_length
  end interface

contains

  ! Opens a model file. `why` is allocated where that fails, and says the reason; without it the
  ! program ends there.
  subroutine open_model(self, path, why)
    class(stap_surrogate), intent(inout) :: self
    character(len=*), intent(in) :: path
    character(len=:), allocatable, intent(out), optional :: why
    type(model_info), pointer :: info
    character(len=400) :: message

    call self%close()
    message = ""
    self%model = c_open(trim(path) // c_null_char, message, 400_c_size_t)
    if (c_associated(self%model)) self%work = c_work(self%model)
    if (.not. c_associated(self%work)) then
      if (c_associated(self%model)) &
        message = trim(path) // ": there is not enough memory for its steps" // c_null_char
      call self%close()
      if (.not. present(why)) then
        print "(a)", message(:index(message, c_null_char) - 1)
        stop 1
      end if
      why = message(:index(message, c_null_char) - 1)
      return
    end if
    call c_f_pointer(c_about(self%model), info)
    self%axes = info%axes
    self%points = int(info%points)
    self%lengths = info%lengths
    self%channels = int(info%channels)
    self%values = int(info%values)
    self%members = info%members
    self%cluster = info%cluster
    self%dt = info%dt
    self%horizon = int(info%horizon)
    self%parameters = info%parameters
    self%level = info%level
    self%bar_steps = int(info%bar_steps)
    self%problem = text_at(info%problem)
  end subroutine open_model

  subroutine close_model(self)
    class(stap_surrogate), intent(inout) :: self
    call c_work_free(self%work)
    call c_close(self%model)
    self%work = c_null_ptr
    self%model = c_null_ptr
  end subroutine close_model

  ! A step in its place; `number` is 0 for the first step of a trajectory.
  subroutine advance_state(self, state, number, member)
    class(stap_surrogate), intent(in) :: self
    real(c_double), intent(inout), target :: state(*)
    integer, intent(in) :: number
    integer, intent(in), optional :: member
    call check(c_step(self%model, self%work, wanted(member), int(number, c_long), c_loc(state), &
                      c_loc(state)))
  end subroutine advance_state

  ! The state after `from`, in another array.
  subroutine make_step(self, from, to, number, member)
    class(stap_surrogate), intent(in) :: self
    real(c_double), intent(in), target :: from(*)
    real(c_double), intent(inout), target :: to(*)
    integer, intent(in) :: number
    integer, intent(in), optional :: member
    call check(c_step(self%model, self%work, wanted(member), int(number, c_long), c_loc(from), &
                      c_loc(to)))
  end subroutine make_step

  ! `steps` states, one after the other; the first step has this number.
  subroutine make_rollout(self, from, states, number, steps, member)
    class(stap_surrogate), intent(in) :: self
    real(c_double), intent(in) :: from(*)
    real(c_double), intent(out) :: states(*)
    integer, intent(in) :: number, steps
    integer, intent(in), optional :: member
    call check(c_rollout(self%model, self%work, wanted(member), int(number, c_long), &
                         int(steps, c_long), from, states))
  end subroutine make_rollout

  ! One step of all members: their average, each one's state, and the standard deviation among them.
  subroutine ask_members(self, from, number, mean, each, spread)
    class(stap_surrogate), intent(in) :: self
    real(c_double), intent(in) :: from(*)
    integer, intent(in) :: number
    real(c_double), intent(inout), optional, target :: mean(*), each(*), spread(*)
    type(c_ptr) :: to(3)
    to = c_null_ptr
    if (present(mean)) to(1) = c_loc(mean)
    if (present(each)) to(2) = c_loc(each)
    if (present(spread)) to(3) = c_loc(spread)
    call check(c_members(self%model, self%work, int(number, c_long), from, to(1), to(2), to(3)))
  end subroutine ask_members

  ! gradient(j) = sum over i of weights(i) d to(i) / d from(j); by_parameter(p) likewise.
  subroutine make_adjoint(self, from, weights, gradient, number, member, by_parameter)
    class(stap_surrogate), intent(in) :: self
    real(c_double), intent(in) :: from(*), weights(*)
    real(c_double), intent(out) :: gradient(*)
    integer, intent(in) :: number
    integer, intent(in), optional :: member
    real(c_double), intent(inout), optional, target :: by_parameter(*)
    type(c_ptr) :: to
    to = c_null_ptr
    if (present(by_parameter)) to = c_loc(by_parameter)
    call check(c_gradients(self%model, self%work, wanted(member), int(number, c_long), from, &
                           weights, gradient, to))
  end subroutine make_adjoint

  ! The name of a parameter, from 1, and the range that networks have learned.
  function parameter_name(self, number, least, greatest) result(name)
    class(stap_surrogate), intent(in) :: self
    integer, intent(in) :: number
    real(c_double), intent(out), optional :: least, greatest
    character(len=:), allocatable :: name
    type(parameter_info), pointer :: info
    if (number < 1 .or. number > self%parameters) error stop "stap_model: no such parameter"
    call c_f_pointer(c_parameter(self%model, int(number - 1, c_size_t)), info)
    name = text_at(info%name)
    if (present(least)) least = info%least
    if (present(greatest)) greatest = info%greatest
  end function parameter_name

  ! The parameters of all steps that follow, in the order of parameter().
  subroutine set_parameters(self, values)
    class(stap_surrogate), intent(in) :: self
    real(c_double), intent(in) :: values(:)
    if (size(values) /= self%parameters) error stop "stap_model: another number of parameters"
    if (c_set(self%model, self%work, [values, 0.0_c_double]) /= 0) &
      error stop "stap_model: a parameter is not finite, or not above 0 where its logarithm counts"
  end subroutine set_parameters

  ! Begins a forecast from a state of the solver, the one before the step of this number; `anywhere`:
  ! it is not the first one of a trajectory.
  subroutine begin_forecast(self, from, number, anywhere)
    class(stap_surrogate), intent(in) :: self
    real(c_double), intent(in) :: from(*)
    integer, intent(in) :: number
    logical, intent(in), optional :: anywhere
    integer(c_int) :: start
    start = 0
    if (present(anywhere)) start = merge(1_c_int, 0_c_int, anywhere)
    call check(c_begin(self%model, self%work, start, int(number, c_long), from))
  end subroutine begin_forecast

  ! The next state of the forecast, with error bars: of the norm sqrt(sum of squares / points) of all
  ! channels, of each channel's, and at every point. Infinite: there is no bound. `unlike`: members
  ! differ far more than they did in the calibration. (cluster = 1; else see stap_model.h.)
  subroutine next_state(self, state, all, channels, bands, unlike)
    class(stap_surrogate), intent(in) :: self
    real(c_double), intent(inout), target :: state(*)
    real(c_double), intent(inout), optional, target :: all(*), channels(*), bands(*)
    logical, intent(out), optional :: unlike
    type(c_ptr) :: to(3)
    integer(c_int) :: answer
    to = c_null_ptr
    if (present(all)) to(1) = c_loc(all)
    if (present(channels)) to(2) = c_loc(channels)
    if (present(bands)) to(3) = c_loc(bands)
    answer = c_next(self%model, self%work, c_loc(state), to(1), to(2), to(3))
    if (answer < 0) error stop "stap_model: begin a forecast first"
    if (present(unlike)) unlike = answer > 0
  end subroutine next_state

  integer(c_int) function wanted(member)
    integer, intent(in), optional :: member
    wanted = average
    if (present(member)) wanted = int(member, c_int)
    if (present(member)) wanted = merge(wanted, -2_c_int, member >= 0)
  end function wanted

  subroutine check(bad)
    integer(c_int), intent(in) :: bad
    if (bad == 0) return
    print "(a)", "stap_model: there is no such member or step (both count from 0), or parameters are not set"
    stop 1
  end subroutine check

  function text_at(place) result(text)
    type(c_ptr), intent(in) :: place
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(place, letters, [c_length(place)])
    allocate (character(len=size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function text_at
end module stap_model
