# The engine crate: built by scripts/engine.sh into a cache outside the checkout, or named by
# -DTW_ENGINE_DIR (a folder with libtw_engine.a and include/).
set(TW_ENGINE_DIR "" CACHE PATH "ready-made engine: a folder with libtw_engine.a and include/")
if(NOT TW_ENGINE_DIR)
  execute_process(COMMAND sh ${CMAKE_SOURCE_DIR}/scripts/engine.sh
    OUTPUT_VARIABLE TW_ENGINE_FOUND OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE TW_ENGINE_RC)
  if(NOT TW_ENGINE_RC EQUAL 0)
    message(FATAL_ERROR "the engine crate could not be built: see above")
  endif()
else()
  set(TW_ENGINE_FOUND ${TW_ENGINE_DIR})
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  src/engine/crate/Cargo.toml src/engine/crate/Cargo.lock src/engine/crate/build.rs src/engine/crate/src/lib.rs src/engine/crate/src/blake3_c.rs src/engine/crate/src/pooling.rs)
add_library(tw_engine STATIC IMPORTED)
set_target_properties(tw_engine PROPERTIES
  IMPORTED_LOCATION ${TW_ENGINE_FOUND}/libtw_engine.a
  INTERFACE_INCLUDE_DIRECTORIES ${TW_ENGINE_FOUND}/include
  INTERFACE_LINK_LIBRARIES "pthread;dl;m")
