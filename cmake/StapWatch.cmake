# `stap watch` speaks HTTP by cpp-httplib; without it the program says what is missing.
set(STAP_WATCH AUTO CACHE STRING "Build 'stap watch': AUTO (if cpp-httplib is found), ON or OFF")
set_property(CACHE STAP_WATCH PROPERTY STRINGS AUTO ON OFF)

set(STAP_HAVE_HTTPLIB OFF)
if(NOT STAP_WATCH STREQUAL "OFF")
  # Debian and Ubuntu have it compiled, and its classes are those of the options in its .pc file.
  # Elsewhere it is a header alone, which then needs nothing else.
  find_package(PkgConfig QUIET)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(STAP_HTTPLIB QUIET IMPORTED_TARGET cpp-httplib)
  endif()
  find_path(STAP_HTTPLIB_HEADER httplib.h)
  find_library(STAP_HTTPLIB_FILE cpp-httplib)
  add_library(stap_httplib INTERFACE)
  if(TARGET PkgConfig::STAP_HTTPLIB)
    target_link_libraries(stap_httplib INTERFACE PkgConfig::STAP_HTTPLIB)
    set(STAP_HAVE_HTTPLIB ON)
  elseif(STAP_HTTPLIB_FILE)
    # What Debian's package says, for who has no pkg-config.
    target_link_libraries(stap_httplib INTERFACE ${STAP_HTTPLIB_FILE})
    target_compile_definitions(stap_httplib INTERFACE CPPHTTPLIB_OPENSSL_SUPPORT
                               CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)
    set(STAP_HAVE_HTTPLIB ON)
  elseif(STAP_HTTPLIB_HEADER)
    target_include_directories(stap_httplib SYSTEM INTERFACE ${STAP_HTTPLIB_HEADER})
    set(STAP_HAVE_HTTPLIB ON)
  endif()
  if(STAP_HAVE_HTTPLIB)
    target_compile_definitions(stap_httplib INTERFACE STAP_HAVE_HTTPLIB)
  elseif(STAP_WATCH STREQUAL "ON")
    message(FATAL_ERROR "STAP_WATCH=ON, but cpp-httplib was not found: install "
                        "libcpp-httplib-dev, or say STAP_WATCH=OFF")
  else()
    message(STATUS "stap: no 'stap watch' (cpp-httplib is not installed: libcpp-httplib-dev)")
  endif()
endif()
