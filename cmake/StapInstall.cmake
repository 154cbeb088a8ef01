# Install rules and the package that `find_package(stap)` reads.
include(CMakePackageConfigHelpers)

# Two components, as packages have them: `program` and `development`
# (packaging/).
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
set(stap_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stap)

install(TARGETS stap EXPORT stapTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT stapTargets NAMESPACE stap:: DESTINATION ${stap_package_dir})
install(DIRECTORY include/stap DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples interfaces DESTINATION ${CMAKE_INSTALL_DATADIR}/stap
        USE_SOURCE_PERMISSIONS PATTERN .gitignore EXCLUDE PATTERN __pycache__ EXCLUDE)

if(TARGET stap_warden)
  install(TARGETS stap_warden RUNTIME DESTINATION libexec/stap)
endif()

if(TARGET stap_program)
  install(TARGETS stap_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY "${PROJECT_BINARY_DIR}/man1" DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES app/completion/stap.bash RENAME stap
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES app/completion/_stap DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES app/completion/stap.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

if(TARGET stap_serve)
  install(TARGETS stap_serve RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# What the Python package loads, where it is no wheel: beside the program.
foreach(part IN ITEMS stap_c stap_python_stap_model stap_python_stap_model_avx2)
  if(TARGET ${part})
    install(TARGETS ${part} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/stap)
  endif()
endforeach()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
# The package file looks for HDF5's library again, first where it was found for this build.
list(GET HDF5_C_LIBRARIES 0 stap_hdf5_library)
cmake_path(GET stap_hdf5_library PARENT_PATH stap_hdf5_dir)
configure_package_config_file(cmake/stapConfig.cmake.in "${PROJECT_BINARY_DIR}/stapConfig.cmake"
                              INSTALL_DESTINATION ${stap_package_dir})
# 0.x: a new minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/stapConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/stapConfig.cmake"
              "${PROJECT_BINARY_DIR}/stapConfigVersion.cmake"
        DESTINATION ${stap_package_dir})
