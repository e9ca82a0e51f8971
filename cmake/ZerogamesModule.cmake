# How this project compiles native code: once per instruction-set level, chosen when it is imported
# (zerogames_kernels.native), so one wheel runs everywhere and never meets an illegal instruction.
#
#   baseline  no flags: scalar on any CPU (SSE2 on x86-64)
#   v3        x86-64-v3: AVX2, BMI2, FMA
#   v4        x86-64-v4: AVX-512

include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-march=x86-64-v3 ZEROGAMES_HAS_V3)
check_cxx_compiler_flag(-march=x86-64-v4 ZEROGAMES_HAS_V4)

if(ZEROGAMES_PYTHON)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module NumPy)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT)
  find_package(nanobind CONFIG REQUIRED)
endif()

# zerogames_add_module(<package> <module> LEVELS <level>... SOURCES <file>... [LIBRARIES <target>...])
# builds <package>/<module>_<level> for every level this compiler knows.
function(zerogames_add_module package module)
  if(NOT ZEROGAMES_PYTHON)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "LEVELS;SOURCES;LIBRARIES" ${ARGN})
  foreach(level IN LISTS ARG_LEVELS)
    string(TOUPPER ${level} upper)
    if(NOT level STREQUAL "baseline" AND NOT ZEROGAMES_HAS_${upper})
      continue()
    endif()
    # A package inside a package is written with a slash, which no target's name may have.
    string(REPLACE "/" "_" target ${package}_${module}_${level})
    nanobind_add_module(${target} NB_STATIC NOMINSIZE ${ARG_SOURCES})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${module}_${level}
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${package})
    target_compile_definitions(${target} PRIVATE ZEROGAMES_MODULE=${module}_${level}
                                                 NPY_NO_DEPRECATED_API=NPY_2_0_API_VERSION)
    if(NOT level STREQUAL "baseline")
      target_compile_options(${target} PRIVATE -march=x86-64-${level})
    endif()
    # Two levels of one module may live in one process (tests): keep their inline statics apart.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fno-gnu-unique)
    endif()
    target_link_libraries(${target} PRIVATE Python::NumPy ${ARG_LIBRARIES})
    install(TARGETS ${target} LIBRARY DESTINATION ${package})
  endforeach()
endfunction()

# zerogames_add_test(<name> SOURCES <file>... [LIBRARIES <target>...]): a native test for ctest.
function(zerogames_add_test name)
  if(NOT ZEROGAMES_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE zerogames_core ${ARG_LIBRARIES})
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# zerogames_add_fuzzer(<name> SOURCES <file>...): a parser that reads hostile bytes, with its corpus in
# tests/fuzz/corpus/<name>. With ZEROGAMES_FUZZ (clang) it is a libFuzzer program, which `make fuzz`
# runs; with the native tests it reads the corpus and mutants of it.
function(zerogames_add_fuzzer name)
  if(NOT ZEROGAMES_TESTS AND NOT ZEROGAMES_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  set(target fuzz_${name})
  if(ZEROGAMES_FUZZ)
    add_executable(${target} ${ARG_SOURCES})
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${target} ${ARG_SOURCES} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay.cpp)
    add_test(NAME ${target}
             COMMAND ${target} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name} 20000)
  endif()
  target_link_libraries(${target} PRIVATE zerogames_core)
endfunction()
