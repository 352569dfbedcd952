# What Debian has as shared libraries alone, for a command line that is linked to none: OpenMP in the place of oneTBB
# (lib/engine/parallel_openmp.cpp), spdlog as headers, and ONNX's messages from ONNX's own description of them.
find_package(OpenMP REQUIRED COMPONENTS CXX)

find_package(fmt REQUIRED)
add_library(lastbit_spdlog INTERFACE)
target_compile_definitions(lastbit_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(lastbit_spdlog INTERFACE fmt::fmt-header-only Threads::Threads)

find_path(LASTBIT_ONNX_SCHEMA_DIR onnx/onnx.proto REQUIRED)
mark_as_advanced(LASTBIT_ONNX_SCHEMA_DIR)
set(messages "${PROJECT_BINARY_DIR}/messages")
file(MAKE_DIRECTORY "${messages}")
add_custom_command(
  OUTPUT "${messages}/onnx/onnx.pb.cc" "${messages}/onnx/onnx.pb.h"
  COMMAND protobuf::protoc --cpp_out "${messages}" -I "${LASTBIT_ONNX_SCHEMA_DIR}" onnx/onnx.proto
  DEPENDS "${LASTBIT_ONNX_SCHEMA_DIR}/onnx/onnx.proto"
  VERBATIM)
add_library(lastbit_onnx STATIC "${messages}/onnx/onnx.pb.cc")
target_include_directories(lastbit_onnx SYSTEM PUBLIC "${messages}" "${LASTBIT_ONNX_SCHEMA_DIR}")
target_link_libraries(lastbit_onnx PUBLIC protobuf::libprotobuf)
add_library(ONNX::onnx_proto ALIAS lastbit_onnx)
