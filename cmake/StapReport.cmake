# Scripts and styles of the report become a source file of the library, so that the program needs no
# files of its own.

# Parts of one function, and of one style sheet; tests/browser reads their order here.
set(script_parts basics chart_values chart_paint charts tables costs fields start)
set(style_parts base figures tables print)
list(TRANSFORM style_parts PREPEND src/report/style/)
list(TRANSFORM style_parts APPEND .css)
list(TRANSFORM script_parts PREPEND src/report/script/)
list(TRANSFORM script_parts APPEND .js)

set(functions "")
# stap_asset(FUNCTION BEFORE AFTER FILE...)
macro(stap_asset function before after)
  string(APPEND functions "std::string_view ${function}() {\n  return R\"stap-asset(${before}")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
    file(READ ${PROJECT_SOURCE_DIR}/${file} text)
    string(APPEND functions "${text}")
  endforeach()
  string(APPEND functions "${after})stap-asset\";\n}\n")
endmacro()
stap_asset(uplot_script "" "" third_party/uplot/uPlot.iife.min.js)
stap_asset(uplot_style "" "" third_party/uplot/uPlot.min.css)
stap_asset(uplot_licence "" "" third_party/uplot/LICENSE)
stap_asset(page_script "(() => {\n\"use strict\";\n" "})();\n" ${script_parts})
stap_asset(page_style "" "" ${style_parts})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/report_assets.cpp @ONLY CONTENT
"#include \"report/assets.h\"

namespace stap {

@functions@
}  // namespace stap
")
list(APPEND stap_sources ${PROJECT_BINARY_DIR}/report_assets.cpp)
