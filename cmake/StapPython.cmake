# What the Python package (interfaces/python) loads beside the program: the C reader of models, for
# every x86-64 and for those of the last ten years, and the functions of stap/c/surrogate.h with what
# they need of the library, and nothing else exported. `make wheel` packs them.
set(stap_python_folder "${CMAKE_BINARY_DIR}/python")
function(stap_add_python_library name)
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${stap_python_folder}"
                        POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PRIVATE stap_hardening)
endfunction()

function(stap_add_python_model file)
  set(name stap_python_${file})
  add_library(${name} SHARED interfaces/c/stap_model.c)
  target_compile_options(${name} PRIVATE -std=c99 ${ARGN})
  target_link_libraries(${name} PRIVATE m)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${file})
  stap_add_python_library(${name})
endfunction()
stap_add_python_model(stap_model -O3)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  stap_add_python_model(stap_model_avx2 -O3 -mavx2 -mfma)
endif()

get_target_property(stap_kind stap TYPE)
if(stap_kind STREQUAL "STATIC_LIBRARY")
  add_library(stap_c SHARED src/c/surrogate.cpp src/couple/no_hdf5.cpp)
  target_include_directories(stap_c PRIVATE include src)
  stap_find_libraries_safely(stap_c)
  set(exported "${PROJECT_SOURCE_DIR}/cmake/stap_c.map")
  target_link_options(stap_c PRIVATE -Wl,--gc-sections "-Wl,--version-script,${exported}")
  set_property(TARGET stap_c PROPERTY LINK_DEPENDS "${exported}")
  # By its file, as for stap-serve: what is left of the library, once what nobody calls is gone, needs
  # no HDF5 (of which there is no archive that a shared library could take).
  target_link_libraries(stap_c PRIVATE $<TARGET_FILE:stap> fmt::fmt yaml-cpp::yaml-cpp Threads::Threads
                        stap_warnings)
  target_link_options(stap_c PRIVATE -Wl,-z,defs)
  if(STAP_HAVE_CUDA)
    target_link_libraries(stap_c PRIVATE CUDA::cudart_static)
  endif()
  add_dependencies(stap_c stap)
  stap_add_python_library(stap_c)
endif()
