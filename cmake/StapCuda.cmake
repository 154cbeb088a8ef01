# The GPU engine: src/nn/cuda, or src/nn/no_cuda.cpp in its place.
set(STAP_CUDA AUTO CACHE STRING "Build the CUDA engine: AUTO (if nvcc is found), ON or OFF")
set_property(CACHE STAP_CUDA PROPERTY STRINGS AUTO ON OFF)

set(STAP_HAVE_CUDA OFF)
if(NOT STAP_CUDA STREQUAL "OFF")
  # nvcc is often installed outside of PATH.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(stap_nvcc nvcc PATHS /usr/local/cuda/bin NO_CACHE)
    if(stap_nvcc)
      set(CMAKE_CUDA_COMPILER "${stap_nvcc}")
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT CMAKE_CUDA_ARCHITECTURES AND NOT "$ENV{CUDAARCHS}" STREQUAL "")
      # CMake asks for it only when it first looks at the compiler, not in a folder that was
      # configured without it before.
      set(CMAKE_CUDA_ARCHITECTURES "$ENV{CUDAARCHS}" CACHE STRING "CUDA architectures" FORCE)
    elseif(NOT CMAKE_CUDA_ARCHITECTURES)
      # What is in this machine, if the kernels can run there (clusters of blocks came with 9.0);
      # else H100 and H200 code, and PTX for what comes later.
      execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                      OUTPUT_VARIABLE stap_capabilities ERROR_QUIET)
      if(stap_capabilities MATCHES "^(9|[1-9][0-9]+)\\.[0-9]+\n$")
        set(CMAKE_CUDA_ARCHITECTURES native)
      else()
        set(CMAKE_CUDA_ARCHITECTURES 90)
      endif()
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(STAP_HAVE_CUDA ON)
  elseif(STAP_CUDA STREQUAL "ON")
    message(FATAL_ERROR "STAP_CUDA=ON, but no CUDA compiler was found: set CUDACXX or "
                        "CMAKE_CUDA_COMPILER to nvcc, or STAP_CUDA=OFF")
  endif()
endif()
if(STAP_HAVE_CUDA)
  message(STATUS "stap: CUDA engine for architectures ${CMAKE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "stap: no CUDA engine (STAP_CUDA=${STAP_CUDA}, no CUDA compiler used)")
endif()

# Keeps the right ones of the library's sources; the kernels are an object library of their own,
# in C++17: CMake 3.25 cannot ask nvcc for C++20.
function(stap_choose_cuda_sources list)
  set(sources ${${list}})
  if(STAP_HAVE_CUDA)
    list(FILTER sources EXCLUDE REGEX "/nn/no_cuda\\.cpp$")
    file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/nn/cuda/*.cu)
    add_library(stap_cuda_kernels OBJECT ${kernels})
    target_include_directories(stap_cuda_kernels PRIVATE
      ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    set_target_properties(stap_cuda_kernels PROPERTIES
      CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
    list(APPEND sources $<TARGET_OBJECTS:stap_cuda_kernels>)
  else()
    list(FILTER sources EXCLUDE REGEX "/nn/cuda/")
  endif()
  set(${list} ${sources} PARENT_SCOPE)
endfunction()
