# What the project is built with, as Debian packages. Sourced by ./demo and ./test.
tile_packages=(g++ cmake ninja-build llvm-22-dev liblld-22-dev libboost-dev libfmt-dev libcli11-dev nlohmann-json3-dev
  libgtest-dev libgmock-dev libbenchmark-dev)
tile_test_packages=(clang-22 llvm-22 libmpfr-dev libgmp-dev)
# Not needed, but they make builds faster.
tile_fast_packages=(ccache mold)
