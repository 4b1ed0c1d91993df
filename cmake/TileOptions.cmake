# Compiler flags that every target of this project takes (interface target `tile_options`).
add_library(tile_options INTERFACE)
target_include_directories(tile_options INTERFACE ${PROJECT_SOURCE_DIR})
# -Wno-restrict: g++ 12 warns falsely about std::string concatenation (GCC bug 105329).
# No contraction: `a * b + c` stays two roundings on the host, whatever the host's instruction set.
target_compile_options(tile_options INTERFACE -Wall -Wextra -Werror -Wno-restrict -ffp-contract=off)
if(TILE_SANITIZE)
  target_compile_options(tile_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(tile_options INTERFACE -fsanitize=address,undefined)
endif()
if(TILE_TSAN)
  target_compile_options(tile_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(tile_options INTERFACE -fsanitize=thread)
endif()

find_program(TILE_CCACHE ccache)
if(TILE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${TILE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TILE_CCACHE})
endif()
find_program(TILE_MOLD mold)
if(TILE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)
