# How our own code is compiled: warnings, floating point, and kernels per instruction set.

# GCC collects its garbage far too early on machines of this century: it takes a fifth less time with
# half a gigabyte for a source before it begins.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)

add_library(stap_warnings INTERFACE)
# -ffp-contract=off: a multiply-add is fused only where the code says fma, so a result does not
# depend on how the compiler happened to inline a loop (docs/internals/design.md, determinism).
target_compile_options(stap_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX,C>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -ffp-contract=off>)

# What makes a fault harder to use (tools/check-elf looks for it). Kernels go without: they work on
# bare arrays, call nothing of the C library, and are where the time goes.
add_library(stap_hardening INTERFACE)
target_compile_options(stap_hardening INTERFACE
  $<$<COMPILE_LANGUAGE:CXX,C>:-fstack-protector-strong
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>>)
target_link_options(stap_hardening INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

# Programs and the shared library find libraries where they were found for this build, and libstap
# beside themselves or where it is installed. One RUNPATH for both trees: of two, CMake would make
# the first end with an empty entry, and so load libraries from the current folder.
function(stap_find_libraries_safely target)
  file(RELATIVE_PATH from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  get_target_property(kind stap TYPE)
  set_target_properties(${target} PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON
    INSTALL_RPATH "$<$<STREQUAL:${kind},SHARED_LIBRARY>:$ORIGIN/${from_bin};$ORIGIN>")
endfunction()

# Reads large headers that most sources of a target include once for all of them. Arguments as
# those of target_precompile_headers. No source of the target may be optimised more or less than
# the others: GCC 12 can fail where the header was read at another level.
function(stap_precompile target)
  target_precompile_headers(${target} ${ARGN})
  # Or ccache would not know what was in it.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# What the library's sources need, however it is built.
function(stap_library_needs target)
  target_link_libraries(${target} PRIVATE fmt::fmt yaml-cpp::yaml-cpp nlohmann_json::nlohmann_json
                        stap_hdf5 ZLIB::ZLIB Threads::Threads $<BUILD_INTERFACE:stap_warnings>)
  if(STAP_PRECOMPILE)
    stap_precompile(${target} PRIVATE <algorithm> <chrono> <cmath> <filesystem> <fstream>
                    <functional> <map> <memory> <numeric> <optional> <span> <string> <string_view>
                    <vector> <fmt/format.h> <fmt/ranges.h>)
  endif()
endfunction()

# Kernels (*.isa.cpp) are compiled once per instruction set, each time in a namespace of its own
# (STAP_ISA, see src/core/simd.h); src/core/isa.cpp picks the set at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(stap_isas portable avx2 avx512)
else()
  set(stap_isas portable)
endif()
set(stap_isa_flags_portable "")
set(stap_isa_flags_avx2 -mavx2 -mfma)
set(stap_isa_flags_avx512 -mavx2 -mfma -mavx512f -mavx512dq -mavx512vl -mavx512bw)

# Kernels get `optimisation` whatever the preset: without, debug tests would crawl.
function(stap_add_isa_sources target optimisation)
  foreach(isa IN LISTS stap_isas)
    add_library(${target}_${isa} OBJECT ${ARGN})
    target_include_directories(${target}_${isa} PRIVATE
      ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${target}_${isa} PRIVATE STAP_ISA=${isa})
    target_compile_options(${target}_${isa} PRIVATE ${stap_isa_flags_${isa}} ${optimisation})
    target_link_libraries(${target}_${isa} PRIVATE stap_warnings)
    set_target_properties(${target}_${isa} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
  endforeach()
  list(LENGTH stap_isas count)
  if(count GREATER 1)
    target_compile_definitions(${target} PRIVATE STAP_X86_ISAS)
  endif()
endfunction()

# Sources of a folder are compiled `size` at a time: what they share is read and instantiated once.
# Names in their unnamed namespaces must differ for that. Not across folders: stap-serve takes whole
# objects, and those of its rooms must not bring along the GPU.
function(stap_compile_together target size)
  foreach(source IN LISTS ARGN)
    # Names without the place of the checkout: two builds are to give the same bytes.
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${source}")
    cmake_path(GET folder PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    math(EXPR ${folder} "0${${folder}} + 1")
    math(EXPR batch "${${folder}} / ${size}")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${target}_${folder}_${batch})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
