# What `stap init` writes (templates/, and from interfaces/ what programs of the user's own include)
# becomes a source file of the library, so that the program needs no files of its own.
set(rows "")
foreach(folder templates interfaces)
  file(GLOB_RECURSE files RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/${folder}/*)
  list(FILTER files EXCLUDE REGEX "^interfaces/python/(stap/|setup|pyproject|README|.*__pycache__)")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
    file(READ ${PROJECT_SOURCE_DIR}/${file} text)
    string(APPEND rows "      {\"${file}\", R\"stap-file(${text})stap-file\"},\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/starter_sources.cpp @ONLY CONTENT
"#include \"study/starter_sources.h\"

namespace stap {

std::span<const StarterSource> starter_sources() {
  static const StarterSource rows[] = {
@rows@  };
  return rows;
}

}  // namespace stap
")
list(APPEND stap_sources ${PROJECT_BINARY_DIR}/starter_sources.cpp)
