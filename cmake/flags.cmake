# Compiler settings for all our own code. No inexact arithmetic, ever: contraction is off by name.
set(TW_SANITIZE "" CACHE STRING "address,undefined or thread: builds everything of ours with it")
set(TW_PLANT "" CACHE STRING "plants one known bug (see tests/planted): the suite must find it")
add_library(tw_flags INTERFACE)
target_compile_features(tw_flags INTERFACE c_std_17)
target_compile_definitions(tw_flags INTERFACE _GNU_SOURCE)
target_include_directories(tw_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(tw_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
  -Wstrict-prototypes -Wmissing-prototypes -Wvla -ffp-contract=off -fno-strict-aliasing
  -fvisibility=hidden -fPIC -ffunction-sections -fdata-sections)
if(TW_SANITIZE)
  target_compile_options(tw_flags INTERFACE -fsanitize=${TW_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(tw_flags INTERFACE -fsanitize=${TW_SANITIZE})
endif()
option(TW_FUZZ "builds tests/fuzz as fuzzers (clang only); all our code counts its coverage" OFF)
if(TW_FUZZ)
  target_compile_options(tw_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(TW_PLANT) # only files that know of planted bugs are told: changing the bug builds little
  file(GLOB_RECURSE tw_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.c)
  foreach(source ${tw_sources})
    file(STRINGS ${source} planted REGEX "TW_PLANT_" LIMIT_COUNT 1)
    if(planted)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS TW_PLANT_${TW_PLANT}=1)
    endif()
  endforeach()
endif()

# The engine's library is large; lld links it several times faster than GNU ld,
# and a test program is a third smaller without the sections that nothing uses.
find_program(TW_LLD NAMES ld.lld HINTS /usr/lib/llvm-19/bin NO_DEFAULT_PATH)
if(TW_LLD)
  get_filename_component(TW_LLD_DIR ${TW_LLD} DIRECTORY)
  add_link_options(-B${TW_LLD_DIR} -fuse-ld=lld -Wl,--gc-sections)
endif()
