# The presets (presets/**/*.yaml) become a source file of the library, so that the program needs no
# files of its own.
file(GLOB_RECURSE stap_preset_files RELATIVE ${PROJECT_SOURCE_DIR}/presets CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/presets/*.yaml)
set(rows "")
foreach(file IN LISTS stap_preset_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
               ${PROJECT_SOURCE_DIR}/presets/${file})
  file(READ ${PROJECT_SOURCE_DIR}/presets/${file} text)
  string(REGEX REPLACE "\\.yaml$" "" name ${file})
  string(APPEND rows "      {\"${name}\", R\"yaml(${text})yaml\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/presets.cpp @ONLY CONTENT
"#include \"stap/run/presets.h\"

namespace stap {

std::span<const Preset> presets() {
  static const Preset rows[] = {
@rows@  };
  return rows;
}

}  // namespace stap
")
target_sources(stap PRIVATE ${PROJECT_BINARY_DIR}/presets.cpp)
