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
"#include \"stap/study/presets.h\"

namespace stap {

std::span<const Preset> presets() {
  static const Preset rows[] = {
@rows@  };
  return rows;
}

}  // namespace stap
")
list(APPEND stap_sources ${PROJECT_BINARY_DIR}/presets.cpp)

# So do the published numbers, for `stap table --paper`.
set(published ${PROJECT_SOURCE_DIR}/src/results/published.csv)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${published})
file(READ ${published} text)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/published_csv.cpp @ONLY CONTENT
"#include \"results/published_csv.h\"

namespace stap {

std::string_view published_csv() {
  return R\"csv(@text@)csv\";
}

}  // namespace stap
")
list(APPEND stap_sources ${PROJECT_BINARY_DIR}/published_csv.cpp)
