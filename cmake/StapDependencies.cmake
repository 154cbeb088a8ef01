# What the library and the program need; all are packages of Debian 12 and Ubuntu 24.04
# (docs/internals/dependencies.md says why each). Nothing is downloaded.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)

# yaml-cpp before 0.8 has no namespace (Debian 12: 0.7, Ubuntu 24.04: 0.8).
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED GLOBAL)
  target_link_libraries(yaml-cpp::yaml-cpp INTERFACE yaml-cpp)
endif()

# HDF5's own module gives variables; one interface target keeps them out of the rest.
# An imported target, so that a static libstap can name it in its exported link line.
set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 REQUIRED COMPONENTS C)
add_library(stap_hdf5 INTERFACE IMPORTED GLOBAL)
target_include_directories(stap_hdf5 SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_link_libraries(stap_hdf5 INTERFACE ${HDF5_C_LIBRARIES})
target_compile_definitions(stap_hdf5 INTERFACE ${HDF5_C_DEFINITIONS})
