# Install rules and the package that `find_package(stap)` reads.
install(DIRECTORY include/stap DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
