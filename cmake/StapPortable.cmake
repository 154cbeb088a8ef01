# Programs that run where nothing is installed (make tarball, make wheel): all libraries are linked
# statically but those of the C library and libgcc_s, which every system with glibc 2.34 or later has
# (Debian 12, Ubuntu 22.04, RHEL 9). libgcc_s stays shared on purpose: glibc itself loads it, and
# GCC's static one wants glibc 2.35. tools/check-elf --glibc 2.34 sees to it.
option(STAP_PORTABLE "Programs that need no library but the C library" OFF)
if(NOT STAP_PORTABLE)
  return()
endif()
if(BUILD_SHARED_LIBS)
  message(FATAL_ERROR "STAP_PORTABLE=ON makes programs with a static libstap, but "
                      "BUILD_SHARED_LIBS=ON asks for a shared one: leave out one of them")
endif()
enable_language(C)
set(CMAKE_SKIP_RPATH ON)
set(portable ${PROJECT_SOURCE_DIR}/packaging/portable)

# stap_static_library(VARIABLE NAME): the archive that takes the place of a shared library.
function(stap_static_library variable name)
  find_library(${variable} NAMES lib${name}.a PATH_SUFFIXES hdf5/serial REQUIRED)
  mark_as_advanced(${variable})
endfunction()
stap_static_library(STAP_LIBHDF5 hdf5)
stap_static_library(STAP_LIBSZ sz)
stap_static_library(STAP_LIBAEC aec)
stap_static_library(STAP_LIBZ z)
stap_static_library(STAP_LIBYAML yaml-cpp)

# What stands in for the rest: libfmt, which Debian has no archive of, and symbols.
add_library(stap_stand_ins STATIC ${portable}/fmt.cpp ${portable}/glibc.c ${portable}/no_network.c)
set_target_properties(stap_stand_ins PROPERTIES POSITION_INDEPENDENT_CODE ON)  # also for libstap_c
target_include_directories(stap_stand_ins PRIVATE
                           $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_options(stap_stand_ins PRIVATE -ffunction-sections
                       $<$<COMPILE_LANGUAGE:CXX>:-fkeep-inline-functions>)

set_property(TARGET stap_hdf5 PROPERTY INTERFACE_LINK_LIBRARIES ${STAP_LIBHDF5} stap_stand_ins
             ${STAP_LIBSZ} ${STAP_LIBAEC} ${STAP_LIBZ} m ${CMAKE_DL_LIBS} Threads::Threads)
set_property(TARGET ZLIB::ZLIB PROPERTY IMPORTED_LOCATION "${STAP_LIBZ}")

# What is compiled stays as it is, so objects come from the compiler's cache: only what is linked is
# another.
function(stap_link_instead target library)
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  foreach(configuration IN LISTS configurations)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} "${library}")
  endforeach()
endfunction()
stap_link_instead(fmt::fmt "${PROJECT_BINARY_DIR}/libstap_stand_ins.a")
# For all that links libfmt: the warden does not, which is static altogether.
set_property(TARGET fmt::fmt APPEND PROPERTY INTERFACE_LINK_OPTIONS
             -static-libstdc++ -Wl,--gc-sections -Wl,--wrap=hypot)
add_dependencies(fmt::fmt stap_stand_ins)
stap_link_instead(yaml-cpp "${STAP_LIBYAML}")
