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
if(TW_PLANT)
  target_compile_definitions(tw_flags INTERFACE TW_PLANT_${TW_PLANT}=1)
endif()
